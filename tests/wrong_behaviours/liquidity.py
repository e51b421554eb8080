"""Pools that are wrong in one way each: those of Uniswap with one fault."""

from dataclasses import replace

from quoteway_uniswap.pool_provider import UniswapPools


class HidesNewPositions(UniswapPools):
    """Shows the positions of a wallet as they were at first."""

    first = None

    async def positions(self, wallet, pool_id):
        if self.first is None:
            self.first = await super().positions(wallet, pool_id)
        return self.first


class CountsFeesTwice(UniswapPools):
    """Shows amounts of a position that are twice what leaving pays."""

    async def positions(self, wallet, pool_id):
        return [
            replace(found, amounts=tuple(replace(leg, amount=2 * leg.amount) for leg in found.amounts))
            for found in await super().positions(wallet, pool_id)
        ]


class TakesMoreThanItSays(UniswapPools):
    """Promises to take half of what an addition takes."""

    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None or request.action != "add":
            return quote
        halves = [replace(leg, amount=leg.amount // 2, amount_max=leg.amount // 2) for leg in quote.inputs]
        return replace(quote, inputs=tuple(halves))


class TakesAllAsAFee(UniswapPools):
    """Says that pools take a fee of 30,000 percent."""

    async def pools(self, chain_id):
        return [replace(pool, fee_bps=3_000_000) for pool in await super().pools(chain_id)]
