"""What quotes and builds say beyond amounts, for each capability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from quoteway.models.legs import Leg
from quoteway.models.tokens import Address, Token


@dataclass(frozen=True, slots=True)
class PoolState:
    """A pool at the quote's block. ``reserves`` are base units of its tokens; ``liquidity`` is in the pool's
    own unit (shares of a pair). None: a pool of this kind has no such value."""

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
    is the leg that follows from the amount given. ``tick_range``: lower and upper tick. ``share_of_pool`` is
    between 0 and 1.
    """

    pool_state: PoolState | None
    liquidity_delta: int | None
    dependent: Leg | None = None
    tick_range: tuple[int, int] | None = None
    share_of_pool: float | None = None


@dataclass(frozen=True, slots=True)
class VaultTerms:
    """Terms of a deposit, mint, withdrawal or redemption; None: the vault does not tell.

    ``share_price`` is whole assets per whole share as decimal text. ``limit`` is the most that the vault
    takes or pays now, in base units of what the request counts.
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
    """Who is refunded, in which token and on which chain, when a transfer does not arrive. ``on_expiry``
    tells people what happens then."""

    chain_id: int
    token: Address
    address: Address
    on_expiry: str | None = None


@dataclass(frozen=True, slots=True)
class TransferTerms:
    """Terms of a transfer to another chain. ``fill_deadline`` is in Unix seconds. The guard compares the
    calldata with the ``refund`` that is promised here."""

    estimated_seconds: int | None = None
    fill_deadline: int | None = None
    refund: RefundTerms | None = None


@dataclass(frozen=True, slots=True)
class TransferTracking:
    """How a built transfer is followed. ``refund_address`` None: the bridge names no account."""

    bridge: str
    origin_chain_id: int
    destination_chain_id: int
    expected_seconds: int | None = None
    refund_address: Address | None = None


@dataclass(frozen=True, slots=True)
class DeploymentTerms:
    """Where a vault is deployed (EIP-1014) and its constructor arguments. ``salt`` and ``init_code_hash`` are
    0x hex of 32 bytes."""

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
