"""The liquidity source: the pools of the Vault that a route between two tokens may use."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from quoteway import NATIVE, Address, Block, Context, LiquiditySource
from quoteway_amm.token_pair import TokenPair

from quoteway_balancer.deployments import FAMILIES, configured_deployments
from quoteway_balancer.pool_book import PoolBook
from quoteway_balancer.pool_facts import PoolFacts
from quoteway_balancer.pool_states import PoolStates

MOST_POOLS = 250
"""How many pools are read for two tokens: those of both tokens first, then those of one of them."""
MOST_PAIRS = 1_000
"""How many pairs of tokens a source may give."""


@dataclass(frozen=True, slots=True)
class _Venue:
    book: PoolBook
    states: PoolStates


class BalancerPools(LiquiditySource):
    """The weighted and composable stable pools of the configured factories.

    A pool of several tokens gives a pool of two for each pair, all with its id: a flow uses one of them.
    """

    id = "balancer"
    title = "Balancer"
    families = tuple(dict.fromkeys(family.kind for family in FAMILIES.values()))

    def __init__(self, context: Context) -> None:
        self._context = context
        self._deployments = configured_deployments(context)
        self._venues: dict[int, _Venue] = {}
        self.networks = frozenset(self._deployments)

    def expected_contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns the Vault and the factories."""
        row = self._deployments[chain_id]
        return {row.vault: "Balancer Vault", **dict.fromkeys(row.factories, "Balancer pool factory")}

    async def pools(
        self, chain_id: int, token_in: Address, token_out: Address, block: Block
    ) -> list[TokenPair]:
        """See ``LiquiditySource``."""
        venue, row = self._venue(chain_id), self._deployments[chain_id]
        ends = {row.wrapped_native if token == NATIVE else token for token in (token_in, token_out)}
        wanted, near = _reachable(await venue.book.known(), ends)
        pairs = [pair for each in await venue.states.load(block, wanted) for pair in each]
        return [pair for pair in pairs if {pair.token0, pair.token1} <= near][:MOST_PAIRS]

    def _venue(self, chain_id: int) -> _Venue:
        found = self._venues.get(chain_id)
        if found is None:
            chain, row = self._context.chain(chain_id), self._deployments[chain_id]
            book, states = PoolBook(chain, row, self._context.now), PoolStates(chain, row)
            found = self._venues[chain_id] = _Venue(book, states)
        return found

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the searches under way."""
        await asyncio.gather(*(venue.book.close() for venue in self._venues.values()))


def source_of(context: Context) -> BalancerPools:
    """Returns the one source that the hooks of a gateway share."""
    if "source" not in context.state:
        context.state["source"] = BalancerPools(context)
    found: BalancerPools = context.state["source"]
    return found


def _reachable(pools: Iterable[PoolFacts], ends: set[Address]) -> tuple[list[PoolFacts], set[Address]]:
    """Returns the pools that hold a token of ``ends``, those between the tokens of such pools, and these
    tokens."""
    listed = [(facts, {facts.tokens[at] for at in facts.traded}) for facts in pools]
    near = ends.union(*(tokens for _, tokens in listed if tokens & ends))
    wanted = [(-len(tokens & ends), facts) for facts, tokens in listed if len(tokens & near) > 1]
    wanted.sort(key=lambda each: each[0])
    return [facts for _, facts in wanted[:MOST_POOLS]], near
