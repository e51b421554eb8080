"""Pool state by block, read once through the lens and shared by all requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from cachetools import LRUCache
from quoteway import Block, Chain, Reason, UpstreamError
from quoteway.evm.single_flight import SingleFlight
from quoteway_amm import BandExceeded, ConcentratedPool, Pool

from quoteway_uniswap import lens
from quoteway_uniswap.candidates import PoolRef

_BLOCKS_KEPT = 4


@dataclass(slots=True)
class _Snapshots:
    """The pools read at one block; None: the pool does not exist."""

    pools: dict[PoolRef, Pool | None] = field(default_factory=dict)


class PoolStates:
    """The pools of one chain. Each pool is read once per block."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._blocks: LRUCache[str, _Snapshots] = LRUCache(maxsize=_BLOCKS_KEPT)
        self._flights = SingleFlight()

    async def load(self, block: Block, refs: Sequence[PoolRef]) -> list[Pool]:
        """Returns those of ``refs`` that exist at ``block``. Takes one round trip when any is missing.

        Raises UpstreamError or RpcError when the chain could not be read.
        """
        known = self._at(block)
        missing = [ref for ref in refs if ref not in known.pools]
        if missing:
            await self._ask(block, known, [lens.first_look(ref) for ref in missing])
        return [pool for ref in refs if (pool := known.pools[ref]) is not None]

    async def widen(self, block: Block, refs: Iterable[PoolRef], exceeded: Iterable[BandExceeded]) -> None:
        """Reads the remaining ticks on the sides where swaps left the known ones. Takes one round trip."""
        known = self._at(block)
        by_id = {ref.id: ref for ref in refs}
        questions = []
        for error in exceeded:
            pool = known.pools[by_id[error.pool.id]]
            if not isinstance(pool, ConcentratedPool) or (pool.word_lo, pool.word_hi) != (
                error.pool.word_lo,
                error.pool.word_hi,
            ):
                continue  # another request has widened it
            if error.zero_for_one:
                nothing_known = pool.word_lo > pool.word_hi
                questions.append(lens.rest_below(by_id[pool.id], pool.word_lo - (not nothing_known)))
            else:
                questions.append(lens.rest_above(by_id[pool.id], pool.word_hi + 1))
        # One pool per call, so that each answer reaches as far as its size and gas allow.
        answers = await asyncio.gather(*(self._call(block, (question,)) for question in questions))
        for question, (more,) in zip(questions, answers, strict=True):
            pool = known.pools[question.ref]
            if isinstance(pool, ConcentratedPool) and isinstance(more, ConcentratedPool):
                known.pools[question.ref] = _joined(pool, more)

    def _at(self, block: Block) -> _Snapshots:
        snapshots: _Snapshots | None = self._blocks.get(block.hash)
        if snapshots is None:
            snapshots = self._blocks[block.hash] = _Snapshots()
        return snapshots

    async def _ask(self, block: Block, known: _Snapshots, questions: Sequence[lens.Question]) -> None:
        size = lens.POOLS_PER_CALL
        parts = [tuple(questions[start : start + size]) for start in range(0, len(questions), size)]
        for part, pools in zip(
            parts, await asyncio.gather(*(self._call(block, part) for part in parts)), strict=True
        ):
            for question, pool in zip(part, pools, strict=True):
                # Keep the first object: it holds its running totals.
                known.pools.setdefault(question.ref, pool)

    async def _call(self, block: Block, questions: tuple[lens.Question, ...]) -> list[Pool | None]:
        async def read() -> list[Pool | None]:
            answer = await self._chain.deployless(lens.creation_code(questions), block=block)
            try:
                return lens.read_answer(answer, questions)
            except ValueError as error:
                raise UpstreamError(
                    f"A node of {self._chain.network.name} returned malformed pool state.",
                    reason=Reason.RPC_ERROR,
                ) from error

        pools: list[Pool | None] = await self._flights.run((block.hash, questions), read)
        return pools


def _joined(pool: ConcentratedPool, more: ConcentratedPool) -> ConcentratedPool:
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
