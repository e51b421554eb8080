"""The yearly yield between two stored share prices."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from quoteway_indexer.hours import DAY_S, HOUR_S, YEAR_S

SETTLED_S = 3 * HOUR_S
STEADY = 0.005
"""A price is settled when the prices of the next ``SETTLED_S`` are within this fraction of it.

Vaults that trade show wrong prices for minutes or hours: neither end of a window may be one of those.
"""
_SHIFT = 12
"""A window may be longer by a twelfth of itself, where hours are missing."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A stored share price: ``price`` at a block, the last one before the end of the hour ``hour``."""

    hour: int
    block: int
    timestamp: int
    price: int
    total_assets: int | None


def yearly(first: Sample | None, last: Sample | None) -> float | None:
    """Returns ``(p1 / p0) ** (year / (t1 - t0)) - 1``; negative after a loss, None when not known."""
    if first is None or last is None or first.price <= 0 or last.timestamp <= first.timestamp:
        return None
    if last.price <= 0:
        return -1.0
    years = YEAR_S / (last.timestamp - first.timestamp)
    # By logarithms of the difference, which is exact: near 1 the quotient itself loses its digits.
    try:
        return math.expm1(years * math.log1p((last.price - first.price) / first.price))
    except OverflowError:
        return None


class Growth:
    """The settled ones among the samples of a vault, which are in ascending order."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._settled: list[Sample] = []
        self._hours: list[int] = []
        self._known_at: list[int] = []
        for at, sample in enumerate(samples):
            settles = _settles(samples, at)
            if settles is not None:
                self._settled.append(sample)
                self._hours.append(sample.hour)
                self._known_at.append(settles)

    def ends(self, window_s: int | None, moment: int) -> tuple[Sample | None, Sample | None]:
        """Returns both ends of the window that ends at ``moment`` or, as it settles later, some hours before.

        ``window_s`` None is since the first settled price, a day at least. An end that is missing is None.
        """
        place = bisect_right(self._known_at, moment) - 1
        if place < 0:
            return None, None
        last = self._settled[place]
        if window_s is None:
            first = self._settled[0]
            return (first if last.hour - first.hour >= DAY_S else None), last
        begins = bisect_right(self._hours, last.hour - window_s) - 1
        if begins < 0 or self._hours[begins] < last.hour - window_s - window_s // _SHIFT:
            return None, last
        return self._settled[begins], last


def _settles(samples: Sequence[Sample], at: int) -> int | None:
    """Returns when a price counts as settled; None when it does not."""
    sample = samples[at]
    for place in range(at + 1, len(samples)):
        later = samples[place]
        if abs(later.price - sample.price) > STEADY * sample.price:
            return None
        if later.hour - sample.hour >= SETTLED_S:
            return later.hour + HOUR_S
    return None
