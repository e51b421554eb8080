"""Vaults that are wrong in one way each: those of ERC-4626 with one fault."""

import asyncio
from dataclasses import replace

from quoteway.models import VaultPosition
from quoteway.testing.conformance.provider import STRANGER
from quoteway_erc4626.provider import Erc4626Provider


def with_shares(quote, change):
    """The quote with another amount of what it pays."""
    if quote is None:
        return None
    (got,) = quote.outputs
    return replace(quote, outputs=(replace(got, amount=change(got.amount)),))


class PromisesOneShareMore(Erc4626Provider):
    """Rounds the shares of a deposit up."""

    async def quote(self, request):
        return with_shares(await super().quote(request), lambda amount: amount + 1)


class RemembersSharePrices(Erc4626Provider):
    """Keeps the price of a share for ever."""

    def __init__(self, context):
        super().__init__(context)
        self.known = {}

    async def quote(self, request):
        quote = await super().quote(request)
        key = request.vault_id, request.action, request.amount
        return quote and with_shares(quote, lambda amount: self.known.setdefault(key, amount))


class SharesTheDeposit(Erc4626Provider):
    """Keeps the deposit in a member that concurrent quotes share."""

    async def quote(self, request):
        self.request = request
        await asyncio.sleep(0.01)
        return await super().quote(self.request)


class AllowsNoSlippage(Erc4626Provider):
    """Sets the minimum of the shares to their amount."""

    async def quote(self, request):
        quote = await super().quote(request)
        return quote and replace(
            quote, outputs=tuple(replace(leg, amount_min=leg.amount) for leg in quote.outputs)
        )


class DepositsForAStranger(Erc4626Provider):
    """Builds a deposit whose shares another account gets."""

    async def build(self, sealed):
        (got,) = sealed.outputs
        request = replace(sealed.request, recipient=STRANGER)
        sealed_for_a_stranger = replace(sealed, request=request, outputs=(replace(got, account=STRANGER),))
        build = await super().build(sealed_for_a_stranger)
        return replace(build, outputs=sealed.outputs)


class HidesPositions(Erc4626Provider):
    """Does not show the shares that a wallet has."""

    async def positions(self, wallet):
        return ()


class DoublesPositions(Erc4626Provider):
    """Shows twice what a redemption pays."""

    async def positions(self, wallet):
        return [
            replace(found, amounts=tuple(replace(leg, amount=2 * leg.amount) for leg in found.amounts))
            for found in await super().positions(wallet)
        ]


class GivesSharesAway(Erc4626Provider):
    """Shows every wallet a share of the first vault."""

    async def positions(self, wallet):
        first = (await self.vaults(None))[0]
        head = await self.context.chain(first.chain_id).head()
        return [VaultPosition(first.id, wallet, 1, (), head)]


class LosesItsVaults(Erc4626Provider):
    """Does not find a listed vault by its id."""

    async def vault(self, vault_id):
        return None


class YieldsNoNumber(Erc4626Provider):
    """Says NaN for a yield."""

    async def vaults(self, chain_id):
        return [replace(vault, apy=float("nan")) for vault in await super().vaults(chain_id)]


class MintsForLess(Erc4626Provider):
    """Rounds the assets that a mint takes down."""

    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None or request.action != "mint":
            return quote
        (paid,) = quote.inputs
        return replace(quote, inputs=(replace(paid, amount=paid.amount - 1),))
