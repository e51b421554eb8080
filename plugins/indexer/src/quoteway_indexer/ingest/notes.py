"""What the index process says of each chain, as JSON for readers in any process."""

from __future__ import annotations

from typing import Any

import msgspec
from quoteway.models import IndexState


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

    state: IndexState
    head: int | None
    head_timestamp: int | None
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
