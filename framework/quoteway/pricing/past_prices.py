"""Prices of past hours, from an index."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from quoteway.models import Address, TokenHours
from quoteway.pricing.valuation import value_of
from quoteway.wallet_history import WalletHistory

HOUR_S = 3_600
OLDEST_S = 24 * HOUR_S
"""How much older than a moment the hour may be whose price counts for it."""
HOURS_AT_ONCE = 50_000
"""How many hours are asked for at once: an answer is checked on the event loop, which takes 1 us for each."""


class PastPrices:
    """The US dollars of whole tokens at moments in the past."""

    def __init__(self, tokens: Iterable[TokenHours] = ()) -> None:
        self._hours: dict[Address, array[int]] = {}
        self._usd: dict[Address, array[float]] = {}
        self.add(tokens)

    def add(self, tokens: Iterable[TokenHours]) -> None:
        """Adds the prices of tokens, which replace others of them."""
        for each in tokens:
            self._hours[each.token] = array("q", [point.hour for point in each.hours])
            self._usd[each.token] = array("d", [point.usd for point in each.hours])

    def within(self, token: Address, moment: int) -> float | None:
        """Returns the price of the hour that a moment is in, or of the last one before it with a price."""
        return self._last(token, moment - moment % HOUR_S)

    def before(self, token: Address, moment: int) -> float | None:
        """Returns the price of the last hour that had ended at a moment."""
        return self._last(token, moment - HOUR_S - moment % HOUR_S)

    def usd(self, token: Address, decimals: int, amount: int, moment: int) -> float | None:
        """Returns the value of an amount in the hour of a moment; None when it is not known."""
        if not amount:
            return 0.0
        price = self.within(token, moment)
        return None if price is None else value_of(amount, decimals, price)

    def _last(self, token: Address, hour: int) -> float | None:
        hours = self._hours.get(token, array("q"))
        at = bisect_right(hours, hour) - 1
        if at < 0 or hour - hours[at] > OLDEST_S:
            return None
        price = self._usd[token][at]
        return price if math.isfinite(price) else None


async def read_past_prices(
    history: WalletHistory, chain_id: int, tokens: Sequence[Address], start: int, end: int
) -> PastPrices:
    """Returns the prices that an index has of tokens in the hours from ``start`` to ``end`` (Unix seconds).

    It is asked for some tokens after the other: a wallet has hundreds, and a year has 8,760 hours. Raises
    ``UpstreamError`` when the index cannot be read.
    """
    found = PastPrices()
    at_once = max(1, HOURS_AT_ONCE // ((end - start) // HOUR_S + 1))
    for first in range(0, len(tokens), at_once):
        some = tokens[first : first + at_once]
        found.add(await history.hour_prices(chain_id, some, start, end) or ())
    return found
