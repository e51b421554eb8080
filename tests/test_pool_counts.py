"""What the plugin uniswap counts of its pools, as operators see it."""

import pytest
from direct_client import USER, client_of
from prometheus_client.parser import text_string_to_metric_families


async def counted(client):
    async with client.api.session.get(client.api.url + "/metrics") as answer:
        text = await answer.text()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    return {
        sample.labels["event"]: int(sample.value)
        for sample in families["quoteway_plugin_events"].samples
        if (sample.labels["plugin"], sample.labels["network"]) == ("uniswap", "devnet")
    }


@pytest.mark.slow
async def test_pools_read_and_patched_are_counted(fresh_devnet):
    async with client_of(fresh_devnet, 0.0) as client:
        quote = await client.quote_swap()
        first = await counted(client)
        assert first["read"] > 0
        assert "patched" not in first
        await client.send(*(await client.act(quote))["transactions"])
        await client.approve(client.token("USDC"), USER, 0)
        await client.quote_swap()
        then = await counted(client)
        assert then["patched"] >= 1, "the pool of the swap"
        assert then["carried"] >= 1
        assert "wrong" not in then
