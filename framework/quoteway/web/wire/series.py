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
    timestamp = required(text.UnixTime, 0, description="Start of the interval")
    value = nullable(fields.Float, 1, description="Value in the `unit` of the series")


class Coverage(View):
    """The span in which values are known, in Unix seconds."""

    from_ = required(text.UnixTime, 0, description="Start of the time with known values")
    to = required(text.UnixTime, 1, description="End of the time with known values")


class SharePrice(View):
    block = required(fields.Integer, description="Number of the block at which the price was read")
    timestamp = required(text.UnixTime, description="Time of that block")
    price = required(fields.String, description="whole assets of a whole share, exact")


class GrowthWindow(View):
    """The two share prices that the yield of a window is computed from."""

    window = required(fields.String, description="Length of the window, such as `7d`")
    from_ = nullable(SharePrice, "first", description="Share price at the start of the window")
    to = nullable(SharePrice, "last", description="Share price at the end of the window")


def _amounts(series: models.Series) -> Any:
    return ABSENT if series.amounts is None else series.amounts


def _endpoints(series: models.Series) -> Any:
    return ABSENT if series.endpoints is None else series.endpoints


class Series(View):
    id = required(fields.String, description="Id of the pool or vault")
    metric = required(
        fields.String, description="What the values measure: `tvl`, `volume`, `fees`, `apr` or `apy`"
    )
    unit = required(
        fields.String,
        description="Unit of the values, such as `usd` or `fraction`; `unknown` while nothing is read",
    )
    interval = required(text.IntervalText)
    from_ = required(text.UnixTime, "start", description="Start of the time that was asked for")
    to = required(text.UnixTime, "end", description="End of the time that was asked for")
    points = required([Point], description="Value of each interval in order of time")
    current = nullable(fields.Float, description="Newest value, in the same unit")
    source = required(
        fields.String, description="Id of the provider that computed the values; `none` while nothing is read"
    )
    method = required(fields.String, description="Sentence: how the values are computed")
    as_of_block = nullable(BlockRef, "block", description="Block at which the newest value was read")
    updated_at = required(text.TimeText, description="When the values were read")
    preview = required(
        fields.Boolean, description="Whether the values are of a provider that calls its own data a preview"
    )
    gaps = required(
        [[fields.Integer]], description="Times without values, each as start and end in Unix seconds"
    )
    components = optional(
        text.NumberTable,
        _components,
        allow_none=True,
        description="Parts of the newest value by name, such as `base` and `reward` of a yield. Null "
        "when not known",
    )
    windows = optional(
        text.NumberTable,
        _windows,
        allow_none=True,
        description="Yield over the last `1d`, `7d` and `30d`, as a fraction. Null when not known",
    )
    amounts = optional(
        text.AmountTable,
        _amounts,
        description="Exact sums over all points by token",
    )
    endpoints = optional(
        [GrowthWindow],
        _endpoints,
        description="Share prices that the yields of the windows are computed from",
    )
    coverage = nullable(Coverage, description="Time in which values are known. Null without any")
    reason = nullable(
        fields.String, description="Why values are missing or old, a `details.reason`. Null when they are not"
    )
