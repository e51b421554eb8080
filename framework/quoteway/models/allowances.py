"""Allowances: what transactions take from a wallet, and the approvals that let them."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway.models.tokens import Address

APPROVAL_KINDS = ("approval", "approval_reset", "permit2_approval")
"""The kinds of the steps that the core puts before a provider's own."""


@dataclass(frozen=True, slots=True)
class Approval:
    """An allowance that a quote or a step is about. ``current`` None: not read."""

    token: Address
    spender: Address
    required: int
    current: int | None = None
    needed: bool | None = None
    needs_reset: bool | None = None


@dataclass(frozen=True, slots=True)
class Spend:
    """The provider's transactions pull ``amount`` of ERC-20 ``token`` from the sender through ``spender``.

    The core turns this into exact approval steps, only as the live allowance requires. With
    ``permit2_spender`` set, ``spender`` is the Permit2 contract and ``permit2_spender`` who pulls through it
    (Uniswap Permit2, AllowanceTransfer); ``permit2_signed`` then tells that the main step carries the signed
    permit itself.
    """

    token: Address
    amount: int
    spender: Address
    permit2_spender: Address | None = None
    permit2_signed: bool = False
