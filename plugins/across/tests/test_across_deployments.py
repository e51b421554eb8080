"""Rows of data, settings, and what the plugin declares."""

import pytest
from quoteway import ConfigError, Network
from quoteway.evm.address import parse_address
from quoteway_across.deployments import deployment_of
from quoteway_across.public_networks import ROWS

NETWORK = Network("somewhere", 7, "Somewhere", wrapped_native="0x4200000000000000000000000000000000000006")
POOL = ROWS[1]["spoke_pool"]
API = "https://app.across.to/api"


def test_the_seven_networks_have_rows_that_can_be_read():
    assert set(ROWS) == {1, 10, 56, 130, 137, 8453, 42161}
    for row in ROWS.values():
        assert parse_address(row["spoke_pool"]) == row["spoke_pool"]
        assert deployment_of(NETWORK, row).wrapped_native == NETWORK.wrapped_native
    # Base and Unichain share an address; the others do not.
    assert len({row["spoke_pool"] for row in ROWS.values()}) == 6


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"api": API}, "spoke_pool"),
        ({"spoke_pool": "0x12", "api": API}, "spoke_pool"),
        ({"spoke_pool": POOL[:-1] + "A", "api": API}, "spoke_pool"),
        ({"spoke_pool": POOL}, "api"),
        ({"spoke_pool": POOL, "api": "ftp://x"}, "api"),
        ({"spoke_pool": POOL, "api": "https://x/?key=1"}, "api"),
        ({"spoke_pool": POOL, "api": 7}, "api"),
        ({"spoke_pool": POOL, "api": API, "wrapped_native": "weth"}, "wrapped_native"),
        ({"spoke_pool": POOL, "api": API, "spokepool": POOL}, "spokepool"),
    ],
)
def test_a_bad_row_is_refused_by_name(row, named):
    with pytest.raises(ConfigError, match=named):
        deployment_of(NETWORK, row)


async def test_a_configured_row_replaces_the_networks_own(fresh_devnet, make_harness):
    row = {"network": "devnet", "spoke_pool": POOL, "api": API}
    harness = await make_harness(fresh_devnet, 1, across={"deployments": [row]})
    assert set(harness.bridge.contracts(31337)) == {POOL}
    assert set(harness.bridge.spenders(31338)) != {POOL}
    # Their rows name different APIs: no transfer goes between them.
    assert await harness.bridge.quote(harness.request()) is None
