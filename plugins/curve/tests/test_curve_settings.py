"""Rows that cannot be used are refused when the gateway starts, by their place and what is wrong."""

import pytest
import quoteway_curve
from quoteway import Network
from quoteway.testing.fakes import FakePlugin, MemoryRpc

TOKEN, OTHER = "0x" + "11" * 20, "0x" + "22" * 20
ROUTER = {"network": "testnet", "address": TOKEN, "release": "1.1"}
POOL = {"network": "testnet", "address": OTHER, "release": "3pool"}


async def entry_of(make_gateway, routers, pools, wrapped=TOKEN):
    network = Network("testnet", 4242, "Testnet", wrapped_native=wrapped)
    chain = FakePlugin([MemoryRpc({4242})], networks=[network])
    gateway = await make_gateway(
        {"chain": chain, "curve": quoteway_curve},
        plugin_sections={"curve": {"routers": routers, "pools": pools}},
    )
    (entry,) = [plugin for plugin in gateway.registry.plugins if plugin.name == "curve"]
    return entry


@pytest.mark.parametrize(
    ("routers", "pools", "text"),
    [
        ([ROUTER | {"address": "0x12"}], [POOL], "routers[0]"),
        ([ROUTER, ROUTER], [POOL], "two routers"),
        ([ROUTER | {"release": "2.0"}], [POOL], "release"),
        ([ROUTER], [POOL | {"address": "0x12"}], "pools[0]"),
        ([ROUTER], [POOL, POOL], "two rows for network Testnet"),
        ([ROUTER], [POOL | {"release": "aave"}], "release"),
        ([ROUTER], [POOL | {"coins": ["nothing"]}], "pools[0]"),
        ([ROUTER], [POOL | {"coins": [TOKEN] * 9}], "coins"),
        ([ROUTER], [{"network": "testnet"}], "address"),
        ([], [POOL], "no row in plugin.curve.routers"),
    ],
)
async def test_a_row_that_cannot_be_used_is_refused_by_its_place(make_gateway, routers, pools, text):
    entry = await entry_of(make_gateway, routers, pools)
    assert entry.reason == "config_invalid"
    assert text in str(entry.detail)


async def test_a_network_without_a_wrapped_coin_is_refused(make_gateway):
    entry = await entry_of(make_gateway, [ROUTER], [POOL], wrapped=None)
    assert "no wrapped native coin" in str(entry.detail)


async def test_rows_of_an_unknown_network_are_left_out(make_gateway):
    gone = {"network": "nowhere"}
    entry = await entry_of(make_gateway, [ROUTER | gone], [POOL | gone])
    assert entry.reason is None


async def test_descriptions_that_are_not_pinned_keep_the_plugin_off(make_gateway):
    entry = await entry_of(make_gateway, [ROUTER], [POOL])
    assert entry.reason == "unpinned_descriptions"
