"""Reads pools at a block, everything that their next swap depends on in one round trip, once a block.

The first quote in a block reads the pools of recent quotes too: others then find theirs in memory.
"""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, Protocol, TypeVar

from cachetools import LRUCache, TTLCache
from quoteway import Address, Block, Chain
from quoteway.evm.abi import Function
from quoteway.evm.chain import Call, CallFailed
from quoteway_amm.token_pair import ManyTokenPool, TokenPair

POOLS_AT_ONCE = 32
"""How many pools are decoded before others get the event loop: 2 ms."""
_BLOCKS_KEPT = 4
_POOLS_KEPT = 4096
RECENT_POOLS = 500
"""The most pools that are read in a new block because quotes of the last ``RECENT_S`` wanted them."""
RECENT_S = 60.0

Answer = bytes | CallFailed
Pairs = tuple[TokenPair, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """A view function of a contract, and how many bytes it returns."""

    to: Address
    of: Function
    args: tuple[object, ...] = ()
    bytes: int = 32

    @property
    def call(self) -> Call:
        return Call(self.to, self.of.encode(self.args), max_output=self.bytes)


def decoded(of: Function, answer: Answer) -> tuple[object, ...] | None:
    """Returns what a function returned; None when it failed or returned something else."""
    if not isinstance(answer, bytes):
        return None
    try:
        return of.decode_output(answer)
    except ValueError:
        return None


def first(values: tuple[object, ...] | None) -> object:
    """Returns the first of decoded values; None when there are none."""
    return None if values is None else values[0]


def words_of(answer: bytes) -> list[int]:
    """Returns an answer's words. An ABI decoder takes a hundred times as long, which all quotes wait for."""
    return [int.from_bytes(answer[at : at + 32]) for at in range(0, len(answer), 32)]


class Identified(Protocol):
    """The facts of a pool."""

    @property
    def id(self) -> str: ...


Facts = TypeVar("Facts", bound=Identified)


class PoolStates(ABC, Generic[Facts]):
    """The states of one deployment's pools. A pool that has not changed is the same object at all blocks."""

    def __init__(self, chain: Chain, clock: Callable[[], float]) -> None:
        self._chain = chain
        self._recent: TTLCache[str, Facts] = TTLCache(RECENT_POOLS, RECENT_S, clock)
        self._one_at_a_time = asyncio.Lock()
        self._blocks: LRUCache[str, dict[str, Pairs]] = LRUCache(_BLOCKS_KEPT)
        self._newest: LRUCache[str, tuple[ManyTokenPool, Pairs]] = LRUCache(_POOLS_KEPT)

    async def load(self, block: Block, pools: Sequence[Facts]) -> list[Pairs]:
        """Returns the pairs of tokens of each pool at a block; none of one that cannot be traded with then.

        Raises UpstreamError or RpcError when the chain cannot be read.
        """
        async with self._one_at_a_time:
            known: dict[str, Pairs] = self._blocks.setdefault(block.hash, {})
            if any(facts.id not in known for facts in pools):
                wanted = {facts.id: facts for facts in (*pools, *self._recent.values())}
                await self._read(block, [facts for facts in wanted.values() if facts.id not in known], known)
        self._recent.update({facts.id: facts for facts in pools})
        return [known[facts.id] for facts in pools]

    async def _read(self, block: Block, pools: Sequence[Facts], known: dict[str, Pairs]) -> None:
        """Adds the pairs of pools to those known at a block."""
        reads = [[*self.reads_of(facts)] for facts in pools]
        paused = self.paused()
        calls = [paused.call, *(read.call for each in reads for read in each)]
        vault, *rest = await self._chain.call_many(calls, block=block)
        open_ = first(decoded(paused.of, vault)) is False
        answers = iter(rest)
        time_s = block.timestamp + max(math.ceil(self._chain.network.block_time_s), 1)
        for place, (facts, mine) in enumerate(zip(pools, reads, strict=True), 1):
            given = [next(answers) for _ in mine]
            state = self.state_of(facts, mine, given, time_s) if open_ else None
            known[facts.id] = self._pairs(facts, state)
            if place % POOLS_AT_ONCE == 0:
                await asyncio.sleep(0)

    @abstractmethod
    def paused(self) -> Read:
        """Returns the read whose first value says whether the Vault is paused."""

    @abstractmethod
    def reads_of(self, facts: Facts) -> Iterator[Read]:
        """Yields what to read of a pool, in the order in which ``state_of`` takes it."""

    @abstractmethod
    def state_of(
        self, facts: Facts, reads: Sequence[Read], given: Sequence[Answer], time_s: int
    ) -> ManyTokenPool | None:
        """Returns the state of a pool for a swap at ``time_s``; None when it cannot be traded with."""

    def _pairs(self, facts: Facts, state: ManyTokenPool | None) -> Pairs:
        if state is None:
            return ()
        last = self._newest.get(facts.id)
        if last is not None and last[0] == state:
            return last[1]
        pairs = tuple(TokenPair(state, *places) for places in combinations(range(len(state.tokens)), 2))
        self._newest[facts.id] = state, pairs
        return pairs
