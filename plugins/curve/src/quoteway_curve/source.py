"""The liquidity source: the configured pools at a block, as Curve's router swaps through them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import combinations

from cachetools import LRUCache, TTLCache
from quoteway import NATIVE, Address, Block, Context, LiquiditySource
from quoteway_amm.stable_swap import StableSwapPool
from quoteway_amm.token_pair import TokenPair

from quoteway_curve.deployments import Deployment, deployments_of
from quoteway_curve.pool_facts import PoolFacts, read_facts
from quoteway_curve.pool_states import States, read_states
from quoteway_curve.routed_pair import RoutedPair

log = logging.getLogger(__name__)

ID = "curve"
TITLE = "Curve StableSwap (not compared with its makers' contracts)"
MOST_PAIRS = 1_000
"""How many pairs of tokens a source may give."""
_BLOCKS_KEPT = 8
_PAIRS_KEPT = 20_000
_ASKED_AGAIN_S = 600.0
"""How long a pool that cannot be used is not asked again for what never changes."""

PairKey = tuple[int, Address, int, int]


class CurvePools(LiquiditySource):
    """The pools of the configuration: one request for each block, two more for pools not seen before."""

    id = ID
    title = TITLE
    families = (StableSwapPool.kind,)

    def __init__(self, context: Context) -> None:
        self.context = context
        self.rows: Mapping[int, Deployment] = deployments_of(context)
        self.networks = frozenset(self.rows)
        self._facts: dict[tuple[int, Address], PoolFacts] = {}
        self._unfit: TTLCache[tuple[int, Address], str] = TTLCache(4096, _ASKED_AGAIN_S, context.now)
        self._told: dict[tuple[int, Address], str] = {}
        self._states: LRUCache[tuple[int, str], States] = LRUCache(_BLOCKS_KEPT)
        self._pairs: LRUCache[PairKey, TokenPair] = LRUCache(_PAIRS_KEPT)
        self._routed: LRUCache[tuple[PairKey, tuple[int, int]], RoutedPair] = LRUCache(_PAIRS_KEPT)

    def expected_contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns the pools."""
        return {pool.address: "Curve pool" for pool in self.rows[chain_id].pools}

    async def facts(self, chain_id: int, block: Block) -> dict[Address, PoolFacts]:
        """Returns the pools that can be used. Raises UpstreamError when the chain cannot be read."""
        addresses = {row.address: (chain_id, row.address) for row in self.rows[chain_id].pools}
        unknown = [
            row
            for row in self.rows[chain_id].pools
            if (key := addresses[row.address]) not in self._facts and key not in self._unfit
        ]
        if unknown:
            found, refused = await read_facts(self.context.chain(chain_id), unknown, block)
            for address, facts in found.items():
                self._facts[addresses[address]] = facts
            for address, reason in refused.items():
                self._unfit[addresses[address]] = reason
                self._tell(chain_id, address, reason)
        return {address: self._facts[key] for address, key in addresses.items() if key in self._facts}

    async def pools(
        self, chain_id: int, token_in: Address, token_out: Address, block: Block
    ) -> list[RoutedPair]:
        """See ``LiquiditySource``. The pairs are those of a path that begins and ends at the two tokens."""
        row = self.rows[chain_id]
        ends = {row.wrapped_native if token == NATIVE else token for token in (token_in, token_out)}
        states = await self._at(chain_id, block)
        near = ends.union(*(pool.tokens for pool in states.pools.values() if ends & {*pool.tokens}))
        found = []
        for pool in states.pools.values():
            for places in combinations(range(len(pool.tokens)), 2):
                tokens = [pool.tokens[at] for at in places]
                if near.issuperset(tokens) and pool.has_liquidity:
                    added = [states.held[token] - (token in ends) for token in tokens]
                    found.append(self._pair(chain_id, pool, places, (added[0], added[1])))
        return found[:MOST_PAIRS]

    async def _at(self, chain_id: int, block: Block) -> States:
        known = self._states.get((chain_id, block.hash))
        if known is None:
            facts = await self.facts(chain_id, block)
            router = self.rows[chain_id].router
            known = await read_states(self.context.chain(chain_id), [*facts.values()], router, block)
            self._states[chain_id, block.hash] = known
            for address in facts:
                self._tell(chain_id, address, known.refused.get(address))
        return known

    def _pair(
        self, chain_id: int, pool: StableSwapPool, places: tuple[int, int], added: tuple[int, int]
    ) -> RoutedPair:
        """Returns a pair, the same object as before where nothing changed."""
        key = (chain_id, pool.id, *places)
        pair = self._pairs.get(key)
        if pair is None or pair.pool != pool:
            pair = self._pairs[key] = TokenPair(pool, *places)
        routed = self._routed.get((key, added))
        if routed is None or routed.pair is not pair:
            routed = self._routed[key, added] = RoutedPair(pair, added)
        return routed

    def _tell(self, chain_id: int, address: Address, reason: str | None) -> None:
        """Tells the operator once why a pool is not used."""
        if self._told.get((chain_id, address)) == reason:
            return
        if reason is None:
            del self._told[chain_id, address]
            log.info("pool %s on chain %d is used again", address, chain_id)
            return
        self._told[chain_id, address] = reason
        log.warning("pool %s on chain %d is not used: %s", address, chain_id, reason)


def source_of(context: Context) -> CurvePools:
    """Returns the one source that the hooks of a gateway share."""
    if "source" not in context.state:
        context.state["source"] = CurvePools(context)
    found: CurvePools = context.state["source"]
    return found
