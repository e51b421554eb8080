"""The price of a token over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.web.wire import text
from quoteway.web.wire.parts import TokenRef
from quoteway.web.wire.series import Coverage
from quoteway.web.wire.view import View, nullable, required


@dataclass(frozen=True, slots=True)
class CandleRow:
    """An interval and its prices; ``candle`` None: not known."""

    timestamp: int
    candle: models.Candle | None


@dataclass(frozen=True, slots=True)
class TokenHistory:
    """A token and its prices in each interval."""

    token: models.Token
    history: models.PriceHistory
    rows: Sequence[CandleRow]


def _of(member: str) -> Callable[[CandleRow], Any]:
    return lambda row: None if row.candle is None else getattr(row.candle, member)


class Candle(View):
    timestamp = required(text.UnixTime, description="Start of the interval")
    open = nullable(text.UsdNumber, _of("open"), description="First price of the interval")
    high = nullable(text.UsdNumber, _of("high"), description="Highest price of the interval")
    low = nullable(text.UsdNumber, _of("low"), description="Lowest price of the interval")
    close = nullable(text.UsdNumber, _of("close"), description="Last price of the interval")
    mean = nullable(text.UsdNumber, _of("mean"), description="Mean price of the interval, weighted by time")
    depth_usd = nullable(
        text.UsdNumber,
        _of("depth_usd"),
        description="Lowest depth of the interval: the amount that could be sold near the price",
    )
    confidence = nullable(
        fields.Float, _of("confidence"), description="Lowest confidence of the interval, from 0 to 1"
    )
    hours = required(
        fields.Integer,
        lambda row: row.candle.hours if row.candle else 0,
        description="Number of hours of the interval with a known price",
    )


class PriceHistory(View):
    network = required(text.NetworkText, "token.chain_id")
    chain_id = required(text.ChainIdNumber, "token.chain_id")
    token = required(TokenRef, description="Token of the prices")
    interval = required(text.IntervalText, "history.interval")
    from_ = required(text.UnixTime, "history.start", description="Start of the requested time")
    to = required(text.UnixTime, "history.end", description="End of the requested time")
    candles = required(
        [Candle],
        "rows",
        description="One candle for each interval, in the order of time; its prices are null where none "
        "is known",
    )
    coverage = nullable(
        Coverage, "history.coverage", description="Span in which prices were looked for. Null when none were"
    )
    source = required(
        fields.String, "history.source", description="Where the prices are from, such as `index`"
    )
    method = required(
        fields.String, "history.method", description="How the prices are computed, in sentences"
    )
    updated_at = required(
        text.TimeText,
        "history.updated_at",
        description="End of the newest hour that was computed; before the first one, when it was read",
    )
