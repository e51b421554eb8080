"""W3C Trace Context: continued from a request to the requests that it causes."""

from __future__ import annotations

import os
import re
from contextvars import ContextVar
from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp

_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")

traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)
"""The trace context of the request being served."""


def continue_trace(given: str | None) -> str | None:
    """The caller's trace with a new span id (W3C Trace Context, level 1); None without a valid one."""
    match = _TRACEPARENT.fullmatch(given) if given is not None else None
    if match is None or not int(match[1], 16) or not int(match[2], 16):
        return None
    return f"00-{match[1]}-{os.urandom(8).hex()}-{match[3]}"


def outgoing_traces() -> aiohttp.TraceConfig:
    """Makes a client session send the trace context of the request being served."""
    import aiohttp

    config = aiohttp.TraceConfig()

    async def add(
        session: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestStartParams
    ) -> None:
        trace = traceparent.get()
        if trace is not None:
            params.headers["traceparent"] = trace

    config.on_request_start.append(add)
    return config
