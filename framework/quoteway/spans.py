"""The spans of the request being served: whom it asked, what was checked, when, and what came of it.

There is one record for two readers. A recording (``[server] capture``) shows it with ``quoteway trace``, and
``[traces]`` exports it to OpenTelemetry. Without either, a span costs the look at one variable.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from quoteway.errors import Reason

MOST_SPANS = 2_000
"""How many spans of one request are kept."""
MOST_ADOPTED = 200
"""How many spans of one call another process may tell of."""
_WORD = re.compile(r"[a-z][a-z0-9_]{0,31}", re.ASCII)
_NAME = re.compile(r"[ -~]{1,100}", re.ASCII)


@dataclass(slots=True)
class Span:
    """A part of a request, such as a call of a provider, a read of a chain, or a check of the guard.

    ``parent`` is the place of the span that this one is a part of; None: the request itself. ``kind`` is what
    was done, such as ``call`` or ``guard``, and ``name`` with whom or with what. ``began_s`` and ``ended_s``
    are seconds of the monotonic clock; ``ended_s`` is None while it goes on. ``outcome`` is what came of it,
    and ``read`` the place of the outcome among those of a recording.
    """

    parent: int | None
    kind: str
    name: str
    began_s: float
    ended_s: float | None = None
    outcome: str | None = None
    read: int | None = None


@dataclass(slots=True, eq=False)
class Trace:
    """The spans of one request, in the order in which they began. Once it ``is_over``, none is added.

    ``context`` is its W3C trace context, where it is exported, and ``parent`` the id of the caller's span.
    """

    context: str | None = None
    parent: str | None = None
    began_s: float = field(default_factory=time.monotonic)
    spans: list[Span] = field(default_factory=list)
    is_over: bool = False


_trace: ContextVar[Trace | None] = ContextVar("quoteway_trace", default=None)
_place: ContextVar[int | None] = ContextVar("quoteway_span", default=None)


def keep_spans(trace: Trace) -> Token[Trace | None]:
    """Adds the spans of the current task, and of those that it starts, to ``trace``, until ``end_spans``."""
    _place.set(None)
    return _trace.set(trace)


def end_spans(trace: Trace, mark: Token[Trace | None]) -> None:
    """Ends a trace: what goes on after the request is no part of it."""
    trace.is_over = True
    _trace.reset(mark)


def current_place() -> tuple[Trace, int | None] | None:
    """Returns the trace of the current request and the place of the current span; None when none is kept."""
    trace = _trace.get()
    return None if trace is None or trace.is_over else (trace, _place.get())


class _Kept(AbstractContextManager[Span]):
    """A span that is kept while the block inside it runs."""

    __slots__ = ("_mark", "_outcome", "_span")

    def __init__(self, trace: Trace, kind: str, name: str, outcome: str | None) -> None:
        self._outcome = outcome
        self._span = Span(_place.get(), kind, name, time.monotonic())
        trace.spans.append(self._span)
        self._mark = _place.set(len(trace.spans) - 1)

    def __enter__(self) -> Span:
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        kept = self._span
        if kept.outcome is None:
            kept.outcome = self._outcome if error is None else _outcome_of(error)
        kept.ended_s = time.monotonic()
        _place.reset(self._mark)


def _outcome_of(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return "given_up"
    reason = getattr(error, "reason", None)
    # A plugin may raise an error with anything in it.
    return reason.value if isinstance(reason, Reason) else "failed"


class _Unkept(AbstractContextManager[None]):
    """Stands for a span where none is kept."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


_UNKEPT = _Unkept()


def span(kind: str, name: str, outcome: str | None = None) -> AbstractContextManager[Span | None]:
    """Returns a context manager that times its block as a part of the current request.

    It gives the ``Span``, whose ``outcome`` may be set, or None when no spans are kept. Unless it is set, a
    block that ends well has ``outcome``, one that raises the error's reason, or ``failed``, and one that is
    cancelled ``given_up``. All three leave the process: they have no text of a caller, no URL, no secret.
    """
    trace = _trace.get()
    if trace is None or trace.is_over or len(trace.spans) >= MOST_SPANS:
        return _UNKEPT
    return _Kept(trace, kind, name, outcome)


def told(trace: Trace) -> list[tuple[Any, ...]]:
    """Returns the spans of a trace as another process of this machine takes them with ``adopt``."""
    return [
        (each.parent, each.kind, each.name, each.began_s, each.ended_s, each.outcome)
        for each in trace.spans[:MOST_ADOPTED]
    ]


def adopt(rows: object) -> None:
    """Adds spans that another process tells of to the current one. It is not believed: what is no span ends
    the list, and times are within the current span and now, since both processes have one monotonic clock.
    """
    trace, place = _trace.get(), _place.get()
    if trace is None or trace.is_over or not isinstance(rows, Sequence):
        return
    first, now_s = len(trace.spans), time.monotonic()
    began_s = trace.began_s if place is None else trace.spans[place].began_s
    for number, row in enumerate(rows[:MOST_ADOPTED]):
        if len(trace.spans) >= MOST_SPANS or not isinstance(row, Sequence) or len(row) != 6:
            return
        parent, kind, name, began, ended, outcome = row
        is_part = parent is None or (type(parent) is int and 0 <= parent < number)
        times = (began,) if ended is None else (began, ended)
        if not is_part or not all(type(each) in (int, float) and began_s <= each <= now_s for each in times):
            return
        if not (_is(_WORD, kind) and _is(_NAME, name) and (outcome is None or _is(_WORD, outcome))):
            return
        within = place if parent is None else first + parent
        trace.spans.append(Span(within, kind, name, began, ended, outcome))


def _is(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
