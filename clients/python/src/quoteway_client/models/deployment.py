"""Models of deployment.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from datetime import datetime

from quoteway_client.models.shared import FailedSource
from quoteway_client.wire import Model


class ProviderActions(Model, frozen=True, kw_only=True):
    """`ProviderActions` of the document."""

    pool: tuple[str, ...]
    """Actions of liquidity that it takes, such as `add`; empty for a provider without pools."""
    vault: tuple[str, ...]
    """Actions of depositors that it takes, such as `deposit`; empty for a provider without vaults."""
    manage: tuple[str, ...]
    """Management actions that it takes for vaults, such as `setCap`."""


class Strategy(Model, frozen=True, kw_only=True):
    """Strategy that a new vault can have."""

    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    id: str
    """Id for `strategy` of `POST /v2/vaults/deploy/quote`."""


class Spender(Model, frozen=True, kw_only=True):
    """`Spender` of the document."""

    chain_id: int
    """Chain id of the network (EIP-155)."""
    address: str
    """Contract to which the provider's approvals give an allowance."""


class MissingContract(Model, frozen=True, kw_only=True):
    """`MissingContract` of the document."""

    network: str
    """Name of the network that lacks the contract."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    contract: str
    """Address at which there is no code."""
    label: str
    """Name that the provider gives the contract."""


class ExecutorRefusal(Model, frozen=True, kw_only=True):
    """`ExecutorRefusal` of the document."""

    chain_id: int
    """Chain id of the network (EIP-155)."""
    reason: str
    """What of the contract differs from the configuration, in a sentence."""


class UpstreamRow(Model, frozen=True, kw_only=True):
    """One node of a network, as this worker sees it. Its address is not shown."""

    label: str
    """Name that the operator gives the node, or its number in the configuration."""
    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    tier: int
    """Nodes of a lower tier are asked first; 0 is the lowest."""
    state: str
    """`closed`: in use. `suspect`: its last call failed, others are asked first. `limited`: it asked for
    fewer requests. `open`: asked only when no other node answers. `cordoned`: never asked.
    """
    reason: str | None
    """Why the state is not `closed`. Null when it is."""
    p50_ms: float | None
    """Median time of its answers of the last seconds, in milliseconds. Null without answers."""
    p95_ms: float | None
    """95th percentile of the time of its answers of the last seconds, in milliseconds. Null without
    answers.
    """
    error_rate: float | None
    """Part of its calls of the last seconds that failed, as a fraction: 0.05 is 5 %. Null without calls."""
    head: int | None
    """Number of the newest block that it has shown. Null when not known."""
    lag: int | None
    """Number of blocks by which it is behind the newest known block. Null when not known."""


class ProviderScore(Model, frozen=True, kw_only=True):
    """`ProviderScore` of the document."""

    rehearsed: int
    """Number of its quotes that were simulated in the last 10 minutes, at most the newest 100."""
    failed: int
    """Number of these simulations that failed by the provider's fault."""


class Stall(Model, frozen=True, kw_only=True):
    """`Stall` of the document."""

    milliseconds: int
    """Time for which the worker was blocked, in milliseconds."""
    function: str
    """Function that blocked it, with its Python module."""


class ProviderMethod(Model, frozen=True, kw_only=True):
    """The calls of one method of a provider by this worker."""

    capability: str
    """Capability that the method belongs to, such as `swap`."""
    method: str
    """Name of the method, such as `quote`."""
    breaker: str
    """`closed`: calls are made. `open`: none is made where another provider can answer. `half_open`: one
    call is made to try it again.
    """
    reason: str | None
    """Reason of the failure that opened the breaker. Null when it is closed."""
    outcomes: dict[str, int]
    """Number of calls since the start, by outcome: `quoted` for an answer, else the reason of the failure."""
    p50_ms: float | None
    """Median time of the newest 64 answers of each network, in milliseconds. Null without answers."""
    p95_ms: float | None
    """95th percentile of the time of the newest 64 answers of each network, in milliseconds. Null without
    answers.
    """


class ProviderFailure(Model, frozen=True, kw_only=True):
    """`ProviderFailure` of the document."""

    capability: str
    """Capability that the method belongs to."""
    method: str
    """Name of the method that failed."""
    reason: str
    """Code of the failure, one of `details.reason`."""
    at: datetime
    """Time of the failure. RFC 3339 in UTC."""


class ProviderRow(Model, frozen=True, kw_only=True):
    """`ProviderRow` of the document."""

    id: str
    """Id by which requests and answers name the provider."""
    name: str
    """Title of the provider for people."""
    version: str
    """Version of the plugin's distribution."""
    package: str
    """Python distribution that contains the plugin."""
    plugin: str
    """Name of the plugin that contains the provider."""
    capabilities: tuple[str, ...]
    """What the provider serves, such as `swap` or `vault`."""
    networks: tuple[str, ...]
    """Names of the networks that it serves."""
    actions: ProviderActions
    """Actions that the provider takes, by resource."""
    strategies: tuple[Strategy, ...]
    """Strategies that a new vault can have, by network; empty for other providers."""
    protocols: tuple[str, ...]
    """Protocols that the routes of its swaps can show, for `protocols` of a swap request."""
    limits: tuple[str, ...]
    """Members of a swap request that limit the route and that it can keep, such as `maxHops`."""
    enforces_fees: bool
    """Whether its transactions pay the `feeBps` of a request. If not, it is not asked for swaps with a
    fee.
    """
    exact_out: bool
    """Whether it quotes swaps with `exactOut`."""
    enabled: bool
    """Whether it is asked for requests."""
    state: str
    """How far the start of its plugin has come: `installed`, `loaded`, `configured`, `started` or
    `enabled`.
    """
    healthy: bool | None
    """Whether the provider says that it works. Null when it gave no answer in time, and when it is not
    enabled.
    """
    reason: str | None
    """Why it is not enabled; docs/reference/plugin-states.md lists the reasons. Null when it is."""
    spenders: tuple[Spender, ...]
    """Contracts to which its approvals may give an allowance, for the allow-list of a wallet."""
    level: int | None
    """Level, from 0 to 3, that the installed files of its plugin reached in `quoteway check`;
    docs/reference/levels.md says what it means. Null when they were not checked.
    """
    missing_contracts: tuple[MissingContract, ...]
    """Contracts that it needs and that had no code when they were last looked for."""
    refusals: tuple[ExecutorRefusal, ...]
    """Networks on which an executor is not used, because its contract is not the configured one; empty for
    other providers.
    """
    upstreams: tuple[UpstreamRow, ...]
    """Nodes of a provider of JSON-RPC; empty for other providers."""
    docs: str | None
    """Link to the provider's documentation. Null without one."""
    score: ProviderScore | None
    """Recent simulations of its swap quotes in this worker. Null for a provider without swaps."""
    worst_stall: Stall | None
    """Longest time of the last hour for which its plugin blocked this worker. Null when it did not."""
    methods: tuple[ProviderMethod, ...]
    """Calls of each of its methods by this worker; empty before the first call."""
    last_error: ProviderFailure | None
    """Newest failure of its calls in this worker. Null without one."""
    price_outliers: int | None
    """Number of tokens for which this price source is far from the others. Null for other providers."""


class ProviderPage(Model, frozen=True, kw_only=True):
    """`ProviderPage` of the document."""

    partial: tuple[FailedSource, ...]
    """Providers whose rows are missing; ask again while there are any."""
    next_cursor: str | None
    """Value of `cursor` for the next page. Null on the last page."""
    total: int | None
    """Number of rows that the request selects, on all pages. Null when not known."""
    preview: bool
    """Whether a provider marks a row of the page as a preview, with values that are not live."""
    updated_at: datetime
    """Time of the newest data among the rows that the request selects. RFC 3339 in UTC."""
    data: tuple[ProviderRow, ...]
    """Providers; and plugins without a provider that are not enabled or have blocked the worker."""


class NativeCurrency(Model, frozen=True, kw_only=True):
    """`NativeCurrency` of the document."""

    symbol: str
    """Ticker of the coin, such as `ETH`."""
    name: str
    """Name of the coin."""
    decimals: int
    """Number of decimals: one whole token is 10^decimals base units."""


class CapabilityReadiness(Model, frozen=True, kw_only=True):
    """`CapabilityReadiness` of the document."""

    capability: str
    """Capability that an installed plugin offers there."""
    state: str
    """`ready`, `degraded` (a part does not work, and others still answer) or `dead`."""
    why: tuple[str, ...]
    """Reasons why it is not ready, such as `head_lags`; empty when it is."""


class NetworkReadiness(Model, frozen=True, kw_only=True):
    """How well a network is served by the worker that answers, as `/readyz?verbose` tells it."""

    state: str
    """`ready`, `degraded` (a part does not work, and others still answer) or `dead`."""
    why: tuple[str, ...]
    """Reasons why it is not ready, such as `head_lags`; empty when it is."""
    capabilities: tuple[CapabilityReadiness, ...]
    """Of each capability that an installed plugin offers on the network."""


class NetworkRow(Model, frozen=True, kw_only=True):
    """`NetworkRow` of the document."""

    id: str
    """Name by which requests name the network."""
    network: str
    """The same as `id`."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    caip2: str
    """CAIP-2 id of the network: `eip155:` and the chain id."""
    name: str
    """Title of the network for people."""
    native_currency: NativeCurrency
    """Native coin, in which gas is paid."""
    wrapped_native: str | None
    """Contract of the wrapped native coin. Null when not known."""
    explorer_url: str | None
    """Link to the network's block explorer. Null without one."""
    block_time_seconds: float
    """Typical seconds from one block to the next."""
    testnet: bool
    """Whether its coins have no value."""
    capabilities: tuple[str, ...]
    """Capabilities that enabled providers serve there, such as `swap`."""
    readiness: NetworkReadiness | None
    """What works on the network, at most some seconds old. Null while the service stops."""


class NetworkPage(Model, frozen=True, kw_only=True):
    """`NetworkPage` of the document."""

    partial: tuple[FailedSource, ...]
    """Providers whose rows are missing; ask again while there are any."""
    next_cursor: str | None
    """Value of `cursor` for the next page. Null on the last page."""
    total: int | None
    """Number of rows that the request selects, on all pages. Null when not known."""
    preview: bool
    """Whether a provider marks a row of the page as a preview, with values that are not live."""
    updated_at: datetime
    """Time of the newest data among the rows that the request selects. RFC 3339 in UTC."""
    data: tuple[NetworkRow, ...]
    """Networks of this deployment."""


class PerformanceRow(Model, frozen=True, kw_only=True):
    """`PerformanceRow` of the document."""

    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    pair_class: str
    """`dollars`: both tokens are within 2 % of a US dollar. `dollar`: one of them is. `other`: none is.
    `unknown`: a price is not known.
    """
    size: str
    """Value sold, in US dollars: `under1k` is 100 to below 1,000, `over1M` a million or more, `unknown`
    without a price.
    """
    fills: int
    """Number of swaps that were mined, reverted ones included."""
    reverted: int
    """Number of these swaps that reverted."""
    median_vs_quote_bps: int | None
    """Median of the received output less the quoted one, in basis points of the quoted one: 0 is as
    quoted, negative is less. Null when no output is known.
    """
    mean_vs_quote_bps: float | None
    """Mean of the same, in basis points. Null when no output is known."""
    worst_vs_quote_bps: int | None
    """Lowest of the same, in basis points. Null when no output is known."""
    same_state_fills: int
    """Number of swaps of known output before which no other transaction changed a pool of their route
    since the action was built.
    """
    same_state_exact: int
    """Number of these that paid exactly the quoted output."""


class ProviderPerformance(Model, frozen=True, kw_only=True):
    """`ProviderPerformance` of the document."""

    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    since: datetime
    """Start of the count: the swaps of actions that this worker built since then. RFC 3339 in UTC."""
    indexed: bool
    """Whether an index is enabled that finds the swaps. If not, only those that callers report count."""
    waiting: int
    """Number of actions, of all providers, whose swap is still looked for."""
    data: tuple[PerformanceRow, ...]
    """One row for each network, class of pairs and size with a swap."""


class BlockSpan(Model, frozen=True, kw_only=True):
    """`BlockSpan` of the document."""

    from_: int
    """First block of the span."""
    to: int
    """Last block of the span, included."""


class IndexedSource(Model, frozen=True, kw_only=True):
    """Event source of an index, with what was read of it."""

    id: str
    """Name of the event source, as its plugin declares it."""
    version: int
    """Version of the declaration. A new version is read again from the first block."""
    first_block: int
    """First block that is read for the source."""
    spans: tuple[BlockSpan, ...]
    """Spans of blocks that were read, in ascending order."""
    skipped_logs: int
    """Number of logs left out since the index process started, because they lack the declared form."""
    refusal: str | None
    """What is wrong with the source, which is not read for it. Null when it is read."""


class IndexEntry(Model, frozen=True, kw_only=True):
    """`IndexEntry` of the document."""

    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    state: str
    """`starting`: no block was read yet. `indexing`: history is missing. `following`: complete, new blocks
    are read as they come. `waiting`: the last attempt failed, another one follows. `stopped`: the index
    process says nothing any more.
    """
    percent: float
    """Part of the blocks of all sources that was read, in percent: 100 is all."""
    blocks_per_second: float
    """Blocks read in a second, in the last seconds."""
    logs_per_second: float
    """Logs read in a second, in the last seconds."""
    eta_seconds: int | None
    """Estimated seconds until the history is complete. Null when not known."""
    head_block: int | None
    """Number of the newest block that the index process knows. Null when not known."""
    indexed_block: int | None
    """Number of the newest indexed block. Null when not known."""
    finalized_block: int | None
    """Number of the newest finalized block. Null when not known."""
    lag_blocks: int | None
    """`headBlock` less `indexedBlock`. Null when not known."""
    lag_seconds: int | None
    """Time of `headBlock` less that of `indexedBlock`, in seconds. Null when not known."""
    problem: str | None
    """Why the last attempt failed, in a sentence. Null when it did not fail."""
    sources: tuple[IndexedSource, ...]
    """Event sources of the network."""
    updated_at: datetime
    """Time at which the index process reported this. RFC 3339 in UTC."""


class IndexStatus(Model, frozen=True, kw_only=True):
    """`IndexStatus` of the document."""

    data: tuple[IndexEntry, ...]
    """One row for each network that has an index."""
