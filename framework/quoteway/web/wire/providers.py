"""Rows of ``GET /v2/providers``: what each provider is, whether it is enabled, and how its calls did."""

from __future__ import annotations

from typing import get_args

from marshmallow import fields

from quoteway.models import UpstreamState
from quoteway.web.wire import text
from quoteway.web.wire.rows import Page
from quoteway.web.wire.view import View, nullable, required


class ProviderActions(View):
    pool = required([fields.String], 0, description="Actions with liquidity, such as `add`")
    vault = required([fields.String], 1, description="Actions of depositors, such as `deposit`")
    manage = required(
        [fields.String], 2, description="Actions of a vault's owner or operator, such as `setCap`"
    )


class Spender(View):
    chain_id = required(text.ChainIdNumber, 0)
    address = required(text.AddressText, 1, description="Contract that approvals of this provider name")


class ProviderScore(View):
    rehearsed = required(fields.Integer, description="Quotes that were rehearsed lately, and count")
    failed = required(fields.Integer, description="Those of them in which the provider was at fault")


class Stall(View):
    milliseconds = required(fields.Integer, description="How long it blocked the worker, in milliseconds")
    function = required(fields.String, "blame.function", description="Function that ran, as Python names it")


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(1_000 * seconds, 1)


class ProviderMethod(View):
    """The calls of one method of a provider by this worker."""

    capability = required(text.CodeText, description="What the method is for, such as `swap`")
    method = required(fields.String, description="Name of the called method, such as `quote`")
    breaker = required(
        fields.String,
        "state",
        enum=["closed", "open", "half_open"],
        description="open: left out of requests that others can answer; half_open: one call tries it again",
    )
    reason = nullable(
        fields.String, "last_fault", description="Why the breaker is not closed. Null when it is"
    )
    outcomes = required(
        text.CountTable,
        description="Calls by outcome: quoted is one with an answer, else the reason without one",
    )
    p50_ms = nullable(
        fields.Float,
        lambda calls: _milliseconds(calls.p50_s),
        description="Half of the newest answers took at most so many milliseconds. Null without answers",
    )
    p95_ms = nullable(
        fields.Float,
        lambda calls: _milliseconds(calls.p95_s),
        description="95 % of the newest answers took at most so many milliseconds. Null without answers",
    )


class ProviderFailure(View):
    capability = required(text.CodeText, description="What the failed method is for")
    method = required(fields.String, description="Name of the method that failed")
    reason = required(
        fields.String, description="Cause for programs, a `details.reason`; never the provider's own text"
    )
    at = required(text.TimeText, description="When it failed")


class MissingContract(View):
    network = required(fields.String, description="Name of the network that lacks the contract")
    chain_id = required(text.ChainIdNumber)
    contract = required(text.AddressText, description="Address at which there is no code")
    label = required(fields.String, description="What the provider calls the contract")


class ExecutorRefusal(View):
    chain_id = required(text.ChainIdNumber, 0)
    reason = required(fields.String, 1, description="Sentence: what differs from the configuration")


class UpstreamRow(View):
    """One node of a network, as this worker sees it. Its address is not shown."""

    label = required(fields.String, description="The operator's name for it, or its number")
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    tier = required(fields.Integer, description="0 is a primary; a higher one waits until none is usable")
    state = required(
        fields.String,
        enum=list(get_args(UpstreamState)),
        description="suspect: its last call failed; limited: it wants fewer requests; open: it is probed, "
        "and asked only when no other answers; cordoned: never asked",
    )
    reason = nullable(fields.String, description="Why it is not closed. Null when it is")
    p50_ms = nullable(
        fields.Float,
        lambda row: _milliseconds(row.p50_s),
        description="Half of its newest answers took at most so many milliseconds. Null without answers",
    )
    p95_ms = nullable(
        fields.Float,
        lambda row: _milliseconds(row.p95_s),
        description="95 % of its newest answers took at most so many milliseconds. Null without answers",
    )
    error_rate = nullable(
        fields.Float,
        lambda row: None if row.error_rate is None else round(row.error_rate, 4),
        description="The part of its calls of the last seconds that failed by its own fault",
    )
    head = nullable(fields.Integer, description="The newest block that it has shown")
    lag = nullable(fields.Integer, description="The blocks that it is behind the newest known one")


class ProviderRow(View):
    id = required(fields.String, description="Id by which requests and answers name the provider")
    name = required(fields.String, description="Title for people")
    version = required(fields.String, "plugin.version", description="Version of the plugin's distribution")
    package = required(
        fields.String, "plugin.distribution", description="Distribution (package) that the plugin comes from"
    )
    plugin = required(fields.String, "plugin.name", description="Name of the plugin that brings the provider")
    capabilities = required(
        [fields.String], description="What the provider serves, such as `swap` or `vault`"
    )
    networks = required(
        [text.NetworkText], "chain_ids", description="Networks that the provider serves, by name"
    )
    actions = required(ProviderActions, description="Actions that the provider takes, by resource")
    protocols = required([fields.String], description="Those that routes of its swaps may show")
    limits = required([fields.String], description="The limits on the route of a swap that it can keep")
    enforces_fees = required(
        fields.Boolean, description="Whether its swaps pay `feeBps` on chain: else it is not asked for them"
    )
    exact_out = required(fields.Boolean, description="Whether its swaps may have an exact output")
    enabled = required(fields.Boolean, description="Whether requests reach the provider")
    state = required(
        text.CodeText,
        "plugin.state",
        description="How far the plugin has come: `installed`, `loaded`, `configured`, `started` or "
        "`enabled`",
    )
    healthy = nullable(
        fields.Boolean, description="What the provider says of itself. Null when it does not say in time"
    )
    reason = nullable(text.CodeText, description="Why it is not enabled. Null when it is")
    spenders = required(
        [Spender],
        description="Contracts that approvals of this provider may name; wallets can allow-list them",
    )
    missing_contracts = required(
        [MissingContract], description="Contracts that it needs and that had no code when last looked for"
    )
    refusals = required(
        [ExecutorRefusal],
        description="Of an executor: chains on which it is not used, because its contract is not what its "
        "configuration says",
    )
    upstreams = required([UpstreamRow], description="Of an RPC upstream: its nodes")
    docs = nullable(fields.String, description="Link to the provider's documentation. Null without one")
    score = nullable(ProviderScore, description="Of swaps within one network, by this worker")
    worst_stall = nullable(
        Stall,
        description="The longest time of the last hour that its plugin blocked this worker. Null when"
        " it did not",
    )
    methods = required(
        [ProviderMethod], description="Those that were called; latencies of the newest answers"
    )
    last_error = nullable(ProviderFailure, description="The newest failure of its calls. Null without one")
    price_outliers = nullable(
        fields.Integer,
        description="Of a price source: tokens whose price by it is far from the others'. Null of "
        "other providers",
    )


class ProviderPage(Page):
    data = required([ProviderRow], description="Providers, and plugins that bring none with the reason")
