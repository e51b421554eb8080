"""Joins and cuts what was read of sources."""

from __future__ import annotations

from collections.abc import Iterable

from quoteway_indexer.store import Span


def joined(spans: Iterable[Span]) -> list[Span]:
    """Returns spans joined where they touch or overlap, for each source and version."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.source, span.version, span.first)):
        last = result[-1] if result else None
        if (
            last
            and (last.source, last.version) == (span.source, span.version)
            and span.first <= last.last + 1
        ):
            result[-1] = Span(last.source, last.version, last.first, max(last.last, span.last))
        else:
            result.append(span)
    return result


def cut(spans: Iterable[Span], block: int) -> list[Span]:
    """Returns the parts of spans that are not after ``block``."""
    return [
        Span(span.source, span.version, span.first, min(span.last, block))
        for span in spans
        if span.first <= block
    ]


def overlaps(spans: Iterable[Span], read: Iterable[Span]) -> list[Span]:
    """Returns the parts of ``read`` that ``spans`` have already, of any version of a source."""
    known = list(spans)
    return [
        Span(new.source, new.version, max(old.first, new.first), min(old.last, new.last))
        for new in read
        for old in known
        if old.source == new.source and old.first <= new.last and new.first <= old.last
    ]


def by_block(spans: Iterable[Span]) -> list[Span]:
    """Returns spans in ascending order of blocks, as ``Store.spans`` does."""
    return sorted(spans, key=lambda span: (span.first, span.source, span.version))
