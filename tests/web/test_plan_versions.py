"""A quote outlives the plugin that made it: it is updated, removed or replaced before the action."""

from dataclasses import replace

import pytest
from quoteway.config.model import QuotesConfig, SigningKey
from quoteway.models import Token
from quoteway.networks import Network
from quoteway.secrets import Secret
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc

TOKEN = Token(4242, "0x" + "1" * 40, 6, "USD", "A dollar")
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
ASKED = {
    "fromToken": "native",
    "toToken": TOKEN.address,
    "amount": "1000000",
    "address": WALLET,
    "network": "testnet",
}


class First(FixedRateSwap):
    """Its plans have no route."""


class Second(FixedRateSwap):
    """Its plans have a route, which its older ones lack."""

    async def build(self, sealed):
        sealed.plan["route"]
        return await super().build(sealed)


class SecondWithVersion(Second):
    plan_version = 2


@pytest.fixture
def serve(serve_app, make_config):
    """``await serve(plugin=provider class, ...)``: all replicas have one signing key."""
    keys = (SigningKey("k", Secret("4f1c9a07e2d85b36c0a7914ed3f8625b")),)
    config = replace(make_config(), quotes=QuotesConfig(keys=keys, competition_timeout_s=20.0))
    base = FakePlugin(
        [MemoryRpc({4242}, tokens=[TOKEN]), ListedTokens([TOKEN])],
        networks=[Network("testnet", 4242, "Testnet")],
        calls=[FAKE_CALLS],
    )
    return lambda **plugins: serve_app(
        {"base": base, **{name: FakePlugin([maker]) for name, maker in plugins.items()}}, config
    )


async def action_of(quoted_by, built_by):
    quote = await quoted_by.post("/v2/swaps/quote", ASKED)
    assert quote.status == 200, quote.body
    return await built_by.post(f"/v2/swaps/{quote.body['quoteId']}/action", {})


async def test_a_plan_of_an_older_version_is_an_expired_quote(serve, refused):
    answer = await action_of(await serve(exchange=First), await serve(exchange=SecondWithVersion))
    assert refused(answer, 404, "not_found", "quote_expired")["retryable"] is False


async def test_a_plan_of_a_newer_version_is_an_expired_quote(serve, refused):
    class Newer(First):
        plan_version = 7

    answer = await action_of(await serve(exchange=Newer), await serve(exchange=First))
    refused(answer, 404, "not_found", "quote_expired")


async def test_the_same_id_of_another_plugin_does_not_build_the_quote(serve, refused):
    answer = await action_of(await serve(exchange=First), await serve(successor=First))
    refused(answer, 404, "not_found", "quote_expired")


async def test_the_quote_of_a_plugin_that_is_gone_has_expired(serve, refused):
    answer = await action_of(await serve(exchange=First), await serve())
    refused(answer, 404, "not_found", "quote_expired")


async def test_a_plan_of_the_same_version_that_cannot_be_built_is_the_providers_error(serve, refused):
    answer = await action_of(await serve(exchange=First), await serve(exchange=Second))
    refused(answer, 502, "upstream_error", "provider_error")
