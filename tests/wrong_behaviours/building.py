"""Swap providers whose transactions or declarations are wrong in one way each."""

from dataclasses import replace

from quoteway.models import Spend
from quoteway.testing.conformance.provider import STRANGER

from wrong_behaviours.honest import Honest


class PaysAStranger(Honest):
    """Builds a swap that pays another account than it says."""

    async def build(self, sealed):
        (got,) = sealed.outputs
        build = await super().build(replace(sealed, outputs=(replace(got, account=STRANGER),)))
        return replace(build, outputs=sealed.outputs)


class SellsMore(Honest):
    """Builds a swap of one unit more than it says."""

    async def build(self, sealed):
        (sold,) = sealed.inputs
        build = await super().build(replace(sealed, inputs=(replace(sold, amount=sold.amount + 1),)))
        return replace(build, inputs=sealed.inputs, spends=sealed.spends)


class AsksForEverything(Honest):
    """Asks for an approval without a limit."""

    async def quote(self, request):
        quote = await super().quote(request)
        spends = (Spend(request.token_in.address, (1 << 256) - 1, self.router),)
        return quote and replace(quote, spends=spends)

    async def build(self, sealed):
        build = await super().build(sealed)
        return replace(build, spends=tuple(replace(s, amount=(1 << 256) - 1) for s in build.spends))


class BuildsWithAnotherMinimum(Honest):
    """Builds a swap without a minimum."""

    async def build(self, sealed):
        (got,) = sealed.outputs
        build = await super().build(replace(sealed, outputs=(replace(got, amount_min=0),)))
        return replace(build, outputs=sealed.outputs)


class BuildsWithTheMinimumOfTheSlippage(Honest):
    """Computes the minimum from the slippage again, where the sealed quote has a higher one."""

    async def build(self, sealed):
        (got,) = sealed.outputs
        least = got.amount * (10_000 - sealed.slippage_bps) // 10_000
        build = await super().build(replace(sealed, outputs=(replace(got, amount_min=least),)))
        return replace(build, outputs=sealed.outputs)


class BuildsByTheClock(Honest):
    """Puts the time of the build into the calldata."""

    builds = 0

    async def build(self, sealed):
        self.builds += 1
        created_at = sealed.created_at + self.builds % 2
        return await super().build(replace(sealed, deadline=None, created_at=created_at))


class BuildsWhatHasExpired(Honest):
    """Builds transactions whose deadline has passed."""

    async def build(self, sealed):
        return await super().build(replace(sealed, deadline=1))


class NamesAnUndeclaredSpender(Honest):
    """Has its tokens taken by a contract that it does not declare."""

    def spenders(self, chain_id):
        return ()


class DeclaresNoContract(Honest):
    """Sends transactions to a contract that it does not declare."""

    def contracts(self, chain_id):
        return {}


class DeclaresAnEmptyAddress(Honest):
    """Expects a contract at an address without code."""

    def expected_contracts(self, chain_id):
        return {**self.contracts(chain_id), STRANGER: "Nothing"}
