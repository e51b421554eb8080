"""The conformance suites themselves: an honest provider passes, and each fault is found by its check."""

import asyncio
import random
import time
from dataclasses import replace

import pytest
from quoteway.models import SwapRequest, Token
from quoteway.networks import Endpoint, Network
from quoteway.testing.conformance import CatalogConformance, SwapConformance
from quoteway.testing.fakes import FakePlugin, HttpRpc, ListedTokens, RouterSwap, step_of

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


def network_of(devnet):
    facts = {"endpoints": (Endpoint(devnet.urls["devnet"]),), "contracts": devnet.chains["devnet"].kinds}
    return Network("devnet", 31337, "Devnet", head_poll_s=0.2, **facts)


def cases_of(devnet):
    chain = devnet.chains["devnet"]
    rows = [chain.token(symbol) for symbol in ("USDC", "WETH")]
    ends = [Token(31337, row.address, row.decimals, row.symbol) for row in rows]
    return [SwapRequest(31337, 31337, *ends, 10**9, WALLET, WALLET, 50)]


class TestHonest(SwapConformance):
    """The fake router passes as any plugin must."""

    provider_id = "router"

    @pytest.fixture
    async def gateway(self, fresh_devnet, make_gateway):
        return await serve(fresh_devnet, make_gateway, RouterSwap)

    @pytest.fixture
    def cases(self, fresh_devnet):
        return cases_of(fresh_devnet)

    @pytest.fixture
    def unknown(self, cases):
        return replace(cases[0], token_out=Token(31337, WALLET, 18))


async def serve(devnet, make_gateway, cls):
    router = devnet.chains["devnet"].contracts["UniswapV2Router02"]
    plugin = FakePlugin([HttpRpc, lambda context: cls(context, 31337, router)], networks=[network_of(devnet)])
    return await make_gateway({"fake": plugin})


class BlocksTheLoop(RouterSwap):
    async def quote(self, request):
        time.sleep(0.08)  # noqa: ASYNC251 - the fault
        return await super().quote(request)


class SwallowsCancellation(RouterSwap):
    async def quote(self, request):
        for _ in range(40):
            try:
                return await super().quote(request)
            except asyncio.CancelledError:
                await asyncio.sleep(0.1)
                continue
        return None


class Overquotes(RouterSwap):
    """By one unit, far above its minimum: only exactness shows it."""

    async def quote(self, request):
        quote = await super().quote(request)
        (got,) = quote.outputs
        more = got.amount + 1
        return replace(quote, outputs=(replace(got, amount=more, amount_min=more * 9_950 // 10_000),))


class BuildsAnew(RouterSwap):
    async def build(self, sealed):
        build = await super().build(sealed)
        (step,) = build.steps
        args = list(self.SWAP.decode(step.data))
        args[-1] = sealed.created_at + random.randrange(1, 1200)
        again = step_of(self.SWAP, args, to=step.to, chain_id=step.chain_id)
        return replace(build, steps=(again,), deadline=args[-1])


class SaysItsKey(RouterSwap):
    async def quote(self, request):
        try:
            return await super().quote(request)
        except Exception:
            self._context.log.warning("could not reach the upstream with key %s", "hunter2")
            return None


class QuotesNothing(RouterSwap):
    async def quote(self, request):
        return None


class AsksForMore(RouterSwap):
    """Spends twice what the swap takes: an allowance stays behind."""

    async def build(self, sealed):
        build = await super().build(sealed)
        (spend,) = build.spends
        return replace(build, spends=(replace(spend, amount=2 * spend.amount),))


FAULTS = [
    (BlocksTheLoop, "test_the_event_loop_is_never_kept"),
    pytest.param(SwallowsCancellation, "test_cancellation_is_honoured", marks=pytest.mark.slow),
    (Overquotes, "test_actions_pay_what_their_quotes_say"),
    (BuildsAnew, "test_the_same_quote_at_the_same_block_builds_the_same_bytes"),
    (SaysItsKey, "test_nothing_secret_shows_when_nodes_fail"),
    (QuotesNothing, "test_every_case_is_quoted_within_the_deadline"),
    (AsksForMore, "test_builds_are_what_they_say"),
]


@pytest.mark.parametrize(("cls", "check"), FAULTS, ids=lambda value: getattr(value, "__name__", value))
async def test_each_fault_is_found_by_its_check(fresh_devnet, make_gateway, caplog, cls, check):
    gateway = await serve(fresh_devnet, make_gateway, cls)
    provider = gateway.registry.enabled("swap")[0]

    class Suite(SwapConformance):
        provider_id = "router"
        secrets = ("hunter2",)

    given = {"fresh_devnet": fresh_devnet, "gateway": gateway, "provider": provider}
    given |= {"cases": cases_of(fresh_devnet), "caplog": caplog}
    method = getattr(Suite(), check)
    names = method.__code__.co_varnames[1 : method.__code__.co_argcount]
    with pytest.raises(Exception) as found:  # noqa: PT011 - a failed assertion, or the guard's own refusal
        await method(**{name: given[name] for name in names})
    assert type(found.value).__name__ in ("AssertionError", "QuoteMismatch", "UnsafeAnswer"), repr(
        found.value
    )


async def test_a_catalog_with_wrong_decimals_or_a_token_twice_is_found(fresh_devnet, make_gateway):
    usdc = cases_of(fresh_devnet)[0].token_in
    for wrong, check in (
        ([replace(usdc, decimals=18)], "test_listed_tokens_are_found_and_have_the_chains_decimals"),
        ([replace(usdc, symbol="US\u202eDC")], "test_the_catalog_is_sound"),
        ([], "test_the_catalog_is_sound"),
    ):
        catalog = ListedTokens(wrong)
        catalog.networks = frozenset({31337})
        plugin = FakePlugin([HttpRpc, catalog], networks=[network_of(fresh_devnet)])
        gateway = await make_gateway({"fake": plugin})
        method = getattr(CatalogConformance(), check)
        given = {"gateway": gateway, "provider": catalog}
        names = method.__code__.co_varnames[1 : method.__code__.co_argcount]
        with pytest.raises(AssertionError):
            await method(**{name: given[name] for name in names})
