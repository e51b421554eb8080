"""The plugin's own pools as a liquidity source: for executors of other plugins that can execute them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from quoteway import NATIVE, Address, Block, Context, InvalidRequest, LiquiditySource, Token
from quoteway_amm import Pool

from quoteway_uniswap.candidates import candidate_pools
from quoteway_uniswap.deployments import PROVIDER_ID
from quoteway_uniswap.families import FAMILIES
from quoteway_uniswap.provider import configured_deployments
from quoteway_uniswap.shared import shared_by
from quoteway_uniswap.taxes import Tax


class UniswapLiquidity(LiquiditySource):
    """The pools of all rows. Our own swaps read them directly, with limits, taxes and further ticks."""

    id = PROVIDER_ID
    title = "Uniswap"
    families = tuple(FAMILIES)

    def __init__(self, context: Context) -> None:
        self._context = context
        self._deployments = configured_deployments(context)
        self.networks = frozenset(self._deployments)

    async def pools(self, chain_id: int, token_in: Address, token_out: Address, block: Block) -> list[Pool]:
        """See ``LiquiditySource``. Their logs carry the states from block to block."""
        found: list[Pool] = []
        for row in self._deployments.get(chain_id, ()):
            chain = shared_by(self._context).chain(chain_id, self._deployments[chain_id])
            discovered = chain.created.of(row, token_in, token_out)
            refs = (*candidate_pools(row, token_in, token_out), *discovered.refs)
            # Another's executor need not know the hooks of a pool.
            found += await chain.states.load(block, [ref for ref in refs if ref.hooks == NATIVE])
        return [*{pool.id: pool for pool in found}.values()]

    async def taxed(self, chain_id: int, tokens: Sequence[Token], block: Block) -> list[Address]:
        """See ``LiquiditySource``. Also those whose loss cannot be quoted."""
        rows = self._deployments.get(chain_id)
        if not rows:
            return []
        taxes = shared_by(self._context).chain(chain_id, rows).taxes
        found = await asyncio.gather(*(taxes.of(token, block) for token in tokens), return_exceptions=True)
        return [token.address for token, tax in zip(tokens, found, strict=True) if _loses(tax)]


def _loses(tax: Tax | BaseException) -> bool:
    if isinstance(tax, Tax):
        return bool(tax.to_pool_bps or tax.from_pool_bps)
    if isinstance(tax, InvalidRequest):
        return True
    raise tax
