"""Models of vaults.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Required, TypedDict

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
    RequiredRole,
    Route,
    Signature,
    Simulation,
    Step,
    TokenRef,
    TradeTax,
    Transaction,
    WalletSendCalls,
)
from quoteway_client.wire import Model


class VaultFees(Model, frozen=True, kw_only=True):
    """`VaultFees` of the document."""

    performance_bps: int | None
    """Fee on the yield, in basis points of it. Null when not known."""
    management_bps: int | None
    """Fee on the assets, in basis points a year. Null when not known."""
    entry_bps: int | None
    """Fee on a deposit, in basis points. Null when not known."""
    exit_bps: int | None
    """Fee on a withdrawal, in basis points. Null when not known."""


class VaultEntry(Model, frozen=True, kw_only=True):
    """`VaultEntry` of the document."""

    id: str
    """Id of the vault: chain id, colon, address."""
    network: str
    """Name of the network."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    address: str
    """Contract of the vault."""
    name: str
    """Name of the vault."""
    protocol: str
    """Protocol of the vault, such as `erc4626`."""
    strategy: str
    """Strategy of the vault, as its provider names it; empty where it names none."""
    asset: TokenRef
    """Token that the vault takes in (the underlying)."""
    share: TokenRef
    """Token of the vault's shares."""
    apy: float | None
    """Yearly yield with compounding, as a fraction: 0.05 is 5 %. Null when not known."""
    total_assets: int | None
    """Assets that the vault holds, by its `totalAssets()`. Base units in decimal digits. Null when not
    known.
    """
    tvl_usd: float | None
    """Value of `totalAssets`. US dollars. Null when not known."""
    risk_score: float | None
    """Risk score from 0 to 100; lower is safer. Null when not known."""
    fees: VaultFees
    """Fees of the vault."""
    caps: dict[str, int | None] | None
    """Limits of the vault by name, such as `maxDeposit`, in base units of its asset. Null when there is no
    limit or it is not known. Base units in decimal digits.
    """
    status: str
    """`active`: takes deposits. `paused`: takes none now. `retired`: takes none any more."""
    actions: tuple[str, ...]
    """Actions that `POST /v2/vaults/{vaultId}/quote` takes for it, such as `deposit`."""
    is_transactional: bool
    """Whether quotes and actions can be requested for the vault."""
    warnings: tuple[Notice, ...]
    """What a depositor must know."""
    preview: bool
    """Whether the provider marks the row as a preview, with values that are not live."""
    source: str
    """Where the provider has the row from, such as `chain`."""
    updated_at: datetime
    """Time of the row's data. RFC 3339 in UTC."""


class VaultPage(Model, frozen=True, kw_only=True):
    """`VaultPage` of the document."""

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
    data: tuple[VaultEntry, ...]
    """Vaults that the request selects."""


class DeployBody(TypedDict, total=False):
    """Body of a request: `DeployBody` of the document."""

    min_block: int
    """Number of a block, such as the newest of the caller's own node: the answer is of this block or a
    later one.
    """
    after_transaction: str
    """Hash of a transaction: the answer is of its block or a later one."""
    acknowledge: Sequence[Literal["high_price_impact", "opaque_calldata"]]
    """Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]`."""
    asset: Required[str]
    """Token that the vault takes in (the underlying); by address, by the symbol or id of a listed token,
    or a CAIP-19 id.
    """
    bot: str
    """Account that may rebalance beside the owner. Left out or the zero address: none. Address or ENS
    name.
    """
    network: Required[str]
    """Network of the new vault."""
    owner: Required[str]
    """Account that signs, and that will own the vault. Address or ENS name."""
    strategy: Required[str]
    """Id of one of the provider's strategies."""


class DeployEcho(Model, frozen=True, kw_only=True):
    """`DeployEcho` of the document."""

    network: str
    """Name of the network of the new vault."""
    asset: str
    """Token that the vault takes in (the underlying)."""
    owner: str
    """Account that signs, and that will own the vault."""
    strategy: str
    """Id of the strategy that the vault gets."""
    bot: str | None
    """Account that may rebalance beside the owner. Null for none."""


class DeploymentParams(Model, frozen=True, kw_only=True):
    """`DeploymentParams` of the document."""

    asset: str
    """Token that the vault takes in (the underlying)."""
    owner: str
    """Account that will own the vault."""
    bot: str | None
    """Account that may rebalance beside the owner. Null for none."""
    strategy: str
    """Address of the strategy that the vault gets."""


class DeployQuote(Model, frozen=True, kw_only=True):
    """Quote of deploying a vault."""

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
    request: DeployEcho
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
    factory: str | None = None
    """Address of the factory that deploys the vault."""
    predicted_address: str | None = None
    """Address of the new vault (CREATE2, EIP-1014)."""
    salt: str | None = None
    """Salt of CREATE2, 32 bytes as 0x hex."""
    init_code_hash: str | None = None
    """keccak-256 of the vault's init code for CREATE2, 32 bytes as 0x hex."""
    params: DeploymentParams | None = None
    """Arguments with which the vault is deployed."""


class DeployActionBody(TypedDict, total=False):
    """Body of a request: `DeployActionBody` of the document."""

    min_block: int
    """Number of a block, such as the newest of the caller's own node: the answer is of this block or a
    later one.
    """
    after_transaction: str
    """Hash of a transaction: the answer is of its block or a later one."""
    acknowledge: Sequence[Literal["high_price_impact", "opaque_calldata"]]
    """Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]`."""
    asset: Required[str]
    """Token that the vault takes in (the underlying); by address, by the symbol or id of a listed token,
    or a CAIP-19 id.
    """
    bot: str
    """Account that may rebalance beside the owner. Left out or the zero address: none. Address or ENS
    name.
    """
    network: Required[str]
    """Network of the new vault."""
    owner: Required[str]
    """Account that signs, and that will own the vault. Address or ENS name."""
    strategy: Required[str]
    """Id of one of the provider's strategies."""
    quote_id: str
    """Quote of the same request, whose terms the action keeps."""


class DeployAction(Model, frozen=True, kw_only=True):
    """Action of deploying a vault."""

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
    factory: str | None = None
    """Address of the factory that deploys the vault."""
    predicted_address: str | None = None
    """Address of the new vault (CREATE2, EIP-1014)."""
    salt: str | None = None
    """Salt of CREATE2, 32 bytes as 0x hex."""
    init_code_hash: str | None = None
    """keccak-256 of the vault's init code for CREATE2, 32 bytes as 0x hex."""
    params: DeploymentParams | None = None
    """Arguments with which the vault is deployed."""


class VaultBody(TypedDict, total=False):
    """Body of a request: `VaultBody` of the document."""

    min_block: int
    """Number of a block, such as the newest of the caller's own node: the answer is of this block or a
    later one.
    """
    after_transaction: str
    """Hash of a transaction: the answer is of its block or a later one."""
    acknowledge: Sequence[Literal["high_price_impact", "opaque_calldata"]]
    """Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]`."""
    action: Required[Literal["deposit", "mint", "withdraw", "redeem"]]
    """Whether to deposit or withdraw; `mint` and `redeem` do the same for an amount of shares."""
    address: Required[str]
    """Account that signs the transactions and pays. Address or ENS name."""
    amount: Required[int | Literal["max"]]
    """Amount in base units of `asset`; `max` redeems all shares."""
    asset: Required[str]
    """Token that `amount` counts, the underlying or the share token of the vault; with `mint` and `redeem`
    the share token; by address, `native` or the zero address for the native coin, by the symbol or id
    of a listed token, or a CAIP-19 id.
    """
    slippage_bps: int
    """How far the amount that is not given may change to the caller's disadvantage, in basis points.
    Default: `50`.
    """
    recipient: str
    """Account that receives the shares or assets. Left out: `address`. Address or ENS name."""


class VaultEcho(Model, frozen=True, kw_only=True):
    """`VaultEcho` of the document."""

    vault_id: str
    """Id of the vault: chain id, colon, address."""
    action: str
    """Action of the request, such as `deposit`."""
    asset: str | None
    """Token that `amount` counts. Null where not given."""
    amount: int | None
    """Amount of `asset`. Null for `max`, and where not given. Base units in decimal digits."""
    address: str
    """Account that signs."""
    recipient: str
    """Account that receives the outputs."""
    slippage_bps: int
    """How far amounts may change to the caller's disadvantage, in basis points."""
    strategy: str | None
    """Strategy of the request. Null where not given."""
    bot: str | None
    """Account of the request's `bot`. Null where not given."""


class QuotedVault(Model, frozen=True, kw_only=True):
    """`QuotedVault` of the document."""

    id: str
    """Id of the vault: chain id, colon, address."""
    asset: TokenRef
    """Token that the vault takes in (the underlying)."""
    share: TokenRef
    """Token of the vault's shares."""
    share_price: str | None
    """Whole assets that a whole share is worth, as a decimal number in text. Null when not known."""


class QuotedVaultFees(Model, frozen=True, kw_only=True):
    """`QuotedVaultFees` of the document."""

    entry: int | None
    """Fee on a deposit, in basis points. Null when not known."""
    exit: int | None
    """Fee on a withdrawal, in basis points. Null when not known."""


class VaultQuote(Model, frozen=True, kw_only=True):
    """Quote of a deposit or withdrawal."""

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
    request: VaultEcho
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
    vault: QuotedVault | None = None
    """The vault, its tokens and the price of its shares."""
    limit: int | None = None
    """Most that the vault accepts or pays now, in base units of the `asset` of the request, or of the
    share where `amount` is `max`. Null when there is no limit or it is not known. An integer in decimal
    digits.
    """
    lock_seconds: int | None = None
    """Seconds for which a deposit cannot be withdrawn. Null when not known."""
    fees_bps: QuotedVaultFees | None = None
    """Fees of the vault on deposits and withdrawals."""


class VaultActionBody(TypedDict, total=False):
    """Body of a request: `VaultActionBody` of the document."""

    min_block: int
    """Number of a block, such as the newest of the caller's own node: the answer is of this block or a
    later one.
    """
    after_transaction: str
    """Hash of a transaction: the answer is of its block or a later one."""
    acknowledge: Sequence[Literal["high_price_impact", "opaque_calldata"]]
    """Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]`."""
    action: Required[Literal["deposit", "mint", "withdraw", "redeem"]]
    """Whether to deposit or withdraw; `mint` and `redeem` do the same for an amount of shares."""
    address: Required[str]
    """Account that signs the transactions and pays. Address or ENS name."""
    amount: Required[int | Literal["max"]]
    """Amount in base units of `asset`; `max` redeems all shares."""
    asset: Required[str]
    """Token that `amount` counts, the underlying or the share token of the vault; with `mint` and `redeem`
    the share token; by address, `native` or the zero address for the native coin, by the symbol or id
    of a listed token, or a CAIP-19 id.
    """
    slippage_bps: int
    """How far the amount that is not given may change to the caller's disadvantage, in basis points.
    Default: `50`.
    """
    recipient: str
    """Account that receives the shares or assets. Left out: `address`. Address or ENS name."""
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


class ManageBody(TypedDict, total=False):
    """Body of a request: `ManageBody` of the document."""

    min_block: int
    """Number of a block, such as the newest of the caller's own node: the answer is of this block or a
    later one.
    """
    after_transaction: str
    """Hash of a transaction: the answer is of its block or a later one."""
    acknowledge: Sequence[Literal["high_price_impact", "opaque_calldata"]]
    """Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]`."""
    action: Required[
        Literal[
            "harvest",
            "claim",
            "pause",
            "unpause",
            "setFee",
            "setCap",
            "setOperator",
            "setBot",
            "addStrategy",
            "removeStrategy",
        ]
    ]
    """Management action; the provider's `actions.manage` lists those that it takes."""
    address: Required[str]
    """Account that signs; it must have the role that the vault requires. Address or ENS name."""
    amount: int | Literal["max"]
    """New cap in base units of the underlying with `setCap`, `max` for none; new fee in the vault's own
    unit with `setFee`.
    """
    asset: str
    """Underlying of the vault, which is not needed; by address, `native` or the zero address for the
    native coin, by the symbol or id of a listed token, or a CAIP-19 id.
    """
    bot: str
    """Account that `setBot` or `setOperator` names; the zero address for none. Address or ENS name."""
    strategy: str
    """Id or address of the strategy that `addStrategy` or `removeStrategy` names."""


class ManageAction(Model, frozen=True, kw_only=True):
    """Action of managing a vault."""

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
    required_role: RequiredRole | None = None
    """Role that the management action requires. Null when not known."""


class RebalanceBody(TypedDict, total=False):
    """Body of a request: `RebalanceBody` of the document."""

    min_block: int
    """Number of a block, such as the newest of the caller's own node: the answer is of this block or a
    later one.
    """
    after_transaction: str
    """Hash of a transaction: the answer is of its block or a later one."""
    acknowledge: Sequence[Literal["high_price_impact", "opaque_calldata"]]
    """Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]`."""
    address: Required[str]
    """Account that signs; it must have the role that the vault requires. Address or ENS name."""
    amount: int | Literal["max"]
    """Amount to move, in base units of the underlying. Left out or `max`: all that can be moved."""
    strategy: str
    """Id or address of the strategy to move into. Left out: the vault's first one."""
    slippage_bps: int
    """Most that the move may cost, in basis points of the vault's total assets. Default: `50`."""
