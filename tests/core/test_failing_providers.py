"""Providers that raise or hang while a swap is built, or when their spenders are asked for."""

import asyncio

import pytest
from quoteway.config.model import QuotesConfig
from quoteway.errors import Reason, UpstreamError
from quoteway.models import Capability
from quoteway.testing.fakes import RouterSwap


class RaisesInBuild(RouterSwap):
    async def build(self, sealed):
        raise KeyError("canary")


class HangsInBuild(RouterSwap):
    async def build(self, sealed):
        await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("cls", "reason"), [(RaisesInBuild, Reason.PROVIDER_ERROR), (HangsInBuild, Reason.PROVIDER_TIMEOUT)]
)
async def test_a_build_that_fails_or_hangs_is_an_upstream_error_in_time(open_gateway, cls, reason):
    here = await open_gateway(cls, quotes=QuotesConfig(competition_timeout_s=3.0))
    with pytest.raises(UpstreamError) as refusal:
        await here.action()
    assert refusal.value.reason is reason
    assert "canary" not in refusal.value.message


class CannotNameItsSpenders(RouterSwap):
    id = "broken"

    def spenders(self, chain_id):
        raise KeyError("canary")


async def test_a_provider_that_cannot_name_its_spenders_quotes_nothing(open_gateway):
    """A client may approve on what a quote says, so a quote's spender is checked as an action's is."""
    here = await open_gateway(CannotNameItsSpenders)
    with pytest.raises(UpstreamError) as refusal:
        await here.gateway.quoting.quote(Capability.SWAP, here.request())
    assert refusal.value.reason is Reason.PROVIDER_ERROR
    assert "canary" not in refusal.value.message
