"""What is computed from facts in the index process, after they were written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from quoteway_indexer.store import IndexedBlock


@dataclass(frozen=True, slots=True)
class Frontier:
    """How far the facts of a chain reach.

    ``head`` is the newest block whose logs are written, ``finalized`` the number of the newest block that no
    reorganisation takes back. ``complete_from`` has for each source the first block since which every log is
    written up to ``head``; a source without one is missing.
    """

    chain_id: int
    head: IndexedBlock
    finalized: int
    complete_from: Mapping[str, int]


class Computation(ABC):
    """Keeps rollups up to date with the facts of one chain. Made with the chain's ``Writer``."""

    @abstractmethod
    async def advance(self, frontier: Frontier) -> None:
        """Computes what is new and commits it, in commits of bounded size. Called after facts were written.

        It may be cancelled between commits, and the process may be killed at any time: what is committed
        must be what a clean index has, and the next call goes on from there.
        """

    def rewind(self, block: int) -> None:
        """Forgets what is in memory of blocks after ``block``. Called after facts and hours were deleted."""
        return
