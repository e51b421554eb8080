"""Request ids: the caller's when sane, else our own; and the W3C trace context that travels with a
request.
"""

from __future__ import annotations

import os
import re
from contextvars import ContextVar

_SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:/+=-]{0,127}")
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")

traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)
"""The trace context of the request being served, for calls that go out because of it."""


def new_request_id() -> str:
    """128 random bits in hex."""
    return os.urandom(16).hex()


def request_id_of(given: str | None) -> str:
    """The caller's own id when it is short and plain, else a new one."""
    if given is not None and _SANE.fullmatch(given):
        return given
    return new_request_id()


def continue_trace(given: str | None) -> str | None:
    """The caller's trace with a span of our own (W3C Trace Context, level 1); None when none or a broken one
    came.
    """
    match = _TRACEPARENT.fullmatch(given) if given is not None else None
    if match is None or not int(match[1], 16) or not int(match[2], 16):
        return None
    return f"00-{match[1]}-{os.urandom(8).hex()}-{match[3]}"
