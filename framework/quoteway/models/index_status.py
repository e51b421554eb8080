"""How far an index of chains is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ("IndexState", "IndexStatus", "IndexedSource")

IndexState: TypeAlias = Literal["starting", "indexing", "following", "waiting", "stopped"]
"""``starting``: no block was read yet. ``indexing``: history is missing. ``following``: complete, and new
blocks are read as they come. ``waiting``: the last attempt failed, another one follows. ``stopped``: the
process that keeps the index says nothing any more."""


@dataclass(frozen=True, slots=True)
class IndexedSource:
    """An event source of an index.

    ``spans`` are the blocks that were read, both inclusive, in ascending order. ``skipped_logs`` did not fit
    the rules, counted since the index process started. ``refusal`` says what is wrong with the source, which
    is not read then.
    """

    id: str
    version: int
    first_block: int
    spans: tuple[tuple[int, int], ...] = ()
    skipped_logs: int = 0
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The index of one chain.

    ``percent`` is the part of the blocks of all sources that was read. Rates are those of the last seconds.
    ``eta_s`` is an estimate of the seconds until the history is complete; None: not known. ``lag_blocks`` and
    ``lag_s`` are how far the newest indexed block is behind the newest known one. ``problem`` says what the
    process waits for. ``updated_at`` is when the index process said all this.
    """

    chain_id: int
    state: IndexState
    percent: float
    blocks_per_s: float
    logs_per_s: float
    eta_s: int | None
    head: int | None
    indexed_block: int | None
    finalized_block: int | None
    lag_blocks: int | None
    lag_s: int | None
    sources: tuple[IndexedSource, ...]
    problem: str | None
    updated_at: int
