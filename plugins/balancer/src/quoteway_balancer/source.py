"""The liquidity sources: the pools of a Vault that a route between two tokens may use."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self

from quoteway import NATIVE, Address, Block, Chain, Context, LiquiditySource
from quoteway_amm.token_pair import TokenPair

from quoteway_balancer.deployments import (
    FAMILIES,
    FAMILIES_V3,
    Deployment,
    DeploymentV3,
    configured_deployments,
    configured_v3,
)
from quoteway_balancer.pool_book import PoolBook
from quoteway_balancer.pool_facts import read_facts
from quoteway_balancer.pool_states import VaultStates
from quoteway_balancer.reading import PoolStates
from quoteway_balancer.v3_pools import VaultV3States, read_v3_facts

MOST_POOLS = 250
"""How many pools are read for two tokens: those of both tokens first, then those of one of them."""
MOST_PAIRS = 1_000
"""How many pairs of tokens a source may give."""


class _Facts(Protocol):
    """What never changes of a pool."""

    @property
    def id(self) -> str: ...

    @property
    def tokens(self) -> Sequence[Address]: ...

    @property
    def traded(self) -> Sequence[int]:
        """The places of the tokens that are routed."""


@dataclass(frozen=True, slots=True)
class _Venue:
    book: PoolBook[Any]
    states: PoolStates[Any]


class VaultPools(LiquiditySource):
    """The pools of the configured factories of one version.

    A pool of several tokens gives a pool of two for each pair, all with its id: a flow uses one of them.
    """

    def __init__(self, context: Context, deployments: Mapping[int, Deployment | DeploymentV3]) -> None:
        self._context = context
        self._deployments = deployments
        self._venues: dict[int, _Venue] = {}
        self.networks = frozenset(deployments)

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

    async def pairs_of(self, chain_id: int, ids: Collection[str], block: Block) -> list[TokenPair]:
        """Returns the pairs of the known pools with these ids at a block, as ``pools`` does."""
        venue = self._venue(chain_id)
        wanted = [facts for facts in await venue.book.known() if facts.id in ids]
        return [pair for each in await venue.states.load(block, wanted) for pair in each]

    @abstractmethod
    def _made(self, chain: Chain, row: Any) -> _Venue:
        """Returns what reads the pools of a deployment."""

    def _venue(self, chain_id: int) -> _Venue:
        found = self._venues.get(chain_id)
        if found is None:
            chain, row = self._context.chain(chain_id), self._deployments[chain_id]
            found = self._venues[chain_id] = self._made(chain, row)
        return found

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the searches under way."""
        await asyncio.gather(*(venue.book.close() for venue in self._venues.values()))


class BalancerPools(VaultPools):
    """The weighted and composable stable pools of v2."""

    id = "balancer"
    title = "Balancer"
    families = tuple(dict.fromkeys(family.kind for family in FAMILIES.values()))

    def __init__(self, context: Context) -> None:
        super().__init__(context, configured_deployments(context))

    def _made(self, chain: Chain, row: Deployment) -> _Venue:
        book = PoolBook(chain, row, partial(read_facts, chain, row), self._context.now)
        return _Venue(book, VaultStates(chain, row.vault, self._context.now))


class BalancerV3Pools(VaultPools):
    """The weighted pools of v3."""

    id = "balancer-v3"
    title = "Balancer v3"
    families = tuple(dict.fromkeys(FAMILIES_V3.values()))

    def __init__(self, context: Context) -> None:
        super().__init__(context, configured_v3(context))

    def _made(self, chain: Chain, row: DeploymentV3) -> _Venue:
        book = PoolBook(chain, row, partial(read_v3_facts, chain, row.vault), self._context.now)
        return _Venue(book, VaultV3States(chain, row.vault, self._context.now))


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources that the hooks of a gateway share."""

    v2: BalancerPools
    v3: BalancerV3Pools


def sources_of(context: Context) -> Sources:
    """Returns the sources of a gateway, the same ones at each call."""
    if "sources" not in context.state:
        context.state["sources"] = Sources(BalancerPools(context), BalancerV3Pools(context))
    found: Sources = context.state["sources"]
    return found


def _reachable(pools: Iterable[_Facts], ends: set[Address]) -> tuple[list[Any], set[Address]]:
    """Returns the pools that hold a token of ``ends``, those between the tokens of such pools, and these
    tokens."""
    listed = [(facts, {facts.tokens[at] for at in facts.traded}) for facts in pools]
    near = ends.union(*(tokens for _, tokens in listed if tokens & ends))
    wanted = [(-len(tokens & ends), facts) for facts, tokens in listed if len(tokens & near) > 1]
    wanted.sort(key=lambda each: each[0])
    return [facts for _, facts in wanted[:MOST_POOLS]], near
