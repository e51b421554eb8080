"""Attack: an order that loses most of its value, or calldata that nobody can read, signed without a look.

A program that posts the quote's id and signs what comes back reads no warnings. It gets no transactions until
it names the codes of what it accepts.
"""

from dataclasses import replace

import pytest
from direct_client import USER
from quoteway import NATIVE, Endpoint, Network, Notice, Token
from quoteway.config.model import Config, ProviderConfig, QuotesConfig, ServerConfig
from quoteway.testing.fakes import FakePlugin, HttpRpc, ListedTokens, RouterSwap, WrapVaults
from quoteway.testing.serving import served

pytestmark = pytest.mark.asyncio(loop_scope="module")
IMPACT, OPAQUE = "high_price_impact", "opaque_calldata"
LARGE = 10**14
"""100 million USDC: more than the pools hold."""


def codes(notices):
    return [each["code"] for each in notices]


async def act(api, quote, body=None):
    answer = await api.post(f"/v2/swaps/{quote['quoteId']}/action", body)
    if answer.status == 201:
        await api.check("createSwapAction", answer)
    return answer


def missing(answer):
    """The codes that a refused action asks for, each with a sentence for people."""
    error = answer.refused(422, "validation_error", "acknowledgement_required", "acknowledge")
    needed = error["details"]["acknowledgementNeeded"]
    assert all(each["message"].endswith(".") for each in needed)
    for code in codes(needed):
        assert code in error["message"]
    return codes(needed)


# --- price impact -------------------------------------------------------------------------------------------


async def test_no_action_before_the_price_impact_is_acknowledged(client):
    quote = await client.quote_swap("USDC", "WETH", LARGE)
    (needed,) = quote["acknowledgementNeeded"]
    assert (needed["code"], quote["acknowledged"]) == (IMPACT, [])
    assert f"{quote['priceImpactBps'] // 100}.{quote['priceImpactBps'] % 100:02d} %" in needed["message"]
    again = (await client.api.get(f"/v2/swaps/quote/{quote['quoteId']}")).body
    assert again["acknowledgementNeeded"] == [needed]
    for body in (None, {}, {"acknowledge": []}, {"acknowledge": [OPAQUE]}, {"minBlock": 1}):
        assert missing(await act(client.api, quote, body)) == [IMPACT]
    answer = await act(client.api, quote, {"acknowledge": [IMPACT]})
    assert answer.status == 201
    assert IMPACT in codes(answer.body["issues"])


async def test_what_the_quote_request_acknowledges_is_sealed(client):
    quote = await client.quote_swap("USDC", "WETH", LARGE, acknowledge=[IMPACT, IMPACT])
    assert (quote["acknowledgementNeeded"], quote["acknowledged"]) == ([], [IMPACT])
    again = (await client.api.get(f"/v2/swaps/quote/{quote['quoteId']}")).body
    assert (again["acknowledgementNeeded"], again["acknowledged"]) == ([], [IMPACT])
    for body in (None, {}, {"acknowledge": []}):
        assert (await act(client.api, quote, body)).status == 201


async def test_an_ordinary_swap_needs_nothing(client):
    quote = await client.quote_swap()
    assert (quote["acknowledgementNeeded"], quote["acknowledged"]) == ([], [])
    assert (await act(client.api, quote)).status == 201


@pytest.mark.parametrize("wrong", [["honeypot_please"], [IMPACT, 1], IMPACT, {}, None])
async def test_unknown_codes_are_refused_and_the_valid_ones_named(client, wrong):
    quote = await client.quote_swap()
    body = {"network": "devnet", "fromToken": client.token("USDC"), "toToken": client.token("WETH")}
    body |= {"amount": "1000000", "address": USER, "acknowledge": wrong}
    for answer in (
        await client.api.post("/v2/swaps/quote", body),
        await act(client.api, quote, {"acknowledge": wrong}),
    ):
        error = answer.refused(422, "validation_error", "invalid_format", "acknowledge")
        assert wrong is None or all(code in error["message"] for code in (IMPACT, OPAQUE))


# --- providers that say less than they know -----------------------------------------------------------------


class Careless(RouterSwap):
    """Quotes any impact."""

    impact_bps, warns = None, False

    async def quote(self, request):
        quote = await super().quote(request)
        told = (Notice(OPAQUE, "Nobody can read it."),) if self.warns else ()
        return quote and replace(quote, price_impact_bps=self.impact_bps, warnings=told)


@pytest.fixture
def serve(devnet):
    chain = devnet.chains["devnet"]
    tokens = [Token(31337, row.address, row.decimals, row.symbol) for row in chain.tokens]
    network = Network("devnet", 31337, "Devnet", endpoints=(Endpoint(devnet.urls["devnet"]),))
    network = replace(network, wrapped_native=chain.contracts["WETH9"])
    router = chain.contracts["UniswapV2Router02"]

    def make(limit=1_500, vaults=None, opaque=False, **traits):
        """``opaque``: nothing describes the router, and the operator allows that."""

        def careless(context):
            provider = Careless(context, 31337, router)
            vars(provider).update(traits)
            return provider

        makers = [HttpRpc, ListedTokens(tokens), careless, *([vaults] if vaults else ())]
        quotes = QuotesConfig(competition_timeout_s=30.0, acknowledge_price_impact_bps=limit)
        known = {} if opaque else {router: "uniswap.v2-router"}
        allowed = {"router": ProviderConfig(opaque="simulated" if opaque else "refused")}
        config = Config(server=replace(ServerConfig(), port=0), quotes=quotes, providers=allowed)
        plugin = FakePlugin(makers, networks=[replace(network, contracts=known)])
        return served({"toys": plugin}, config)

    def swap(**more):
        usdc, weth = chain.token("USDC").address, chain.token("WETH").address
        ends = {"network": "devnet", "fromToken": usdc, "toToken": weth}
        return {**ends, "amount": "1000000", "address": USER, **more}

    make.swap, make.weth = swap, chain.contracts["WETH9"]
    return make


async def quoted(api, body):
    answer = await api.post("/v2/swaps/quote", body)
    assert answer.status == 200, answer.body
    return answer.body


@pytest.mark.parametrize(
    ("impact_bps", "limit", "needed"),
    [(1_500, 1_500, []), (1_501, 1_500, [IMPACT]), (9_999, None, []), (None, 0, []), (1, 0, [IMPACT])],
)
async def test_the_deployment_sets_the_limit(serve, impact_bps, limit, needed):
    async with serve(limit, impact_bps=impact_bps) as api:
        quote = await quoted(api, serve.swap())
        assert codes(quote["acknowledgementNeeded"]) == needed
        answer = await act(api, quote)
        assert missing(answer) == needed if needed else answer.status == 201


async def test_calldata_that_nobody_can_read(serve):
    async with serve(warns=True, opaque=True, impact_bps=4_000) as api:
        quote = await quoted(api, serve.swap())
        assert codes(quote["acknowledgementNeeded"]) == [IMPACT, OPAQUE]
        assert missing(await act(api, quote)) == [IMPACT, OPAQUE]
        assert missing(await act(api, quote, {"acknowledge": [IMPACT]})) == [OPAQUE]
        assert (await act(api, quote, {"acknowledge": [OPAQUE, IMPACT]})).status == 201
        half = await quoted(api, serve.swap(acknowledge=[IMPACT]))
        assert codes(half["acknowledgementNeeded"]) == [OPAQUE]
        assert missing(await act(api, half)) == [OPAQUE]
        assert (await act(api, half, {"acknowledge": [OPAQUE]})).status == 201


async def test_unread_calldata_that_its_provider_did_not_warn_of(serve):
    """The core sees it in the bytes, before it seals the quote."""
    async with serve(opaque=True) as api:
        quote = await quoted(api, serve.swap())
        assert codes(quote["acknowledgementNeeded"]) == [OPAQUE]
        assert missing(await act(api, quote)) == [OPAQUE]
        assert (await act(api, quote, {"acknowledge": [OPAQUE]})).status == 201


async def test_an_action_without_a_quote_before(serve):
    """The same in vaults: one engine quotes and builds everything."""

    class Steep(WrapVaults):
        async def quote(self, request):
            return replace(await super().quote(request), price_impact_bps=2_000)

    async with serve(vaults=lambda context: Steep(context, serve.weth, [31337])) as api:
        path = f"/v2/vaults/31337:{serve.weth}/action"
        body = {"action": "deposit", "amount": "1000", "asset": NATIVE, "address": USER}
        assert missing(await api.post(path, body)) == [IMPACT]
        assert (await api.post(path, {**body, "acknowledge": [IMPACT]})).status == 201
        quote = await api.post(path.replace("action", "quote"), body)
        pinned = {**body, "quoteId": quote.body["quoteId"]}
        assert missing(await api.post(path, pinned)) == [IMPACT]
        assert (await api.post(path, {**pinned, "acknowledge": [IMPACT]})).status == 201
