"""TVL and APY over a real socket, on a devnet of its own with an unpruned month of yield."""

import time
from decimal import Decimal

import pytest
from quoteway.evm.abi import encode_call
from quoteway_devnet.anvil import STATES_KEPT
from quoteway_devnet.chains import Devnet
from vault_harness import send, serve_vaults

NOBODY = "0x000000000000000000000000000000000000bEEF"


@pytest.fixture
async def harness():
    async with Devnet.start() as devnet, serve_vaults(devnet) as harness:
        yield harness


async def test_tvl_and_apy_come_from_the_chain(harness):
    vault = harness.vaults["bold-usdc"]
    path = f"/v2/vaults/31337:{vault.address}"
    now = int(time.time())
    apy = (await harness.api.get(f"{path}/apy?from={now - 20 * 86_400}&to={now}&interval=1d")).body
    assert len(apy["points"]) == 21
    assert 0.09 < apy["current"] < 0.13
    assert apy["current"] == apy["windows"]["7d"] == apy["components"]["base"]
    assert apy["components"]["reward"] is None
    assert 0.09 < apy["windows"]["30d"] < 0.13
    assert "(p1/p0)^(31536000/(t1-t0)) - 1" in apy["method"]
    # Recomputed from the chain at the blocks that the answer names.
    ends = [part.split(")")[0] for part in apy["method"].split("7d: ")[1].split("block ")[1:3]]
    (b0, t0, p0), (b1, t1, p1) = (
        (end.split(" ")[0], *(part.split("=")[1] for part in end.split("(")[1].split(", "))) for end in ends
    )
    with harness.devnet.rpc() as rpc:
        for number, stamp, price in ((b0, t0, p0), (b1, t1, p1)):
            assert int(rpc("eth_getBlockByNumber", hex(int(number)), False)["timestamp"], 16) == int(stamp)
            data = "0x" + encode_call("convertToAssets(uint256)", [10**18]).hex()
            read = rpc("eth_call", {"to": vault.address, "data": data}, hex(int(number)))
            assert int(read, 16) == int(price)
    expected = (int(p1) / int(p0)) ** (31_536_000 / (int(t1) - int(t0))) - 1
    assert apy["current"] == pytest.approx(expected, abs=1e-12)
    # Both ends of each window are shown too, as exact prices of a whole share.
    (week,) = [each for each in apy["endpoints"] if each["window"] == "7d"]
    for end, (number, stamp, price) in ((week["from"], (b0, t0, p0)), (week["to"], (b1, t1, p1))):
        assert (end["block"], end["timestamp"]) == (int(number), int(stamp))
        assert Decimal(end["price"]) * 10**18 == int(price)

    tvl = (await harness.api.get(f"{path}/tvl?interval=1w")).body
    assert tvl["unit"] == "USDC"
    values = [point["value"] for point in tvl["points"] if point["value"] is not None]
    assert values == sorted(values)
    with harness.devnet.rpc() as rpc:
        data = {"to": vault.address, "data": "0x" + encode_call("totalAssets()", []).hex()}
        assert tvl["current"] == int(rpc("eth_call", data, "latest"), 16) / 10**6
    early = (await harness.api.get(f"{path}/apy?from=1000000000&to=1000100000&interval=1d")).body
    assert [point["value"] for point in early["points"]] == [None, None]
    assert early["gaps"]
    too_many = await harness.api.get(f"{path}/apy?from={now - 20 * 86_400}&to={now}&interval=1h")
    assert too_many.status == 422
    assert too_many.body["error"]["details"]["fields"][0]["path"] == "interval"


async def test_the_catalog_shows_and_sorts_by_apy(harness):
    rows = (await harness.api.get("/v2/vaults?network=devnet&sort=-apy")).body["data"]
    rates = {row["address"]: row["apy"] for row in rows}
    assert list(rates.values()) == sorted(rates.values(), reverse=True)
    steady, bold = (rates[harness.vaults[name].address] for name in ("steady-usdc", "bold-usdc"))
    assert 0.03 < steady < 0.05 < 0.09 < bold < 0.13


async def test_a_loss_shows_as_a_negative_apy(harness):
    vault, usdc = harness.vaults["steady-usdc"].address, harness.manifest.token("USDC").address
    with harness.devnet.rpc() as rpc:
        rpc("anvil_setBalance", vault, hex(10**18))
    send(harness.devnet, vault, usdc, "transfer(address,uint256)", NOBODY, 10**12)
    await harness.catch_up()
    apy = (await harness.api.get(f"/v2/vaults/31337:{vault}/apy?interval=1w")).body
    assert -1 < apy["windows"]["7d"] < -0.9


async def test_a_node_without_the_state_gives_no_number_and_the_reason(harness):
    with harness.devnet.rpc() as rpc:
        rpc("anvil_mine", hex(STATES_KEPT + 1))
    await harness.catch_up()
    vault = harness.vaults["bold-usdc"].address
    apy = (await harness.api.get(f"/v2/vaults/31337:{vault}/apy?interval=1d")).body
    assert apy["current"] is None
    assert apy["windows"] == {"1d": None, "7d": None, "30d": None}
    assert "the node has no state of that block" in apy["method"]
    assert [each["from"] for each in apy["endpoints"]] == [None, None, None]
    assert [apy["from"], apy["to"]][1] >= apy["gaps"][0][1]
    tvl = (await harness.api.get(f"/v2/vaults/31337:{vault}/tvl?interval=1d")).body
    assert tvl["points"][0]["value"] is None
    assert tvl["current"] > 0
    row = (await harness.api.get(f"/v2/vaults?network=devnet&query={vault}")).body["data"][0]
    assert row["apy"] is None
