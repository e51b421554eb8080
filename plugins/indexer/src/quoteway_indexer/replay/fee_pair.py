"""Replays a pool of Solidly's descendants: reserves, and the fees that leave it with each swap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quoteway_indexer.replay.reserve_pool import ReservePool


class FeePair(ReservePool):
    """A pool whose ``Fees`` precede the ``Sync`` of their swap. All fees are the providers'.

    Fees are kept by another contract until they are claimed. A stable pool has no price here: its reserves
    do not tell one.
    """

    __slots__ = ("_fee0", "_fee1", "is_stable", "owed0", "owed1")
    _fees_leave = True

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self.is_stable = False
        self.owed0 = self.owed1 = 0
        self._fee0 = self._fee1 = 0

    def take_fee(self, amount0: int, amount1: int) -> None:
        """Applies Fees."""
        self._fee0 += amount0
        self._fee1 += amount1

    def _fees(self, in0: int, in1: int) -> tuple[int, int, int, int]:
        fee0, fee1, self._fee0, self._fee1 = self._fee0, self._fee1, 0, 0
        self.owed0 += fee0
        self.owed1 += fee1
        return fee0, fee1, 0, 0

    def change(self, amount0: int, amount1: int) -> None:
        """Applies Mint, or Burn with negative amounts, which follows its Sync."""
        self._explain(amount0, amount1)

    def collect(self, amount0: int, amount1: int) -> None:
        """Applies Claim."""
        self.owed0 -= amount0
        self.owed1 -= amount1

    def pass_time(self, timestamp: int) -> None:
        """See ``ReplayedPool``. The principal counts without a price too."""
        passed = timestamp - self.at
        super().pass_time(timestamp)
        if self.price is None and passed > 0:
            self.hour.principal_seconds0 += self.reserve0 * passed
            self.hour.principal_seconds1 += self.reserve1 * passed

    def _price(self) -> int | None:
        return None if self.is_stable else super()._price()

    def uncollected(self, principal: tuple[int, int]) -> tuple[int, int]:
        """Returns the fees that nobody has claimed yet."""
        return self.owed0, self.owed1

    def state(self) -> dict[str, Any]:
        """See ``ReplayedPool``."""
        return {**super().state(), "is_stable": self.is_stable, "owed": [self.owed0, self.owed1]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See ``ReplayedPool``."""
        super().restore(state)
        self.is_stable = state["is_stable"]
        self.owed0, self.owed1 = state["owed"]
