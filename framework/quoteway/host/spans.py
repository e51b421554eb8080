"""Times the parts of a request: calls of providers, reads of chains, exchanges over HTTP.

The parts of a request are kept for bundles (``recording``) and for operators (``web.http.request_traces``).
Without either of them nothing is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["call", "upstream", "read", "exchange"]

MOST_SPANS = 2_000
"""How many spans of one request are kept."""


@dataclass(slots=True)
class Span:
    """A part of a request: a call of a provider, a read of a chain, or an exchange over HTTP.

    ``parent`` is the place of the span that this one is a part of; None: the request itself. Times are
    seconds of the monotonic clock; ``ended_s`` is None while it goes on. ``outcome`` is what came of it, and
    ``read`` the place of the outcome among those of the request's recording.
    """

    parent: int | None
    kind: Kind
    name: str
    began_s: float
    ended_s: float | None = None
    outcome: str | None = None
    read: int | None = None


@dataclass(slots=True, eq=False)
class Spans:
    """The spans of one request, in the order of their beginnings. What begins after its end is none of it."""

    rows: list[Span] = field(default_factory=list)
    is_over: bool = False


_current: ContextVar[Spans | None] = ContextVar("quoteway_spans", default=None)
_span: ContextVar[int | None] = ContextVar("quoteway_span", default=None)


def begin_spans() -> tuple[Spans, Token[Spans | None]]:
    """Keeps the spans of the current task and of those that it starts, until ``end_spans``."""
    spans = Spans()
    return spans, _current.set(spans)


def end_spans(spans: Spans, mark: Token[Spans | None]) -> None:
    """Ends what ``begin_spans`` began. A span that is under way still gets its end."""
    spans.is_over = True
    _current.reset(mark)


def current_spans() -> Spans | None:
    """Returns the spans of the request that the current task works for; None when they are not kept."""
    return _current.get()


@contextlib.contextmanager
def span(kind: Kind, name: str) -> Iterator[Span | None]:
    """Times what happens inside, as a part of the current request; yields None when its parts are not kept.

    What raises has the outcome ``failed``, what is cancelled ``given_up``, unless one was set.
    """
    spans = _current.get()
    if spans is None or spans.is_over or len(spans.rows) >= MOST_SPANS:
        yield None
        return
    begun = Span(_span.get(), kind, name, time.monotonic())
    spans.rows.append(begun)
    mark = _span.set(len(spans.rows) - 1)
    try:
        yield begun
    except BaseException as error:
        given_up = isinstance(error, asyncio.CancelledError)
        begun.outcome = begun.outcome or ("given_up" if given_up else "failed")
        raise
    finally:
        begun.ended_s = time.monotonic()
        _span.reset(mark)
