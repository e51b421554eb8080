"""Models of portfolio.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Required, TypedDict

from quoteway_client.models.shared import (
    BlockRef,
    Coverage,
    FailedSource,
    Leg,
    Notice,
    Partial,
    Range,
    TokenRef,
)
from quoteway_client.wire import Model


class Balance(Model, frozen=True, kw_only=True):
    """`Balance` of the document."""

    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    token: TokenRef
    """Token of the balance."""
    amount: int
    """Balance of the wallet. Base units in decimal digits."""
    amount_formatted: str
    """Balance of the wallet in whole tokens, as a decimal number in text."""
    value_usd: float | None
    """Value of the balance. Of a token that no catalog lists, or whose price is not anchored or has moved,
    no more than can be sold. Null when not known, and for spam. US dollars.
    """
    realisable_usd: float | None
    """Least that pools pay for the whole balance, sold alone. US dollars. Null when not known."""
    confidence: float | None
    """Confidence of the price sources in the price, from 0 to 1. Null when not known."""
    liquidity_usd: float | None
    """Amount that can be sold near the price. US dollars. Null when not known."""
    sources: tuple[str, ...]
    """Ids of the price sources that agree on the price; empty without a price."""
    anchored: bool
    """Whether the price is confirmed: reached from dollar tokens through pools that stood for a while, or
    agreed on by sources of several plugins.
    """
    moved1h_pct: float | None
    """Largest difference of the present price to one of the last hour, in percent: 2 is 2 %. Null when not
    known.
    """
    warnings: tuple[Notice, ...]
    """What to know about the price, such as `price_moved`."""
    counted: bool
    """Whether `valueUsd` is part of `totalUsd`."""
    listed: bool
    """Whether a catalog of this deployment lists the token."""
    spam: bool | None
    """Whether the token breaks a rule of spam. Null when it was not judged."""
    spam_reasons: tuple[str, ...]
    """Rules that the token breaks, such as `link` or `mass_gift`."""


class AsOf(Model, frozen=True, kw_only=True):
    """`AsOf` of the document."""

    chain_id: int
    """Chain id of the network (EIP-155)."""
    block: int
    """Number of the block that was read."""


class Balances(Model, frozen=True, kw_only=True):
    """`Balances` of the document."""

    wallet: str
    """Wallet of the request."""
    data: tuple[Balance, ...]
    """Balances of the wallet, one for each token and network."""
    total_usd: float | None
    """Sum of `valueUsd` of the balances that are `counted`. Null when none is. US dollars."""
    total_complete: bool
    """Whether nothing that should count is missing from `totalUsd`."""
    as_of: tuple[AsOf, ...]
    """Block of each network at which the balances were read."""
    partial: tuple[Partial, ...]
    """What could not be read; empty when nothing is missing."""


class BalancesBody(TypedDict, total=False):
    """Body of a request: `BalancesBody` of the document."""

    min_block: int
    """Number of a block, such as the newest of the caller's own node: the answer is of this block or a
    later one.
    """
    after_transaction: str
    """Hash of a transaction: the answer is of its block or a later one."""
    wallets: Required[Sequence[str]]
    """Accounts whose balances are read."""
    network: str
    """Network to read. Left out: all."""
    tokens: Sequence[str]
    """Tokens, at most 1000 over all networks, by address, `native` or the zero address for the native
    coin, and with `network` by the symbol or id of a listed token, or a CAIP-19 id. Left out: the
    tokens listed by this deployment, of which only those held are shown.
    """
    include_native: bool
    """Whether the balance of the native coin is read too. Default: `true`."""
    include_unlisted: bool
    """Whether `totalUsd` counts tokens that no catalog lists, and those whose price is not anchored, at
    what they can be sold for. Default: `false`.
    """


class BalancesOfWallets(Model, frozen=True, kw_only=True):
    """`BalancesOfWallets` of the document."""

    data: tuple[Balances, ...]
    """Balances of each wallet, in the order of `wallets`."""
    total_usd: float | None
    """Sum of the known totals of the wallets. Null when none is known. US dollars."""
    total_complete: bool
    """Whether the totals of all wallets are complete."""


class PortfolioPosition(Model, frozen=True, kw_only=True):
    """`poolId` of a position in a vault is null, and `vaultId` of one in a pool."""

    position_id: str
    """Id of the position, for `positionId` in requests; of an NFT its token id."""
    pool_id: str | None
    """Pool of the position. Null for a vault."""
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
    vault_id: str | None
    """Vault of the position. Null for a pool."""
    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""


class Positions(Model, frozen=True, kw_only=True):
    """`Positions` of the document."""

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
    data: tuple[PortfolioPosition, ...]
    """Positions that the wallet has in pools and vaults."""
    as_of: tuple[AsOf, ...]
    """Block of each network at which the positions were read: the oldest `asOfBlock` among its positions
    on all pages, else the newest block before they were looked for. A network whose block is not known
    is left out.
    """


class AllowanceEntry(Model, frozen=True, kw_only=True):
    """`AllowanceEntry` of the document."""

    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    kind: str
    """`erc20`: the token keeps the allowance. `permit2`: the contract Permit2 keeps it, and the spender
    takes the token through it.
    """
    token: TokenRef
    """Token of the allowance."""
    listed: bool
    """Whether a catalog of this deployment lists the token."""
    spender: str
    """Account that may take the token from the wallet."""
    label: str | None
    """Name of the spender, as a provider declares it. Null where none does."""
    amount: int
    """Amount that the spender may still take. Base units in decimal digits."""
    unlimited: bool
    """Whether the amount is one that stands for no limit, such as 2^256 - 1."""
    expiration: int | None
    """Time at which a `permit2` allowance ends. Null for `erc20`, which does not end. Unix seconds."""


class Allowances(Model, frozen=True, kw_only=True):
    """`Allowances` of the document."""

    wallet: str
    """Wallet of the request."""
    data: tuple[AllowanceEntry, ...]
    """Allowances above zero that have not expired."""
    as_of: tuple[AsOf, ...]
    """Block of each network at which the allowances were read."""
    partial: tuple[Partial, ...]
    """What could not be read; empty when nothing is missing."""


class RevokeBody(TypedDict, total=False):
    """Body of a request: `RevokeBody` of the document."""

    min_block: int
    """Number of a block, such as the newest of the caller's own node: the answer is of this block or a
    later one.
    """
    after_transaction: str
    """Hash of a transaction: the answer is of its block or a later one."""
    address: Required[str]
    """Account that signs, and whose approvals end. Address or ENS name."""
    network: Required[str]
    """Network of the approvals."""
    approvals: Required[Sequence[Mapping[str, Any]]]
    """Approvals to revoke, as `GET /v2/portfolio/approvals` shows them."""


class DoneCall(Model, frozen=True, kw_only=True):
    """`DoneCall` of the document."""

    action: str
    """What the called function does, such as `swap`."""
    function: str
    """Signature of the called function."""
    target: str | None
    """Name of the called contract in the gateway's registry of call descriptions. Null when not known."""


class MovementEntry(Model, frozen=True, kw_only=True):
    """`MovementEntry` of the document."""

    token_address: str
    """Contract of the token; the zero address stands for the native coin."""
    token: TokenRef | None
    """Facts of the token. Null where the address is no ERC-20 token."""
    listed: bool
    """Whether a catalog of this deployment lists the token."""
    direction: str
    """`in`: received by the wallet. `out`: sent by it. `self`: from it to itself."""
    amount: int
    """Amount that moved. Base units in decimal digits."""
    amount_formatted: str | None
    """Amount that moved, in whole tokens, as a decimal number in text. Null when `token` is."""
    counterparty: str
    """Account at the other end of the movement."""
    hearsay: bool
    """True where an unlisted token logs that the wallet sent it, in a transaction of another account: any
    contract can log that.
    """


class KnownEvent(Model, frozen=True, kw_only=True):
    """`KnownEvent` of the document."""

    kind: str
    """Kind of the event, such as `swap`."""
    source: str
    """Id of the event source of the index."""
    subject: str
    """Pool or vault that the event is about, by its address or 32-byte id; of a transfer the name of the
    bridge.
    """


class ActivityEntry(Model, frozen=True, kw_only=True):
    """`ActivityEntry` of the document."""

    hash: str
    """Hash of the transaction."""
    block: int
    """Number of the block of the transaction."""
    timestamp: int
    """Time of the block. Unix seconds."""
    status: str
    """Whether the transaction succeeded."""
    from_: str
    """Account that sent the transaction."""
    to: str | None
    """Account that the transaction calls. Null for a deployment."""
    call: DoneCall | None
    """Called function, where a description of it is known. Null otherwise."""
    description: str
    """What the transaction did, in a sentence of the gateway."""
    transfers: tuple[MovementEntry, ...]
    """Tokens and coins that the wallet received or sent, at most 100."""
    transfers_left_out: int
    """Number of further transfers that `transfers` leaves out."""
    events: tuple[KnownEvent, ...]
    """Events of known protocols in the transaction."""
    fee_wei: int | None
    """Fee that the wallet paid for the transaction. Null where another account sent it. Wei in decimal
    digits.
    """


class IndexCoverage(Model, frozen=True, kw_only=True):
    """Blocks of which the index has everything."""

    from_block: int
    """First block of the span that is indexed without a gap."""
    to_block: int
    """Last block of that span."""
    complete: bool
    """Whether the index has everything before the first block too."""


class Unread(Model, frozen=True, kw_only=True):
    """A transaction that could not be read, and why."""

    hash: str
    """Hash of the transaction."""
    reason: str
    """Why it could not be read: one of `details.reason`, or `transaction_not_found`."""


class Activity(Model, frozen=True, kw_only=True):
    """`Activity` of the document."""

    wallet: str
    """Wallet of the request."""
    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    data: tuple[ActivityEntry, ...]
    """Transactions, newest first."""
    next_cursor: str | None
    """Value of `cursor` for the next page. Null on the last page."""
    coverage: IndexCoverage
    """Span of blocks whose transactions are indexed."""
    partial: tuple[Unread, ...]
    """Transactions of the page that could not be read."""


class ValuePoint(Model, frozen=True, kw_only=True):
    """`ValuePoint` of the document."""

    timestamp: int
    """Moment of the value. Unix seconds."""
    value_usd: float | None
    """Value of the tokens with a price. Null outside of `coverage`, and where none of the held tokens has
    a price. US dollars.
    """
    unpriced: tuple[str, ...]
    """Tokens that the wallet held then and that have no price."""


class HeldThen(Model, frozen=True, kw_only=True):
    """`HeldThen` of the document."""

    token: TokenRef
    """Token that the wallet held."""
    amounts: tuple[int | None, ...]
    """Balance at each point, in base units; null where it is not known."""


class WalletHistory(Model, frozen=True, kw_only=True):
    """`WalletHistory` of the document."""

    wallet: str
    """Wallet of the request."""
    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    interval: str
    """Time between values: an hour, a day or a week."""
    from_: int
    """Start of the requested time. Unix seconds."""
    to: int
    """End of the requested time. Unix seconds."""
    points: tuple[ValuePoint, ...]
    """Value of the wallet's tokens at each moment, in the order of time."""
    tokens: tuple[HeldThen, ...]
    """Tokens that count, with the balance at each point."""
    coverage: Coverage
    """Span in which the balances are known."""
    as_of_block: BlockRef
    """Block whose balances are the newest, from which those of the past are computed."""
    method: str
    """How the values are computed, in sentences."""
    partial: tuple[Partial, ...]
    """What the values do not count, with the reason."""


class TokenAmount(Model, frozen=True, kw_only=True):
    """`TokenAmount` of the document."""

    token: TokenRef
    """Token of the amount."""
    amount: int
    """Amount of the token. Base units in decimal digits."""


class GainEntry(Model, frozen=True, kw_only=True):
    """`GainEntry` of the document."""

    position_id: str
    """Id of the position; for a vault the id of the vault."""
    provider: str
    """Id of the provider, as in `GET /v2/providers`."""
    pool_id: str | None
    """Pool of the position. Null for a vault."""
    vault_id: str | None
    """Vault of the position. Null for a pool."""
    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    opened_at: int | None
    """Time of the first event of the position. Unix seconds. Null when not known."""
    deposited: tuple[TokenAmount, ...] | None
    """Sum of what was deposited, for each token. Null when not known."""
    withdrawn: tuple[TokenAmount, ...] | None
    """Sum of what was withdrawn, for each token, without fees. Null when not known."""
    collected_fees: tuple[TokenAmount, ...] | None
    """Sum of the fees that were paid out, for each token. Null when not known."""
    uncollected_fees: tuple[TokenAmount, ...] | None
    """Fees that can be collected now, for each token. Null when not known."""
    cost_usd: float | None
    """Cost of what is in the position now: deposits at the prices of their hours, less the share of each
    withdrawal (average cost). US dollars. Null when not known.
    """
    value_usd: float | None
    """Value of the principal now, without fees. US dollars. Null when not known."""
    realised_usd: float | None
    """Withdrawals at the prices of their hours less their share of the cost; negative is a loss. US
    dollars. Null when not known.
    """
    unrealised_usd: float | None
    """`valueUsd` less `costUsd`; negative is a loss. US dollars. Null when not known."""
    fees_usd: float | None
    """Value of all fees: collected ones at the prices of their hours, others at those of now. US dollars.
    Null when not known.
    """
    impermanent_loss_usd: float | None
    """`valueUsd` less the present value of the deposits that are still in the position; negative is a
    loss. US dollars. Null when not known.
    """
    reasons: tuple[str, ...]
    """Codes of why members are null; the operation's description explains them."""


class Gains(Model, frozen=True, kw_only=True):
    """`Gains` of the document."""

    wallet: str
    """Wallet of the request."""
    data: tuple[GainEntry, ...]
    """One row for each position."""
    method: str
    """How the members are computed, in sentences."""
    partial: tuple[FailedSource, ...]
    """Providers whose positions or events are missing."""
