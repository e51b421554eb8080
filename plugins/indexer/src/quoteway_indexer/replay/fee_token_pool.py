"""Replays a pool of Balancer v3: the fees that its Vault logs, and the part of them that leaves the pool.

Sources: v3-vault Vault, VaultAdmin, VaultExtension, PoolDataLib and ProtocolFeeController.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from quoteway_indexer.replay.token_pool import TokenPool

_ONE: Final = 10**18
_FEE_SHARE, _YIELD_SHARE, _RECOVERY = "swap_fee_share", "yield_fee_share", "recovery_mode"
"""Settings of ``pool_setting``: both shares are parts of ``10**18``, the mode is 1 or 0."""


class FeeTokenPool(TokenPool):
    """A pool that logs its fees. A share of them leaves it, for the protocol and for who made the pool.

    The controller of fees logs the share when the pool is made, the Vault when it changes: without the first,
    neither fees nor principal are known until the second. No event tells fees of yield, which leave the pool
    at swaps and changes of liquidity: in a pool that may pay them, these are not exact.
    """

    __slots__ = ("_log", "_mints", "_pays_yield_fees", "_settings", "_supply")
    _knows_fees = True

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self._settings: dict[str, int] = {}
        self._pays_yield_fees = False
        self._supply = 0
        self._log = -1, -1
        self._mints = False

    def set(self, setting: str, value: int) -> None:
        """Applies a new share of fees, or the beginning or end of recovery, in which none is taken."""
        self._settings[setting] = value

    def add_token(self, token: bytes, pays_yield_fees: int | None) -> None:
        """See ``TokenPool``."""
        super().add_token(token, pays_yield_fees)
        self._pays_yield_fees |= bool(pays_yield_fees)

    def _swapped(self) -> None:
        self._pay_yield_fees()

    def _changed(self, log: tuple[int, int], place: int, amount: int, share_supply: int | None) -> None:
        """What came without new shares was donated."""
        if log != self._log:
            self._log = log
            if self._supply:
                self._pay_yield_fees()
            before, self._supply = self._supply, share_supply or 0
            self._mints = self._supply != before
        if amount > 0 and not self._mints:
            self.hour.donated[place] += amount

    def _charge(self, place: int, fee: int | None) -> None:
        if not fee:
            return
        share = 0 if self._settings.get(_RECOVERY) else self._settings.get(_FEE_SHARE)
        if share is None:
            self.hour.knows_fees = self.knows_principal = False
            return
        protocol = fee * share // _ONE
        self.amounts[place] -= protocol
        self.hour.protocol[place] += protocol
        self.hour.lp[place] += fee - protocol

    def _pay_yield_fees(self) -> None:
        takes_some = self._settings.get(_YIELD_SHARE) != 0 and not self._settings.get(_RECOVERY)
        if self._pays_yield_fees and takes_some:
            self.spoil()

    def state(self) -> dict[str, Any]:
        """See ``ReplayedPool``."""
        own = {"settings": self._settings, "pays_yield_fees": self._pays_yield_fees, "supply": self._supply}
        return {**super().state(), **own}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See ``ReplayedPool``."""
        super().restore(state)
        self._settings = dict(state["settings"])
        self._pays_yield_fees, self._supply = state["pays_yield_fees"], state["supply"]
