"""Spends of transactions, and the approvals that they need."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway.models.tokens import Address

APPROVAL_KINDS = ("approval", "approval_reset", "permit2_approval")
"""The kinds of the approval steps, which the core adds before a provider's steps."""


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
