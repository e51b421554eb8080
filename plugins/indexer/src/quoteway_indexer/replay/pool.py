"""What replayed pools of all families have: their place in time, and the rows of their hour."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final

from quoteway_indexer.replay.hour import HourSums
from quoteway_indexer.store import Row

HOUR_S: Final = 3600
_MOST: Final = (1 << 256) - 1


class ReplayedPool(ABC):
    """A pool to which its events are applied in order. Within an hour, ``hour`` has its sums.

    ``at`` is the second up to which what stood was added up. ``doubtful`` is true after an event that does
    not follow from those before it: every later hour is marked as inexact. ``created`` is what the pool was
    made of, in values of JSON.
    """

    __slots__ = ("at", "created", "doubtful", "hour", "key")
    hour: HourSums

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.created: tuple[Any, ...] = ()
        self.at = 0
        self.doubtful = False
        self.hour = self.new_hour(0)

    @abstractmethod
    def new_hour(self, start: int) -> Any:
        """Returns the sums of an hour that begins in the state in which the last one ended."""

    def open_hour(self, start: int) -> None:
        """Begins an hour."""
        self.hour = self.new_hour(start)
        self.at = start
        if self.doubtful:
            self.hour.inexact = 1

    @abstractmethod
    def pass_time(self, timestamp: int) -> None:
        """Adds up what stood until now. Called before an event of a later second changes it."""

    def spoil(self) -> None:
        """Marks the pool: an event does not follow from those before it."""
        self.hour.inexact += 1
        self.doubtful = True

    @abstractmethod
    def rows(self, chain_id: int, source: str, is_pool: Callable[[bytes], bool]) -> list[Row]:
        """Returns the hour as rows of the table of the pool's family. Every block must be complete."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Returns the state after an hour, in values of JSON."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Takes over a state of ``state``."""


def fitting(value: int | None) -> int | None:
    """Returns an amount that the tables can hold, None otherwise.

    What does not fit is of a token made for that, or of a pool whose events contradict each other.
    """
    return value if value is not None and 0 <= value <= _MOST else None
