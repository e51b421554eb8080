"""Reads of the core that the replicas of a deployment make once for all of them (``[shared]``).

Only what cannot change is shared: what a call says of a block that it names by hash, or by the number of a
final block. It has passed what reads of the core have to pass at the replica that asked; one that needs more
nodes to agree takes nothing from those that need fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson
from quoteway import Network, SharedAnswers

from quoteway_rpc.cache_answers import storable
from quoteway_rpc.cache_flights import Flight
from quoteway_rpc.cache_keys import Plan

KEPT_BLOCKS: Final = 64
LEAST_KEPT_S, MOST_KEPT_S = 60.0, 900.0
"""Reads are at the newest blocks: older answers are of no use to anybody."""


class SharedReads:
    """What replicas have read, by the canonical key of the call."""

    def __init__(self, answers: SharedAnswers, count: Callable[[str, Network, int], None]) -> None:
        self._answers = answers
        self._count = count

    async def find(self, flight: Flight, plan: Plan) -> tuple[bytes, Any] | None:
        """Returns the JSON of an answer and what it says; None when this replica is to ask the nodes.

        Then ``put`` or ``release`` has to follow.
        """
        network = flight.ask.network
        key = f"{network.quorum}/".encode() + plan.key
        body = await self._answers.get(key)
        if body is not None:
            try:
                result = orjson.loads(body)
            except ValueError:
                result = None
            if storable(plan, result):
                self._count("shared_hits", network, 1)
                return body, result
        self._count("shared_misses", network, 1)
        flight.owed = key
        return None

    def put(self, flight: Flight, body: bytes, most_s: float | None) -> None:
        """Gives other replicas an answer, for ``most_s`` seconds at most."""
        if flight.owed is not None:
            key, flight.owed = flight.owed, None
            kept_s = min(max(KEPT_BLOCKS * flight.ask.network.block_time_s, LEAST_KEPT_S), MOST_KEPT_S)
            self._answers.put(key, body, kept_s if most_s is None else min(kept_s, most_s))

    def release(self, flight: Flight) -> None:
        """Lets other replicas ask: this one has no answer that it can share."""
        if flight.owed is not None:
            key, flight.owed = flight.owed, None
            self._answers.release(key)
