"""The states of a chain's pools at block hashes, carried from block to block by the blocks' own logs.

The logs of each new block are asked for by its hash, in one request, and every block is linked by its parent
hash down to one whose states are kept. So a reorganisation leads back to the common ancestor, and no node
that lags or is on another branch can give a wrong state. What the logs do not tell is left out and read again
when it is needed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache, TTLCache
from quoteway import Address, Block, Chain, GatewayError, Header
from quoteway.evm.single_flight import SingleFlight
from quoteway_amm import Graph
from quoteway_router.logs import LoggedEvent

from quoteway_uniswap.block_logs import LogsContradictory, block_logs, omitted
from quoteway_uniswap.candidates import PoolRef
from quoteway_uniswap.creations import Creation, creation
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.families import family_of
from quoteway_uniswap.lens import Empty, State
from quoteway_uniswap.pool_events import StateUnknown, patched

log = logging.getLogger(__name__)

MOST_BLOCKS = 16
"""How many blocks states are carried over: beyond, reading them again takes fewer requests."""
BLOCKS_KEPT = 24
MOST_POOLS = 8192
MOST_ADDRESSES = 1000
"""Nodes refuse queries with more addresses (go-ethereum's ``rpc.logquerylimit``)."""
DISTRUSTED_S = 600
CARRY_S = 2.0
"""How long the logs of new blocks are waited for before pools are read anew."""
FAILURES = 3
"""After how many failures in a row logs are not asked for during a pause."""
PAUSE_S, LONGEST_PAUSE_S = 10.0, 300.0
"""The first pause, which doubles with each failure after it. Most faults are short, and to read pools at each
block is work for nodes that are slow already. Nodes that never give logs cost one wait in each pause.
"""
_GRAPHS_KEPT = 128
"""How many graphs of one block are kept: one for each two tokens that are asked for."""
_DYNAMIC_FEE = 0x800000
"""v4-core LPFeeLibrary.DYNAMIC_FEE_FLAG: hooks change such a fee without an event."""

GraphKey = tuple[tuple[PoolRef, ...], str]


@dataclass(slots=True)
class Snapshot:
    """The states known at one block, graphs of them, and the graphs of the block before."""

    block: Block
    states: dict[PoolRef, State] = field(default_factory=dict)
    graphs: LRUCache[GraphKey, Graph] = field(default_factory=lambda: LRUCache(_GRAPHS_KEPT))
    before: LRUCache[GraphKey, Graph] = field(default_factory=lambda: LRUCache(_GRAPHS_KEPT))

    def forget(self) -> None:
        """Removes everything that is known."""
        self.states.clear()
        self.graphs.clear()
        self.before.clear()


class PoolStore:
    """The snapshots of one chain. ``counts`` says what happened: ``carried`` blocks, blocks read ``anew``,
    pools ``read`` from the chain, ``patched`` by logs, ``evicted`` for room, read again because events left
    them ``unknown`` or were ``omitted``, and pools that an audit found ``wrong``. ``on_count`` is told too.

    ``on_creation`` is told of new pools of ``deployments``. Without deployments the pools that do not exist
    are looked for at each block.
    """

    def __init__(
        self,
        chain: Chain,
        deployments: Sequence[Deployment] = (),
        on_creation: Callable[[Creation], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_count: Callable[[str, int], None] | None = None,
    ) -> None:
        self._chain = chain
        self._on_count = on_count
        self._deployments = deployments
        self._on_creation = on_creation
        factories = [row.factories for row in deployments]
        self._factories = frozenset(address for row in factories for address in row if all(factories))
        self._snapshots: LRUCache[str, Snapshot] = LRUCache(BLOCKS_KEPT)
        self._distrusted: TTLCache[PoolRef, None] = TTLCache(MOST_POOLS, DISTRUSTED_S, timer=clock)
        self._asked_at: dict[PoolRef, int] = {}
        self._flights = SingleFlight()
        self._clock = clock
        self._failures = 0
        self._pause_until_s = float("-inf")
        self.counts: Counter[str] = Counter()

    async def at(self, block: Block) -> Snapshot:
        """Returns what is known at ``block``, empty when nothing is. Sends at most two requests per block
        since the last known one. A node that cannot answer costs what was known, and raises nothing.
        """
        snapshot: Snapshot | None = self._snapshots.get(block.hash)
        if snapshot is None and any(each.states for each in self._snapshots.values()):
            snapshot = await self._flights.run(block.hash, lambda: self._made(block))
        if snapshot is None:
            snapshot = self._kept(Snapshot(block))
        return snapshot

    def count(self, event: str, amount: int = 1) -> None:
        """Adds to ``counts``."""
        self.counts[event] += amount
        if self._on_count is not None and amount:
            self._on_count(event, amount)

    def asked(self, block: Block, refs: Sequence[PoolRef]) -> None:
        """Notes that these pools are in use: those that are not are dropped first."""
        self._asked_at.update(dict.fromkeys(refs, block.number))

    def unchanged(self, states: Mapping[PoolRef, State]) -> dict[PoolRef, State]:
        """Returns states just read, each as the object that is known already of an equal one.

        Pools keep their running totals, graphs their edges and solver processes their copies by the object.
        """
        known = [each.states for each in self._snapshots.values()][::-1]
        kept: dict[PoolRef, State] = {}
        for ref, state in states.items():
            last = next((each[ref] for each in known if ref in each), state)
            kept[ref] = last if last == state else state
        return kept

    def distrust(self, refs: Sequence[PoolRef]) -> None:
        """Forgets all states, because those of ``refs`` were wrong, and for a while carries these no more."""
        self.count("wrong", len(refs))
        self._distrusted.update(dict.fromkeys(refs))
        for snapshot in self._snapshots.values():
            snapshot.forget()

    async def _made(self, block: Block) -> Snapshot:
        snapshot, wrong = None, self.counts["wrong"]
        if self._clock() >= self._pause_until_s:
            try:
                async with asyncio.timeout(CARRY_S):
                    snapshot = await self._carried(block)
                self._failures = 0
            except (LogsContradictory, GatewayError, TimeoutError) as error:
                self._failed(error)
        if self.counts["wrong"] != wrong:  # the states that were carried were distrusted meanwhile
            snapshot = None
        return self._kept(snapshot or self._anew(block))

    def _anew(self, block: Block) -> Snapshot:
        """Returns a snapshot without states. The graphs of blocks before serve where pools did not change."""
        made = Snapshot(block)
        for each in self._snapshots.values():
            made.before.update(each.graphs)
        return made

    def _kept(self, snapshot: Snapshot) -> Snapshot:
        self.count("carried" if snapshot.states else "anew")
        self._snapshots[snapshot.block.hash] = snapshot
        return snapshot

    def _failed(self, error: Exception) -> None:
        slug, now = self._chain.network.slug, self._clock()
        log.info("pools of %s are read anew: %s", slug, str(error) or type(error).__name__)
        if now < self._pause_until_s:
            return  # it began before the pause
        self._failures += 1
        if self._failures >= FAILURES:
            doubled = min(self._failures - FAILURES, 16)
            pause_s = min(PAUSE_S * 2**doubled, LONGEST_PAUSE_S)
            self._pause_until_s = now + pause_s
            text = "the logs of %s could not be used: pools are read at each block for %d s"
            log.warning(text, slug, pause_s)

    async def _carried(self, block: Block) -> Snapshot | None:
        """Returns the states of the nearest known ancestor with the changes since; None without one."""
        ancestor, path = await self._path(block)
        if ancestor is None:
            return None
        states = {ref: state for ref, state in self._in_use(ancestor.states) if self._lasts(ref, state)}
        addresses = sorted(self._sources(states))
        if len(addresses) > MOST_ADDRESSES:
            return None
        answers = await asyncio.gather(*(block_logs(self._chain, header, addresses) for header in path))
        for header, logs in zip(path, answers, strict=True):
            self._apply(states, header, logs)
        made = Snapshot(block, states)
        for graphs in (ancestor.before, ancestor.graphs):
            made.before.update(graphs)
        return made

    async def _path(self, block: Block) -> tuple[Snapshot | None, list[Header]]:
        """Returns the nearest known ancestor and the headers from there to ``block``, oldest first."""
        known = [each.block.number for each in self._snapshots.values() if each.states]
        nearest = max((number for number in known if number < block.number), default=None)
        if nearest is None or block.number - nearest > MOST_BLOCKS:
            return None, []
        await self._read_headers(nearest + 1, block.number)
        path: list[Header] = []
        wanted = block.hash
        while len(path) < MOST_BLOCKS:
            number = block.number - len(path)
            if number == nearest:  # the known one is on another branch
                await self._read_headers(max(min(known), block.number - MOST_BLOCKS) + 1, nearest + 1)
            header = await self._chain.header(wanted)
            if header is None or header.parent is None or header.block.number != number:
                break
            path.append(header)
            ancestor: Snapshot | None = self._snapshots.get(header.parent)
            if ancestor is not None and ancestor.states:
                return ancestor, path[::-1]
            wanted = header.parent
        return None, []

    async def _read_headers(self, first: int, end: int) -> None:
        """Reads headers by number at once, so that they can then be looked up by hash without a request."""
        reads = (self._chain.block(number) for number in range(first, end))
        await asyncio.gather(*reads, return_exceptions=True)

    def _in_use(self, states: Mapping[PoolRef, State]) -> list[tuple[PoolRef, State]]:
        """Returns the states that fit into the limits, those that were asked for last."""
        kept = list(states.items())
        if len(kept) > MOST_POOLS or len(self._sources(states)) > MOST_ADDRESSES:
            kept.sort(key=lambda item: -self._asked_at.get(item[0], 0))
            kept = kept[:MOST_POOLS]
            while len(self._sources(dict(kept))) > MOST_ADDRESSES:
                kept = kept[: len(kept) * 3 // 4]
            self.count("evicted", len(states) - len(kept))
        if len(self._asked_at) > 2 * MOST_POOLS:
            self._asked_at = {ref: self._asked_at.get(ref, 0) for ref, _ in kept}
        return kept

    def _lasts(self, ref: PoolRef, state: State) -> bool:
        """Returns whether the logs tell when a state changes."""
        if ref in self._distrusted or (ref.kind == "v4" and ref.fee & _DYNAMIC_FEE):
            return False
        return state is not None or ref.kind == "v4" or bool(self._factories)

    def _sources(self, states: Mapping[PoolRef, State]) -> set[Address]:
        """Returns the contracts whose logs tell changes: a pool that does not exist has its factory only."""
        there = (ref.target for ref, state in states.items() if state is not None or ref.kind == "v4")
        return {*there, *self._factories}

    def _apply(self, states: dict[PoolRef, State], header: Header, logs: Sequence[LoggedEvent]) -> None:
        """Changes ``states`` as the logs of the next block tell. Those that they do not tell are removed."""
        self._check_bloom(states, header, logs)
        by_id = {ref.id: ref for ref in states}
        changes: dict[PoolRef, list[LoggedEvent]] = defaultdict(list)
        for event in logs:
            made = creation(event, self._deployments)
            if made is not None:
                states.pop(made.ref, None)
                if self._on_creation is not None:
                    self._on_creation(made)
            ref = by_id.get(event.address) or by_id.get("".join(event.topics[1:2]))
            if ref is not None and ref.target == event.address:
                changes[ref].append(event)
        for ref, events in changes.items():
            state = states.get(ref)
            if state is None or state is Empty.EMPTY:
                states.pop(ref, None)
                continue
            try:
                states[ref] = patched(state, events)
                self.count("patched")
            except StateUnknown as reason:
                self.count("unknown")
                log.debug("a pool of %s is read again: %s", self._chain.network.slug, reason)
                del states[ref]

    def _check_bloom(self, states: dict[PoolRef, State], header: Header, logs: Sequence[LoggedEvent]) -> None:
        watched = [ref for ref, state in states.items() if state is not None]
        sources = [
            (ref.target, ref.id if ref.kind == "v4" else None, family_of(ref.kind).changes) for ref in watched
        ]
        for at in omitted(header, logs, sources):
            self.count("omitted")
            log.info("block %s may have logs of pool %s", header.block.number, watched[at].id)
            del states[watched[at]]
