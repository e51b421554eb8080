"""The plugin's own pools as a liquidity source: for executors of other plugins that can execute them."""

from __future__ import annotations

from quoteway import Address, Block, Context, LiquiditySource
from quoteway_amm import Pool

from quoteway_uniswap.candidates import candidate_pools
from quoteway_uniswap.deployments import PROVIDER_ID
from quoteway_uniswap.families import FAMILIES
from quoteway_uniswap.provider import configured_deployments
from quoteway_uniswap.shared import shared_by


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
            found += await chain.states.load(block, refs)
        return [*{pool.id: pool for pool in found}.values()]
