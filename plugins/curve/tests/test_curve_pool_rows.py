"""Pools that are not what their rows say are left out, and the operator is told by name."""

import pytest
from curve_exchange import OWN
from quoteway import Capability, UpstreamError


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"release": "template"}, "its functions are not those of release template"),
        ({"release": "ng"}, "its functions are not those of release ng"),
        ({"coins": "turned"}, "it has the coins"),
        ({"address": "token"}, "it does not have 2 to 8 different coins"),
        ({"address": "nothing"}, "it does not have 2 to 8 different coins"),
    ],
)
async def test_a_pool_that_is_not_what_its_row_says_is_not_used(
    exchange, make_gateway, caplog, changes, reason
):
    row = exchange.rows[0] | changes
    if row["coins"] == "turned":
        row["coins"] = exchange.rows[0]["coins"][::-1]
    places = {"token": exchange.address("USDC"), "nothing": "0x" + "12" * 20}
    row["address"] = places.get(row["address"], row["address"])
    gateway = await exchange.gateway(make_gateway, pools=[row, *exchange.rows[1:]])
    request = exchange.request("USDC", "USDT", 10**9, routing=OWN)
    with pytest.raises(UpstreamError):
        await gateway.quoting.quote(Capability.SWAP, request, acknowledged=[])
    assert f"pool {row['address']} on chain 31337 is not used: {reason}" in caplog.text
    await exchange.executed(gateway, exchange.request("USDC", "GHO", 10**9, routing=OWN))
