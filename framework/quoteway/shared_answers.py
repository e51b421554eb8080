"""Answers that the replicas of a deployment read once for all of them."""

from __future__ import annotations

from typing import Protocol


class SharedAnswers(Protocol):
    """Bytes by key, for a while. They may be lost at any time, and nothing here raises for that.

    Keep only what is the same for every replica, and what any of them may use: the server is trusted as much
    as the upstreams that were asked.
    """

    async def get(self, key: bytes, *, wait_s: float | None = None) -> bytes | None:
        """Returns the value of ``key``; None when the caller is to find it itself.

        While another replica finds it, that one is waited for, at most ``[shared] wait_s``, or in background
        work ``wait_s``. A caller that got None ends with ``put`` or ``release``.
        """

    def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        """Keeps a value for ``ttl_s`` seconds, in the background. One that is too long is left out."""

    def release(self, key: bytes) -> None:
        """Lets others find the value of ``key``: the caller did not."""
