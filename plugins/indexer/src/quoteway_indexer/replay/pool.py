"""What pools of all families have: their place in time, and the row of their hour."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final

from quoteway_indexer.replay.hour import Hour
from quoteway_indexer.store import Row

HOUR_S: Final = 3600
_MOST = (1 << 256) - 1


class ReplayedPool(ABC):
    """A pool to which its events are applied in order. Within an hour, ``hour`` has its sums.

    ``at`` is the second up to which principal and tick were added up. ``doubtful`` is true after an event
    that does not follow from those before it: every later hour is marked as inexact. ``created`` is what
    the pool was made of, in values of JSON.
    """

    __slots__ = ("at", "created", "doubtful", "hour", "key", "price")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.created: tuple[Any, ...] = ()
        self.at = 0
        self.price: int | None = None
        self.doubtful = False
        self.hour = Hour(0, None)

    def open_hour(self, start: int) -> None:
        """Begins an hour, in the state in which the last one ended."""
        self.hour = Hour(start, self.price)
        self.at = start
        if self.doubtful:
            self.hour.inexact = 1

    def pass_time(self, timestamp: int) -> None:
        """Adds up what stood until now. Called before an event of a later second changes it."""
        passed = timestamp - self.at
        self.at = timestamp
        price = self.price
        if passed <= 0 or price is None:
            return
        hour = self.hour
        amount0, amount1 = self.principal()
        hour.principal_seconds0 += amount0 * passed
        hour.principal_seconds1 += amount1 * passed
        hour.tick_seconds += self.current_tick(price) * passed
        hour.seconds += passed

    def spoil(self) -> None:
        """Marks the pool: an event does not follow from those before it."""
        self.hour.inexact += 1
        self.doubtful = True

    def row(self, chain_id: int, source: str, is_pool: Callable[[bytes], bool]) -> Row:
        """Returns the hour in the order of the columns of ``pool_hour``. Every block must be complete."""
        self.settle()
        hour = self.hour
        washed = hour.washed(is_pool)
        amounts = self.principal()
        uncollected = self.uncollected(amounts)
        values = (
            hour.volume0,
            hour.volume1,
            *washed,
            hour.lp0,
            hour.lp1,
            hour.protocol0,
            hour.protocol1,
            hour.flash0,
            hour.flash1,
            hour.donated0,
            hour.donated1,
            *amounts,
            *uncollected,
            hour.principal_seconds0,
            hour.principal_seconds1,
        )
        liquidity = self.liquidity_in_range()
        # What does not fit is of a token made for that, or of a pool whose events contradict each other.
        stored = tuple(value if 0 <= value <= _MOST else None for value in values)
        unfit = None in stored
        if liquidity is not None and not 0 <= liquidity <= _MOST:
            liquidity, unfit = None, True
        return (
            chain_id,
            self.key,
            hour.start,
            source,
            hour.swaps,
            *stored,
            hour.tick_seconds,
            hour.seconds,
            hour.opened_at,
            hour.high,
            hour.low,
            self.price,
            liquidity,
            hour.inexact + unfit,
        )

    @abstractmethod
    def principal(self) -> tuple[int, int]:
        """Returns what a burn of all liquidity pays."""

    @abstractmethod
    def uncollected(self, principal: tuple[int, int]) -> tuple[int, int]:
        """Returns what is owed to the providers beside the principal."""

    @abstractmethod
    def current_tick(self, price: int) -> int:
        """Returns the tick of the price."""

    def settle(self) -> None:
        """Applies what waits for the event after it. Called when the events of a block are complete."""
        return

    def liquidity_in_range(self) -> int | None:
        """Returns the liquidity at the price; None for families that have none."""
        return None

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Returns the state after an hour, in values of JSON."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Takes over a state of ``state``."""
