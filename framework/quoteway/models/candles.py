"""The price of a token over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quoteway.models.tokens import Address

__all__ = ["Candle", "PriceHistory"]


@dataclass(frozen=True, slots=True)
class Candle:
    """US dollars of a whole token in an interval that begins at ``timestamp``.

    ``mean`` is weighted by time. ``depth_usd`` is what could be sold near the price, ``confidence`` the
    provider's own measure between 0 and 1: the least of the interval. ``hours`` is the number of hours of the
    interval whose price is known.
    """

    timestamp: int
    open: float
    high: float
    low: float
    close: float
    mean: float
    depth_usd: float | None
    confidence: float | None
    hours: int


@dataclass(frozen=True, slots=True)
class PriceHistory:
    """Candles of a token in ascending order; intervals without a known price have none.

    ``coverage`` is the span in which prices were looked for, in Unix seconds.
    """

    chain_id: int
    token: Address
    interval: Literal["1h", "1d", "1w"]
    start: int
    end: int
    candles: tuple[Candle, ...]
    source: str
    method: str
    updated_at: int
    coverage: tuple[int, int] | None = None
