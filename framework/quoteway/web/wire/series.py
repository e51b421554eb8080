"""Metrics over time."""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.web.wire import text
from quoteway.web.wire.parts import BlockRef
from quoteway.web.wire.view import ABSENT, View, nullable, optional, required

_YIELDS = ("apr", "apy")


def _components(series: models.Series) -> Any:
    """Those of a yield are always shown, null when not known."""
    return ABSENT if series.components is None and series.metric not in _YIELDS else series.components


def _windows(series: models.Series) -> Any:
    return series.windows if series.metric in _YIELDS else ABSENT


class Point(View):
    timestamp = required(fields.Integer, 0)
    value = nullable(fields.Float, 1)


class Coverage(View):
    """The span in which values are known, in Unix seconds."""

    from_ = required(fields.Integer, 0)
    to = required(fields.Integer, 1)


class SharePrice(View):
    block = required(fields.Integer)
    timestamp = required(fields.Integer)
    price = required(fields.String, description="whole assets of a whole share, exact")


class GrowthWindow(View):
    """The two share prices that the yield of a window is computed from."""

    window = required(fields.String)
    from_ = nullable(SharePrice, "first")
    to = nullable(SharePrice, "last")


def _amounts(series: models.Series) -> Any:
    return ABSENT if series.amounts is None else series.amounts


def _endpoints(series: models.Series) -> Any:
    return ABSENT if series.endpoints is None else series.endpoints


class Series(View):
    id = required(fields.String)
    metric = required(fields.String)
    unit = required(fields.String)
    interval = required(fields.String, enum=["1h", "1d", "1w"])
    from_ = required(fields.Integer, "start")
    to = required(fields.Integer, "end")
    points = required([Point])
    current = nullable(fields.Float)
    source = required(fields.String)
    method = required(fields.String)
    as_of_block = nullable(BlockRef, "block")
    updated_at = required(text.TimeText)
    preview = required(fields.Boolean)
    gaps = required([[fields.Integer]])
    components = optional(text.Table, _components, allow_none=True)
    windows = optional(text.Table, _windows, allow_none=True)
    amounts = optional(text.AmountTable, _amounts)
    endpoints = optional([GrowthWindow], _endpoints)
    coverage = nullable(Coverage)
    reason = nullable(fields.String)
