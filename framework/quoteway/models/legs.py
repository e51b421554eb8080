"""Amounts of tokens in a quote: what is paid and received, fees, gas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quoteway.models.tokens import Address, Token


@dataclass(frozen=True, slots=True)
class Leg:
    """An amount of a token that an account gives or gets. ``amount_min`` is what the chain enforces for
    outputs."""

    token: Token
    amount: int
    account: Address
    amount_min: int | None = None
    amount_max: int | None = None
    amount_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Fee:
    """A fee in the quote. ``included`` tells that ``outputs`` are already net of it."""

    name: str
    kind: Literal["protocol", "integrator", "bridge", "lp", "gas"]
    token: Token
    amount: int
    included: bool
    bps: float | None = None
    amount_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Gas:
    """Gas of the whole ordered list in gas units; prices and cost in wei of the native coin."""

    units: int
    limit: int
    max_fee_per_gas_wei: int | None = None
    l1_fee_wei: int | None = None
    cost_wei: int | None = None
    cost_usd: float | None = None
