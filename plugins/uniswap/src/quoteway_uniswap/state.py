"""Pool state by block, read once through the lens, carried by logs and shared by all requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from cachetools import LRUCache
from quoteway import Block, Chain
from quoteway_amm import BandExceeded, ConcentratedPool, Graph, Pool

from quoteway_uniswap import lens
from quoteway_uniswap.candidates import PoolRef
from quoteway_uniswap.creations import Creation
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.pool_audit import PoolAudit
from quoteway_uniswap.pool_reader import PoolReader
from quoteway_uniswap.pool_store import PoolStore, Snapshot

_WIDE_KEPT = 512


class PoolStates:
    """The pools of one chain. Each pool is read once, and then follows the logs of each new block.

    ``deployments`` are those whose pools may be asked for: their factories tell new pools, so that what does
    not exist is not looked for again. ``on_creation`` is told of these, ``on_count`` as by ``PoolStore``.
    """

    def __init__(
        self,
        chain: Chain,
        deployments: Sequence[Deployment] = (),
        on_creation: Callable[[Creation], None] | None = None,
        on_count: Callable[[str, int], None] | None = None,
    ) -> None:
        self.store = PoolStore(chain, deployments, on_creation, on_count=on_count)
        self._reader = PoolReader(chain)
        self.audit = PoolAudit(self._reader, self.store)
        self._wide: LRUCache[PoolRef, None] = LRUCache(_WIDE_KEPT)

    async def close(self) -> None:
        """Ends the audit under way."""
        await self.audit.close()

    async def load(self, block: Block, refs: Sequence[PoolRef]) -> list[Pool]:
        """Returns those of ``refs`` that can trade at ``block``.

        Takes one round trip when any is unknown, and one or two before when the block is new. Raises
        UpstreamError or RpcError when the chain could not be read.
        """
        known = await self.store.at(block)
        self.store.asked(block, refs)
        # An audit may forget what is known at any time.
        while missing := [ref for ref in refs if ref not in known.states]:
            await self._read(known, missing)
        self.audit.begin(known)
        states = (known.states[ref] for ref in refs)
        return [state for state in states if state is not None and state is not lens.Empty.EMPTY]

    async def graph(self, block: Block, refs: tuple[PoolRef, ...], wrapped_native: str) -> Graph:
        """Returns the graph of those of ``refs`` that can trade at ``block``.

        It is made once as long as they are known so far, and from the graph of the block before when that has
        the same pools. Waits and raises as ``load``.
        """
        known, key = await self.store.at(block), (refs, wrapped_native)
        graph: Graph | None = known.graphs.get(key)
        if graph is None:
            pools = await self.load(block, refs)
            before = known.before.pop(key, None)
            graph = known.graphs[key] = _graph(pools, before, wrapped_native)
        return graph

    async def widen(self, block: Block, refs: Iterable[PoolRef], exceeded: Iterable[BandExceeded]) -> None:
        """Reads the remaining ticks on the sides where swaps left the known ones. Takes one round trip.

        They stay known. A search that leaves the known ticks again names pools whose ticks the nodes do not
        give: their answers are too small.
        """
        known = await self.store.at(block)
        by_id = {ref.id: ref for ref in refs}
        questions = []
        for error in exceeded:
            ref = by_id[error.pool.id]
            pool = known.states.get(ref)
            if not isinstance(pool, ConcentratedPool) or (pool.word_lo, pool.word_hi) != (
                error.pool.word_lo,
                error.pool.word_hi,
            ):
                continue  # another request has widened it
            self._wide[ref] = None
            if error.zero_for_one:
                nothing_known = pool.word_lo > pool.word_hi
                questions.append(lens.rest_below(ref, pool.word_lo - (not nothing_known)))
            else:
                questions.append(lens.rest_above(ref, pool.word_hi + 1))
        answers = await self._reader.read_alone(block, questions)
        for question, more in zip(questions, answers, strict=True):
            pool = known.states.get(question.ref)
            if isinstance(pool, ConcentratedPool) and isinstance(more, ConcentratedPool):
                known.states[question.ref] = joined(pool, more)
                known.graphs.clear()

    async def _read(self, known: Snapshot, refs: Sequence[PoolRef]) -> None:
        """Reads pools, those that were widened once with all their ticks."""
        wide = [lens.whole(ref) for ref in refs if ref in self._wide]
        near = [lens.first_look(ref) for ref in refs if ref not in self._wide]
        states = [
            *(await self._reader.read(known.block, near) if near else ()),
            *(await self._reader.read_alone(known.block, wide) if wide else ()),
        ]
        self.store.count("read", len(states))
        read = {question.ref: state for question, state in zip((*near, *wide), states, strict=True)}
        for ref, state in self.store.unchanged(read).items():
            # Keep the first object: it holds its running totals.
            known.states.setdefault(ref, state)


def _graph(pools: Sequence[Pool], before: Graph | None, wrapped_native: str) -> Graph:
    """Returns the graph of ``pools``. Edges of unchanged pools are those of the graph ``before``."""
    if before is None or [pool.id for pool in before.pools] != [pool.id for pool in pools]:
        return Graph(pools, wrapped_native)
    pairs = zip(before.pools, pools, strict=True)
    return before.replaced({pool.id: pool for old, pool in pairs if pool is not old})


def joined(pool: ConcentratedPool, more: ConcentratedPool) -> ConcentratedPool:
    """Returns the pool with the words of ``more`` added; unchanged when the two are not adjacent."""
    if more.word_lo > more.word_hi:
        return pool
    if pool.word_lo > pool.word_hi:
        return replace(pool, ticks=more.ticks, word_lo=more.word_lo, word_hi=more.word_hi)
    if more.word_hi == pool.word_lo - 1:
        return replace(pool, ticks=more.ticks + pool.ticks, word_lo=more.word_lo)
    if more.word_lo == pool.word_hi + 1:
        return replace(pool, ticks=pool.ticks + more.ticks, word_hi=more.word_hi)
    return pool
