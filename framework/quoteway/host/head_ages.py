"""Reads how old the newest block of each network is, so that a node that stands still is found."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quoteway.host.refresh import Clock, Refresher, RefreshPolicy
from quoteway.host.runtime import Runtime
from quoteway.networks import Network

EVERY_S = 15.0
"""Minimum time between two reads of a network's newest block, however often its age is asked for."""
WAIT_S = 0.5
"""How long a caller waits for the reads."""
KNOWN_FOR_S = 60.0
"""A block that was read longer ago says nothing of the newest block."""
LEAST_STALE_S = 60.0
STALE_BLOCKS = 10
"""A head is stale after so many block times without a new block, and at least ``LEAST_STALE_S``."""


@dataclass(frozen=True, slots=True)
class SeenHead:
    """The timestamp of a newest block, and when it was read, both in Unix seconds."""

    timestamp: int
    read_at: float


class HeadAges:
    """The timestamps of the newest block of each network. Nothing is read between two callers."""

    def __init__(self, runtime: Runtime, clock: Clock = time.monotonic) -> None:
        self._runtime = runtime
        self._clock = clock
        policy = RefreshPolicy(fresh_s=EVERY_S, retry_s=EVERY_S, newer_wait_s=WAIT_S, first_wait_s=WAIT_S)
        self._times: Refresher[int, SeenHead] = Refresher(self._read, policy, most_keys=4_096, clock=clock)

    async def get(self, networks: Iterable[Network]) -> dict[int, SeenHead]:
        """Returns what was read, by chain id. Leaves out networks whose newest block is not known."""
        found = await self._times.get(network.chain_id for network in networks)
        least_s = self._clock() - KNOWN_FOR_S
        return {
            chain_id: kept.value
            for chain_id, kept in found.items()
            if kept.value is not None and kept.read_at_s is not None and kept.read_at_s >= least_s
        }

    def is_stale(self, network: Network, head: SeenHead) -> bool:
        """Returns whether a newest block means that the chain, or its nodes, stood still when it was read.

        Its age of now says less: it is read anew after ``EVERY_S``, and ``head_stale_s`` may be shorter.
        """
        limit_s = network.head_stale_s
        if limit_s is None:
            limit_s = max(LEAST_STALE_S, STALE_BLOCKS * network.block_time_s)
        return 0 < limit_s < head.read_at - head.timestamp

    async def close(self) -> None:
        """Cancels running reads."""
        await self._times.close()

    async def _read(self, chain_ids: Sequence[int]) -> dict[int, SeenHead]:
        (chain_id,) = chain_ids
        block = await self._runtime.chain(chain_id).block("latest")
        return {chain_id: SeenHead(block.timestamp, self._runtime.clock())}
