"""Models of swaps.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Required, TypedDict

from quoteway_client.models.shared import (
    Approval,
    Attempt,
    BlockRef,
    Difference,
    Fee,
    Gas,
    Issue,
    Leg,
    Notice,
    RequiredRole,
    Route,
    Simulation,
    SwapEcho,
    TokenRef,
    TradeTax,
)
from quoteway_client.wire import Model


class Violation(Model, frozen=True, kw_only=True):
    """`Violation` of the document."""

    rule: str
    """Member of the policy file that does not allow it, such as `recipients`; more may be added within v2."""
    message: str
    """What is not allowed, in a sentence."""
    subject: str | None
    """Address, name or selector that is not allowed. Null where the rule is about none."""


class Candidate(Model, frozen=True, kw_only=True):
    """A listed token that a name may mean."""

    address: str
    """Address of the token."""
    id: str
    """Id of the token in its catalog, as in `GET /v2/tokens`."""
    name: str | None
    """Name of the token. Null where the catalog has none."""


class ErrorField(Model, frozen=True, kw_only=True):
    """`ErrorField` of the document."""

    path: str
    """Name of the refused member; empty for the request as a whole."""
    reason: str
    """Code of the refusal, such as `missing` or `out_of_range`."""
    message: str
    """What is wrong with the member, in a sentence."""
    candidates: tuple[Candidate, ...] | None = None
    """With `ambiguous_token`: the listed tokens that the name may mean, at most 8."""


class ErrorDetails(Model, frozen=True, kw_only=True):
    """Facts of an error. Each member is present where it applies."""

    reason: str | None = None
    """Code of the cause; docs/reference/errors.md lists all, and more may be added within v2."""
    acknowledgement_needed: tuple[Notice, ...] | None = None
    """With `acknowledgement_required`: what `acknowledge` must accept by its code before there is an
    action.
    """
    limit: int | None = None
    """With `amount_too_high`: the highest amount that is possible now. Base units in decimal digits."""
    best_now: int | None = None
    """With `price_moved` of a refresh: the amount that the best quote now pays, in base units of
    `toToken`; with `exactOut` the amount that it takes, in base units of `fromToken`. Base units in
    decimal digits.
    """
    required_role: RequiredRole | None = None
    """With `role_required`: the role that the action requires."""
    revert_reason: str | None = None
    """With a simulation that reverted: revert reason of the contract, shortened and in printable
    characters. Null when it gave none.
    """
    differences: tuple[Difference, ...] | None = None
    """With a signed transaction that is not the one that was built: members that differ."""
    violations: tuple[Violation, ...] | None = None
    """With `policy_refused`: everything that the custody policy does not allow of the action. With
    `policy_undecided`: what could not be decided.
    """
    not_ready: tuple[str, ...] | None = None
    """With `/readyz`: parts of the service that are not ready."""
    rpc_code: int | None = None
    """With a JSON-RPC method that is not forwarded: the code -32601 (EIP-1474)."""
    fields: tuple[ErrorField, ...] | None = None
    """Members of the request that are refused, at most 32."""
    attempts: tuple[Attempt, ...] | None = None
    """Outcome of each provider that could have answered."""
    retryable: bool | None = None
    """Whether the same request may succeed later."""


class ErrorMembers(Model, frozen=True, kw_only=True):
    """`ErrorMembers` of the document."""

    code: str
    """Kind of the error. Each code has one HTTP status but `invalid_request`, which also has 405, 408,
    413, 415 and 421, and `validation_error`, which also has 403.
    """
    message: str
    """What is wrong and what to do, in a sentence."""
    request_id: str
    """Id of the request, as in the header `X-Request-ID`; give it to the operator when you report a
    problem.
    """
    details: ErrorDetails | None = None
    """Facts beside the message; left out when there are none."""


class SwapQuoteBody(TypedDict, total=False):
    """Body of a request: `SwapQuoteBody` of the document."""

    min_block: int
    """Number of a block, such as the newest of the caller's own node: the answer is of this block or a
    later one.
    """
    after_transaction: str
    """Hash of a transaction: the answer is of its block or a later one."""
    acknowledge: Sequence[Literal["high_price_impact", "opaque_calldata"]]
    """Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]`."""
    deadline: int
    """Time until which the transactions may be executed, in Unix seconds: 60 seconds to 24 hours from now.
    Left out: the setting `quotes.action_deadline_s` (seconds), counted from the action.
    """
    address: Required[str]
    """Account that signs the transactions and pays. Address or ENS name."""
    from_chain: str
    """Network of `fromToken`."""
    from_token: Required[str]
    """Token to sell; by address, `native` or the zero address for the native coin, by the symbol or id of
    a listed token, or a CAIP-19 id.
    """
    to_address: str
    """Account that receives the output. Left out: `address`. Address or ENS name."""
    to_chain: str
    """Network of `toToken`. Left out: `network`, else `fromChain`."""
    to_token: Required[str]
    """Token to buy; by address, `native` or the zero address for the native coin, by the symbol or id of a
    listed token, or a CAIP-19 id.
    """
    refund_address: str
    """Account that receives the refund, on the first network, when a transfer is not filled. Left out:
    `address`. Only for transfers to another network. Address or ENS name.
    """
    provider: str
    """Id of the only provider to ask. Left out: all enabled ones."""
    approval_mode: Literal["transactions", "permit2-signature"]
    """How a Permit2 allowance is given: `transactions` by a transaction, `permit2-signature` by typed data
    to sign. Default: `"transactions"`.
    """
    max_hops: int
    """Most pools on a path of the route."""
    max_legs: int
    """Most pools in the whole route."""
    protocols: Sequence[str]
    """Only protocols that the route may use: names as routes show them, or ids of providers."""
    exclude_protocols: Sequence[str]
    """Protocols that the route may not use: names as routes show them, or ids of providers."""
    pools: Sequence[str]
    """Only pools that the route may use, all on the first network: {chainId}:{address}, or
    {chainId}:{32-byte id}.
    """
    exclude_pools: Sequence[str]
    """Pools that the route may not use, all on the first network."""
    max_price_impact_bps: int
    """Highest price impact that is accepted: how far the price of the trade may be below that of the pools
    before it, in basis points.
    """
    gas_price_wei: int
    """Price of a unit of gas with which quotes are compared, in wei in decimal digits. Left out: the
    network's price.
    """
    fee_bps: int
    """Fee of the integrator, in basis points of the output; `toAmount` and `toAmountMin` are net of it.
    With `exactOut` of what the pools take; `fromAmount` and `fromAmountMax` contain it. Needs
    `feeRecipient`.
    """
    fee_recipient: str
    """Account that receives the fee, in `toToken`; with `exactOut` in `fromToken`. Needs `feeBps`. Address
    or ENS name.
    """
    amount: Required[int]
    """Amount to sell, in base units of `fromToken`; with `exactOut` amount to buy, in base units of
    `toToken`.
    """
    network: str
    """Network of both tokens. Required unless `fromChain` is given."""
    side: Literal["exactIn", "exactOut"]
    """Which amount is exact: `exactIn` sells `amount` of `fromToken`; `exactOut` buys `amount` of
    `toToken`, for at most `fromAmountMax`. Default: `"exactIn"`.
    """
    slippage_bps: int | Literal["auto"]
    """How far the minimum output may be below the quoted one, in basis points; with `exactOut` how far the
    maximum input may be above it. `auto`, within one network: the gateway chooses 10 to 300. Default:
    `50`.
    """
    certificate: Literal["full"]
    """`full`: adds to `optimality` the proof of its bound: a price for each token, and the pools with
    digests of their states. Where there is none, the quote has the warning `certificate_unavailable`.
    """
    atomic_batch: bool
    """Whether the wallet sends several calls as one (EIP-5792). `true`: two providers may share a swap
    within one network, if that pays more. `false`: no quote in parts is given. Left out: only swaps to
    another network may have parts.
    """
    refreshable_until: int
    """Time until which the quote can be refreshed within its terms by `POST /v2/swaps/{quoteId}/refresh`,
    in Unix seconds: at most the setting `quotes.refreshable_s` (seconds) from now, and not after
    `deadline`. Only for swaps within one network, and not with `atomicBatch: true`. Left out: it cannot
    be refreshed.
    """


class CertifiedPool(Model, frozen=True, kw_only=True):
    """A pool whose state the bound counts."""

    pool: str
    """Address of the pool, or its 32-byte id."""
    protocol: str
    """Protocol of the pool, such as `uniswap-v3`."""
    tokens: tuple[str, ...]
    """Tokens of the pool."""
    parameters: tuple[int, ...]
    """Integers by which the provider finds the pool and reads the same part of its state again."""
    digest: str
    """keccak-256 of that state in the provider's encoding."""


class Certificate(Model, frozen=True, kw_only=True):
    """What proves the bound. `quoteway verify-quote` checks it against the chain."""

    prices: dict[str, int | None]
    """Price of a base unit of each token, by address. All are integers at one common scale; that of the
    wrapped native coin is the native coin's too. An integer in decimal digits.
    """
    pools: tuple[CertifiedPool, ...]
    """Pools whose states the bound depends on, at most 1,000."""


class Optimality(Model, frozen=True, kw_only=True):
    """How near the route is to the best one through the same pools at the quote's block, gas aside."""

    bound: int
    """Upper bound of the output, in base units of `toToken`: no trade of the input through these pools
    pays more, gas aside. With `exactOut` lower bound of the input, in base units of `fromToken`. Base
    units in decimal digits.
    """
    gap_bps: float
    """Most that the quoted output can be below `bound`, in basis points of it. With `exactOut` most that
    the quoted input can be above `bound`, in basis points of the input.
    """
    net_gap_bps: float
    """As `gapBps`, in basis points, with the cost of gas taken into account."""
    arbitrage: int
    """Most that these pools pay for arbitrage alone, without any input; `bound` contains it. In base units
    of `toToken`, with `exactOut` of `fromToken`. Base units in decimal digits.
    """
    pools: int
    """Number of pools that were searched."""
    families: tuple[str, ...]
    """Protocols of the pools that were searched."""
    block: BlockRef
    """Block at which the pools were read."""
    method: str
    """How the route was found: `single_path` as one path, `split` with the amount divided."""
    certificate: Certificate | None = None
    """Proof of `bound`; only where the request asks for `certificate`."""


class Mev(Model, frozen=True, kw_only=True):
    """What others could take from the swap while it waits to be mined, and how to keep it from them."""

    at_risk: int
    """Quoted output less the minimum output, in base units of `toToken`: an upper bound of what a sandwich
    can take from the output, no estimate. With `exactOut` the input is at risk instead: `fromAmountMax`
    less `fromAmount`. Base units in decimal digits.
    """
    at_risk_usd: float | None
    """Value of `atRisk`. Null without a price. US dollars."""
    private_submission: str | None
    """URL of the JSON-RPC endpoint that the operator names for sending signed transactions past the public
    mempool. Null where it names none.
    """


class RefreshTerms(Model, frozen=True, kw_only=True):
    """Terms of a quote and of all that it is refreshed to: those of the first quote."""

    until: int
    """Time until which the quote can be refreshed. Unix seconds."""
    to_amount_min: int
    """Lowest `toAmountMin` of a refreshed quote. Base units in decimal digits."""
    from_amount_max: int
    """Highest `fromAmountMax` of a refreshed quote. Base units in decimal digits."""


class QuotePart(Model, frozen=True, kw_only=True):
    """One provider's part of a quote that several carry out, in order: its own legs and minimums."""

    kind: str
    """Whether the part is a swap within a network or a transfer to another one."""
    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    inputs: tuple[Leg, ...]
    """What the part takes from the caller."""
    outputs: tuple[Leg, ...]
    """What the part pays, each output with its own minimum."""


class SwapQuote(Model, frozen=True, kw_only=True):
    """`SwapQuote` of the document."""

    quote_id: str
    """Signed token that holds the quote, at most 4,096 characters. It can be exchanged for an action any
    number of times until `expiresAt`.
    """
    kind: str
    """Kind of the request that was quoted."""
    status: str
    """`active` until `expiresAt`. An `expired` quote can be read, but not exchanged for an action."""
    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    created_at: datetime
    """Time at which the quote was made. RFC 3339 in UTC."""
    expires_at: datetime
    """Time until which the quote can be exchanged for an action. RFC 3339 in UTC."""
    expires_in: int
    """Seconds until `expiresAt`; 0 when the quote has expired."""
    request: SwapEcho
    """The request as it was understood."""
    inputs: tuple[Leg, ...]
    """Tokens and amounts that the caller pays."""
    outputs: tuple[Leg, ...]
    """Tokens and amounts that the recipient receives, each with its minimum."""
    slippage_bps: int
    """Slippage with which the minimum outputs, or with `exactOut` the maximum input, were computed, in
    basis points.
    """
    deadline: int | None
    """Time until which the transactions can be executed: the one of the request, else the one that an
    action built now gets. The action's own `deadline` is null where no contract enforces it. Null in a
    quote that is read back. Unix seconds.
    """
    price_impact_bps: int | None
    """How far the price of the trade is below that of the pools before it, in basis points. Null when not
    known, and in a quote that is read back.
    """
    fees: tuple[Fee, ...] | None
    """Fees of the quote. Null in a quote that is read back."""
    gas: Gas | None
    """Estimated gas of the transactions, without approvals. Null when not known, and in a quote that is
    read back.
    """
    approvals: tuple[Approval, ...] | None
    """Allowances that the transactions need, with the present ones. Null in a quote that is read back."""
    issues: tuple[Issue, ...] | None
    """What would make the transactions fail now, or what to check. Null in a quote that is read back."""
    route: Route | None
    """Pools of the swap. Null where the provider does not state them, and in a quote that is read back."""
    block: BlockRef
    """Block whose state was quoted."""
    simulation: Simulation | None
    """Simulation of the transactions at `block`. Null where none was made, and in a quote that is read
    back.
    """
    warnings: tuple[Notice, ...] | None
    """What the caller must know before it accepts the quote. Null in a quote that is read back."""
    acknowledgement_needed: tuple[Notice, ...]
    """What the caller must accept by its code in `acknowledge` before it gets an action; empty when
    nothing is left to accept.
    """
    acknowledged: tuple[str, ...]
    """Codes that the quote's request accepted in `acknowledge`."""
    attempts: tuple[Attempt, ...] | None
    """Outcome of each provider that was asked. Null in a quote that is read back."""
    taxes: tuple[TradeTax, ...] | None
    """Taxes of the unlisted tokens of the request, where they could be measured. Null in a quote that is
    read back.
    """
    from_token: TokenRef
    """Token that is sold."""
    to_token: TokenRef
    """Token that is bought."""
    side: str
    """Which amount is exact: `exactIn` the amount sold, `exactOut` the amount bought."""
    from_amount: int
    """Amount that is sold, at the quote's block. Base units in decimal digits."""
    from_amount_max: int
    """Most that is taken. Equals `fromAmount` with `exactIn`; with `exactOut` it is higher by the
    slippage. Base units in decimal digits.
    """
    to_amount: int
    """Amount that is bought, at the quote's block. Base units in decimal digits."""
    to_amount_min: int | None
    """Least that the recipient receives, else the transactions revert. The warning `opaque_calldata` says
    that the gateway cannot prove this. Base units in decimal digits. Null when not known.
    """
    from_amount_usd: float | None
    """Value of `fromAmount`. Null when not known, and in a quote that is read back. US dollars."""
    to_amount_usd: float | None
    """Value of `toAmount`. Null when not known, and in a quote that is read back. US dollars."""
    execution_price: str | None
    """Whole tokens bought for a whole token sold, as a decimal number in text with up to 18 significant
    digits. Null when nothing is sold.
    """
    optimality: Optimality | None
    """How near the route is to the best one. Null where the provider does not compute it, and in a quote
    that is read back.
    """
    mev: Mev
    """What others can take from the swap while it waits in the mempool, and a private endpoint against it."""
    refresh_terms: RefreshTerms | None
    """Terms within which the quote can be refreshed. Null where it cannot be."""
    parts: tuple[QuotePart, ...] | None
    """Parts of a quote that several providers carry out, in order. Null where one provider carries out
    all.
    """


class AcknowledgingBody(TypedDict, total=False):
    """Body of a request: `AcknowledgingBody` of the document."""

    min_block: int
    """Number of a block, such as the newest of the caller's own node: the answer is of this block or a
    later one.
    """
    after_transaction: str
    """Hash of a transaction: the answer is of its block or a later one."""
    acknowledge: Sequence[Literal["high_price_impact", "opaque_calldata"]]
    """Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]`."""


class SwapQuotesBody(TypedDict, total=False):
    """Body of a request: `SwapQuotesBody` of the document."""

    quotes: Required[Sequence[SwapQuoteBody]]
    """Requests, each a body of `POST /v2/swaps/quote`."""


class QuoteResult(Model, frozen=True, kw_only=True):
    """A quote, or the error that its request would have had alone."""

    quote: SwapQuote | None = None
    """Quote of the request; left out where there is an error."""
    error: ErrorMembers | None = None
    """Error that the request alone would have had; left out where there is a quote."""


class SwapQuotes(Model, frozen=True, kw_only=True):
    """`SwapQuotes` of the document."""

    results: tuple[QuoteResult, ...]
    """One result for each request, in the order of the requests."""


class SwapPrice(Model, frozen=True, kw_only=True):
    """What a swap would pay at `block`."""

    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    block: BlockRef
    """Block whose state was quoted."""
    indicative: bool
    """Always true: not simulated, and not exchangeable for an action."""
    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    from_token: TokenRef
    """Token that is sold."""
    to_token: TokenRef
    """Token that is bought."""
    side: str
    """Which amount is exact: `exactIn` the amount sold, `exactOut` the amount bought."""
    from_amount: int
    """Amount that is sold. Base units in decimal digits."""
    to_amount: int
    """Amount that is bought. Base units in decimal digits."""
    execution_price: str | None
    """Whole tokens bought for a whole token sold, as a decimal number in text with up to 18 significant
    digits. Null when nothing is sold.
    """
    price_impact_bps: int | None
    """How far the price of the trade is below that of the pools before it, in basis points. Null when not
    known.
    """
    fees: tuple[Fee, ...]
    """Fees of the swap."""
    gas: Gas | None
    """Estimated gas of the transaction, without approvals. Null when not known."""
    route: Route | None
    """Pools of the swap. Null where the provider does not state them."""
    optimality: Optimality | None
    """How near the route is to the best one. Null where the provider does not compute it."""
    attempts: tuple[Attempt, ...]
    """Outcome of each provider that was asked."""


class RungPrice(Model, frozen=True, kw_only=True):
    """What an amount of a ladder would pay or take."""

    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    from_amount: int
    """Amount that is sold. Base units in decimal digits."""
    to_amount: int
    """Amount that is bought. Base units in decimal digits."""
    execution_price: str | None
    """Whole tokens bought for a whole token sold, as a decimal number in text with up to 18 significant
    digits. Null when nothing is sold.
    """
    price_impact_bps: int | None
    """How far the price of the trade is below that of the pools before it, in basis points. Null when not
    known.
    """


class DepthRung(Model, frozen=True, kw_only=True):
    """An amount with its price, or the reason why there is none."""

    amount: int
    """Exact amount of the rung: of `fromToken`, with `exactOut` of `toToken`. Base units in decimal
    digits.
    """
    from_amount: int | None
    """Amount that is sold. Null with `exactOut` where no provider quotes the amount. Base units in decimal
    digits.
    """
    price: RungPrice | None
    """Best price of the amount. Null without one."""
    reason: str | None
    """Why there is no price, one of `details.reason`. Null where there is one, or when not known."""


class SwapDepth(Model, frozen=True, kw_only=True):
    """What swaps of growing amounts would pay or take at one block."""

    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    block: BlockRef
    """Block whose state was quoted, for all amounts."""
    indicative: bool
    """Always true: not simulated, and not exchangeable for an action."""
    from_token: TokenRef
    """Token that is sold."""
    to_token: TokenRef
    """Token that is bought."""
    side: str
    """Which amount is exact: `exactIn` the amount sold, `exactOut` the amount bought."""
    rungs: tuple[DepthRung, ...]
    """Amounts in ascending order, each ten times the one before."""
