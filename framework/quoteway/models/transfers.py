"""The state of a transfer to another chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from quoteway.models.tokens import Address

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


@dataclass(frozen=True, slots=True)
class TransferRefund:
    """``amount`` base units of ``token`` that are paid back to ``address``."""

    chain_id: int
    token: Address
    address: Address
    amount: int


@dataclass(frozen=True, slots=True)
class TransferState:
    """What a bridge knows of a transfer now.

    ``unknown``: the nodes do not know the transaction now; it never means failed. ``reason`` is a code that
    says what ``action_required`` is about. Hashes are 0x hex; ``fill_deadline`` is in Unix seconds.
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
