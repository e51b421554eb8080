"""The computation of the hours of pools from their facts."""

from __future__ import annotations

from collections.abc import Sequence

from quoteway import EventSource

from quoteway_indexer.computing import Computation, Frontier
from quoteway_indexer.replay.families import FAMILIES
from quoteway_indexer.replay.source_replay import SourceReplay
from quoteway_indexer.writing import Writer


class PoolReplay(Computation):
    """Writes the hours of pools and ``replay_state`` of every source of one chain whose family is known."""

    def __init__(self, chain_id: int, sources: Sequence[EventSource], writer: Writer) -> None:
        self._sources = [
            SourceReplay(chain_id, source, writer)
            for source in sources
            if source.chain_id == chain_id and source.family in FAMILIES
        ]

    async def advance(self, frontier: Frontier) -> None:
        """See ``Computation``."""
        for source in self._sources:
            await source.advance(frontier)

    def rewind(self, block: int) -> None:
        """See ``Computation``."""
        for source in self._sources:
            source.rewind(block)
