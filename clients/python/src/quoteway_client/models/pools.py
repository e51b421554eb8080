"""Models of pools.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Required, TypedDict

from quoteway_client.models.shared import (
    Approval,
    Attempt,
    BlockRef,
    FailedSource,
    Fee,
    Gas,
    Issue,
    Leg,
    Notice,
    Range,
    Route,
    Simulation,
    TokenRef,
    TradeTax,
)
from quoteway_client.wire import Model


class PoolEntry(Model, frozen=True, kw_only=True):
    """`PoolEntry` of the document."""

    id: str
    """Id of the pool: chain id, colon, address or 32-byte id."""
    network: str
    """Name of the network."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    protocol: str
    """Protocol of the pool, such as `uniswap-v3`."""
    kind: str
    """Family of the pool's contract, such as `v2`, `v3` or `v4`."""
    address: str
    """Address of the pool; for Uniswap v4 its 32-byte id."""
    pair: str
    """Symbols of the tokens, separated by a slash; the address of a token without a symbol."""
    tokens: tuple[TokenRef, ...]
    """Tokens of the pool, in the order of its contract."""
    fee_bps: float | None
    """Fee of a swap, in basis points of the amount sold. Null when not known."""
    tvl_usd: float | None
    """Value of the tokens in the pool. US dollars. Null when not known."""
    apr: float | None
    """Yearly rate that fees pay for liquidity, not compounded, as a fraction: 0.05 is 5 %. Null when not
    known.
    """
    volume24h_usd: float | None
    """Volume of the swaps of the last 24 hours. US dollars. Null when not known."""
    fees24h_usd: float | None
    """Fees of the swaps of the last 24 hours. US dollars. Null when not known."""
    hooks: str | None
    """Contract of the hooks of a Uniswap v4 pool. Null without one."""
    actions: tuple[str, ...]
    """Actions that `POST /v2/pools/{poolId}/quote` takes for it, such as `add`."""
    preview: bool
    """Whether the provider marks the row as a preview, with values that are not live."""
    source: str
    """Where the provider has the row from, such as `chain`."""
    updated_at: datetime
    """Time of the row's data. RFC 3339 in UTC."""


class PoolPage(Model, frozen=True, kw_only=True):
    """`PoolPage` of the document."""

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
    data: tuple[PoolEntry, ...]
    """Pools that the request selects."""


class PoolBody(TypedDict, total=False):
    """Body of a request: `PoolBody` of the document."""

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
    action: Required[Literal["add", "remove", "collect"]]
    """Whether to add or remove liquidity, or to collect fees."""
    address: Required[str]
    """Account that signs the transactions, pays, and owns the position. Address or ENS name."""
    amount: int | Literal["max"]
    """Amount in base units of `asset`; `max` removes the whole position."""
    asset: str
    """Token that `amount` counts, one of the pool's tokens or the token of its shares; by address,
    `native` or the zero address for the native coin, by the symbol or id of a listed token, or a
    CAIP-19 id.
    """
    slippage_bps: int
    """How far the amounts may change to the caller's disadvantage, in basis points. Default: `50`."""
    recipient: str
    """Account that receives the outputs, or owns a new position. Left out: `address`. Address or ENS name."""
    tick_lower: int
    """Lower tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the lowest."""
    tick_upper: int
    """Upper tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the highest."""
    position_id: str
    """Id of the position to add to, remove from or collect. Left out: a new position for `add`, else the
    only one of the wallet in the pool.
    """
    use_native: bool
    """Whether to pay and receive the native coin where the pool holds its wrapped form. Default: `false`."""


class PoolEcho(Model, frozen=True, kw_only=True):
    """`PoolEcho` of the document."""

    pool_id: str
    """Id of the pool: chain id, colon, address or 32-byte id."""
    action: str
    """Action of the request: `add`, `remove` or `collect`."""
    asset: str
    """Token that `amount` counts; the zero address stands for the native coin, and for no token with
    `collect`.
    """
    amount: str
    """Amount in base units of `asset`, or `max` for everything and where not given."""
    address: str
    """Account that signs and pays."""
    recipient: str
    """Account that receives the outputs, or owns the new position."""
    slippage_bps: int
    """How far amounts may change to the caller's disadvantage, in basis points."""
    tick_lower: int | None
    """Lower tick of the position. Null where neither the request nor the quote sets one."""
    tick_upper: int | None
    """Upper tick of the position. Null where neither the request nor the quote sets one."""
    position_id: str | None
    """Id of the position. Null where not given."""
    use_native: bool
    """Whether the native coin is paid and received in place of its wrapped form."""


class PoolState(Model, frozen=True, kw_only=True):
    """`PoolState` of the document."""

    kind: str
    """Family of the pool's contract, such as `v2`, `v3` or `v4`."""
    fee_bps: float | None = None
    """Fee of a swap in this pool, in basis points of the amount sold. Null when not known."""
    reserves: tuple[int, ...] | None = None
    """Reserves of the pool, in base units, in the order of its tokens. Null for a pool without reserves,
    such as v3 and v4. An integer in decimal digits.
    """
    sqrt_price_x96: int | None = None
    """Square root of the price of token 0 in token 1, in base units, times 2^96. Null for a pool without
    ticks. An integer in decimal digits.
    """
    tick: int | None = None
    """Tick of the present price. Null for a pool without ticks."""
    liquidity: int | None = None
    """Liquidity of the pool: for v3 and v4 that in range at the present price, for v2 the total supply of
    its shares. Null where the pool has no such number. An integer in decimal digits.
    """


class PoolQuote(Model, frozen=True, kw_only=True):
    """Quote of adding or removing liquidity, or of collecting fees."""

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
    request: PoolEcho
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
    pool_state: PoolState | None = None
    """State of the pool at the quote's block. Null when not known."""
    dependent: Leg | None = None
    """Input or output of the token that is not `asset`, computed from `amount`. Null where nothing is
    computed from an amount, as when everything is removed.
    """
    liquidity_delta: int | None = None
    """Change of the position's liquidity or shares, in the unit of `poolState.liquidity`; negative when it
    is reduced. An integer in decimal digits. Null when not known.
    """
    range: Range | None = None
    """Ticks of the position. Null for a position without a range."""
    share_of_pool: float | None = None
    """`liquidityDelta` as a fraction of the pool's liquidity, with what is added: 0.05 is 5 %. Null out of
    range, and when not known.
    """


class PoolActionBody(TypedDict, total=False):
    """Body of a request: `PoolActionBody` of the document."""

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
    action: Required[Literal["add", "remove", "collect"]]
    """Whether to add or remove liquidity, or to collect fees."""
    address: Required[str]
    """Account that signs the transactions, pays, and owns the position. Address or ENS name."""
    amount: int | Literal["max"]
    """Amount in base units of `asset`; `max` removes the whole position."""
    asset: str
    """Token that `amount` counts, one of the pool's tokens or the token of its shares; by address,
    `native` or the zero address for the native coin, by the symbol or id of a listed token, or a
    CAIP-19 id.
    """
    slippage_bps: int
    """How far the amounts may change to the caller's disadvantage, in basis points. Default: `50`."""
    recipient: str
    """Account that receives the outputs, or owns a new position. Left out: `address`. Address or ENS name."""
    tick_lower: int
    """Lower tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the lowest."""
    tick_upper: int
    """Upper tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the highest."""
    position_id: str
    """Id of the position to add to, remove from or collect. Left out: a new position for `add`, else the
    only one of the wallet in the pool.
    """
    use_native: bool
    """Whether to pay and receive the native coin where the pool holds its wrapped form. Default: `false`."""
    offer_permits: bool
    """Whether the action has `permitOffers`: for each ERC-20 approval that a signature can take the place
    of (EIP-2612), the data to sign. Default: `false`.
    """
    permits: Sequence[Mapping[str, Any]]
    """Signed permits, each in the place of an approval. An item is `permit` of `permitOffers` with its
    `signature` added. Default: `[]`.
    """
    quote_id: str
    """Quote of the same request, whose minimums the action keeps."""


class PositionEntry(Model, frozen=True, kw_only=True):
    """`PositionEntry` of the document."""

    position_id: str
    """Id of the position, for `positionId` in requests; of an NFT its token id."""
    pool_id: str
    """Id of the pool that holds the position."""
    owner: str
    """Account that owns the position."""
    kind: str
    """`fungible`: shares of a pool or vault. `nft`: a token of its own."""
    liquidity: int
    """Size of the position: base units of the shares, or units of liquidity for v3 and v4. Decimal digits."""
    share: float | None
    """Fraction of the pool's liquidity or of all shares: 0.05 is 5 %. Null out of range, and when not
    known.
    """
    amounts: tuple[Leg, ...]
    """Amounts that a withdrawal of the whole position pays now, without fees; empty when not known."""
    uncollected_fees: tuple[Leg, ...]
    """Fees that can be collected now."""
    range: Range | None
    """Ticks of the position. Null for a position without a range."""
    in_range: bool | None
    """Whether the pool's price is in the range. Null for a position without a range."""
    value_usd: float | None
    """Value of `amounts` and `uncollectedFees`. Null unless all of them have a price. US dollars."""
    as_of_block: BlockRef
    """Block at which the position was read."""


class PositionPage(Model, frozen=True, kw_only=True):
    """`PositionPage` of the document."""

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
    data: tuple[PositionEntry, ...]
    """Positions that the wallet has in the pool."""


class Tick(Model, frozen=True, kw_only=True):
    """`Tick` of the document."""

    tick: int
    """Initialised tick, a multiple of `tickSpacing`."""
    liquidity_net: int
    """Change of the liquidity in range where the price rises over the tick; negative where positions end.
    An integer in decimal digits.
    """


class TickSpan(Model, frozen=True, kw_only=True):
    """Ticks, both ends included."""

    from_: int
    """Lowest tick."""
    to: int
    """Highest tick."""


class PoolLiquidity(Model, frozen=True, kw_only=True):
    """`PoolLiquidity` of the document."""

    pool_id: str
    """Id of the pool: chain id, colon, address or 32-byte id."""
    tick_spacing: int
    """Ticks of a position are multiples of this number."""
    sqrt_price_x96: int
    """Square root of the price of token 0 in token 1, in base units, times 2^96. An integer in decimal
    digits.
    """
    tick: int
    """Tick of the present price."""
    liquidity: int
    """Liquidity in range at the present price. An integer in decimal digits."""
    ticks: tuple[Tick, ...]
    """Initialised ticks of the span `known`, ascending."""
    known: TickSpan
    """Ticks that were read, around the present price; others may be initialised too."""
    block: BlockRef
    """Block at which the pool was read."""
