"""The ``[plugin.lifi]`` section and the built-in contracts."""

import pytest
import quoteway_lifi
from fake_lifi import FakeLifi
from lifi_cases import KEY, USER, scripted
from quoteway import Capability, Network, Secret
from quoteway.testing.fakes import FakePlugin, MemoryRpc


async def test_nothing_is_offered_before_it_is_switched_on(make_gateway):
    toy = FakePlugin([MemoryRpc({1})], networks=[Network("ethereum", 1, "Ethereum")])
    for section in ({}, {"enabled": False}, {"api_key": Secret(KEY)}):
        sections = {"lifi": section} if section else {}
        gateway = await make_gateway({"toy": toy, "lifi": quoteway_lifi}, plugin_sections=sections)
        assert [p.provider.id for p in gateway.registry.providers if p.plugin.name == "lifi"] == []


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ({"enabled": "yes"}, "config_invalid"),
        ({"enabled": True, "api_key": "plain-canary"}, "config_invalid"),
        ({"enabled": True, "api_key": Secret("canary\r\nX-Evil: 1")}, "config_invalid"),
        ({"enabled": True, "base_url": "ftp://li.quest"}, "config_invalid"),
        ({"enabled": True, "base_url": "https://canary:canary@li.quest/v1"}, "config_invalid"),
        ({"enabled": True, "timeout_s": 0}, "config_invalid"),
        ({"enabled": True, "integrator": "a b"}, "config_invalid"),
        ({"enabled": True, "deployments": [{"network": "nowhere", "address": USER}]}, "config_invalid"),
        ({"enabled": True, "deployments": [{"network": "ethereum", "address": "0x12"}]}, "config_invalid"),
        ({"enabled": True, "deployments": [{"network": "ethereum", "adress": USER}]}, "config_invalid"),
    ],
)
async def test_settings_that_cannot_be_are_refused_without_showing_secrets(make_gateway, section, reason):
    toy = FakePlugin([MemoryRpc({1})], networks=[Network("ethereum", 1, "Ethereum")])
    gateway = await make_gateway({"toy": toy, "lifi": quoteway_lifi}, plugin_sections={"lifi": section})
    entry = next(entry for entry in gateway.registry.plugins if entry.name == "lifi")
    assert entry.reason == reason
    assert "canary" not in (entry.detail or "")


async def test_the_built_in_rows_are_the_diamonds(start):
    async with FakeLifi(scripted([{"answer": "swap.json"}])) as fake:
        gateway = await start(fake)
    provider = gateway.registry.get(Capability.SWAP, "lifi")
    assert provider.networks == {1, 10}
    assert provider.contracts(1) == {"0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE": "LI.FI Diamond"}
    assert provider.spenders(1) == ("0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",)
    assert (provider.contracts(5), provider.spenders(5)) == ({}, ())
