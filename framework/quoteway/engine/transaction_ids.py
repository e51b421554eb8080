"""Computes the ids of actions and the commitments of ``txId`` values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from quoteway.evm.address import keccak256
from quoteway.models import ActionPart, Address, SignatureRequest, Step

TRANSACTION_LIFETIME_S = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class TransactionCommitment:
    """The content of a ``txId``: one built step, to compare with a broadcast transaction.

    ``outputs`` are the quoted outputs (token, account, amount in base units), in the last step only.
    ``blanks`` are the (offset, length) ranges of calldata where the wallet inserts a signature. ``data_hash``
    is computed with zeros there (``calldata_hash``).
    """

    chain_id: int
    sender: str
    to: str
    value: int
    data_hash: str
    action_id: str
    index: int
    expires_at: int
    outputs: tuple[tuple[str, str, int], ...] = ()
    blanks: tuple[tuple[int, int], ...] = ()


def calldata_hash(data: bytes, blanks: Iterable[tuple[int, int]] = ()) -> str:
    """Returns keccak-256 of calldata as 0x hex, with zeros in the (offset, length) ranges of ``blanks``."""
    blanked = bytearray(data)
    for offset, length in blanks:
        if offset + length <= len(data):
            blanked[offset : offset + length] = bytes(length)
    return "0x" + keccak256(bytes(blanked)).hex()


def action_id(chain_id: int, sender: Address, steps: Iterable[Step]) -> str:
    """Returns keccak-256 of chain id, sender and all transactions in order, as 0x hex."""
    parts = [chain_id.to_bytes(32), bytes.fromhex(sender[2:])]
    for step in steps:
        parts += [bytes.fromhex(step.to[2:]), step.value.to_bytes(32), keccak256(step.data)]
    return "0x" + keccak256(b"".join(parts)).hex()


def commitment_of(
    step: Step,
    index: int,
    *,
    part: ActionPart,
    action_id: str,
    sender: Address,
    signatures: Iterable[SignatureRequest],
    created_at: int,
) -> TransactionCommitment:
    """Returns the commitment for the ``txId`` of one step.

    ``index`` and ``signatures`` refer to the whole action; ``part`` is the part that contains the step. The
    last step of each part holds the outputs of the part.
    """
    blanks = tuple((s.offset, s.length) for s in signatures if s.step == index)
    # For a token that is also an input, the chain shows only the net change: omit it.
    paid_in = {leg.token.address for leg in part.inputs}
    outputs = tuple(
        (leg.token.address, leg.account, leg.amount)
        for leg in part.outputs
        if leg.token.chain_id == step.chain_id and leg.token.address not in paid_in
    )
    return TransactionCommitment(
        step.chain_id,
        sender,
        step.to,
        step.value,
        calldata_hash(step.data, blanks),
        action_id,
        index,
        created_at + TRANSACTION_LIFETIME_S,
        outputs if index == part.indices[-1] else (),
        blanks,
    )
