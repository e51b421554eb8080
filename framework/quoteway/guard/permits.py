"""Checks the signatures that a build asks for: Permit2 permits for what is sold, if the caller signs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quoteway.evm import permit2
from quoteway.guard.findings import Expect
from quoteway.models import Build, SealedQuote, SwapRequest

SIGNATURE_BYTES = 65


def check_signatures(sealed: SealedQuote, build: Build, latest: int, expect: Expect) -> None:
    """Checks every signature against the quote; none may be valid beyond ``latest`` (Unix seconds)."""
    request = sealed.request
    if isinstance(request, SwapRequest):
        # A batch of calls has no place for a signature, and the run accepts any signature.
        wanted = request.permit2_signature or not build.signatures
        expect(wanted, "it asks for a signature, but the request does not allow one")
    for signature in build.signatures:
        _check_place(build, signature.step, signature.offset, signature.length, expect)
        _check_typed_data(sealed, build, signature.typed_data, latest, expect)


def _check_place(build: Build, step: int, offset: int, length: int, expect: Expect) -> None:
    expect(
        0 <= step < len(build.steps) and length == SIGNATURE_BYTES, "a signature belongs to no transaction"
    )
    data = build.steps[step].data
    expect(4 <= offset <= len(data) - length, "a signature's place is outside the calldata")
    expect(not any(data[offset : offset + length]), "a signature's place is not empty")


def _check_typed_data(
    sealed: SealedQuote,
    build: Build,
    typed: Mapping[str, Any],
    latest: int,
    expect: Expect,
) -> None:
    """Checks that it is a PermitSingle (Permit2 ``IAllowanceTransfer``) for exactly one of the spends."""
    try:
        message = typed["message"]
        details = message["details"]
        permit = permit2.PermitSingle(
            details["token"],
            int(details["amount"]),
            int(details["expiration"]),
            int(details["nonce"]),
            message["spender"],
            int(message["sigDeadline"]),
        )
        genuine = typed == permit.typed_data(sealed.request.chain_id)
    except (KeyError, TypeError, ValueError):
        genuine = False
    if not genuine:
        expect(False, "typed data is no Permit2 PermitSingle of this chain")
        return
    signed = [
        spend for spend in build.spends if spend.permit2_signed and spend.permit2_spender == permit.spender
    ]
    expect(bool(signed), "typed data names another spender")
    amounts = [spend.amount for spend in signed if spend.token == permit.token]
    expect(bool(amounts), "typed data names a token that is not sold")
    expect(permit.amount == sum(amounts), "typed data grants another amount")
    expect(0 <= permit.expiration <= latest, "typed data grants an allowance for over a day")
    expect(0 <= permit.sig_deadline <= latest, "typed data is good for over a day")
