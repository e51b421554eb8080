"""The terms of quotes and builds, by capability, and the state of transfers to another chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from quoteway.models.amounts import Leg
from quoteway.models.tokens import Address, Token


@dataclass(frozen=True, slots=True)
class PoolState:
    """A pool at the quote's block. ``reserves`` are base units of its tokens; ``liquidity`` is in the pool's
    own unit (LP shares for a pair). None: not defined for this kind of pool."""

    kind: str
    fee_bps: float | None
    liquidity: int | None = None
    reserves: tuple[int, ...] | None = None
    sqrt_price_x96: int | None = None
    tick: int | None = None


@dataclass(frozen=True, slots=True)
class PoolTerms:
    """Terms of a liquidity operation.

    ``liquidity_delta`` is the change of the position, in the unit of ``PoolState.liquidity``. ``dependent``
    is the leg computed from the requested amount. ``tick_range``: lower and upper tick. ``share_of_pool`` is
    between 0 and 1.
    """

    pool_state: PoolState | None
    liquidity_delta: int | None
    dependent: Leg | None = None
    tick_range: tuple[int, int] | None = None
    share_of_pool: float | None = None


@dataclass(frozen=True, slots=True)
class VaultTerms:
    """Terms of a deposit, mint, withdrawal or redemption. None: not known.

    ``share_price`` is whole assets per whole share as decimal text. ``limit`` is the maximum amount that the
    vault accepts or pays now, in the unit of the request's amount.
    """

    vault_id: str
    asset: Token
    share: Token
    share_price: str | None = None
    limit: int | None = None
    lock_seconds: int | None = None
    entry_bps: int | None = None
    exit_bps: int | None = None


@dataclass(frozen=True, slots=True)
class RefundTerms:
    """The refund of a failed transfer: chain, token and account. ``on_expiry`` describes it for people."""

    chain_id: int
    token: Address
    address: Address

    @property
    def on_expiry(self) -> str:
        """Returns how the refund comes."""
        return (
            "A deposit that is not filled by fillDeadline is refunded to this address on the origin chain by "
            "the bridge's next settlement, usually within some hours; nothing has to be done. The native "
            "coin is refunded in its wrapped form."
        )


@dataclass(frozen=True, slots=True)
class TransferTerms:
    """Terms of a transfer to another chain. ``fill_deadline`` is in Unix seconds. The guard compares the
    calldata with ``refund``."""

    estimated_seconds: int | None = None
    fill_deadline: int | None = None
    refund: RefundTerms | None = None


@dataclass(frozen=True, slots=True)
class TransferTracking:
    """The data to track a built transfer. ``refund_address`` None: the bridge declares no refund account."""

    bridge: str
    origin_chain_id: int
    destination_chain_id: int
    expected_seconds: int | None = None
    refund_address: Address | None = None


@dataclass(frozen=True, slots=True)
class DeploymentTerms:
    """The predicted address of a vault (EIP-1014), which the factory's call returns, and its constructor
    arguments.

    ``salt`` and ``init_code_hash`` are 0x hex of 32 bytes.
    """

    factory: Address
    predicted_address: Address
    salt: str
    init_code_hash: str
    asset: Address
    owner: Address
    strategy: str
    bot: Address | None = None


@dataclass(frozen=True, slots=True)
class RequiredRole:
    """The role that a management action needs. ``holder`` is the caller if it has the role."""

    name: str
    holder: Address | None = None
    caller_has_role: bool | None = None


@dataclass(frozen=True, slots=True)
class ManagementTerms:
    """Terms of a management action of a vault."""

    required_role: RequiredRole | None


QuoteTerms: TypeAlias = PoolTerms | VaultTerms | TransferTerms | DeploymentTerms
BuildTerms: TypeAlias = TransferTracking | DeploymentTerms | ManagementTerms

TransferStatus: TypeAlias = Literal[
    "origin_pending",
    "origin_confirmed",
    "fill_pending",
    "filled",
    "refund_pending",
    "refunded",
    "action_required",
    "unknown",
]
"""Where a transfer to another chain is. ``unknown``: no node knows the transaction now."""


@dataclass(frozen=True, slots=True)
class TransferRefund:
    """A refund of ``amount`` base units of ``token`` to ``address``."""

    chain_id: int
    token: Address
    address: Address
    amount: int


@dataclass(frozen=True, slots=True)
class TransferState:
    """The current state of a transfer.

    ``unknown``: no node knows the transaction now; it does not mean failed. ``reason`` is the code for
    ``action_required``. Hashes are 0x hex; ``fill_deadline`` is in Unix seconds.
    """

    status: TransferStatus
    origin_chain_id: int | None = None
    destination_chain_id: int | None = None
    deposit_id: str | None = None
    fill_deadline: int | None = None
    fill_hash: str | None = None
    refund_hash: str | None = None
    refund: TransferRefund | None = None
    reason: str | None = None
