"""What a request that runs has to do with heads: when it arrived, which it uses, how old they may be."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from quoteway.models import Block

P = ParamSpec("P")
T = TypeVar("T")

_moments = itertools.count(1)
"""Numbers arrivals of requests and starts of reads in their order. A clock may give two of them one time."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Arrival:
    """A request: when it arrived, and the head of each chain that all its reads are at, until it ends."""

    moment: int
    heads: dict[int, Block] = field(default_factory=dict)
    is_over: bool = False


_arrived: contextvars.ContextVar[Arrival | None] = contextvars.ContextVar(
    "quoteway_request_arrived", default=None
)
_least: contextvars.ContextVar[Mapping[int, int]] = contextvars.ContextVar(
    "quoteway_least_blocks", default=MappingProxyType({})
)
"""The oldest block that the current request accepts as the head, by chain id."""

_used: contextvars.ContextVar[dict[int, Block] | None] = contextvars.ContextVar(
    "quoteway_used_heads", default=None
)
"""The newest head of each chain that the current request got; None where nobody asks for them."""


@contextlib.contextmanager
def request_arrival() -> Iterator[None]:
    """Marks the arrival of a request for the code inside and the tasks that it starts.

    There, ``Chain.head`` gives no block that was read before the arrival: a client sees the block of its own
    transaction as soon as it has the receipt. It gives the same block each time, so that all that a quote or
    an action reads is of one block. An arrival that is marked already is kept.
    """
    if _arrived.get() is not None:
        yield
        return
    with another_arrival():
        yield


@contextlib.contextmanager
def another_arrival() -> Iterator[None]:
    """Marks an arrival in place of one that is marked already: other heads are read inside."""
    request = Arrival(next_moment())
    mark = _arrived.set(request)
    try:
        yield
    finally:
        request.is_over = True  # a task that outlives it follows the chain again
        _arrived.reset(mark)


def on_arrival(call: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Runs an async function inside ``request_arrival``."""

    @functools.wraps(call)
    async def arrived(*args: P.args, **kwargs: P.kwargs) -> T:
        with request_arrival():
            return await call(*args, **kwargs)

    return arrived


@contextlib.contextmanager
def no_older_than(chain_id: int, number: int) -> Iterator[None]:
    """Makes ``Chain.head`` of one chain wait for block ``number``, for the code inside and its tasks."""
    mark = _least.set({**_least.get(), chain_id: number})
    try:
        yield
    finally:
        _least.reset(mark)


def least_block(chain_id: int) -> int:
    """The oldest block that the current request accepts as the head of a chain; 0 for any."""
    return _least.get().get(chain_id, 0)


@contextlib.contextmanager
def noting_heads() -> Iterator[Mapping[int, Block]]:
    """Yields the head of each chain that the code inside and its tasks last got, by chain id."""
    used: dict[int, Block] = {}
    mark = _used.set(used)
    try:
        yield used
    finally:
        _used.reset(mark)


def note_head(chain_id: int, block: Block) -> None:
    """Notes the head that the code inside ``noting_heads`` got."""
    used = _used.get()
    if used is not None:
        used[chain_id] = block


def next_moment() -> int:
    """A moment after all before: of an arrival, or of the start of a read."""
    return next(_moments)


def arrival() -> int:
    """The moment at which the current request arrived; 0 outside of a request."""
    request = _arrived.get()
    return 0 if request is None else request.moment


def current_request() -> Arrival | None:
    """The request that runs, the same object until it ends; None outside of one."""
    request = _arrived.get()
    return None if request is None or request.is_over else request
