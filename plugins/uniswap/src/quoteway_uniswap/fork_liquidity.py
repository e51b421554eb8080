"""The pools of forks that have a router of their own: a liquidity source for their executors."""

from __future__ import annotations

from dataclasses import replace

from cachetools import LRUCache
from quoteway import Address, Block, Context, LiquiditySource
from quoteway_amm import ConcentratedPool, Pool, V2Pool

from quoteway_uniswap.candidates import PoolRef, candidate_pools
from quoteway_uniswap.forks import forks_of
from quoteway_uniswap.provider import configured_deployments
from quoteway_uniswap.shared import shared_by

_KEPT = 8192


class ForkLiquidity(LiquiditySource):
    """The pools of all forks. The family of a pool is the protocol of its row, whose router executes it."""

    id = "uniswap-forks"
    title = "Forks of Uniswap"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._forks = forks_of(context)
        self._rows = configured_deployments(context)
        self.families = tuple(self._forks)
        self.networks = frozenset(chain_id for forks in self._forks.values() for chain_id in forks)
        self._named: LRUCache[tuple[int, str], tuple[Pool, Pool]] = LRUCache(_KEPT)

    async def pools(self, chain_id: int, token_in: Address, token_out: Address, block: Block) -> list[Pool]:
        """See ``LiquiditySource``. Their logs carry the states from block to block."""
        chain = shared_by(self._context).chain(chain_id, self._rows.get(chain_id, ()))
        refs: dict[PoolRef, str] = {}
        for protocol, forks in self._forks.items():
            if chain_id in forks:
                found = candidate_pools(forks[chain_id].deployment, token_in, token_out)
                refs |= dict.fromkeys(found, protocol)
        families = {ref.id: protocol for ref, protocol in refs.items()}
        states = await chain.states.load(block, tuple(refs))
        return [self._of_family(chain_id, pool, families[pool.id]) for pool in states]

    def _of_family(self, chain_id: int, pool: Pool, family: str) -> Pool:
        """Returns a pool under the name of its family: the same object as long as the pool is the same."""
        known = self._named.get((chain_id, pool.id))
        if known is not None and known[0] is pool:
            return known[1]
        assert isinstance(pool, V2Pool | ConcentratedPool)
        named = replace(pool, kind=family)
        self._named[chain_id, pool.id] = pool, named
        return named
