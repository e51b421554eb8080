"""Models of bridges.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Required, TypedDict

from quoteway_client.models.shared import (
    ActionPart,
    Approval,
    Attempt,
    BlockRef,
    FailedSource,
    Fee,
    Gas,
    Issue,
    Leg,
    Notice,
    PermitOffer,
    Policy,
    Recipient,
    Route,
    Signature,
    Simulation,
    Step,
    SwapEcho,
    TokenRef,
    TradeTax,
    Transaction,
    WalletSendCalls,
)
from quoteway_client.wire import Model


class BridgeRouteEntry(Model, frozen=True, kw_only=True):
    """`BridgeRouteEntry` of the document."""

    from_chain: str
    """Name of the network that the transfer leaves."""
    to_chain: str
    """Name of the network on which it arrives."""
    from_token: TokenRef
    """Token that is sent."""
    to_token: TokenRef
    """Token that is received."""
    bridge: str
    """Id of the provider of the transfer."""
    min_amount: int | None
    """Least amount of `fromToken` that the bridge takes. Base units in decimal digits. Null when not
    known.
    """
    max_amount: int | None
    """Most that the bridge takes of `fromToken`. Null when not known, which does not mean unlimited. Base
    units in decimal digits.
    """
    estimated_seconds: int | None
    """Estimated seconds from the deposit to the payment on the other network. Null when not known."""
    enabled: bool
    """Whether the route can be quoted now."""


class RoutePage(Model, frozen=True, kw_only=True):
    """`RoutePage` of the document."""

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
    data: tuple[BridgeRouteEntry, ...]
    """Routes that the request selects."""


class BridgeQuoteBody(TypedDict, total=False):
    """Body of a request: `BridgeQuoteBody` of the document."""

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
    from_chain: Required[str]
    """Network of `fromToken`."""
    from_token: Required[str]
    """Token to sell; by address, `native` or the zero address for the native coin, by the symbol or id of
    a listed token, or a CAIP-19 id.
    """
    to_address: str
    """Account that receives the output. Left out: `address`. Address or ENS name."""
    to_chain: Required[str]
    """Network of `toToken`; another one than `fromChain`."""
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
    amount: Required[int]
    """Amount to send, in base units of `fromToken`."""
    slippage_bps: int
    """How far the minimum output may be below the quoted one, in basis points. Default: `50`."""


class Refund(Model, frozen=True, kw_only=True):
    """`Refund` of the document."""

    chain_id: int
    """Chain id of the network on which the refund is paid."""
    token: str
    """Token of the refund."""
    address: str
    """Account that receives the refund."""
    on_expiry: str | None
    """How and when the refund is paid when the transfer is not filled, in a sentence. Null when not known."""


class BridgeQuote(Model, frozen=True, kw_only=True):
    """Quote of a transfer to another network."""

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
    estimated_seconds: int | None = None
    """Estimated seconds from the deposit to the payment on the other network. Null when not known."""
    fill_deadline: int | None = None
    """Time until which the transfer can be filled; after it the deposit is refunded. Unix seconds. Null
    when not known.
    """
    refund: Refund | None = None
    """Refund when the transfer is not filled. Null when the provider does not declare one."""


class Tracking(Model, frozen=True, kw_only=True):
    """`Tracking` of the document."""

    bridge: str
    """Id of the provider of the transfer."""
    origin_chain_id: int
    """Chain id of the network on which the deposit is made."""
    destination_chain_id: int
    """Chain id of the network on which the transfer is paid."""
    expected_seconds: int | None
    """Estimated seconds from the deposit to the payment on the other network. Null when not known."""
    refund_address: str | None
    """Account that receives the refund when the transfer is not filled. Null when the provider does not
    declare one.
    """


class BridgeAction(Model, frozen=True, kw_only=True):
    """Action of a transfer to another network."""

    action_id: str
    """keccak-256 of chain id, sender and all transactions in order, as 0x hex."""
    quote_id: str | None
    """Quote that the action was built from. Null for an action without one."""
    kind: str
    """Kind of the action: `swap`, `bridge`, `pool`, `vault` or `revocation`."""
    provider: str
    """Id of the provider, as in `GET /v2/providers`; `quoteway` for a revocation, which the gateway builds
    itself.
    """
    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    from_: str
    """Account that signs all transactions."""
    created_at: datetime
    """When the action was built. RFC 3339 in UTC."""
    expires_at: datetime
    """Time until which the quote behind the action is valid: sign and send the transactions before it. RFC
    3339 in UTC.
    """
    deadline: int | None
    """Time after which the contracts refuse the transactions. Null where none of them takes a deadline.
    Unix seconds.
    """
    transactions: tuple[Transaction, ...]
    """Unsigned transactions in the order of sending. The signer adds nonce and gas price."""
    steps: tuple[Step, ...]
    """Facts of each transaction, in the same order."""
    signatures: tuple[Signature, ...]
    """Messages to sign and insert before the transactions are sent; empty for most actions."""
    permit_offers: tuple[PermitOffer, ...]
    """EIP-2612 permits that can take the place of approvals, where `offerPermits` asks for them. The
    action can be sent as it is; with a signature in `permits`, request it again.
    """
    wallet_send_calls: WalletSendCalls | None
    """Parameter of `wallet_sendCalls` (EIP-5792). Null when there are signatures to insert first."""
    inputs: tuple[Leg, ...]
    """Tokens and amounts that the caller pays."""
    outputs: tuple[Leg, ...]
    """Tokens and amounts that the recipient receives, each with its minimum."""
    recipients: tuple[Recipient, ...]
    """All accounts that get something: payments, refunds, the fee of the request, or a role in a vault;
    the caller too.
    """
    price_impact_bps: int | None
    """How far the price of the trade is below that of the pools before it, in basis points, as quoted.
    Null where the quote has none.
    """
    policy: Policy | None
    """Custody policy of the deployment, which allows the action. Null where it has none."""
    parts: tuple[ActionPart, ...] | None
    """Parts of an action that several providers carry out, in order. Null where one provider carries out
    all.
    """
    simulation: Simulation
    """Simulation of all transactions in their order."""
    l1_fee: int | None
    """Fee that a rollup charges for the data of all transactions on its parent chain. Null where it
    charges none, or when not known. Wei in decimal digits.
    """
    issues: tuple[Issue, ...]
    """What would make the transactions fail now, or what to check before signing."""
    warnings: tuple[Notice, ...]
    """What the signer must know before signing."""
    jws: str | None
    """Signature of the gateway: a compact JWS (EdDSA) over a JWT whose claim `action` is this object
    without `jws`. Its key is at `/.well-known/jwks.json`. Null where the deployment signs none.
    """
    tracking: Tracking | None = None
    """Facts to follow the transfer with `GET /v2/transactions/{txId}`."""
