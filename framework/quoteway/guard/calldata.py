"""Checks the bytes of a build against the sealed quote: chain, targets, calldata decoded and re-encoded,
spenders, minimums, recipients and refunds on another chain, and the signatures that they need. ``outcome``
checks what they do when they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quoteway import models
from quoteway.evm import abi, permit2
from quoteway.guard.cross_chain import check_arrivals, check_refund
from quoteway.guard.findings import Expect, check_form, check_spends, is_address, is_amount, named_by_caller
from quoteway.guard.model_types import BUILD_TERMS, flaw
from quoteway.providers import Provider

MAX_STEPS = 16
MAX_CALLDATA_BYTES = 128 * 1024
_MAX_DEADLINE_S = 24 * 3600
SIGNATURE_BYTES = 65

CORE_ONLY: Mapping[bytes, str] = {
    abi.selector(signature): signature
    for signature in (
        "approve(address,uint256)",
        "increaseAllowance(address,uint256)",
        "increaseApproval(address,uint256)",
        "setApprovalForAll(address,bool)",
        "transfer(address,uint256)",
        "transferFrom(address,address,uint256)",
        "safeTransferFrom(address,address,uint256)",
        "safeTransferFrom(address,address,uint256,bytes)",
        "safeTransferFrom(address,address,uint256,uint256,bytes)",
        "safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)",
        "approve(address,uint256,uint256)",
        "transfer(address,uint256,uint256)",
        "transferFrom(address,address,uint256,uint256)",
        "approveAndCall(address,uint256,bytes)",
        "approveAndCall(address,uint256)",
        "transferAndCall(address,uint256,bytes)",
        "transferAndCall(address,uint256)",
        "transferFromAndCall(address,address,uint256,bytes)",
        "transferFromAndCall(address,address,uint256)",
        "authorizeOperator(address)",
        "send(address,uint256,bytes)",
        "setOperator(address,bool)",
        "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)",
        "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)",
        "permit(address,address,uint256,uint256,bytes)",
    )
}
"""Calls that grant or move a wallet's tokens directly (ERC-20, -721, -777, -1155, -1363, -2612, -6909, DAI):
no provider's own step may be one."""


def check_build(
    provider: Provider,
    sealed: models.SealedQuote,
    build: models.Build,
    *,
    now: int,
    chain_now: int = 0,
    wrapped_native_out: models.Address | None = None,
) -> None:
    """Checks the bytes of a build. Raises ``UnsafeAnswer`` with the first finding.

    ``now`` and ``chain_now``, the time of the newest block where known, are Unix seconds: a test chain may be
    ahead. ``wrapped_native_out`` is the wrapped native coin of the chain that pays out, where known.
    """
    request = sealed.request
    chain_id = request.chain_id
    expect = Expect(provider)
    expect(
        isinstance(build, models.Build) and 0 < len(build.steps) <= MAX_STEPS,
        f"it must have 1 to {MAX_STEPS} transactions",
    )
    found = flaw(build.terms, BUILD_TERMS[type(request)])
    expect(found is None, f"its member terms{found}")
    targets = {**provider.contracts(chain_id), **named_by_caller(request)}
    for step in build.steps:
        _check_step(step, chain_id, targets, expect)
    check_spends(request, sealed.inputs, build.spends, expect)
    native_in = sum(leg.most for leg in sealed.inputs if leg.token.is_native)
    expect(
        sum(step.value for step in build.steps) <= native_in, "it spends more of the native coin than quoted"
    )
    _check_legs(sealed, build, expect)
    if build.is_opaque:
        _check_opaque(sealed, build, expect)
    if isinstance(request, models.SwapRequest):
        for leg in build.outputs:
            minimum = leg.amount_min or 0
            # Wrapping the native coin has no argument: it pays out the value.
            held = any(_word(minimum) in step.data or step.value == minimum for step in build.steps)
            expect(held, "its calldata does not hold the quoted minimum")
    check_arrivals(sealed, build, wrapped_native_out, expect)
    check_refund(sealed, build, expect)
    # Not the time of the quote's block: the provider names that.
    latest = max(now, chain_now) + _MAX_DEADLINE_S
    expect(
        build.deadline is None or now < build.deadline <= latest,
        "its deadline has passed, or is over a day away",
    )
    _check_signatures(sealed, build, latest, expect)
    check_form(provider, build, models.Build)


def _check_step(
    step: models.Step, chain_id: int, targets: Mapping[models.Address, str], expect: Expect
) -> None:
    expect(step.chain_id == chain_id, f"a transaction is for chain {step.chain_id}, not {chain_id}")
    expect(
        is_address(step.to) and step.to != models.NATIVE, "a transaction's target is not an EIP-55 address"
    )
    expect(step.to != permit2.ADDRESS, "a transaction goes to Permit2 itself")
    own = step.approval is None and step.kind not in models.APPROVAL_KINDS
    expect(own, "its own transaction claims to be an approval")
    expect(step.to in targets, f"a transaction goes to {step.to}, which the provider does not declare")
    expect(is_amount(step.value), "a transaction's value is not a whole number of wei")
    expect(
        isinstance(step.data, bytes) and len(step.data) <= MAX_CALLDATA_BYTES,
        "calldata is not bytes, or too long",
    )
    expect(step.data[:4] not in CORE_ONLY, f"a transaction calls {CORE_ONLY.get(step.data[:4])} itself")
    try:
        encoded = abi.reencode(step.decoded)
    except Exception:  # isolation border: the description may be anything at all
        encoded = b""
    expect(encoded == step.data, "calldata is not what its decoded form encodes to")
    try:
        held = step.decoded.opaque or _holds(step.data, step.decoded.inner)
    except Exception:  # as above
        held = False
    expect(held, "the calldata does not contain the nested calls of its decoded form")


def _holds(data: bytes, calls: Iterable[models.DecodedCall]) -> bool:
    """Whether the bytes contain the arguments of nested calls; a router's commands have no selector."""
    return all(abi.reencode(call)[4:] in data and _holds(data, call.inner) for call in calls)


def _check_legs(sealed: models.SealedQuote, build: models.Build, expect: Expect) -> None:
    """Checks the build's legs against the sealed ones: same tokens and accounts, no more in, no less out."""

    def by_key(legs: Sequence[models.Leg]) -> dict[tuple[int, models.Address, models.Address], models.Leg]:
        keyed = {(leg.token.chain_id, leg.token.address, leg.account): leg for leg in legs}
        expect(len(keyed) == len(legs), "it names one token and account twice")
        return keyed

    for leg in (*build.inputs, *build.outputs):
        expect(is_amount(leg.amount), "an amount is not a whole number of base units below 2^256")
    built = by_key(build.inputs)
    quoted = by_key(sealed.inputs)
    expect(built.keys() == quoted.keys(), "its inputs are not those quoted")
    for key, leg in quoted.items():
        expect(built[key].amount <= leg.most, f"it takes more of {leg.token.address} than quoted")
        expect(built[key].token.unit == leg.token.unit, "it changes the decimals of a token")
    built = by_key(build.outputs)
    quoted = by_key(sealed.outputs)
    expect(built.keys() == quoted.keys(), "its outputs are not those quoted")
    for key, leg in quoted.items():
        now = built[key].amount_min
        kept = leg.amount_min is None or (is_amount(now) and now is not None and now >= leg.amount_min)
        expect(kept, "its minimum is below the quoted one")
        expect(built[key].token.unit == leg.token.unit, "it changes the decimals of a token")


def _word(value: int) -> bytes:
    """The significant bytes of a number: calldata contains them whatever the width of its type."""
    return value.to_bytes(32).lstrip(b"\0")


def _check_opaque(sealed: models.SealedQuote, build: models.Build, expect: Expect) -> None:
    """Checks calldata that an upstream made and the core cannot decode (``DecodedCall.opaque``): one swap on
    one chain, in one transaction with the minimum in a word of its own.

    The word does not prove that the contract enforces it. Only the run shows what the calldata does, and it
    shows one chain.
    """
    request = sealed.request
    expect(isinstance(request, models.SwapRequest), "only a swap may have opaque calldata")
    expect(
        isinstance(request, models.SwapRequest) and not request.is_cross_chain,
        "its calldata for another chain cannot be decoded, and no simulation shows what arrives there",
    )
    expect(len(build.steps) == 1, "opaque calldata must be one single transaction")
    expect(not build.signatures, "opaque calldata must not need a signature")
    data = build.steps[0].data
    words = {int.from_bytes(data[at : at + 32]) for at in range(4, len(data) - 31, 32)}
    for leg in build.outputs:
        expect(bool(leg.amount_min), "opaque calldata needs a minimum above 0")
        expect(leg.amount_min in words, "its opaque calldata does not hold the quoted minimum")


def _check_signatures(sealed: models.SealedQuote, build: models.Build, latest: int, expect: Expect) -> None:
    """Checks every signature against the quote; none may be valid beyond ``latest`` (Unix seconds)."""
    request = sealed.request
    if isinstance(request, models.SwapRequest):
        # A batch of calls has no place for a signature, and the run accepts any signature.
        wanted = request.permit2_signature or not build.signatures
        expect(wanted, "it asks for a signature, but the request does not allow one")
    for signature in build.signatures:
        step, offset, length = signature.step, signature.offset, signature.length
        expect(
            0 <= step < len(build.steps) and length == SIGNATURE_BYTES,
            "a signature belongs to no transaction",
        )
        data = build.steps[step].data
        expect(4 <= offset <= len(data) - length, "a signature's place is outside the calldata")
        expect(not any(data[offset : offset + length]), "a signature's place is not empty")
        _check_typed_data(sealed, build, signature.typed_data, latest, expect)


def _check_typed_data(
    sealed: models.SealedQuote, build: models.Build, typed: Mapping[str, Any], latest: int, expect: Expect
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
