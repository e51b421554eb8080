"""Replays a v2 pair: reserves, fees and the protocol's share of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from quoteway_indexer.replay.reserve_pool import ReservePool

_ZERO: Final = bytes(20)


class Pair(ReservePool):
    """A pair. Its LP and protocol fees together are exact always.

    The pair mints a share of the fees to the factory's feeTo, if there is one, when liquidity comes or goes.
    There is no event for the switch: it stands as the last such mint showed. Swaps that were split otherwise
    than the next mint shows are counted as inexact in the hour of that mint.
    """

    __slots__ = ("_fee", "_minted", "_share", "_sharing", "_since")

    def __init__(self, key: bytes, fee: tuple[int, int], share: tuple[int, int]) -> None:
        super().__init__(key)
        self._fee = fee
        self._share = share
        self._sharing = False
        self._since = 0
        self._minted = 0

    def _fees(self, in0: int, in1: int) -> tuple[int, int, int, int]:
        numerator, denominator = self._fee
        fee0 = in0 * (denominator - numerator) // denominator
        fee1 = in1 * (denominator - numerator) // denominator
        self._since += 1
        if not self._sharing:
            return fee0, fee1, 0, 0
        share, whole = self._share
        protocol0, protocol1 = fee0 * share // whole, fee1 * share // whole
        return fee0 - protocol0, fee1 - protocol1, protocol0, protocol1

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

    def uncollected(self, principal: tuple[int, int]) -> tuple[int, int]:
        """Returns nothing: fees are in the reserves."""
        return 0, 0

    def state(self) -> dict[str, Any]:
        """See ``ReplayedPool``."""
        return {**super().state(), "sharing": self._sharing, "since": self._since}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See ``ReplayedPool``."""
        super().restore(state)
        self._sharing, self._since = state["sharing"], state["since"]
