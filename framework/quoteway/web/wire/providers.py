"""Rows of ``GET /v2/providers``: what each provider is, whether it is enabled, and how its calls did."""

from __future__ import annotations

from typing import get_args

from marshmallow import fields

from quoteway.models import UpstreamState
from quoteway.web.wire import text
from quoteway.web.wire.rows import Page
from quoteway.web.wire.view import View, nullable, required


class ProviderActions(View):
    pool = required(
        [fields.String],
        0,
        description="Actions of liquidity that it takes, such as `add`; empty for a provider without pools",
    )
    vault = required(
        [fields.String],
        1,
        description="Actions of depositors that it takes, such as `deposit`; empty for a provider without "
        "vaults",
    )
    manage = required(
        [fields.String], 2, description="Management actions that it takes for vaults, such as `setCap`"
    )


class Spender(View):
    chain_id = required(text.ChainIdNumber, 0)
    address = required(
        text.AddressText, 1, description="Contract to which the provider's approvals give an allowance"
    )


class Strategy(View):
    """Strategy that a new vault can have."""

    network = required(text.NetworkText, 0)
    chain_id = required(text.ChainIdNumber, 0)
    id = required(fields.String, 1, description="Id for `strategy` of `POST /v2/vaults/deploy/quote`")


class ProviderScore(View):
    rehearsed = required(
        fields.Integer,
        description="Number of its quotes that were simulated in the last 10 minutes, at most the newest 100",
    )
    failed = required(
        fields.Integer, description="Number of these simulations that failed by the provider's fault"
    )


class Stall(View):
    milliseconds = required(
        fields.Integer, description="Time for which the worker was blocked, in milliseconds"
    )
    function = required(
        fields.String, "blame.function", description="Function that blocked it, with its Python module"
    )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(1_000 * seconds, 1)


class ProviderMethod(View):
    """The calls of one method of a provider by this worker."""

    capability = required(text.CodeText, description="Capability that the method belongs to, such as `swap`")
    method = required(fields.String, description="Name of the method, such as `quote`")
    breaker = required(
        fields.String,
        "state",
        enum=["closed", "open", "half_open"],
        description="`closed`: calls are made. `open`: none is made where another provider can answer. "
        "`half_open`: one call is made to try it again",
    )
    reason = nullable(
        fields.String,
        "last_fault",
        description="Reason of the failure that opened the breaker. Null when it is closed",
    )
    outcomes = required(
        text.CountTable,
        description="Number of calls since the start, by outcome: `quoted` for an answer, else the reason "
        "of the failure",
    )
    p50_ms = nullable(
        fields.Float,
        lambda calls: _milliseconds(calls.p50_s),
        description="Median time of the newest 64 answers of each network, in milliseconds. Null without "
        "answers",
    )
    p95_ms = nullable(
        fields.Float,
        lambda calls: _milliseconds(calls.p95_s),
        description="95th percentile of the time of the newest 64 answers of each network, in "
        "milliseconds. Null without answers",
    )


class ProviderFailure(View):
    capability = required(text.CodeText, description="Capability that the method belongs to")
    method = required(fields.String, description="Name of the method that failed")
    reason = required(fields.String, description="Code of the failure, one of `details.reason`")
    at = required(text.TimeText, description="Time of the failure")


class MissingContract(View):
    network = required(fields.String, description="Name of the network that lacks the contract")
    chain_id = required(text.ChainIdNumber)
    contract = required(text.AddressText, description="Address at which there is no code")
    label = required(fields.String, description="Name that the provider gives the contract")


class ExecutorRefusal(View):
    chain_id = required(text.ChainIdNumber, 0)
    reason = required(
        fields.String, 1, description="What of the contract differs from the configuration, in a sentence"
    )


class UpstreamRow(View):
    """One node of a network, as this worker sees it. Its address is not shown."""

    label = required(
        fields.String, description="Name that the operator gives the node, or its number in the configuration"
    )
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    tier = required(fields.Integer, description="Nodes of a lower tier are asked first; 0 is the lowest")
    state = required(
        fields.String,
        enum=list(get_args(UpstreamState)),
        description="`closed`: in use. `suspect`: its last call failed, others are asked first. "
        "`limited`: it asked for fewer requests. `open`: asked only when no other node "
        "answers. `cordoned`: never asked",
    )
    reason = nullable(fields.String, description="Why the state is not `closed`. Null when it is")
    p50_ms = nullable(
        fields.Float,
        lambda row: _milliseconds(row.p50_s),
        description="Median time of its answers of the last seconds, in milliseconds. Null without answers",
    )
    p95_ms = nullable(
        fields.Float,
        lambda row: _milliseconds(row.p95_s),
        description="95th percentile of the time of its answers of the last seconds, in milliseconds. "
        "Null without answers",
    )
    error_rate = nullable(
        fields.Float,
        lambda row: None if row.error_rate is None else round(row.error_rate, 4),
        description="Part of its calls of the last seconds that failed, as a fraction: 0.05 is 5 %. Null "
        "without calls",
    )
    head = nullable(fields.Integer, description="Number of the newest block that it has shown")
    lag = nullable(
        fields.Integer, description="Number of blocks by which it is behind the newest known block"
    )


class ProviderRow(View):
    id = required(fields.String, description="Id by which requests and answers name the provider")
    name = required(fields.String, description="Title of the provider for people")
    version = required(fields.String, "plugin.version", description="Version of the plugin's distribution")
    package = required(
        fields.String, "plugin.distribution", description="Python distribution that contains the plugin"
    )
    plugin = required(
        fields.String, "plugin.name", description="Name of the plugin that contains the provider"
    )
    capabilities = required(
        [fields.String], description="What the provider serves, such as `swap` or `vault`"
    )
    networks = required([text.NetworkText], "chain_ids", description="Names of the networks that it serves")
    actions = required(ProviderActions, description="Actions that the provider takes, by resource")
    strategies = required(
        [Strategy], description="Strategies that a new vault can have, by network; empty for other providers"
    )
    protocols = required(
        [fields.String],
        description="Protocols that the routes of its swaps can show, for `protocols` of a swap request",
    )
    limits = required(
        [fields.String],
        description="Members of a swap request that limit the route and that it can keep, such as `maxHops`",
    )
    enforces_fees = required(
        fields.Boolean,
        description="Whether its transactions pay the `feeBps` of a request. If not, it is not asked for "
        "swaps with a fee",
    )
    exact_out = required(fields.Boolean, description="Whether it quotes swaps with `exactOut`")
    enabled = required(fields.Boolean, description="Whether it is asked for requests")
    state = required(
        text.CodeText,
        "plugin.state",
        description="How far the start of its plugin has come: `installed`, `loaded`, `configured`, "
        "`started` or `enabled`",
    )
    healthy = nullable(
        fields.Boolean,
        description="Whether the provider says that it works. Null when it gave no answer in time, and "
        "when it is not enabled",
    )
    reason = nullable(
        text.CodeText,
        description="Why it is not enabled; docs/reference/plugin-states.md lists the reasons. Null when "
        "it is",
    )
    spenders = required(
        [Spender],
        description="Contracts to which its approvals may give an allowance, for the allow-list of a wallet",
    )
    level = nullable(
        fields.Integer,
        "plugin.level",
        description="Level, from 0 to 3, that the installed files of its plugin reached in `quoteway check`; "
        "docs/reference/levels.md says what it means. Null when they were not checked",
    )
    missing_contracts = required(
        [MissingContract],
        description="Contracts that it needs and that had no code when they were last looked for",
    )
    refusals = required(
        [ExecutorRefusal],
        description="Networks on which an executor is not used, because its contract is not the "
        "configured one; empty for other providers",
    )
    upstreams = required(
        [UpstreamRow], description="Nodes of a provider of JSON-RPC; empty for other providers"
    )
    docs = nullable(fields.String, description="Link to the provider's documentation. Null without one")
    score = nullable(
        ProviderScore,
        description="Recent simulations of its swap quotes in this worker. Null for a provider without swaps",
    )
    worst_stall = nullable(
        Stall,
        description="Longest time of the last hour for which its plugin blocked this worker. Null when it "
        "did not",
    )
    methods = required(
        [ProviderMethod],
        description="Calls of each of its methods by this worker; empty before the first call",
    )
    last_error = nullable(
        ProviderFailure, description="Newest failure of its calls in this worker. Null without one"
    )
    price_outliers = nullable(
        fields.Integer,
        description="Number of tokens for which this price source is far from the others. Null for other "
        "providers",
    )


class ProviderPage(Page):
    data = required(
        [ProviderRow],
        description="Providers; and plugins without a provider that are not enabled or have blocked the "
        "worker",
    )
