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
    timestamp = required(
        text.UnixTime,
        0,
        description="Start of the interval, or the moment of a value read from the chain: `method` says "
        "which",
    )
    value = nullable(fields.Float, 1, description="Value in the `unit` of the series")


class Coverage(View):
    """Span of time, in Unix seconds."""

    from_ = required(text.UnixTime, 0, description="Start of the span")
    to = required(text.UnixTime, 1, description="End of the span")


class SharePrice(View):
    block = required(fields.Integer, description="Number of the block at which the price was read")
    timestamp = required(text.UnixTime, description="Time of that block")
    price = required(
        fields.String,
        description="Whole assets that a whole share was worth, as an exact decimal number in text",
    )


class GrowthWindow(View):
    """The two share prices that the yield of a window is computed from."""

    window = required(fields.String, description="Name of the window: `1d`, `7d` or `30d`")
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
        description="Unit of the values: `usd`, `fraction` (0.05 is 5 %), or the symbol of a token for "
        "whole tokens; `unknown` before the first read",
    )
    interval = required(text.IntervalText)
    from_ = required(text.UnixTime, "start", description="Start of the requested time")
    to = required(text.UnixTime, "end", description="End of the requested time")
    points = required([Point], description="One value for each interval, in the order of time")
    current = nullable(fields.Float, description="Newest value, in the `unit` of the series")
    source = required(
        fields.String,
        description="Where the values are from: `index`, `chain`, or another name of the provider; `none` "
        "before the first read",
    )
    method = required(fields.String, description="How the values are computed, in sentences")
    as_of_block = nullable(BlockRef, "block", description="Block at which the newest value was read")
    updated_at = required(text.TimeText, description="Time of the newest data")
    preview = required(
        fields.Boolean, description="Whether the provider marks the values as a preview, which are not live"
    )
    gaps = required(
        [[fields.Integer]], description="Spans without values, each as start and end in Unix seconds"
    )
    components = optional(
        text.NumberTable,
        _components,
        allow_none=True,
        description="Parts of the value by name, such as `base` and `reward` of a rate or `usd` and "
        "`assets` of a vault's TVL; `method` gives their units. A part is null when not "
        "known, and so is the member",
    )
    windows = optional(
        text.NumberTable,
        _windows,
        allow_none=True,
        description="Yearly rate over the last `1d`, `7d` and `30d`, as a fraction: 0.05 is 5 %. A rate "
        "is null when not known, and so is the member",
    )
    amounts = optional(
        text.AmountTable,
        _amounts,
        description="Exact amounts behind `components`, by name, each of one token of the pool or vault: "
        "sums over all points, and for TVL the amounts at the end",
    )
    endpoints = optional(
        [GrowthWindow],
        _endpoints,
        description="Share prices at the ends of each window, from which the yields are computed",
    )
    coverage = nullable(Coverage, description="Span in which values are known. Null when none is")
    reason = nullable(
        fields.String,
        description="Why values are missing or old, one of `details.reason`. Null when they are neither",
    )
