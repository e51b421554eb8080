"""Issues and warnings for the caller to read before signing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quoteway.models.tokens import Address


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


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning: a code for programs, a sentence for people."""

    code: str
    message: str
