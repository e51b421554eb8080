"""What pools with reserves have: those that log a ``Sync`` before the event that says why they changed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from math import isqrt
from typing import Any, ClassVar

from quoteway_indexer.replay.tick_prices import tick_of
from quoteway_indexer.replay.two_token_pool import TwoTokenPool


class ReservePool(TwoTokenPool):
    """A pool whose principal is its reserves. What came in without a reason was donated."""

    __slots__ = ("_waiting", "reserve0", "reserve1")
    _fees_leave: ClassVar[bool] = False
    """Whether the fee of a swap leaves the reserves in the same call."""

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self.reserve0 = self.reserve1 = 0
        self._waiting: tuple[int, int] | None = None
        """How a Sync changed the reserves, until the event after it says why."""

    def synchronise(self, timestamp: int, reserve0: int, reserve1: int) -> None:
        """Applies Sync."""
        self.settle()
        if timestamp != self.at:
            self.pass_time(timestamp)
        self._waiting = reserve0 - self.reserve0, reserve1 - self.reserve1
        self.reserve0, self.reserve1 = reserve0, reserve1
        self.price = self._price()
        if self.price is not None:
            self.hour.quote(self.price)

    def swap(
        self,
        transaction: bytes,
        sender: bytes,
        recipient: bytes | None,
        amount0: int,
        amount1: int,
        in0: int,
        in1: int,
    ) -> None:
        """Applies Swap, which follows its Sync."""
        lp0, lp1, protocol0, protocol1 = self._fees(in0, in1)
        if self._fees_leave:
            self._explain(amount0 - lp0, amount1 - lp1)
        else:
            self._explain(amount0, amount1)
        hour = self.hour
        hour.swaps += 1
        hour.volume0 += in0
        hour.volume1 += in1
        hour.lp0 += lp0
        hour.lp1 += lp1
        hour.protocol0 += protocol0
        hour.protocol1 += protocol1
        hour.trade(transaction, sender, recipient, (in0, in1, in0 - amount0, in1 - amount1))

    @abstractmethod
    def _fees(self, in0: int, in1: int) -> tuple[int, int, int, int]:
        """Takes the fees of a swap: those of the providers of both sides, and those of the protocol."""

    def _price(self) -> int | None:
        """Returns the square root of the price times ``2 ** 96``; None for no price."""
        both = self.reserve0 and self.reserve1
        return isqrt((self.reserve1 << 192) // self.reserve0) if both else None

    def _explain(self, amount0: int, amount1: int) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            self.spoil()
            return
        # A burn adds what was sent to the pool before to the reserves.
        donated0, donated1 = waiting[0] - amount0, waiting[1] - amount1
        if donated0 or donated1:
            self._donate(donated0, donated1)

    def _donate(self, amount0: int, amount1: int) -> None:
        if amount0 < 0 or amount1 < 0:
            self.hour.inexact += 1  # a token that takes balances away
        self.hour.donated0 += max(amount0, 0)
        self.hour.donated1 += max(amount1, 0)

    def settle(self) -> None:
        """Counts a change of reserves that no other event explains as donated."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self._donate(*waiting)

    def principal(self) -> tuple[int, int]:
        """Returns the reserves."""
        return self.reserve0, self.reserve1

    def current_tick(self, price: int) -> int:
        """Returns the tick of the price."""
        return tick_of(price)

    def state(self) -> dict[str, Any]:
        """See ``ReplayedPool``."""
        return {
            "reserves": [self.reserve0, self.reserve1],
            "price": self.price,
            "doubtful": self.doubtful,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """See ``ReplayedPool``."""
        self.reserve0, self.reserve1 = state["reserves"]
        self.price, self.doubtful = state["price"], state["doubtful"]
