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
        description="`dollars`: both tokens are within 2 % of a US dollar. `dollar`: one of them is. "
        "`other`: none is. `unknown`: a price is not known",
    )
    size = required(
        fields.String,
        enum=list(get_args(SizeClass)),
        description="Value sold, in US dollars: `under1k` is 100 to below 1,000, `over1M` a million or "
        "more, `unknown` without a price",
    )
    fills = required(fields.Integer, description="Number of swaps that were mined, reverted ones included")
    reverted = required(fields.Integer, description="Number of these swaps that reverted")
    median_vs_quote_bps = nullable(
        fields.Integer,
        "median_bps",
        description="Median of the received output less the quoted one, in basis points of the quoted "
        "one: 0 is as quoted, negative is less. Null when no output is known",
    )
    mean_vs_quote_bps = nullable(
        fields.Float,
        "mean_bps",
        description="Mean of the same, in basis points. Null when no output is known",
    )
    worst_vs_quote_bps = nullable(
        fields.Integer,
        "worst_bps",
        description="Lowest of the same, in basis points. Null when no output is known",
    )
    same_state_fills = required(
        fields.Integer,
        "same_state",
        description="Number of swaps of known output before which no other transaction changed a pool of "
        "their route since the action was built",
    )
    same_state_exact = required(
        fields.Integer, description="Number of these that paid exactly the quoted output"
    )


class ProviderPerformance(View):
    provider = required(text.ProviderId)
    since = required(
        text.TimeText,
        description="Start of the count: the swaps of actions that this worker built since then",
    )
    indexed = required(
        fields.Boolean,
        description="Whether an index is enabled that finds the swaps. If not, only those that callers "
        "report count",
    )
    waiting = required(
        fields.Integer, description="Number of actions, of all providers, whose swap is still looked for"
    )
    data = required(
        [PerformanceRow], description="One row for each network, class of pairs and size with a swap"
    )
