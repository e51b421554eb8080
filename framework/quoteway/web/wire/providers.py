"""Rows of ``GET /v2/providers``: what each provider is, whether it is enabled, and how its calls did."""

from __future__ import annotations

from typing import get_args

from marshmallow import fields

from quoteway.models import UpstreamState
from quoteway.web.wire import text
from quoteway.web.wire.rows import Page
from quoteway.web.wire.view import View, nullable, required


class ProviderActions(View):
    pool = required([fields.String], 0)
    vault = required([fields.String], 1)
    manage = required([fields.String], 2)


class Spender(View):
    chain_id = required(fields.Integer, 0)
    address = required(text.AddressText, 1)


class Strategy(View):
    """A strategy that a new vault may have."""

    network = required(text.NetworkText, 0)
    chain_id = required(fields.Integer, 0)
    id = required(fields.String, 1, description="What `strategy` of `/v2/vaults/deploy/quote` names")


class ProviderScore(View):
    rehearsed = required(fields.Integer, description="Quotes that were rehearsed lately, and count")
    failed = required(fields.Integer, description="Those of them in which the provider was at fault")


class Stall(View):
    milliseconds = required(fields.Integer)
    function = required(fields.String, "blame.function")


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(1_000 * seconds, 1)


class ProviderMethod(View):
    """The calls of one method of a provider by this worker."""

    capability = required(text.CodeText)
    method = required(fields.String)
    breaker = required(
        fields.String,
        "state",
        enum=["closed", "open", "half_open"],
        description="open: left out of requests that others can answer; half_open: one call tries it again",
    )
    reason = nullable(fields.String, "last_fault", description="Why the breaker is not closed")
    outcomes = required(
        text.Table, description="Calls by outcome: quoted is one with an answer, else the reason without one"
    )
    p50_ms = nullable(fields.Float, lambda calls: _milliseconds(calls.p50_s))
    p95_ms = nullable(fields.Float, lambda calls: _milliseconds(calls.p95_s))


class ProviderFailure(View):
    capability = required(text.CodeText)
    method = required(fields.String)
    reason = required(fields.String)
    at = required(text.TimeText)


class MissingContract(View):
    network = required(fields.String)
    chain_id = required(fields.Integer)
    contract = required(text.AddressText)
    label = required(fields.String)


class ExecutorRefusal(View):
    chain_id = required(fields.Integer, 0)
    reason = required(fields.String, 1)


class UpstreamRow(View):
    """One node of a network, as this worker sees it. Its address is not shown."""

    label = required(fields.String, description="The operator's name for it, or its number")
    network = required(text.NetworkText, "chain_id")
    chain_id = required(fields.Integer)
    tier = required(fields.Integer, description="0 is a primary; a higher one waits until none is usable")
    state = required(
        fields.String,
        enum=list(get_args(UpstreamState)),
        description="suspect: its last call failed; limited: it wants fewer requests; open: it is probed, "
        "and asked only when no other answers; cordoned: never asked",
    )
    reason = nullable(fields.String, description="Why it is not closed")
    p50_ms = nullable(fields.Float, lambda row: _milliseconds(row.p50_s))
    p95_ms = nullable(fields.Float, lambda row: _milliseconds(row.p95_s))
    error_rate = nullable(
        fields.Float,
        lambda row: None if row.error_rate is None else round(row.error_rate, 4),
        description="The part of its calls of the last seconds that failed by its own fault",
    )
    head = nullable(fields.Integer, description="The newest block that it has shown")
    lag = nullable(fields.Integer, description="The blocks that it is behind the newest known one")


class ProviderRow(View):
    id = required(fields.String)
    name = required(fields.String)
    version = required(fields.String, "plugin.version")
    package = required(fields.String, "plugin.distribution")
    plugin = required(fields.String, "plugin.name")
    capabilities = required([fields.String])
    networks = required([text.NetworkText], "chain_ids")
    actions = required(ProviderActions)
    strategies = required([Strategy], description="Those that new vaults may have, by network")
    protocols = required([fields.String], description="Those that routes of its swaps may show")
    limits = required([fields.String], description="The limits on the route of a swap that it can keep")
    enforces_fees = required(
        fields.Boolean, description="Whether its swaps pay `feeBps` on chain: else it is not asked for them"
    )
    exact_out = required(fields.Boolean, description="Whether its swaps may have an exact output")
    enabled = required(fields.Boolean)
    state = required(text.CodeText, "plugin.state")
    healthy = nullable(fields.Boolean)
    reason = nullable(text.CodeText, description="Why it is not enabled")
    spenders = required([Spender])
    missing_contracts = required(
        [MissingContract], description="Contracts that it needs and that had no code when last looked for"
    )
    refusals = required(
        [ExecutorRefusal],
        description="Of an executor: chains on which it is not used, because its contract is not what its "
        "configuration says",
    )
    upstreams = required([UpstreamRow], description="Of an RPC upstream: its nodes")
    docs = nullable(fields.String)
    score = nullable(ProviderScore, description="Of swaps within one network, by this worker")
    worst_stall = nullable(
        Stall, description="The longest time of the last hour that its plugin blocked this worker"
    )
    methods = required(
        [ProviderMethod], description="Those that were called; latencies of the newest answers"
    )
    last_error = nullable(ProviderFailure, description="The newest failure of its calls")
    price_outliers = nullable(
        fields.Integer, description="Of a price source: tokens whose price by it is far from the others'"
    )


class ProviderPage(Page):
    data = required([ProviderRow])
