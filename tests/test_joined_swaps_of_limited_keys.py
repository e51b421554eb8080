"""A swap that is joined with a transfer, for callers that may use some providers alone."""

import pytest
from quoteway.engine.provider_sets import ProviderNotAllowed, limited_to
from quoteway.errors import GatewayError

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")


async def test_both_providers_are_needed_for_the_quote_and_for_its_action(harness):
    request = harness.request("WETH", "USDC", 10**18)
    with limited_to(frozenset({"uniswap", "across"})):
        quoted = await harness.quote(request)
        assert quoted.sealed.provider == "swap+bridge", "it need not be named itself"
        await harness.action(quoted)
    for ids in ({"uniswap"}, {"across"}, {"swap+bridge"}, {"swap+bridge", "across"}):
        with limited_to(frozenset(ids)):
            with pytest.raises(GatewayError):
                await harness.quote(request)
            with pytest.raises(ProviderNotAllowed) as refused:
                await harness.action(quoted)
            assert refused.value.reason == "provider_not_allowed"
    assert (await harness.quote(request)).sealed.provider == "swap+bridge", "the limit is over"
