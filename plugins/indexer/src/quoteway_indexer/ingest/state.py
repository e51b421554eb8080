"""What is known of the index of one chain while it is written: spans, contracts, and commits of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from quoteway_indexer.computing import Frontier
from quoteway_indexer.ingest.progress import Rates
from quoteway_indexer.ingest.ranges import missing_blocks
from quoteway_indexer.ingest.reading import RangeRead
from quoteway_indexer.ingest.sources import CREATED, Source, SourceSet
from quoteway_indexer.store import Commit, Condition, IndexedBlock, Select, Span
from quoteway_indexer.stores.spans import cut, joined
from quoteway_indexer.writing import Writer

HOUR_S: Final = 3_600


@dataclass(slots=True, eq=False)
class ChainState:
    """The index of one chain. What is in memory is what was committed.

    ``tip`` is the newest block whose logs are written, ``finalized`` the newest that no reorganisation takes
    back. ``committed`` is called after each commit.
    """

    chain_id: int
    sources: SourceSet
    writer: Writer
    rates: Rates = field(default_factory=Rates)
    spans: list[Span] = field(default_factory=list)
    tip: IndexedBlock | None = None
    finalized: int = -1
    committed: Callable[[], None] = lambda: None

    async def load(self) -> None:
        """Reads what was committed. Sources of which another version was read are dropped."""
        spans = await self.writer.spans(self.chain_id)
        for source in self.sources.outdated(spans):
            await self.writer.drop_source(self.chain_id, source)
        self.spans = self.sources.current(await self.writer.spans(self.chain_id))
        await self._load_contracts()

    async def _load_contracts(self) -> None:
        """Sets the contracts of sources that have factories to what the index knows."""
        for finder in self.sources.finders:
            where = (Condition("chain_id", "=", self.chain_id), Condition("source", "=", finder.id))
            rows = await self.writer.fetch(Select(CREATED, ("contract",), where))
            made = {"0x" + row[0].hex() for row in rows if isinstance(row[0], bytes)}
            for source in finder.makes:
                source.contracts = {address.lower() for address in source.declared.addresses} | made

    async def commit(self, first: int, last: int, sources: Sequence[Source], read: RangeRead) -> None:
        """Writes what was read of a range, with its span, in one transaction."""
        spans = [
            each.span(max(first, each.declared.first_block), last)
            for each in sources
            if each.declared.first_block <= last
        ]
        await self.writer.commit(Commit(self.chain_id, facts=read.facts, blocks=read.blocks, read=spans))
        self.spans = joined([*self.spans, *spans])
        for source in sources:
            source.skipped += read.skipped.get(source.id, 0)
        self.rates.count(sum(span.last - span.first + 1 for span in spans), read.logs)
        self.committed()

    async def rewind(self, ancestor: IndexedBlock) -> None:
        """Takes back all that was written of blocks after ``ancestor``, in one transaction."""
        hour = ancestor.timestamp // HOUR_S * HOUR_S
        await self.writer.commit(Commit(self.chain_id, rewind_to=ancestor.number, forget_hours_from=hour))
        self.spans = cut(self.spans, ancestor.number)
        self.tip = ancestor
        self.finalized = min(self.finalized, ancestor.number)
        await self._load_contracts()

    def frontier(self) -> Frontier | None:
        """Returns how far the facts reach; None before the newest blocks are read."""
        if self.tip is None:
            return None
        return Frontier(self.chain_id, self.tip, min(self.finalized, self.tip.number), self.complete_from())

    def complete_from(self) -> Mapping[str, int]:
        """Returns by source since which block every log is written up to the newest block."""
        if self.tip is None:
            return {}
        at = self.tip.number
        first = {span.source: span.first for span in self.spans if span.first <= at <= span.last}
        return {each.id: first[each.id] for each in self.sources.others if each.id in first}

    def progress(self, until: int) -> tuple[int, int]:
        """Returns how many blocks of all sources were read up to a block, and how many there are."""
        total = sum(max(0, until - each.declared.first_block + 1) for each in self.sources.all)
        return total - sum(missing_blocks(each, self.spans, until) for each in self.sources.all), total
