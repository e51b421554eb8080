"""What the ids of an action and of its steps commit to: what was broadcast can be compared with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from quoteway.evm.address import keccak256
from quoteway.models import ActionPart, Address, SignatureRequest, Step

TRANSACTION_LIFETIME_S = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class TransactionCommitment:
    """What a ``txId`` commits to: one built step, so that a broadcast transaction can be compared with it.

    ``outputs`` is what the quote said that the action pays: (token, account, amount in base units), in the
    last step only. ``blanks`` are the (offset, length) of calldata that the wallet fills in with a signature;
    ``data_hash`` is made with zeros there (``calldata_hash``).
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
    """keccak-256 of calldata as 0x hex, with zeros in the (offset, length) ranges of ``blanks``."""
    blanked = bytearray(data)
    for offset, length in blanks:
        if offset + length <= len(data):
            blanked[offset : offset + length] = bytes(length)
    return "0x" + keccak256(bytes(blanked)).hex()


def action_id(chain_id: int, sender: Address, steps: Iterable[Step]) -> str:
    """keccak-256 over chain, sender and every transaction in order: the same action has the same id."""
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
    """What the ``txId`` of one step stands for.

    ``index`` and ``signatures`` are of the whole action, ``part`` is the one that the step belongs to. The
    last step of each part says what the part pays.
    """
    blanks = tuple((s.offset, s.length) for s in signatures if s.step == index)
    # A token that is paid in too shows only the difference on the chain: no quote to compare with.
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
