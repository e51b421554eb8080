"""Measures how far the index of a chain is, and says it as JSON for readers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

WINDOW_S: Final = 20.0
"""Rates are those of so many last seconds."""


class SourceNote(msgspec.Struct, rename="camel"):
    """How far one source is. ``spans`` are blocks that were read, both inclusive."""

    id: str
    version: int
    first_block: int
    spans: list[tuple[int, int]]
    skipped: int
    refused: str | None = None


class ChainNote(msgspec.Struct, rename="camel"):
    """What the index process says of a chain."""

    state: str
    head: int | None
    indexed_block: int | None
    indexed_timestamp: int | None
    finalized: int | None
    done_blocks: int
    total_blocks: int
    blocks_per_second: float
    logs_per_second: float
    eta_seconds: int | None
    sources: list[SourceNote]
    problem: str | None
    updated_at: int

    @property
    def percent(self) -> float:
        """Returns the part of the blocks of all sources that was read."""
        return 100.0 if not self.total_blocks else 100.0 * self.done_blocks / self.total_blocks


def encode_note(note: ChainNote) -> str:
    """Returns a note as ``Store.note`` keeps it."""
    return msgspec.json.encode(note).decode()


def read_note(value: Any) -> ChainNote | None:
    """Returns a note that ``Reader.notes`` gave, None for what another version wrote."""
    try:
        return msgspec.convert(value, ChainNote)
    except msgspec.ValidationError:
        return None


@dataclass(slots=True)
class Rates:
    """Counts blocks and logs that were read, and tells how many there were in a second."""

    clock: Callable[[], float] = time.monotonic
    blocks: int = 0
    logs: int = 0
    _marks: deque[tuple[float, int, int]] = field(default_factory=deque)

    def count(self, blocks: int, logs: int) -> None:
        """Counts what was read now."""
        if not self._marks:
            self._marks.append((self.clock(), self.blocks, self.logs))
        self.blocks += blocks
        self.logs += logs

    def per_second(self) -> tuple[float, float]:
        """Returns the blocks and logs of a second, lately."""
        now = self.clock()
        if not self._marks:
            return 0.0, 0.0
        self._marks.append((now, self.blocks, self.logs))
        while len(self._marks) > 2 and self._marks[1][0] < now - WINDOW_S:
            self._marks.popleft()
        began, blocks, logs = self._marks[0]
        took_s = max(now - began, 0.001)
        return (self.blocks - blocks) / took_s, (self.logs - logs) / took_s
