"""Takes the rows of a provider's list: no more than a limit, checked in slices that let the loop run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

from quoteway.guard.findings import Expect
from quoteway.guard.model_types import flaw
from quoteway.providers import Provider

T = TypeVar("T")

MOST_ROWS = 20_000
"""The most rows of one answer, if no more are allowed. One of 200,000 took 8.9 s of the event loop and the
memory of as many models."""
SLICE_ROWS = 200
"""How many rows are worked on before other requests have their turn: a few milliseconds of work."""


async def slices(rows: Sequence[T]) -> AsyncIterator[Sequence[T]]:
    """Yields the rows in slices. The loop runs between two of them."""
    for start in range(0, len(rows), SLICE_ROWS):
        if start:
            await asyncio.sleep(0)
        yield rows[start : start + SLICE_ROWS]


async def checked_rows(
    provider: Provider, answer: Sequence[T], model: type[T], most_rows: int = MOST_ROWS
) -> tuple[T, ...]:
    """Returns the rows of an answer, each of class ``model`` with members of the declared types.

    Raises ``UnsafeAnswer`` for another row; for more than ``most_rows``, before any is checked; and for what
    is no list or tuple. Reading that would run the provider's code: an endless generator blocked for 9 s.
    """
    expect = Expect(provider)
    expect(type(answer) in (list, tuple), "what it lists is no list or tuple")
    expect(len(answer) <= most_rows, f"its list has more than {most_rows} rows")
    rows = tuple(answer)
    index = 0
    async for part in slices(rows):
        for row in part:
            found = flaw(row, model)
            expect(found is None, f"in its answer, row {index} of the list{found}")
            index += 1
    return rows
