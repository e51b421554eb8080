"""``GET /v2/providers/{id}/performance``: what a provider's swaps paid beside what was quoted."""

from __future__ import annotations

from typing import get_args

from marshmallow import fields

from quoteway.models import PairClass, SizeClass
from quoteway.web.wire import text
from quoteway.web.wire.view import View, nullable, required


class PerformanceRow(View):
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    pair_class = required(
        fields.String,
        "pair",
        enum=list(get_args(PairClass)),
        description="dollars: both tokens are within 2 % of a dollar; dollar: one is; other: none is",
    )
    size = required(
        fields.String,
        enum=list(get_args(SizeClass)),
        description="US dollars sold; over1M: a million or more",
    )
    fills = required(fields.Integer, description="Swaps that were mined, reverted ones included")
    reverted = required(fields.Integer, description="Those of them that reverted")
    median_vs_quote_bps = nullable(
        fields.Integer, "median_bps", description="What was paid beside the quote: 0 as quoted, negative less"
    )
    mean_vs_quote_bps = nullable(fields.Float, "mean_bps", description="Average of the same, in basis points")
    worst_vs_quote_bps = nullable(
        fields.Integer, "worst_bps", description="Worst of the same, in basis points"
    )
    same_state_fills = required(
        fields.Integer,
        "same_state",
        description="Those before which no other transaction changed a pool they went through",
    )
    same_state_exact = required(fields.Integer, description="Those of them that paid exactly what was quoted")


class ProviderPerformance(View):
    provider = required(text.ProviderId)
    since = required(text.TimeText, description="Only swaps handed out since then, by this worker, count")
    indexed = required(
        fields.Boolean,
        description="Whether an index finds the swaps; otherwise only those that callers report count",
    )
    waiting = required(fields.Integer, description="Swaps of all providers that are still looked for")
    data = required(
        [PerformanceRow], description="One row for each network, class of pairs and size that has swaps"
    )
