"""The computation of the hours of pools from their facts."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from quoteway import Chain, EventSource, GatewayError

from quoteway_indexer.computing import Computation, Frontier
from quoteway_indexer.replay.families import FAMILIES
from quoteway_indexer.replay.pool_tokens import PoolTokens
from quoteway_indexer.replay.source_replay import SourceReplay
from quoteway_indexer.tables import BY_HOUR
from quoteway_indexer.writing import Writer

_log = logging.getLogger(__name__)


class PoolReplay(Computation):
    """Writes the hours of pools and ``replay_state`` of every source of one chain whose family is known.

    Families whose hours are of none of ``tables`` are left out. ``chain`` is asked for the tokens of pools
    whose events do not name them. Sources of these are left out without it.
    """

    def __init__(
        self,
        chain_id: int,
        sources: Sequence[EventSource],
        writer: Writer,
        chain: Chain | None = None,
        tables: Collection[str] = BY_HOUR,
    ) -> None:
        self._sources = [
            SourceReplay(chain_id, source, writer, _tokens_of(source, chain))
            for source in sources
            if source.chain_id == chain_id
            and (family := FAMILIES.get(source.family)) is not None
            and family.table in tables
            and (family.announces or _tokens_of(source, chain) is not None)
        ]

    async def advance(self, frontier: Frontier) -> None:
        """See ``Computation``. A source waits for the next call when the chain cannot be read."""
        for source in self._sources:
            try:
                await source.advance(frontier)
            except GatewayError as error:
                _log.warning("hours of %r wait for the next blocks: %s", source.id, error)

    def rewind(self, block: int) -> None:
        """See ``Computation``."""
        for source in self._sources:
            source.rewind(block)


def _tokens_of(source: EventSource, chain: Chain | None) -> PoolTokens | None:
    return PoolTokens(chain, source.tokens_by) if chain is not None and source.tokens_by else None
