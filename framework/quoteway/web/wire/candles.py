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
    timestamp = required(fields.Integer)
    open = nullable(fields.Float, _of("open"))
    high = nullable(fields.Float, _of("high"))
    low = nullable(fields.Float, _of("low"))
    close = nullable(fields.Float, _of("close"))
    mean = nullable(fields.Float, _of("mean"))
    depth_usd = nullable(fields.Float, _of("depth_usd"))
    confidence = nullable(fields.Float, _of("confidence"))
    hours = required(fields.Integer, lambda row: row.candle.hours if row.candle else 0)


class PriceHistory(View):
    network = required(text.NetworkText, "token.chain_id")
    chain_id = required(fields.Integer, "token.chain_id")
    token = required(TokenRef)
    interval = required(fields.String, "history.interval", enum=["1h", "1d", "1w"])
    from_ = required(fields.Integer, "history.start")
    to = required(fields.Integer, "history.end")
    candles = required([Candle], "rows")
    coverage = nullable(Coverage, "history.coverage")
    source = required(fields.String, "history.source")
    method = required(fields.String, "history.method")
    updated_at = required(text.TimeText, "history.updated_at")
