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
    mean = nullable(
        text.UsdNumber, _of("mean"), description="Average price of the interval, weighted by time"
    )
    depth_usd = nullable(
        text.UsdNumber,
        _of("depth_usd"),
        description="Least depth of the interval: what could be sold near the price",
    )
    confidence = nullable(
        fields.Float, _of("confidence"), description="Least confidence of the interval, from 0 to 1"
    )
    hours = required(
        fields.Integer,
        lambda row: row.candle.hours if row.candle else 0,
        description="How many hours of the interval have a price",
    )


class PriceHistory(View):
    network = required(text.NetworkText, "token.chain_id")
    chain_id = required(text.ChainIdNumber, "token.chain_id")
    token = required(TokenRef, description="Token whose prices these are")
    interval = required(text.IntervalText, "history.interval")
    from_ = required(
        text.UnixTime, "history.start", description="Start of the first candle that was asked for"
    )
    to = required(text.UnixTime, "history.end", description="End of the time that was asked for")
    candles = required([Candle], "rows", description="Prices of each interval in order of time")
    coverage = nullable(
        Coverage, "history.coverage", description="Time in which prices are known. Null without any"
    )
    source = required(fields.String, "history.source", description="Id of the provider that has the prices")
    method = required(fields.String, "history.method", description="Sentence: how the prices are computed")
    updated_at = required(
        text.TimeText, "history.updated_at", description="When the newest hour was computed"
    )
