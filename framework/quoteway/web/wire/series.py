"""Metrics over time."""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.web.wire.amounts import BlockRef
from quoteway.web.wire.text import Table, TimeText
from quoteway.web.wire.view import ABSENT, View, list_of, member, named, nested_or_null, nullable, required

_YIELDS = ("apr", "apy")


def _components(series: models.Series) -> Any:
    """Those of a yield are always shown, null when not known."""
    return ABSENT if series.components is None and series.metric not in _YIELDS else series.components


def _windows(series: models.Series) -> Any:
    return series.windows if series.metric in _YIELDS else ABSENT


class Point(View):
    timestamp = required(fields.Integer, 0)
    value = nullable(fields.Float, 1)


class Series(View):
    id = required(fields.String)
    metric = required(fields.String)
    unit = required(fields.String)
    interval = required(fields.String, enum=["1h", "1d", "1w"])
    from_ = named("from", required(fields.Integer, "start"))
    to = required(fields.Integer, "end")
    points = list_of(Point)
    current = nullable(fields.Float)
    source = required(fields.String)
    method = required(fields.String)
    as_of_block = nested_or_null(BlockRef, "block")
    updated_at = required(TimeText)
    preview = required(fields.Boolean)
    gaps = member(fields.List(fields.List(fields.Integer()), required=True))
    components = member(Table(allow_none=True), _components)
    windows = member(Table(allow_none=True), _windows)
