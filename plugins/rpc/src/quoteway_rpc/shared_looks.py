"""The newest blocks of upstreams, for which one replica asks for all (``[shared]``).

In each half block time the first replica that wants to know an upstream's newest block asks for it, or has
been told it by a read of its own, and the others take its answer. Each of them learns from it as from an
answer of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson
from quoteway import SharedAnswers

_MEMBERS: Final = ("number", "hash", "parentHash", "timestamp", "baseFeePerGas", "logsBloom")


class SharedLooks:
    """The heads of the upstreams of all networks, by upstream and time."""

    def __init__(self, answers: SharedAnswers, clock: Callable[[], float] = time.time) -> None:
        self._answers = answers
        self._clock = clock

    def key(self, upstream: bytes, interval_s: float) -> bytes:
        """Returns the key of a look at this time. Replicas whose clocks differ look more often."""
        return b"head/%s/%d" % (upstream.hex().encode(), int(self._clock() / interval_s))

    async def find(self, key: bytes) -> Mapping[str, Any] | None:
        """Returns the block that another replica was told; None when this one is to ask.

        Then ``put`` or ``release`` has to follow.
        """
        body = await self._answers.get(key)
        if body is None:
            return None
        try:
            block = orjson.loads(body)
        except ValueError:
            return None
        return block if isinstance(block, Mapping) else None

    def put(self, key: bytes, block: Any, interval_s: float) -> None:
        """Tells other replicas the newest block of an upstream."""
        if not isinstance(block, Mapping):
            self.release(key)
            return
        header = {name: block[name] for name in _MEMBERS if name in block}
        self._answers.put(key, orjson.dumps(header), 2 * interval_s)

    def release(self, key: bytes) -> None:
        """Lets other replicas ask: the upstream did not answer this one."""
        self._answers.release(key)
