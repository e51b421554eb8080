"""Chooses which blocks are read next, and how many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from quoteway_indexer.ingest.sources import Source
from quoteway_indexer.store import Span

TARGET_LOGS: Final = 12_000
"""The logs that one range is made for: some megabytes of JSON."""
MAX_BLOCKS: Final = 50_000
FIRST_BLOCKS: Final = 100
"""Few: of a range that has too many logs, all of them come before that is known."""
_TARGET_S: Final = 3.0
_GROWTH: Final = 10
_STEPS: Final = (1, 2, 5)


@dataclass(slots=True)
class RangeSize:
    """How many blocks a range has: learned from how many logs came, and how long it took."""

    blocks: int = FIRST_BLOCKS
    is_learned: bool = False
    """Whether logs, time or a refusal limit it. Until then it grows, and one range is read at a time."""

    def gave(self, blocks: int, logs: int, took_s: float) -> None:
        """Notes a range that was read."""
        most = MAX_BLOCKS
        if logs:
            most = min(most, blocks * TARGET_LOGS // logs)
        if took_s > 0:
            most = min(most, int(blocks * _TARGET_S / took_s))
        wanted = min(most, blocks * _GROWTH)
        self.is_learned = self.is_learned or most == wanted
        if blocks < self.blocks and wanted >= blocks:
            return  # a short range at the end of a gap says nothing against longer ones
        self.blocks = _rounded(max(1, wanted))

    def refused(self, blocks: int, working: int | None = None) -> None:
        """Notes a range that was too long. ``working`` is how many blocks would pass, where that is known."""
        self.is_learned = True
        known = working if working is not None and 0 < working < blocks else blocks // 2
        self.blocks = max(1, min(self.blocks, known))


def _rounded(blocks: int) -> int:
    """Returns the greatest of 1, 2, 5, 10, 20, 50... up to ``blocks``.

    The limits of nodes are such numbers: a range that is a multiple of the limit leaves no short rest.
    """
    power: int = 10 ** (len(str(blocks)) - 1)
    steps: list[int] = [step * power for step in _STEPS]
    return max(each for each in steps if each <= blocks)


@dataclass(frozen=True, slots=True)
class Gap:
    """Blocks, both inclusive, that some sources have to be read in."""

    first: int
    last: int
    sources: tuple[Source, ...]

    def newest(self, blocks: int) -> Gap:
        """Returns the newest part with at most so many blocks."""
        return Gap(max(self.first, self.last - blocks + 1), self.last, self.sources)


def newest_gap(sources: Sequence[Source], done: Sequence[Span], until: int) -> Gap | None:
    """Returns the newest blocks up to ``until`` that any source has not been read in; None: all are read.

    In all its blocks the same sources are missing. ``done`` are spans of the sources' present versions.
    """
    holes = {source: _holes(source, done, until) for source in sources}
    last = max((hole[-1][1] for hole in holes.values() if hole), default=None)
    if last is None:
        return None
    missing, first = [], 0
    for source, hole in holes.items():
        if hole and hole[-1][1] == last:
            missing.append(source)
            first = max(first, hole[-1][0])
        elif hole:
            first = max(first, hole[-1][1] + 1)
    return Gap(first, last, tuple(missing))


def missing_blocks(source: Source, done: Sequence[Span], until: int) -> int:
    """Returns in how many blocks up to ``until`` a source has not been read."""
    return sum(last - first + 1 for first, last in _holes(source, done, until))


def _holes(source: Source, done: Sequence[Span], until: int) -> list[tuple[int, int]]:
    """Returns the blocks of a source that were not read, in ascending order."""
    mine = sorted((span.first, span.last) for span in done if span.source == source.id)
    holes, at = [], source.declared.first_block
    for first, last in mine:
        if first > at:
            holes.append((at, min(first - 1, until)))
        at = max(at, last + 1)
    if at <= until:
        holes.append((at, until))
    return [(first, last) for first, last in holes if first <= last]
