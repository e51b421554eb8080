"""The signatures that a build may ask for: Permit2 permits for what is sold, where the caller will sign."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quoteway.evm import permit2
from quoteway.models import Build, SealedQuote, SwapRequest

SIGNATURE_BYTES = 65

Expect = Callable[[bool, str], None]


def check_signatures(sealed: SealedQuote, build: Build, latest: int, expect: Expect) -> None:
    """Holds every signature against the quote; none is good beyond ``latest`` (Unix seconds)."""
    request = sealed.request
    if isinstance(request, SwapRequest):
        # Nothing can be put into one batch of calls, and the run takes every signature for good.
        wanted = request.permit2_signature or not build.signatures
        expect(wanted, "it wants a signature, and transactions alone were asked for")
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
    """Only Permit2's PermitSingle (Permit2 ``IAllowanceTransfer``) may be asked for, for exactly one of the
    spends."""
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
