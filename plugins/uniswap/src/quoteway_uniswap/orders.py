"""What a swap's transaction is encoded from, and what decides its gas."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway import Address, IntegratorFee


@dataclass(frozen=True, slots=True)
class Order:
    """The swap to encode. Tokens are as requested: ``NATIVE`` is the native coin.

    ``amount_out_min`` is after ``fee``. With ``exact_out``, ``amount_in`` is the most that the pools take,
    ``amount_out_min`` what they pay, and ``fee_amount`` what ``fee`` takes of the input beside that.
    """

    token_in: Address
    token_out: Address
    amount_in: int
    amount_out_min: int
    recipient: Address
    wrapped_native: Address
    fee: IntegratorFee | None = None
    exact_out: bool = False
    fee_amount: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """What a transaction does beside its swaps: it decides the gas.

    ``pulls`` are the payments by the sender through Permit2 but for fees, ``takes`` those by the PoolManager,
    ``held`` the number of ERC-20 tokens that the router holds in between. ``fees`` is the number of
    integrators' fees.
    With ``exact_out``, ``held`` is the number of tokens that are swept, and ``refund`` the command that
    returns what is not spent of the input, where something may be left.
    """

    pulls: int
    v4_swaps: int
    takes: int
    wraps: int
    unwraps: int
    held: int
    fees: int = 0
    exact_out: bool = False
    refund: str | None = None
