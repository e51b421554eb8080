"""Rows that cannot be used are refused when the gateway starts, by their place and what is wrong."""

import pytest
from quoteway import Network
from quoteway.testing.fakes import FakePlugin, MemoryRpc

TOKEN = "0x" + "11" * 20
GOOD = {"name": "aero", "network": "testnet", "factory": TOKEN, "router": TOKEN}


async def reason(make_gateway, *rows, wrapped=TOKEN):
    import quoteway_solidly

    network = Network("testnet", 4242, "Testnet", wrapped_native=wrapped)
    chain = FakePlugin([MemoryRpc({4242})], networks=[network])
    gateway = await make_gateway(
        {"chain": chain, "solidly": quoteway_solidly},
        plugin_sections={"solidly": {"deployments": list(rows)}},
    )
    (entry,) = [plugin for plugin in gateway.registry.plugins if plugin.name == "solidly"]
    return entry


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([GOOD | {"factory": "0x12"}], "deployments[0]"),
        ([GOOD | {"base_tokens": ["nothing"]}], "deployments[0]"),
        ([GOOD, GOOD], "two rows for network Testnet"),
        ([GOOD | {"name": "Not A Name"}], "name"),
        ([GOOD | {"base_tokens": [TOKEN] * 9}], "base_tokens"),
        ([{"name": "aero"}], "factory"),
    ],
)
async def test_a_row_that_cannot_be_used_is_refused_by_its_place(make_gateway, rows, text):
    entry = await reason(make_gateway, *rows)
    assert entry.reason == "config_invalid"
    assert text in str(entry.detail)


async def test_a_network_without_a_wrapped_coin_is_refused(make_gateway):
    entry = await reason(make_gateway, GOOD, wrapped=None)
    assert "no wrapped native coin" in str(entry.detail)


async def test_a_row_of_an_unknown_network_is_left_out(make_gateway):
    entry = await reason(make_gateway, GOOD | {"network": "nowhere"})
    assert entry.reason is None
