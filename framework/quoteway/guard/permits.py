"""Checks a signed EIP-2612 permit against the approval that it takes the place of.

Refused is what the token would refuse, and what would allow more than the approval: another amount, another
spender, a longer time.
"""

from __future__ import annotations

from collections.abc import Sequence

from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.evm.signatures import Signature
from quoteway.models import Address, DescribedStep, Permit, SignedPermit
from quoteway.simulation.run import Run

SIGN_ANEW = "request the action with offerPermits and sign what it offers"
APPROVE_INSTEAD = "leave the item out, and the action has an approval"


def refused(at: int, reason: Reason, message: str) -> InvalidRequest:
    """Returns the error for the signed permit at an index. ``message`` names its member and the remedy."""
    field = FieldError("permits", reason, f"item {at + 1} {message}")
    return InvalidRequest(field.sentence, reason=reason, fields=(field,))


def check_signed(at: int, signed: SignedPermit, expected: Permit, chain_now: int) -> Signature:
    """Returns the signature of a permit for what is ``expected``, whose deadline is the latest allowed.

    ``chain_now`` is the time of the block on which the action is built, Unix seconds. Who signed is checked
    by ``check_signer``. Raises ``InvalidRequest``.
    """
    permit, nonce, last = signed.permit, expected.nonce, expected.deadline
    if permit.value != expected.value:
        raise refused(at, Reason.CONFLICT, f"value must be exactly {expected.value}: {SIGN_ANEW}")
    if permit.nonce < nonce:
        raise refused(at, Reason.CONFLICT, f"nonce is used already, the next one is {nonce}: {SIGN_ANEW}")
    if permit.nonce > nonce:
        raise refused(at, Reason.CONFLICT, f"nonce must be the next one, which is {nonce}: {SIGN_ANEW}")
    if permit.deadline <= chain_now:
        raise refused(at, Reason.OUT_OF_RANGE, f"deadline has passed, the block has {chain_now}: {SIGN_ANEW}")
    if permit.deadline > last:
        raise refused(
            at, Reason.OUT_OF_RANGE, f"deadline must not be after the quote expires, at {last}: {SIGN_ANEW}"
        )
    try:
        return Signature.parse(signed.signature)
    except ValueError as error:
        raise refused(at, Reason.INVALID_FORMAT, f"signature {error}: {SIGN_ANEW}") from None


def check_signer(at: int, owner: Address, signer: Address | None) -> None:
    """Checks that the owner signed. Raises ``InvalidRequest``."""
    if signer != owner:
        raise refused(
            at,
            Reason.CONFLICT,
            f"signature is not one of {owner} for this token, spender, value, nonce and deadline: sign the "
            "typedData that was offered, unchanged and with that account",
        )


def check_permits_ran(
    steps: Sequence[DescribedStep], run: Run, owner: Address, signed: Sequence[SignedPermit]
) -> None:
    """Checks that each permit among the steps of a run gave its allowance, and logged it as EIP-2612 demands.

    A token may refuse a permit for reasons of its own, or accept the call and do nothing. Raises
    ``InvalidRequest``.
    """
    stopped = len(steps) if run.whole.status == "success" else run.whole.reverted_step
    if stopped is None:
        return
    events = [event for ran in run.segments for event in ran.trace.approvals]
    given = {(event.token, event.spender, event.amount) for event in events if event.owner == owner}
    for index, step in enumerate(steps[: stopped + 1]):
        approval = step.approval
        if step.kind != "permit" or approval is None:
            continue
        pair = approval.token, approval.spender
        at = next(at for at, each in enumerate(signed) if (each.permit.token, each.permit.spender) == pair)
        if index == stopped:
            raise _unsupported(
                at, approval.token, f"refuses the permit ({run.whole.revert_reason or 'no reason'})"
            )
        if (*pair, approval.required) not in given:
            raise _unsupported(at, approval.token, "gives no allowance for the permit")


def _unsupported(at: int, token: Address, finding: str) -> InvalidRequest:
    return refused(at, Reason.UNSUPPORTED_TOKEN, f"token {token} {finding}: {APPROVE_INSTEAD}")
