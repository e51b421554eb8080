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
