"""When the running call of a provider is given up, as far as it is known."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

ends_at_s: ContextVar[float | None] = ContextVar("quoteway_call_ends_at_s", default=None)
"""The end of the running call, by the event loop's clock; None outside of a call."""


def seconds_left() -> float | None:
    """Returns how long the running call may still take, in seconds and at least 0; None outside of one."""
    until_s = ends_at_s.get()
    return None if until_s is None else max(until_s - asyncio.get_running_loop().time(), 0.0)
