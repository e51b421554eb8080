"""What pools of two tokens have: a price, and the row of ``pool_hour``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from quoteway_indexer.replay.hour import Hour
from quoteway_indexer.replay.pool import ReplayedPool, fitting
from quoteway_indexer.store import Row


class TwoTokenPool(ReplayedPool):
    """A pool that has a price, where its family tells one."""

    __slots__ = ("price",)
    hour: Hour

    def __init__(self, key: bytes) -> None:
        self.price: int | None = None
        super().__init__(key)

    def new_hour(self, start: int) -> Hour:
        """See ``ReplayedPool``."""
        return Hour(start, self.price)

    def pass_time(self, timestamp: int) -> None:
        """See ``ReplayedPool``."""
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

    def rows(self, chain_id: int, source: str, is_pool: Callable[[bytes], bool]) -> list[Row]:
        """See ``ReplayedPool``."""
        return [self.row(chain_id, source, is_pool)]

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
        stored = tuple(map(fitting, values))
        unfit = None in stored
        if liquidity is not None and fitting(liquidity) is None:
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
