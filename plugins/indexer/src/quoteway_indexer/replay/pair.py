"""Replays a v2 pair: reserves, fees and the protocol's share of them."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Any, Final

from quoteway_indexer.replay.pool import ReplayedPool
from quoteway_indexer.replay.tick_prices import tick_of

_ZERO: Final = bytes(20)


class Pair(ReplayedPool):
    """A pair. Its LP and protocol fees together are exact always.

    The pair mints a share of the fees to the factory's feeTo, if there is one, when liquidity comes or goes.
    There is no event for the switch: it stands as the last such mint showed. Swaps that were split otherwise
    than the next mint shows are counted as inexact in the hour of that mint.
    """

    __slots__ = (
        "_before",
        "_fee",
        "_minted",
        "_share",
        "_sharing",
        "_since",
        "_waiting",
        "reserve0",
        "reserve1",
    )

    def __init__(self, key: bytes, fee: tuple[int, int], share: tuple[int, int]) -> None:
        super().__init__(key)
        self._fee = fee
        self._share = share
        self._sharing = False
        self._since = 0
        self._minted = 0
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
        self.price = isqrt((reserve1 << 192) // reserve0) if reserve0 and reserve1 else None
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
        self._explain(amount0, amount1)
        numerator, denominator = self._fee
        hour = self.hour
        hour.swaps += 1
        self._since += 1
        if in0:
            fee = in0 * (denominator - numerator) // denominator
            protocol = fee * self._share[0] // self._share[1] if self._sharing else 0
            hour.volume0 += in0
            hour.lp0 += fee - protocol
            hour.protocol0 += protocol
        if in1:
            fee = in1 * (denominator - numerator) // denominator
            protocol = fee * self._share[0] // self._share[1] if self._sharing else 0
            hour.volume1 += in1
            hour.lp1 += fee - protocol
            hour.protocol1 += protocol
        hour.trade(transaction, sender, recipient, (in0, in1, in0 - amount0, in1 - amount1))

    def transfer_shares(self, sender: bytes, recipient: bytes) -> None:
        """Applies Transfer of liquidity tokens. Those that come into being precede Mint and Burn."""
        if sender == _ZERO and recipient != _ZERO:
            self._minted += 1

    def change(self, amount0: int, amount1: int) -> None:
        """Applies Mint, or Burn with negative amounts, which follows its Sync."""
        self._explain(amount0, amount1)
        shared = self._minted > (amount0 > 0)
        self._minted = 0
        if self._since or shared:
            if shared != self._sharing:
                self.hour.inexact += self._since
            self._sharing = shared
        self._since = 0

    def _explain(self, amount0: int, amount1: int) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            self.spoil()
            return
        # A burn adds what was sent to the pair before to the reserves.
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

    def uncollected(self, principal: tuple[int, int]) -> tuple[int, int]:
        """Returns nothing: fees are in the reserves."""
        return 0, 0

    def current_tick(self, price: int) -> int:
        """Returns the tick of the price."""
        return tick_of(price)

    def state(self) -> dict[str, Any]:
        """See ``ReplayedPool``."""
        return {
            "reserves": [self.reserve0, self.reserve1],
            "sharing": self._sharing,
            "since": self._since,
            "price": self.price,
            "doubtful": self.doubtful,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """See ``ReplayedPool``."""
        self.reserve0, self.reserve1 = state["reserves"]
        self._sharing, self._since = state["sharing"], state["since"]
        self.price, self.doubtful = state["price"], state["doubtful"]
