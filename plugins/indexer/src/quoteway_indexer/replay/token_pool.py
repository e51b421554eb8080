"""Replays a pool of several tokens whose events tell what came and went of each, as those of Balancer v2.

Sources: v2-vault PoolBalances, Swaps, PoolTokens and AssetManagers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from quoteway_indexer.replay.pool import ReplayedPool, fitting
from quoteway_indexer.replay.token_hour import TokenHour
from quoteway_indexer.store import Row

_ADDRESS: Final = 20


class TokenPool(ReplayedPool):
    """A pool whose principal is what came less what went. No event tells its fees.

    Some releases register their own shares as a token of the pool: a swap of these is a change of liquidity,
    and what the pool has of them is nobody's. ``knows_principal`` is false when an event did not tell all
    that left.
    """

    __slots__ = ("_places", "amounts", "knows_principal", "tokens")
    hour: TokenHour
    _knows_fees: ClassVar[bool] = False

    def __init__(self, key: bytes) -> None:
        self.tokens: list[bytes] = []
        self.amounts: list[int] = []
        self.knows_principal = True
        self._places: dict[bytes, int] = {}
        super().__init__(key)

    def new_hour(self, start: int) -> TokenHour:
        """See ``ReplayedPool``."""
        return TokenHour(start, len(self.tokens), self._knows_fees)

    def pass_time(self, timestamp: int) -> None:
        """See ``ReplayedPool``."""
        passed = timestamp - self.at
        self.at = timestamp
        if passed > 0:
            stood = self.hour.principal_seconds
            for place, amount in enumerate(self.amounts):
                stood[place] += amount * passed

    def add_token(self, token: bytes, pays_yield_fees: int | None) -> None:
        """Applies the registration of a token."""
        if token == self._own or token in self._places:
            return  # a token that was given up and taken again has its place
        self._places[token] = len(self.tokens)
        self.tokens.append(token)
        self.amounts.append(0)
        self.hour.add_token()

    def swap(
        self,
        timestamp: int,
        transaction: bytes,
        token_in: bytes,
        token_out: bytes,
        amount_in: int,
        amount_out: int,
        fee_in: int | None,
    ) -> None:
        """Applies Swap."""
        if timestamp != self.at:
            self.pass_time(timestamp)
        own, places = self._own, self._places
        sold = None if token_in == own else places[token_in]
        bought = None if token_out == own else places[token_out]
        if sold is not None:
            self.amounts[sold] += amount_in
            self._charge(sold, fee_in)
        if bought is not None:
            self.amounts[bought] -= amount_out
            self._check(bought)
        if sold is not None and bought is not None:
            self.hour.trade(transaction, sold, bought, amount_in, amount_out)
        self._swapped()

    def change(
        self,
        block: int,
        log_index: int,
        timestamp: int,
        place: int,
        token: bytes | None,
        amount: int,
        fee: int | None,
        protocol_fee: int | None,
        share_supply: int | None,
    ) -> None:
        """Applies what came or left when liquidity changed, of a token or of the one at a place."""
        if timestamp != self.at:
            self.pass_time(timestamp)
        if token == self._own:
            return
        if token is not None:
            place = self._places[token]
        self.amounts[place] += amount - (protocol_fee or 0)
        self._charge(place, fee)
        self._check(place)
        self._changed((block, log_index), place, amount, share_supply)

    def _swapped(self) -> None:
        """Called after each swap."""
        return

    def _changed(self, log: tuple[int, int], place: int, amount: int, share_supply: int | None) -> None:
        """Called after each token of a change of liquidity, with the place of its log."""
        return

    def _charge(self, place: int, fee: int | None) -> None:
        """Takes a fee of the token at a place, which its amount has in it."""
        return

    def _check(self, place: int) -> None:
        if self.amounts[place] < 0:
            self.spoil()

    @property
    def _own(self) -> bytes:
        """The pool's own shares: v2's ids begin with the contract of these."""
        return self.key[:_ADDRESS]

    def rows(self, chain_id: int, source: str, is_pool: Callable[[bytes], bool]) -> list[Row]:
        """See ``ReplayedPool``. The rows are those of ``pool_token_hour``."""
        hour, washed = self.hour, self.hour.washed()
        found = []
        for place, token in enumerate(self.tokens):
            moved = hour.swaps[place], hour.volume[place], washed[place]
            fees = hour.lp[place], hour.protocol[place], hour.donated[place]
            stood = self.amounts[place], hour.principal_seconds[place]
            values: tuple[int | None, ...] = (
                *(moved if hour.knows_volume else (None,) * len(moved)),
                *(fees if hour.knows_fees else (None,) * len(fees)),
                *(stood if self.knows_principal else (None,) * len(stood)),
            )
            found.append((token, place, values, tuple(map(fitting, values))))
        inexact = hour.inexact + any(values != stored for _, _, values, stored in found)
        return [
            (chain_id, self.key, hour.start, source, place, token, *stored, inexact)
            for token, place, _, stored in found
        ]

    def state(self) -> dict[str, Any]:
        """See ``ReplayedPool``."""
        return {
            "tokens": [token.hex() for token in self.tokens],
            "amounts": self.amounts,
            "knows_principal": self.knows_principal,
            "doubtful": self.doubtful,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """See ``ReplayedPool``."""
        self.tokens = [bytes.fromhex(token) for token in state["tokens"]]
        self._places = {token: place for place, token in enumerate(self.tokens)}
        self.amounts = list(state["amounts"])
        self.knows_principal, self.doubtful = state["knows_principal"], state["doubtful"]
