"""W3C Trace Context: continued from a request to the requests that it causes."""

from __future__ import annotations

import os
import re
from contextvars import ContextVar
from types import SimpleNamespace
from typing import TYPE_CHECKING

from quoteway.spans import current_place

if TYPE_CHECKING:
    import aiohttp

_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")

traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)
"""The trace context of the request being served."""


def parsed(given: str | None) -> tuple[str, str, str] | None:
    """Returns trace id, span id and flags of a ``traceparent`` (W3C Trace Context, level 1), or None."""
    match = _TRACEPARENT.fullmatch(given) if given is not None else None
    if match is None or not int(match[1], 16) or not int(match[2], 16):
        return None
    return match[1], match[2], match[3]


def continue_trace(given: str | None) -> str | None:
    """The caller's trace with a new span id; None without a valid one."""
    found = parsed(given)
    return None if found is None else f"00-{found[0]}-{os.urandom(8).hex()}-{found[2]}"


def span_id(root: str, place: int | None) -> str:
    """Returns the id of a span by its place in a trace whose root has the context ``root``; None: the root.

    Ids count up from that of the root, so that no span needs random bits.
    """
    return root[36:52] if place is None else f"{int(root[36:52], 16) + place + 1:016x}"


def outgoing_trace() -> str | None:
    """Returns the trace context for a request to others: that of the current span, where it is exported."""
    root = traceparent.get()
    kept = current_place() if root is not None else None
    if root is None or kept is None or kept[0].context != root:
        return root
    return f"{root[:36]}{span_id(root, kept[1])}{root[52:]}"


def outgoing_traces() -> aiohttp.TraceConfig:
    """Makes a client session send the trace context of the request being served."""
    import aiohttp

    config = aiohttp.TraceConfig()

    async def add(
        session: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestStartParams
    ) -> None:
        trace = outgoing_trace()
        if trace is not None:
            params.headers["traceparent"] = trace

    config.on_request_start.append(add)
    return config
