"""The checks of the levels: an honest provider passes, and wrong behaviours are found by name."""

import asyncio
import math
import time
from dataclasses import replace

import pytest
from quoteway.config.model import Config, QuotesConfig
from quoteway.engine.gateway import Gateway
from quoteway.errors import UpstreamError
from quoteway.models import Capability, Fee, Gas, Hop, RoutePath, Token
from quoteway.networks import Endpoint, Network
from quoteway.testing.conformance.provider import STRANGER
from quoteway.testing.fakes import FakePlugin, HttpRpc, ListedTokens, RouterSwap
from quoteway.testing.levels import CHECKS, Examination

pytestmark = pytest.mark.slow

KEY = "wrong-behaviour-key-7f31c9"


def changed(**members):
    """A class whose quotes have other members than those that are right."""

    class Changed(RouterSwap):
        async def quote(self, request):
            quote = await super().quote(request)
            return quote and replace(quote, **members)

    return Changed


class Honest(RouterSwap):
    """Has no route for a token whose transfers lose a part, which the router does not count."""

    async def quote(self, request):
        is_taxed = "TAX" in (request.token_in.symbol, request.token_out.symbol)
        return None if is_taxed else await super().quote(request)


class NoSlippage(RouterSwap):
    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None:
            return None
        (got,) = quote.outputs
        return replace(quote, outputs=(replace(got, amount_min=got.amount),))


class BlocksInBuild(RouterSwap):
    async def build(self, sealed):
        time.sleep(0.2)  # noqa: ASYNC251 - the fault
        return await super().build(sealed)


class BlocksAtFirst(RouterSwap):
    first = True

    async def quote(self, request):
        if self.first:
            self.first = False
            time.sleep(2.5)  # noqa: ASYNC251 - the fault
        return await super().quote(request)


class PromisesTooMuch(Honest):
    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None or request.amount_in < 10**4:
            return quote
        (got,) = quote.outputs
        return replace(quote, outputs=(replace(got, amount=got.amount * 3),))


class PaysTheSenderOnly(Honest):
    async def quote(self, request):
        return await super().quote(request) if request.recipient == request.sender else None


class KeepsTheRequest(RouterSwap):
    async def quote(self, request):
        self.request = request
        await asyncio.sleep(0)
        await self._context.chain(self.request.chain_id).head(fresh=True)
        return await super().quote(self.request)


class RemembersPlans(RouterSwap):
    async def quote(self, request):
        quote = await super().quote(request)
        if quote is not None:
            self.paths = quote.plan
        return quote and replace(quote, plan={})

    async def build(self, sealed):
        return await super().build(replace(sealed, plan=self.paths))


class SwallowsCancellation(RouterSwap):
    async def quote(self, request):
        try:
            return await super().quote(request)
        except asyncio.CancelledError:
            return None


class KeepsMemory(RouterSwap):
    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.kept = []

    async def quote(self, request):
        self.kept.append(bytearray(1_000_000))
        return await super().quote(request)


class ForgetsOldQuotes(RouterSwap):
    async def build(self, sealed):
        if time.time() - sealed.created_at > 5:
            await asyncio.sleep(3_600)
        return await super().build(sealed)


class PrintsItsKey(RouterSwap):
    async def quote(self, request):
        print(KEY)
        return await super().quote(request)


class BreaksForGood(RouterSwap):
    broken = False

    async def quote(self, request):
        if self.broken:
            return None
        try:
            return await super().quote(request)
        except Exception:
            self.broken = True
            raise


class ShowsItsKeyInAnError(RouterSwap):
    async def quote(self, request):
        try:
            return await super().quote(request)
        except UpstreamError as error:
            raise UpstreamError(f"The node did not take {KEY}.") from error


class ShowsAnotherRoute(Honest):
    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None:
            return None
        ends = request.token_in.address, request.token_out.address
        hop = Hop("router", "v2", STRANGER, *ends, request.amount_in, quote.outputs[0].amount)
        return replace(quote, route=(RoutePath(10_000, (hop,)),))


class NamesFeesThatNobodyTakes(Honest):
    async def quote(self, request):
        quote = await super().quote(request)
        fee = Fee("lp", request.token_in, request.amount_in // 2, included=True)
        return quote and replace(quote, fees=(fee,))


class KeepsItsFirstList(ListedTokens):
    calls = 0

    async def tokens(self, chain_id):
        self.calls += 1
        return (await super().tokens(chain_id))[: 1 + self.calls % 2]


class HasFactsThatCannotBe(ListedTokens):
    async def tokens(self, chain_id):
        return [replace(row, market_cap_usd=math.nan) for row in await super().tokens(chain_id)]


class HasALinkThatRuns(ListedTokens):
    async def tokens(self, chain_id):
        return [replace(row, website="javascript:alert(1)") for row in await super().tokens(chain_id)]


ROWS = [
    (NoSlippage, "minimums_allow_the_slippage"),
    (BlocksInBuild, "no_method_blocks_the_loop"),
    (BlocksAtFirst, "first_calls_do_not_block_the_loop"),
    (PromisesTooMuch, "generated_amounts_are_paid"),
    (PaysTheSenderOnly, "other_recipients_are_paid"),
    (KeepsTheRequest, "concurrent_quotes_are_their_own"),
    (RemembersPlans, "another_process_builds_the_same_bytes"),
    (SwallowsCancellation, "every_method_can_be_cancelled"),
    (KeepsMemory, "nothing_is_leaked"),
    (ForgetsOldQuotes, "old_quotes_are_built"),
    (PrintsItsKey, "no_secret_is_shown"),
    (BreaksForGood, "it_recovers_from_faults_of_its_upstreams"),
    (ShowsItsKeyInAnError, "no_secret_is_shown"),
    (ShowsAnotherRoute, "routes_are_what_is_executed"),
    (NamesFeesThatNobodyTakes, "fees_are_no_more_than_trading_costs"),
    (changed(price_impact_bps=9_000), "price_impact_is_what_amounts_show"),
    (changed(gas=Gas(units=10, limit=10, price_wei=1, cost_wei=10)), "gas_is_what_is_used"),
    (changed(lifetime_s=86_400), "quotes_say_who_pays_and_gets"),
]


CATALOGS = [
    (KeepsItsFirstList, "revision_follows_the_list"),
    (HasFactsThatCannotBe, "facts_are_sane"),
    (HasALinkThatRuns, "facts_are_sane"),
]


@pytest.fixture
def examined(devnet):
    """``await examined(make, name, capability, id)`` runs one check of the provider that ``make`` makes."""
    chain = devnet.chains["devnet"]
    network = Network(
        "devnet", 31337, "Devnet", endpoints=(Endpoint(devnet.urls["devnet"]),), contracts=chain.kinds
    )

    async def examine(make, name, *provider):
        def start():
            plugin = FakePlugin([HttpRpc, make], networks=[network])
            config = Config(quotes=QuotesConfig(competition_timeout_s=30.0))
            return Gateway(config, plugins={"fake": plugin}, discover=False).running()

        check = next(check for check in CHECKS if check.name == name)
        result = await Examination(devnet, start, "fake", CHECKS, secrets=(KEY,)).run(check, *provider)
        return result.finding

    return examine


def is_named(finding, name):
    return finding is not None and (finding.check, finding.level) == (name, 2) and bool(finding.remedy)


@pytest.mark.parametrize(("kind", "name"), ROWS, ids=[f"{name}-{kind.__name__}" for kind, name in ROWS])
async def test_a_wrong_behaviour_of_swaps_is_found_by_its_check(devnet, examined, kind, name):
    router = devnet.chains["devnet"].contracts["UniswapV2Router02"]

    def made(cls):
        return lambda context: cls(context, 31337, router)

    assert await examined(made(Honest), name, Capability.SWAP, "router") is None
    assert is_named(await examined(made(kind), name, Capability.SWAP, "router"), name)


@pytest.mark.parametrize(("kind", "name"), CATALOGS, ids=[kind.__name__ for kind, _ in CATALOGS])
async def test_a_wrong_behaviour_of_catalogs_is_found_by_its_check(devnet, examined, kind, name):
    tokens = [
        Token(31337, each.address, each.decimals, each.symbol, each.symbol, listed=True)
        for each in devnet.chains["devnet"].tokens[:3]
    ]

    def made(cls):
        return lambda context: cls(tokens)

    assert await examined(made(ListedTokens), name, Capability.TOKENS, "listed-tokens") is None
    assert is_named(await examined(made(kind), name, Capability.TOKENS, "listed-tokens"), name)
