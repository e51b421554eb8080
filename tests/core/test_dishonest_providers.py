"""Valid transactions that do something else than the request: refused on the devnet, whoever builds them."""

import asyncio
from dataclasses import replace

import pytest
from devnet_gateway import THIEF
from quoteway.config.model import QuotesConfig
from quoteway.errors import Reason, UpstreamError
from quoteway.guard.findings import UnsafeAnswer
from quoteway.models import Capability
from quoteway.testing.fakes import RouterSwap, step_of


class Evil(RouterSwap):
    def rebuild(self, sealed, build, args):
        raise NotImplementedError

    async def build(self, sealed):
        build = await super().build(sealed)
        (step,) = build.steps
        return self.rebuild(sealed, build, list(self.SWAP.decode(step.data)))

    def call(self, args, **more):
        return step_of(self.SWAP, args, to=self.router, chain_id=31337, **more)


class PaysTheThief(Evil):
    def rebuild(self, sealed, build, args):
        args[3] = THIEF
        return replace(build, steps=(self.call(args),))


class SellsMore(Evil):
    """Through an allowance the wallet gave before."""

    def rebuild(self, sealed, build, args):
        args[0] *= 2
        return replace(build, steps=(self.call(args),))


class SellsInTwoBites(Evil):
    def rebuild(self, sealed, build, args):
        extra = [5, 0, args[2], args[3], args[4]]
        return replace(build, steps=(self.call(args), self.call(extra)))


class SellsSomethingElseToo(Evil):
    dai = weth = None

    def rebuild(self, sealed, build, args):
        extra = [10**18, 0, [self.dai, self.weth], THIEF, args[4]]
        return replace(build, steps=(self.call(args), self.call(extra)))


class LeavesAnAllowance(Evil):
    def rebuild(self, sealed, build, args):
        args[0] -= 1
        return replace(build, steps=(self.call(args),))


class LowersTheMinimum(Evil):
    def rebuild(self, sealed, build, args):
        args[1] = 0
        return replace(build, steps=(self.call(args),))


class FlipsAByte(Evil):
    def rebuild(self, sealed, build, args):
        (step,) = build.steps
        return replace(build, steps=(replace(step, data=step.data[:-1] + bytes([step.data[-1] ^ 1])),))


class TakesACoin(Evil):
    def rebuild(self, sealed, build, args):
        return replace(build, steps=(self.call(args, value=1),))


class CallsNobody(Evil):
    def contracts(self, chain_id):
        return {THIEF: "There is no code here"}

    def rebuild(self, sealed, build, args):
        return replace(build, steps=tuple(replace(step, to=THIEF) for step in build.steps))


class PaysLessThanItSays(Evil):
    """The quote promises more than the pool pays; the calldata holds the promise where it binds nobody."""

    async def quote(self, request):
        quote = await super().quote(request)
        (leg,) = quote.outputs
        better = replace(leg, amount=leg.amount * 2, amount_min=leg.amount * 2)
        return replace(quote, outputs=(better,))

    def rebuild(self, sealed, build, args):
        args[1], args[4] = 0, sealed.outputs[0].amount_min
        return replace(build, steps=(self.call(args),))


@pytest.mark.parametrize(
    ("cls", "finding"),
    [
        (PaysTheThief, "pays no"),
        (SellsMore, "more than quoted"),
        (SellsInTwoBites, "more than quoted"),
        (SellsSomethingElseToo, "not sold"),
        (LeavesAnAllowance, "leaves an allowance"),
        (LowersTheMinimum, "minimum"),
        (FlipsAByte, "decoded form"),
        (TakesACoin, "native coin"),
        (CallsNobody, "no code"),
    ],
)
async def test_a_valid_transaction_that_robs_the_wallet_is_refused(open_gateway, router, cls, finding):
    here = await open_gateway(cls)
    request = here.request()
    if cls in (SellsMore, SellsInTwoBites):
        await here.approve(request.token_in, router, 10**12)
    if cls is SellsSomethingElseToo:
        cls.dai, cls.weth = here.token("DAI").address, here.token("WETH").address
        await here.approve(here.token("DAI"), router, 10**30)
    with pytest.raises(UnsafeAnswer) as refusal:
        await here.action(request)
    assert finding in refusal.value.finding
    assert refusal.value.reason is Reason.UNSAFE_ANSWER


async def test_a_promise_the_chain_does_not_keep_is_no_action(open_gateway):
    here = await open_gateway(PaysLessThanItSays)
    with pytest.raises(UpstreamError) as refusal:
        await here.action(here.request())
    assert refusal.value.reason is Reason.PRICE_MOVED


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


class Greedy(RouterSwap):
    """Sells three times as much, and says so only in the maximum of its input."""

    async def quote(self, request):
        quote = await super().quote(request)
        (sold,) = quote.inputs
        spends = tuple(replace(spend, amount=3 * spend.amount) for spend in quote.spends)
        return replace(quote, inputs=(replace(sold, amount_max=3 * sold.amount),), spends=spends)

    async def build(self, sealed):
        (sold,) = sealed.inputs
        more = await super().build(replace(sealed, inputs=(replace(sold, amount=3 * sold.amount),)))
        return replace(more, inputs=sealed.inputs)


async def test_no_more_is_sold_than_asked_whatever_the_quote_says_of_its_maximum(open_gateway):
    here = await open_gateway(Greedy)
    with pytest.raises(UpstreamError) as refusal:
        await here.action()
    assert refusal.value.reason is Reason.UNSAFE_ANSWER
