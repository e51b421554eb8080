"""Finds pools whose addresses and ids cannot be computed, by the logs of their creation, in the background.

These are v4 pools with a fee or tick spacing, and v3 pools with a fee, that no row lists. Anybody can create
thousands of them: only the deepest of a pair are given, by what they hold on the chain.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache
from quoteway import NATIVE, Address, Block, Chain, GatewayError
from quoteway_amm import ConcentratedPool
from quoteway_router.logs import ALL_BLOCKS, LoggedEvent, Logs

from quoteway_uniswap import lens
from quoteway_uniswap.candidates import PoolRef, pools_of_pair, sorted_pair
from quoteway_uniswap.creations import POOL_CREATED, V4_INITIALIZE, Creation, creation
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.pool_depth import depth
from quoteway_uniswap.pool_reader import PoolReader

log = logging.getLogger(__name__)

MOST_PER_PAIR = 8
"""How many pools of a pair are given."""
MOST_REMEMBERED = 128
"""How many pools of a pair are compared again later."""
MOST_COMPARED = 1200
"""How many pools of a pair are compared at first, the oldest: 30 calls."""
COMPARE_AGAIN_S = 600
NEW_AFTER_S = 30
"""How soon a pool that a block's logs tell is compared with the others."""
RETRY_S = 60
_MOST_SEARCHES = 128
_MOST_HOOKED = 1000
_REORGANISED = 64
"""How many blocks are searched again, because a reorganisation may have replaced them."""
_REQUESTS_AT_ONCE = 16
"""How many log requests one run of a search makes: nodes that limit the range need several runs."""

Pair = tuple[Address, Address]


@dataclass(frozen=True, slots=True)
class Discovered:
    """Pools beyond the computed ones. ``hooked``: how many pools with hooks the direct pair has.

    ``partial`` names the tokens whose pools were not completely looked for yet.
    """

    refs: tuple[PoolRef, ...]
    hooked: int
    partial: tuple[Address, ...]


@dataclass(eq=False, slots=True)
class _Search:
    """The pools of ``token`` with ``others``; without a token those among ``others``. Tokens are nodes: the
    wrapped native coin stands for both of its forms.

    Blocks ``lowest`` to ``highest`` were searched.
    """

    deployment: Deployment
    token: Address | None
    others: tuple[Address, ...]
    lowest: int | None = None
    highest: int = 0
    due_s: float = 0.0
    overfull: bool = False
    known: dict[Pair, list[PoolRef]] = field(default_factory=lambda: defaultdict(list))
    best: dict[Pair, tuple[PoolRef, ...]] = field(default_factory=dict)
    hooked: dict[Pair, set[str]] = field(default_factory=lambda: defaultdict(set))
    task: asyncio.Task[None] | None = None

    @property
    def first(self) -> int:
        return self.deployment.v4.since_block if self.deployment.v4 and not self.deployment.v3 else 0

    @property
    def complete(self) -> bool:
        return self.lowest is not None and self.lowest <= self.first and not self.overfull


class CreatedPools:
    """The discovered pools of one chain. Answers come from memory; searches run in the background."""

    def __init__(
        self,
        chain: Chain,
        deployments: Sequence[Deployment],
        clock: Callable[[], float],
        logs: Logs | None = None,
    ) -> None:
        self._chain = chain
        self._deployments = deployments
        self._clock = clock
        # Pools of two given tokens are few: all blocks are asked for at once.
        self._logs = logs or Logs(chain, ALL_BLOCKS)
        self._reader = PoolReader(chain)
        self._searches: LRUCache[object, _Search] = LRUCache(_MOST_SEARCHES)
        self._at_once = asyncio.Semaphore(2)

    def of(self, deployment: Deployment, token_in: Address, token_out: Address) -> Discovered:
        """Returns the deepest known pools of the pairs that ``candidate_pools`` uses.

        Pairs that were not asked for before are looked for from now on.
        """
        searches = [self._search(deployment, *each) for each in _parts(deployment, token_in, token_out)]
        pair = sorted_pair(*(_node(deployment, token) for token in (token_in, token_out)))
        refs = dict.fromkeys(ref for each in searches for best in each.best.values() for ref in best)
        unsearched = [each for each in searches if not each.complete]
        return Discovered(
            tuple(refs),
            max(len(each.hooked.get(pair, ())) for each in searches),
            tuple(dict.fromkeys(token for each in unsearched for token in _tokens(each))),
        )

    def add(self, made: Creation) -> None:
        """Takes a pool that a block's logs tell. It is compared with the others within ``NEW_AFTER_S``."""
        pair = _pair(made)
        for search in self._searches.values():
            if search.deployment == made.deployment and search.lowest is not None and _covers(search, pair):
                self._take(search, [made])
                search.due_s = min(search.due_s, self._clock() + NEW_AFTER_S)

    async def finished(self) -> None:
        """Waits for the searches under way."""
        tasks = [each.task for each in self._searches.values() if each.task is not None]
        if tasks:
            await asyncio.gather(*tasks)

    async def close(self) -> None:
        """Ends the searches under way."""
        tasks = [each.task for each in self._searches.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)

    def _search(self, deployment: Deployment, token: Address | None, others: tuple[Address, ...]) -> _Search:
        key = deployment.protocol, token, others
        search: _Search | None = self._searches.get(key)
        if search is None:
            search = self._searches[key] = _Search(deployment, token, others)
        if self._clock() >= search.due_s and (search.task is None or search.task.done()):
            search.due_s = self._clock() + RETRY_S
            # A context of its own: it outlives the request that happens to start it.
            search.task = asyncio.create_task(
                self._run(search), name="search for pools", context=contextvars.Context()
            )
        return search

    async def _run(self, search: _Search) -> None:
        try:
            async with self._at_once:
                head = await self._chain.head()
                await self._read_logs(search, head)
                await self._compare(search, head)
            if search.complete:
                search.due_s = self._clock() + COMPARE_AGAIN_S
        except GatewayError as error:
            log.info("pools of %s could not be looked for: %s", self._chain.network.slug, error)

    async def _read_logs(self, search: _Search, head: Block) -> None:
        """Reads the logs since the last search, and older ones where that one ended early."""
        first = search.first
        ranges = [(first, head.number)]
        if search.lowest is not None:
            ranges = [(max(first, search.highest - _REORGANISED), head.number)]
            if search.lowest > first:
                ranges.append((first, search.lowest - 1))
        for start, last in ranges:
            reached, made = start, list[Creation]()
            for address, topics in _queries(search):
                found = await self._logs.search(address, topics, start, last, max_requests=_REQUESTS_AT_ONCE)
                reached = max(reached, found.first)
                made += self._creations(found.logs)
            self._take(search, made)
            if search.lowest is None or last < search.lowest or reached > start:
                search.lowest = reached
            search.highest = max(search.highest, last)

    def _creations(self, logs: Iterable[LoggedEvent]) -> list[Creation]:
        found = (creation(each, self._deployments) for each in logs)
        return [made for made in found if made is not None]

    def _take(self, search: _Search, made: Iterable[Creation]) -> None:
        for each in made:
            pair = _pair(each)
            if each.deployment != search.deployment or not _covers(search, pair):
                continue
            if each.deployment.v4 is not None and not each.deployment.v4.allows(each.hooks):
                if len(search.hooked[pair]) < _MOST_HOOKED:
                    search.hooked[pair].add(each.ref.id)
            elif each.ref in pools_of_pair(search.deployment, *pair) or each.ref in search.known[pair]:
                continue
            elif len(search.known[pair]) < MOST_COMPARED:
                search.known[pair].append(each.ref)
            else:
                search.overfull = True

    async def _compare(self, search: _Search, block: Block) -> None:
        """Finds the deepest pools of each pair."""
        for pair, refs in list(search.known.items()):
            depths = await self._depths(block, refs)
            ranked = sorted(refs, key=lambda ref: -depths[ref])
            search.best[pair] = tuple(ref for ref in ranked[:MOST_PER_PAIR] if depths[ref])
            search.known[pair] = ranked[:MOST_REMEMBERED]

    async def _depths(self, block: Block, refs: Sequence[PoolRef]) -> Mapping[PoolRef, int]:
        depths = {}
        # One call after the other: this must not take the node from quotes.
        for start in range(0, len(refs), lens.POOLS_PER_CALL):
            questions = [lens.Question(ref, 1, 1) for ref in refs[start : start + lens.POOLS_PER_CALL]]
            for question, state in zip(questions, await self._reader.read(block, questions), strict=True):
                depths[question.ref] = depth(state) if isinstance(state, ConcentratedPool) else 0
        return depths


def _node(deployment: Deployment, token: Address) -> Address:
    return deployment.wrapped_native if token == NATIVE else token


def _parts(
    deployment: Deployment, token_in: Address, token_out: Address
) -> list[tuple[Address | None, tuple[Address, ...]]]:
    """Returns the searches of a request: the base tokens', and of each other token with these."""
    bases = deployment.pass_through
    ends = [token for token in (token_in, token_out) if _node(deployment, token) not in bases]
    parts: list[tuple[Address | None, tuple[Address, ...]]] = [(None, bases)]
    parts += [(token, bases) for token in ends]
    if len(ends) == 2:
        first, second = sorted_pair(*ends)
        parts.append((first, (second,)))
    return parts


def _tokens(search: _Search) -> tuple[Address, ...]:
    return search.others if search.token is None else (search.token,)


def _pair(made: Creation) -> Pair:
    ends = (_node(made.deployment, token) for token in (made.ref.token0, made.ref.token1))
    return sorted_pair(*ends)


def _covers(search: _Search, pair: Pair) -> bool:
    if pair[0] == pair[1]:
        return False
    if search.token is None:
        return all(token in search.others for token in pair)
    return search.token in pair and any(token in search.others for token in pair)


def _queries(search: _Search) -> list[tuple[Address, list[str | list[str] | None]]]:
    """Returns the contracts to ask and the topics: tokens are in address order in both events."""
    deployment, token = search.deployment, search.token
    wrapped = deployment.wrapped_native
    others = [*search.others, *((NATIVE,) if wrapped in search.others else ())]
    sides = [(others, others)]
    if token is not None:
        lower = [each for each in others if each.lower() < token.lower()]
        higher = [each for each in others if each.lower() > token.lower()]
        sides = [(lower, [token]), ([token], higher)]
    filters = [([_topic(a) for a in zero], [_topic(b) for b in one]) for zero, one in sides if zero and one]
    queries: list[tuple[Address, list[str | list[str] | None]]] = []
    for zero, one in filters:
        if deployment.v4 is not None:
            queries.append((deployment.v4.pool_manager, [V4_INITIALIZE, None, zero, one]))
        if deployment.v3 is not None and deployment.v3.factory is not None:
            queries.append((deployment.v3.factory, [POOL_CREATED, zero, one]))
    return queries


def _topic(address: Address) -> str:
    return "0x" + "00" * 12 + address[2:].lower()
