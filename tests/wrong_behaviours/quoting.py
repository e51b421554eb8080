"""Swap providers whose quotes are wrong in one way each."""

import asyncio
from dataclasses import replace

from quoteway.models import Fee, Gas, Hop, RoutePath
from quoteway.testing.conformance.provider import STRANGER

from wrong_behaviours.honest import Honest


def changed(**members):
    """A class whose quotes have other members than those that are right."""

    class Changed(Honest):
        async def quote(self, request):
            quote = await super().quote(request)
            return quote and replace(quote, **members)

    return Changed


def with_output(quote, change):
    """The quote with another amount of what it pays."""
    if quote is None:
        return None
    (got,) = quote.outputs
    return replace(quote, outputs=(replace(got, amount=change(got.amount)),))


class PromisesTooMuch(Honest):
    """Promises three times the output above a certain amount."""

    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None or request.amount_in < 10**4:
            return quote
        (got,) = quote.outputs
        return replace(quote, outputs=(replace(got, amount=got.amount * 3),))


class PaysTheSenderOnly(Honest):
    """Quotes nothing for another recipient than the sender."""

    async def quote(self, request):
        return await super().quote(request) if request.recipient == request.sender else None


class KeepsTheRequest(Honest):
    """Keeps the request in a member that concurrent quotes share."""

    async def quote(self, request):
        self.request = request
        await asyncio.sleep(0)
        await self._context.chain(self.request.chain_id).head(fresh=True)
        return await super().quote(self.request)


class RemembersPlans(Honest):
    """Keeps the plan of a quote in memory instead of in the quote."""

    async def quote(self, request):
        quote = await super().quote(request)
        if quote is not None:
            self.paths = quote.plan
        return quote and replace(quote, plan={})

    async def build(self, sealed):
        return await super().build(replace(sealed, plan=self.paths))


class NoSlippage(Honest):
    """Sets the minimum to the amount."""

    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None:
            return None
        (got,) = quote.outputs
        return replace(quote, outputs=(replace(got, amount_min=got.amount),))


class ShowsAnotherRoute(Honest):
    """Shows a route through a pool that it does not use."""

    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None:
            return None
        ends = request.token_in.address, request.token_out.address
        hop = Hop("router", "v2", STRANGER, *ends, request.amount_in, quote.outputs[0].amount)
        return replace(quote, route=(RoutePath(10_000, (hop,)),))


class NamesFeesThatNobodyTakes(Honest):
    """Names a fee of half the input."""

    async def quote(self, request):
        quote = await super().quote(request)
        fee = Fee("lp", request.token_in, request.amount_in // 2, included=True)
        return quote and replace(quote, fees=(fee,))


class PromisesOneUnitMore(Honest):
    """Rounds the output up."""

    async def quote(self, request):
        return with_output(await super().quote(request), lambda amount: amount + 1)


class PromisesOneUnitLess(Honest):
    """Rounds the output down."""

    async def quote(self, request):
        return with_output(await super().quote(request), lambda amount: amount - 1)


class RemembersStates(Honest):
    """Keeps the output of a pool for ever."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.known = {}

    async def quote(self, request):
        key = request.token_in.address, request.token_out.address, request.amount_in
        quote = await super().quote(request)
        if quote is None:
            return None
        amount = self.known.setdefault(key, quote.outputs[0].amount)
        return with_output(quote, lambda _: amount)


class QuotesAnOldBlock(Honest):
    """Says that its quotes hold at the block of its first one."""

    block = None

    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None:
            return None
        self.block = self.block or quote.block
        return replace(quote, block=self.block)


class IsWorseForThoseWhoComeBack(Honest):
    """Quotes less when it is asked the same again."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.seen = set()

    async def quote(self, request):
        again = (request.token_in.address, request.amount_in) in self.seen
        self.seen.add((request.token_in.address, request.amount_in))
        return with_output(
            await super().quote(request), lambda amount: amount * 99 // 100 if again else amount
        )


class SetsItsOwnMinimum(Honest):
    """Sets a minimum of half the output, whatever slippage is allowed."""

    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None:
            return None
        (got,) = quote.outputs
        return replace(quote, outputs=(replace(got, amount_min=got.amount // 2),))


class SaysAnotherPriceImpact(changed(price_impact_bps=9_000)):
    """Says that the price moves by 90 %."""


class SaysTooLittleGas(changed(gas=Gas(units=10, limit=10, price_wei=1, cost_wei=10))):
    """Says that ten units of gas are enough."""


class IsValidForADay(changed(lifetime_s=86_400)):
    """Says that its quotes hold for a day."""
