"""Models of several resources.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

from quoteway_client.wire import Model, Quantity


class Notice(Model, frozen=True, kw_only=True):
    """`Notice` of the document."""

    code: str
    """Code for programs; more codes may be added within v2."""
    message: str
    """What the code means here, in a sentence."""


class RequiredRole(Model, frozen=True, kw_only=True):
    """Role that a management action of a vault requires."""

    name: str
    """Role that the contract requires, such as `owner`."""
    holder: str | None
    """Account that has the role: the caller if it has it. Null when not known."""
    caller_has_role: bool | None
    """Whether the `address` of the request has the role. Null when not known."""


class Difference(Model, frozen=True, kw_only=True):
    """`Difference` of the document."""

    member: str
    """Member of the transaction that differs: `chainId`, `to`, `value`, `data` or `from`."""
    expected: str | None
    """Value of the transaction that was built; of `data` its keccak-256. Null for none."""
    actual: str | None
    """Value of the transaction that was found; of `data` its keccak-256. Null for none."""


class Attempt(Model, frozen=True, kw_only=True):
    """Outcome of one provider's call."""

    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    outcome: str
    """Outcome of the call. `failed`: the provider failed or its quote was refused. `timeout`: it was late.
    `open`: not called, because its breaker is open. `not_asked`: it cannot serve this request, see
    `reason`.
    """
    amount_out: int | None
    """Output that it quoted. Null without a quote. Base units in decimal digits."""
    amount_in: int | None = None
    """Input that it quoted; only for a quote with `exactOut`. Base units in decimal digits."""
    reason: str | None
    """Why it has no quote, one of `details.reason`. Null when it has one."""


class FailedSource(Model, frozen=True, kw_only=True):
    """A provider whose rows are missing, and why."""

    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    reason: str
    """Why its rows are missing: one of `details.reason`, or a code that the operation's description names."""


class TradeTax(Model, frozen=True, kw_only=True):
    """Taxes that a token takes of trades, measured in a simulation against a pool."""

    token: str
    """Token that was measured."""
    buy_bps: int | None
    """Part of a purchase that the token itself takes, in basis points. Null when not measured."""
    sell_bps: int | None
    """Part of a sale that the token itself takes, in basis points. Null when not measured."""
    sellable: bool | None
    """Whether the simulated sale succeeded. Null when no sale was simulated."""


class TokenRef(Model, frozen=True, kw_only=True):
    """`TokenRef` of the document."""

    address: str
    """Contract of the token; the zero address stands for the native coin."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    symbol: str | None
    """Ticker of the token. Tokens may share one. Null when the contract has none."""
    name: str | None
    """Name of the token. Null when the contract has none."""
    decimals: int
    """Number of decimals: one whole token is 10^decimals base units."""
    is_native: bool
    """Whether the token is the native coin of the network."""
    logo_uri: str | None
    """Link to the logo of the token. Null when not known."""
    price_usd: float | None
    """Price of one whole token. US dollars. Null when not known."""


class BlockRef(Model, frozen=True, kw_only=True):
    """`BlockRef` of the document."""

    number: int
    """Height of the block."""
    hash: str
    """Hash of the block, 32 bytes as 0x hex."""
    timestamp: int
    """Time of the block. Unix seconds."""


class Partial(Model, frozen=True, kw_only=True):
    """What is missing from `data`: a token; with `token` null, a network or the rest of its list."""

    chain_id: int
    """Chain id of the network (EIP-155)."""
    token: str | None
    """Token that could not be read. Null for a whole network, or for the rest of its list."""
    reason: str
    """Why it is missing: one of `details.reason`, or a code that the operation's description names."""


class Coverage(Model, frozen=True, kw_only=True):
    """Span of time, in Unix seconds."""

    from_: int
    """Start of the span. Unix seconds."""
    to: int
    """End of the span. Unix seconds."""


class SwapEcho(Model, frozen=True, kw_only=True):
    """`SwapEcho` of the document."""

    from_chain: str
    """Name of the network of `fromToken`."""
    to_chain: str
    """Name of the network of `toToken`."""
    from_token: str
    """Token that is sold; the zero address stands for the native coin."""
    to_token: str
    """Token that is bought; the zero address stands for the native coin."""
    amount: int
    """Exact amount: of `fromToken`, with `exactOut` of `toToken`. Base units in decimal digits."""
    side: str
    """Which amount is exact: `exactIn` the amount sold, `exactOut` the amount bought."""
    address: str
    """Account that signs and pays."""
    to_address: str
    """Account that receives the output."""
    refund_address: str | None
    """Account that receives the refund when a transfer is not filled. Null within one network."""
    slippage_bps: int
    """How far amounts may change to the caller's disadvantage, in basis points."""
    approval_mode: str
    """`transactions`: allowances are set by transactions. `permit2-signature`: a Permit2 allowance by
    typed data to sign.
    """
    max_hops: int | None
    """Most pools on a path. Null where not given."""
    max_legs: int | None
    """Most pools in the route. Null where not given."""
    protocols: tuple[str, ...] | None
    """Only protocols that the route may use. Null where not given."""
    exclude_protocols: tuple[str, ...] | None
    """Protocols that the route may not use. Null where not given."""
    pools: tuple[str, ...] | None
    """Only pools that the route may use. Null where not given."""
    exclude_pools: tuple[str, ...] | None
    """Pools that the route may not use. Null where not given."""
    max_price_impact_bps: int | None
    """Highest price impact that is accepted, in basis points. Null where not given."""
    gas_price_wei: int | None
    """Price of a unit of gas with which quotes are compared. Null where not given. Wei in decimal digits."""
    fee_bps: int | None
    """Rate of the integrator's fee, in basis points. Null without one."""
    fee_recipient: str | None
    """Account that receives the integrator's fee. Null without one."""
    omitted: tuple[str, ...] | None
    """Members of the request that the quote token has no space for. Null when there are none."""


class Leg(Model, frozen=True, kw_only=True):
    """`Leg` of the document."""

    token: TokenRef
    """Token that is paid or received."""
    amount: int
    """Amount at the state of the block that was read. Base units in decimal digits."""
    amount_min: int | None
    """Least amount that is accepted: the transactions revert below it, or the gateway refuses the action
    where the contract takes no minimum. Null where there is no minimum. Base units in decimal digits.
    """
    amount_max: int | None
    """Most that may be taken. Null where no more than `amount` is taken. Base units in decimal digits."""
    amount_usd: float | None
    """Value of `amount`. Null when not known, and in every action. US dollars."""
    account: str
    """Account that pays an input or receives an output."""


class Fee(Model, frozen=True, kw_only=True):
    """`Fee` of the document."""

    name: str
    """Name of the kind of fee in words, such as `Protocol fee`."""
    kind: str
    """Who takes the fee: `protocol` the protocol or service, `integrator` the `feeRecipient` of the
    request, `bridge` the bridge, `lp` the liquidity providers, `gas` who pays gas for the caller.
    """
    token: TokenRef
    """Token in which the fee is paid."""
    amount: int
    """Amount of the fee. Base units in decimal digits."""
    amount_usd: float | None
    """Value of `amount`. US dollars. Null when not known."""
    bps: float | None
    """Rate of the fee in basis points of the amount that it is taken from. Null where it is no rate."""
    included: bool
    """Whether `inputs` and `outputs` contain the fee already. False: it is paid beside them."""
    recipient: str | None
    """Account that receives the fee. Null when not known."""


class Gas(Model, frozen=True, kw_only=True):
    """`Gas` of the document."""

    units: int
    """Estimated units of gas of the transactions, without approvals. An integer in decimal digits."""
    limit: int
    """Estimated gas limit for these transactions, in units of gas: `units` with a reserve. `gasLimit` of
    an action's steps is measured. An integer in decimal digits.
    """
    max_fee_per_gas: int | None
    """Highest fee for a unit of gas that the estimate assumes (EIP-1559). Wei in decimal digits. Null when
    not known.
    """
    l1_fee: int | None
    """Fee that a rollup charges for the data of the transactions on its parent chain. Null where it
    charges none, or when not known. Wei in decimal digits.
    """
    cost: int | None
    """Estimated cost of `units`, `l1Fee` included. Wei in decimal digits. Null when not known."""
    price: int | None
    """Price of a unit of gas with which `cost` was computed. Wei in decimal digits. Null when not known."""
    cost_usd: float | None
    """Value of `cost`. US dollars. Null when not known."""


class Approval(Model, frozen=True, kw_only=True):
    """`Approval` of the document."""

    token: str
    """ERC-20 token that the transactions take from the caller."""
    spender: str
    """Contract that needs the allowance."""
    required: int
    """Allowance that the transactions need. Base units in decimal digits."""
    current: int | None
    """Allowance at the block that was read. Base units in decimal digits. Null when not known."""
    needed: bool | None
    """Whether `current` is less than `required`, so that the action has an approval. Null when not known."""
    needs_reset: bool | None
    """Whether the token refuses another allowance until the present one is set to zero. Null in a quote,
    where it was not tried.
    """


class Issue(Model, frozen=True, kw_only=True):
    """`Issue` of the document."""

    code: str
    """What would make the transactions fail or what to check, such as `insufficient_balance`; more codes
    may be added within v2.
    """
    token: str | None
    """Token or contract that the issue is about. Null when it is about none."""
    actual: int | None
    """Present value: base units of `token`; basis points with `high_price_impact` and `transfer_tax`. Null
    where the issue has no value. Decimal digits.
    """
    required: int | None
    """Value at which the issue is absent, in the unit of `actual`. Null where the issue has no value.
    Decimal digits.
    """


class Hop(Model, frozen=True, kw_only=True):
    """`Hop` of the document."""

    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    protocol: str
    """Protocol of the pool, such as `uniswap-v3`."""
    pool: str
    """Address of the pool; for Uniswap v4 its 32-byte id."""
    token_in: str
    """Token that the pool receives."""
    token_out: str
    """Token that the pool pays."""
    amount_in: int
    """Amount of `tokenIn` that the pool receives. Base units in decimal digits."""
    amount_out: int
    """Amount of `tokenOut` that the pool pays. Base units in decimal digits."""
    fee_bps: float | None
    """Fee of the pool, in basis points of `amountIn`. Null when not known."""


class RoutePath(Model, frozen=True, kw_only=True):
    """`RoutePath` of the document."""

    bps: int
    """Part of the input that takes this path, in basis points."""
    hops: tuple[Hop, ...]
    """Pools of the path, in the order of the trade."""


class RouteLeg(Model, frozen=True, kw_only=True):
    """All that passes through one pool of a route."""

    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    protocol: str
    """Protocol of the pool, such as `uniswap-v3`."""
    pool: str
    """Address of the pool; for Uniswap v4 its 32-byte id."""
    token_in: str
    """Token that the pool receives."""
    token_out: str
    """Token that the pool pays."""
    amount_in: int
    """Amount of `tokenIn` that the pool receives. Base units in decimal digits."""
    amount_out: int
    """Amount of `tokenOut` that the pool pays. Base units in decimal digits."""
    fee_bps: float | None
    """Fee of the pool, in basis points of `amountIn`. Null when not known."""
    share_bps: int
    """Part of all that the route sells of `tokenIn` that this pool receives, in basis points. The native
    coin and its wrapped form count as one token.
    """


class Route(Model, frozen=True, kw_only=True):
    """The route as paths, whose amounts sum to those of its legs, and as legs, in the order of execution."""

    paths: tuple[RoutePath, ...]
    """Paths through pools; their amounts sum to those of `legs`."""
    legs: tuple[RouteLeg, ...] | None = None
    """Pools of the route, each once, in the order of execution. Left out where the provider does not state
    them.
    """


class AssetChange(Model, frozen=True, kw_only=True):
    """`AssetChange` of the document."""

    account: str
    """Account whose balance changes."""
    token: str
    """Token whose balance changes; the zero address stands for the native coin."""
    delta: int
    """Change of the balance. Base units in decimal digits, with a minus sign for a loss."""


class AllowanceChange(Model, frozen=True, kw_only=True):
    """`AllowanceChange` of the document."""

    owner: str
    """Account that owns the tokens."""
    token: str
    """ERC-20 token of the allowance."""
    spender: str
    """Account that may take the tokens."""
    before: int
    """Allowance before the transactions. Base units in decimal digits."""
    after: int
    """Allowance after the transactions. Base units in decimal digits."""


class Simulation(Model, frozen=True, kw_only=True):
    """`Simulation` of the document."""

    status: str
    """`success`: all transactions ran. `reverted`: one of them failed. `skipped`: none was run, and
    `skipReason` says why.
    """
    block: BlockRef | None
    """Block on whose state the transactions were run. Null when they were not run."""
    gas_used: int | None
    """Units of gas that all transactions used together. Null when they were not run. An integer in decimal
    digits.
    """
    gas_used_by_transaction: tuple[int, ...]
    """Units of gas that each transaction used, in their order; empty when they were not run. An integer in
    decimal digits.
    """
    asset_changes: tuple[AssetChange, ...]
    """Changes of the balances that were compared: the caller's of the native coin and of the tokens that
    it pays, those of the recipients, and that of the `feeRecipient`.
    """
    allowance_changes: tuple[AllowanceChange, ...]
    """Changes of the caller's ERC-20 allowances."""
    revert_reason: str | None
    """Revert reason of the contract, shortened and in printable characters. Null when nothing reverted,
    and when it gave none.
    """
    reverted_step: int | None
    """Index of the transaction that reverted. Null when none did."""
    skip_reason: str | None
    """Why the transactions were not run. Null when they were run."""
    assumptions: tuple[str, ...]
    """State that the run assumed: `native_balance`, `balance:` with the address of a token that the caller
    does not have enough of, or `permit2_signature`.
    """


class ConsentBody(TypedDict, total=False):
    """Body of a request: `ConsentBody` of the document."""

    min_block: int
    """Number of a block, such as the newest of the caller's own node: the answer is of this block or a
    later one.
    """
    after_transaction: str
    """Hash of a transaction: the answer is of its block or a later one."""
    acknowledge: Sequence[Literal["high_price_impact", "opaque_calldata"]]
    """Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]`."""
    offer_permits: bool
    """Whether the action has `permitOffers`: for each ERC-20 approval that a signature can take the place
    of (EIP-2612), the data to sign. Default: `false`.
    """
    permits: Sequence[Mapping[str, Any]]
    """Signed permits, each in the place of an approval. An item is `permit` of `permitOffers` with its
    `signature` added. Default: `[]`.
    """


class Transaction(Model, frozen=True, kw_only=True):
    """Exactly four members: more, or a decimal value, breaks wallets (docs: why a transaction has four
    members).
    """

    to: str
    """Contract that is called, or account that is paid."""
    data: str
    """Calldata; `0x` when there is none. 0x hex."""
    value: Quantity
    """Wei of the native coin that are sent with the call. 0x hex without leading zeros."""
    chain_id: int
    """Chain id of the network (EIP-155)."""


class Argument(Model, frozen=True, kw_only=True):
    """`Argument` of the document."""

    name: str
    """Name of the parameter; empty where the ABI has none."""
    type: str
    """Solidity type of the parameter."""
    value: Any
    """Value of the parameter: integers as decimal strings, bytes as 0x hex, arrays as arrays, structs as
    arrays of arguments. Null when not known.
    """


class Decoded(Model, frozen=True, kw_only=True):
    """`Decoded` of the document."""

    signature: str
    """Signature of the called function, such as `approve(address,uint256)`; the four bytes of the selector
    as 0x hex where the calldata is `opaque`.
    """
    args: tuple[Argument, ...]
    """Arguments in the order of the signature; the bytes after the selector where the calldata is
    `opaque`.
    """
    inner: tuple[Decoded, ...] | None = None
    """Calls inside the calldata, such as those of a multicall; left out when there are none."""
    opaque: bool | None = None
    """True where the gateway cannot decode the calldata; left out otherwise."""


class Target(Model, frozen=True, kw_only=True):
    """`Target` of the document."""

    label: str | None
    """Name of the contract in the gateway's registry of call descriptions; never one that a provider
    gives. Null for a contract that the registry does not have.
    """
    known: bool
    """Whether the registry of call descriptions has the contract."""
    code_hash: str | None
    """keccak-256 of the contract's code, 32 bytes as 0x hex. Null when the code was not read."""


class ClearSigning(Model, frozen=True, kw_only=True):
    """`ClearSigning` of the document."""

    intent: str
    """What the signature does, in one sentence made from the calldata, for a wallet to show."""
    descriptor: str | None
    """ERC-7730 descriptor of the called function, as JSON in text. Null where the gateway has none."""


class Step(Model, frozen=True, kw_only=True):
    """`Step` of the document."""

    index: int
    """Index of the transaction in `transactions`."""
    tx_id: str
    """Signed commitment to this transaction, valid for 7 days, for `/v2/transactions/{txId}`."""
    kind: str
    """What the transaction does, such as `approval`, `approval_reset`, `permit`, `permit2_approval` or
    `swap`.
    """
    description: str
    """What the transaction does, in a sentence."""
    gas_limit: Quantity | None
    """Gas limit to set: the units that the simulation used, with a reserve. Null when not simulated. 0x
    hex without leading zeros.
    """
    decoded: Decoded
    """Calldata as the gateway decodes it; encoding it again gives the same bytes."""
    approval: Approval | None
    """Allowance that the transaction sets. Null when it sets none."""
    target: Target
    """Contract that the transaction calls."""
    clear_signing: ClearSigning
    """What a wallet can show before signing."""


class AppliesTo(Model, frozen=True, kw_only=True):
    """`AppliesTo` of the document."""

    transaction: int
    """Index of the transaction in `transactions`."""
    offset: int
    """Offset in that transaction's `data` at which the signature is inserted, in bytes."""
    length: int
    """Number of bytes of `data` that the signature replaces; 65 for r, s and v."""


class Signature(Model, frozen=True, kw_only=True):
    """`Signature` of the document."""

    kind: str
    """What is signed, such as `permit2`."""
    typed_data: dict[str, Any]
    """EIP-712 message to sign, as `eth_signTypedData_v4` takes it."""
    applies_to: AppliesTo
    """Where the signature is inserted in the transactions."""


class Permit(Model, frozen=True, kw_only=True):
    """`Permit` of the document."""

    token: str
    """Token of the allowance."""
    spender: str
    """Account that may take the token."""
    value: int
    """Allowance that the token sets, exactly that of the approval. Base units in decimal digits."""
    nonce: int
    """Nonce that the token expects. An integer in decimal digits."""
    deadline: int
    """Time until which the token accepts the signature: that of `expiresAt`. Unix seconds."""


class PermitOffer(Model, frozen=True, kw_only=True):
    """`PermitOffer` of the document."""

    permit: Permit
    """Values that are signed. With `signature`, an item of `permits`."""
    typed_data: dict[str, Any]
    """EIP-712 message to sign, as `eth_signTypedData_v4` takes it."""


class SendCall(Model, frozen=True, kw_only=True):
    """`SendCall` of the document."""

    to: str
    """Contract that is called, or account that is paid."""
    data: str
    """Calldata; `0x` when there is none. 0x hex."""
    value: Quantity
    """Wei of the native coin that are sent with the call. 0x hex without leading zeros."""


class WalletSendCalls(Model, frozen=True, kw_only=True):
    """The `wallet_sendCalls` parameter of EIP-5792, version 2.0.0."""

    version: str
    """Version of the parameter of EIP-5792."""
    from_: str
    """Account that signs."""
    chain_id: Quantity
    """Chain id of the calls, as a quantity. 0x hex without leading zeros."""
    atomic_required: bool
    """Whether the wallet must execute all calls or none: true where several providers carry out the
    action.
    """
    calls: tuple[SendCall, ...]
    """Calls in the order of execution."""


class Recipient(Model, frozen=True, kw_only=True):
    """`Recipient` of the document."""

    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    account: str
    """Account that gets something on the network."""


class Policy(Model, frozen=True, kw_only=True):
    """`Policy` of the document."""

    digest: str
    """`sha256:` and the SHA-256 of the policy file, in hex."""


class ActionPart(Model, frozen=True, kw_only=True):
    """`ActionPart` of the document."""

    kind: str
    """Whether the part is a swap within a network or a transfer to another one."""
    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    inputs: tuple[Leg, ...]
    """What the part takes from the caller."""
    outputs: tuple[Leg, ...]
    """What the part pays, each output with its own minimum."""
    steps: tuple[int, ...]
    """Indices in `steps` of the part's transactions, approvals included."""


class Action(Model, frozen=True, kw_only=True):
    """`Action` of the document."""

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


class Range(Model, frozen=True, kw_only=True):
    """`Range` of the document."""

    tick_lower: int
    """Lower tick of the position, included in its range."""
    tick_upper: int
    """Upper tick of the position, excluded from its range."""


class Point(Model, frozen=True, kw_only=True):
    """`Point` of the document."""

    timestamp: int
    """Start of the interval, or the moment of a value read from the chain: `method` says which. Unix
    seconds.
    """
    value: float | None
    """Value in the `unit` of the series. Null when not known."""


class SharePrice(Model, frozen=True, kw_only=True):
    """`SharePrice` of the document."""

    block: int
    """Number of the block at which the price was read."""
    timestamp: int
    """Time of that block. Unix seconds."""
    price: str
    """Whole assets that a whole share was worth, as an exact decimal number in text."""


class GrowthWindow(Model, frozen=True, kw_only=True):
    """The two share prices that the yield of a window is computed from."""

    window: str
    """Name of the window: `1d`, `7d` or `30d`."""
    from_: SharePrice | None
    """Share price at the start of the window. Null when not known."""
    to: SharePrice | None
    """Share price at the end of the window. Null when not known."""


class Series(Model, frozen=True, kw_only=True):
    """`Series` of the document."""

    id: str
    """Id of the pool or vault."""
    metric: str
    """What the values measure: `tvl`, `volume`, `fees`, `apr` or `apy`."""
    unit: str
    """Unit of the values: `usd`, `fraction` (0.05 is 5 %), or the symbol of a token for whole tokens;
    `unknown` before the first read.
    """
    interval: str
    """Time between values: an hour, a day or a week."""
    from_: int
    """Start of the requested time. Unix seconds."""
    to: int
    """End of the requested time. Unix seconds."""
    points: tuple[Point, ...]
    """One value for each interval, in the order of time."""
    current: float | None
    """Newest value, in the `unit` of the series. Null when not known."""
    source: str
    """Where the values are from: `index`, `chain`, or another name of the provider; `none` before the
    first read.
    """
    method: str
    """How the values are computed, in sentences."""
    as_of_block: BlockRef | None
    """Block at which the newest value was read. Null when not known."""
    updated_at: datetime
    """Time of the newest data. RFC 3339 in UTC."""
    preview: bool
    """Whether the provider marks the values as a preview, which are not live."""
    gaps: tuple[tuple[int, ...], ...]
    """Spans without values, each as start and end in Unix seconds."""
    components: dict[str, float | None] | None = None
    """Parts of the value by name, such as `base` and `reward` of a rate or `usd` and `assets` of a vault's
    TVL; `method` gives their units. A part is null when not known, and so is the member.
    """
    windows: dict[str, float | None] | None = None
    """Yearly rate over the last `1d`, `7d` and `30d`, as a fraction: 0.05 is 5 %. A rate is null when not
    known, and so is the member.
    """
    amounts: dict[str, int | None] | None = None
    """Exact amounts behind `components`, by name, each of one token of the pool or vault: sums over all
    points, and for TVL the amounts at the end. Base units in decimal digits.
    """
    endpoints: tuple[GrowthWindow, ...] | None = None
    """Share prices at the ends of each window, from which the yields are computed."""
    coverage: Coverage | None
    """Span in which values are known. Null when none is."""
    reason: str | None
    """Why values are missing or old, one of `details.reason`. Null when they are neither."""
