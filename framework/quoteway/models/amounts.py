"""Token amounts of quotes and actions, the approvals that they need, and what to read before signing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quoteway.models.tokens import Address, Token


@dataclass(frozen=True, slots=True)
class Leg:
    """A token amount that an account pays or receives. The chain enforces ``amount_min`` for outputs."""

    token: Token
    amount: int
    account: Address
    amount_min: int | None = None
    amount_max: int | None = None
    amount_usd: float | None = None

    @property
    def most(self) -> int:
        """Returns the most that an input may take: its maximum where it has one, else its amount."""
        return self.amount if self.amount_max is None else self.amount_max


_FEES = {
    "protocol": "Protocol fee",
    "integrator": "Integrator's fee",
    "bridge": "Bridge fee",
    "lp": "Liquidity providers' fee",
    "gas": "Gas",
}


@dataclass(frozen=True, slots=True)
class Fee:
    """A fee of a quote. ``included`` tells whether ``outputs`` are already net of it.

    ``recipient`` is who gets it, where that is known. Only the core sets it.
    """

    kind: Literal["protocol", "integrator", "bridge", "lp", "gas"]
    token: Token
    amount: int
    included: bool
    bps: float | None = None
    amount_usd: float | None = None
    recipient: Address | None = None

    @property
    def name(self) -> str:
        """Returns what people call it."""
        return _FEES[self.kind]


@dataclass(frozen=True, slots=True)
class Gas:
    """The total gas of all transactions in gas units; prices and costs in wei of the native coin.

    ``price_wei`` is the price of a unit that ``cost_wei`` is counted with, None when unknown.
    """

    units: int
    limit: int
    max_fee_per_gas_wei: int | None = None
    l1_fee_wei: int | None = None
    cost_wei: int | None = None
    cost_usd: float | None = None
    price_wei: int | None = None


APPROVAL_KINDS = ("approval", "approval_reset", "permit", "permit2_approval", "permit2_revocation")
"""The kinds of steps that only the core makes: approvals before a provider's steps, and revocations. A
``permit`` is an approval by an EIP-2612 signature."""


@dataclass(frozen=True, slots=True)
class Approval:
    """An allowance that a quote or a step requires. ``current`` None: not read."""

    token: Address
    spender: Address
    required: int
    current: int | None = None
    needed: bool | None = None
    needs_reset: bool | None = None


@dataclass(frozen=True, slots=True)
class Spend:
    """The provider's transactions pull ``amount`` of ERC-20 ``token`` from the sender through ``spender``.

    The core adds exact approval steps where the live allowance is too low. With ``permit2_spender``,
    ``spender`` is the Permit2 contract and ``permit2_spender`` the account that pulls through it (Uniswap
    Permit2, AllowanceTransfer). ``permit2_signed`` tells that the main step carries the signed permit.
    """

    token: Address
    amount: int
    spender: Address
    permit2_spender: Address | None = None
    permit2_signed: bool = False


@dataclass(frozen=True, slots=True)
class Issue:
    """A reason why the wallet cannot execute a quote yet, or a point to check before signing."""

    code: Literal[
        "insufficient_balance",
        "insufficient_allowance",
        "allowance_reset_needed",
        "transfer_tax",
        "high_price_impact",
        "unverified_target",
        "smart_account",
    ]
    token: Address | None = None
    actual: int | None = None
    required: int | None = None
