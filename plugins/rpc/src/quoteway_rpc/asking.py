"""One JSON-RPC call on its way through the stages of ``dispatch.py``."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from quoteway import Network


@dataclass(frozen=True, slots=True)
class Ask:
    """A call with its deadline.

    ``ends_at`` is in seconds of ``time.monotonic``. ``public`` is True for calls of clients through
    ``/v2/rpc``, False for reads of the core, which go first and on which nodes have to agree. With ``raw`` a
    long answer may be a ``RawJson``.
    """

    network: Network
    method: str
    params: Sequence[Any]
    ends_at: float
    public: bool = False
    raw: bool = False

    @property
    def left_s(self) -> float:
        """Returns the seconds until the deadline, 0 when it is over."""
        return max(self.ends_at - time.monotonic(), 0.0)


Send: TypeAlias = Callable[[Ask], Awaitable[Any]]
"""Answers a call with its ``result``, as ``RpcUpstream.forward`` does."""
