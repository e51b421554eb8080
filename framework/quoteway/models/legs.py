"""Token amounts of a quote: inputs, outputs, fees, gas."""

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


@dataclass(frozen=True, slots=True)
class Fee:
    """A fee of a quote. ``included`` tells whether ``outputs`` are already net of it."""

    name: str
    kind: Literal["protocol", "integrator", "bridge", "lp", "gas"]
    token: Token
    amount: int
    included: bool
    bps: float | None = None
    amount_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Gas:
    """The total gas of all transactions in gas units; prices and costs in wei of the native coin."""

    units: int
    limit: int
    max_fee_per_gas_wei: int | None = None
    l1_fee_wei: int | None = None
    cost_wei: int | None = None
    cost_usd: float | None = None
