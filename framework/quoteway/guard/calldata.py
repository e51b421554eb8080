"""Checks the bytes of a build against the sealed quote: chain, targets, what the calldata means, spenders,
and the signatures that they need. ``outcome`` checks what they do when they run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quoteway import models
from quoteway.evm import abi, permit2
from quoteway.evm.calls.meaning import Meaning, Reading
from quoteway.evm.calls.registry import CallRegistry
from quoteway.guard.calls import check_calls, kind_of_vault
from quoteway.guard.findings import (
    MAX_DEADLINE_S,
    Expect,
    UnsafeAnswer,
    check_form,
    check_spends,
    is_address,
    is_amount,
    named_by_caller,
    previewed_legs,
    puller_of,
)
from quoteway.guard.model_types import BUILD_TERMS, flaw
from quoteway.providers import Provider

MAX_STEPS = 16
MAX_CALLDATA_BYTES = 128 * 1024
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
    calls: CallRegistry,
    *,
    now: int,
    chain_now: int = 0,
    opaque: bool = False,
) -> tuple[Reading, ...]:
    """Checks the bytes of a build and returns what each transaction means, in order.

    ``now`` and ``chain_now``, the time of the newest block where known, are Unix seconds: a test chain may be
    ahead. ``opaque`` allows a swap on one chain whose calldata the core cannot read; its run is the check.
    Raises ``UnsafeAnswer`` with the first finding.
    """
    request = sealed.request
    chain_id = request.chain_id
    expect = Expect(provider)
    expect(
        isinstance(build, models.Build) and 0 < len(build.steps) <= MAX_STEPS,
        f"it must have 1 to {MAX_STEPS} transactions",
    )
    check_form(provider, build, models.Build)
    found = flaw(build.terms, BUILD_TERMS[type(request)])
    expect(found is None, f"its member terms{found}")
    targets = {**provider.contracts(chain_id), **named_by_caller(request)}
    for step in build.steps:
        _check_step(step, chain_id, targets, expect)
    for preview in build.previews:
        accounts = (preview.account, preview.token, preview.to)
        expect(all(map(is_address, accounts)), "a preview names something that is not an EIP-55 address")
    check_spends(request, sealed.inputs, build.spends, expect)
    native_in = sum(leg.most for leg in sealed.inputs if leg.token.is_native)
    expect(
        sum(step.value for step in build.steps) <= native_in, "it spends more of the native coin than quoted"
    )
    _check_legs(sealed, build, expect)
    # Not the time of the quote's block: the provider names that.
    latest = max(now, chain_now) + MAX_DEADLINE_S
    expect(
        build.deadline is None or now < build.deadline <= latest,
        "its deadline has passed, or is over a day away",
    )
    if sealed.deadline is not None:
        latest = min(latest, sealed.deadline)
    readings = [_read(step, request, calls, expect) for step in build.steps]
    if any(reading.decoded.opaque for reading in readings):
        unread = next(
            step for step, reading in zip(build.steps, readings, strict=True) if reading.decoded.opaque
        )
        _check_opaque(sealed, build, unread, opaque, expect)
    else:
        check_calls(sealed, build, readings, calls, expect, now=now, latest=latest)
    called = {step.to for step in build.steps}
    for puller in map(puller_of, build.spends):
        expect(puller in called, f"it asks for an allowance for {puller}, which its transactions do not call")
    _check_signatures(sealed, build, readings, latest, expect)
    return tuple(readings)


def _check_step(
    step: models.Step, chain_id: int, targets: Mapping[models.Address, str], expect: Expect
) -> None:
    expect(step.chain_id == chain_id, f"a transaction is for chain {step.chain_id}, not {chain_id}")
    expect(
        is_address(step.to) and step.to != models.NATIVE, "a transaction's target is not an EIP-55 address"
    )
    expect(step.to != permit2.ADDRESS, "a transaction goes to Permit2 itself")
    expect(step.to in targets, f"a transaction goes to {step.to}, which the provider does not declare")
    expect(is_amount(step.value), "a transaction's value is not a whole number of wei")
    expect(len(step.data) <= MAX_CALLDATA_BYTES, "calldata is too long")
    expect(step.data[:4] not in CORE_ONLY, f"a transaction calls {CORE_ONLY.get(step.data[:4])} itself")


def _read(step: models.Step, request: models.Request, calls: CallRegistry, expect: Expect) -> Reading:
    """Returns what a transaction means; one that nothing describes is opaque."""
    kind = kind_of_vault(request) if step.to in named_by_caller(request) else None
    try:
        reading = calls.read(step, request.sender, kind=kind)
        return reading or Reading(abi.opaque_call(step.data), Meaning("swap"))
    except ValueError as error:
        raise UnsafeAnswer(expect.provider.id, f"its calldata cannot be read: {error}") from None


def _check_legs(sealed: models.SealedQuote, build: models.Build, expect: Expect) -> None:
    """Checks the build's legs, which the signer reads, against the sealed ones: same tokens and accounts, no
    more in, no less out, and amounts that are the quoted ones or those of the build's previews."""

    def by_key(legs: Sequence[models.Leg]) -> dict[tuple[int, models.Address, models.Address], models.Leg]:
        keyed = {(leg.token.chain_id, leg.token.address, leg.account): leg for leg in legs}
        expect(len(keyed) == len(legs), "it names one token and account twice")
        return keyed

    for leg in (*build.inputs, *build.outputs):
        expect(is_amount(leg.amount), "an amount is not a whole number of base units below 2^256")
    previewed = previewed_legs(sealed, build)
    built = by_key(build.inputs)
    quoted = by_key(sealed.inputs)
    expect(built.keys() == quoted.keys(), "its inputs are not those quoted")
    for key, leg in quoted.items():
        mine = built[key]
        expect(mine.amount <= mine.most <= leg.most, f"it takes more of {leg.token.address} than quoted")
        expect(
            mine.amount == leg.amount or mine in previewed, f"it states another amount of {leg.token.address}"
        )
        same = (mine.amount_min or 0) == (leg.amount_min or 0)
        expect(same, f"it states another minimum of {leg.token.address}")
        expect(mine.token.unit == leg.token.unit, "it changes the decimals of a token")
    built = by_key(build.outputs)
    quoted = by_key(sealed.outputs)
    expect(built.keys() == quoted.keys(), "its outputs are not those quoted")
    for key, leg in quoted.items():
        mine, now = built[key], built[key].amount_min
        kept = leg.amount_min is None or (is_amount(now) and now is not None and now >= leg.amount_min)
        expect(kept, "its minimum is below the quoted one")
        least = now or 0
        # An upstream's new offer may be better than the quoted one, as far as its own minimum shows.
        shown = sealed.is_estimate and least >= mine.amount * (10_000 - sealed.slippage_bps) // 10_000
        said = mine.amount == leg.amount or mine in previewed or shown
        expect(said and mine.amount >= least, f"it states another amount of {leg.token.address}")
        expect(mine.token.unit == leg.token.unit, "it changes the decimals of a token")


def _check_opaque(
    sealed: models.SealedQuote, build: models.Build, unread: models.Step, allowed: bool, expect: Expect
) -> None:
    """Checks calldata that the core cannot read: one swap on one chain, in one transaction, if ``allowed``.

    Only the run shows what it does, and it shows one chain. That the contract enforces the minimum is not
    known.
    """
    request = sealed.request
    finding = f"nothing describes the function 0x{unread.data[:4].hex()} of {unread.to} that it calls"
    expect(
        isinstance(request, models.SwapRequest) and not request.is_cross_chain,
        f"{finding}, and no simulation can stand in for that",
    )
    expect(allowed, f"{finding}, and this deployment does not allow that")
    expect(len(build.steps) == 1, "opaque calldata must be one single transaction")
    expect(not build.signatures, "opaque calldata must not need a signature")
    expect(all(leg.amount_min for leg in build.outputs), "opaque calldata needs a minimum above 0")
    without_fee = not isinstance(request, models.SwapRequest) or request.fee is None
    expect(without_fee, "opaque calldata may not take a fee")


def _check_signatures(
    sealed: models.SealedQuote,
    build: models.Build,
    readings: Sequence[Reading],
    latest: int,
    expect: Expect,
) -> None:
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
        permit = _check_typed_data(sealed, build, signature.typed_data, latest, expect)
        if readings[step].meaning.permits:
            # The run accepts any signature anywhere, the chain only this one behind its own permit.
            expect(
                data[:offset].endswith(permit), "typed data is not the permit before the signature's place"
            )


def _check_typed_data(
    sealed: models.SealedQuote, build: models.Build, typed: Mapping[str, Any], latest: int, expect: Expect
) -> bytes:
    """Checks that it is a PermitSingle (Permit2 ``IAllowanceTransfer``) for exactly one of the spends.
    Returns what stands before its signature in calldata."""
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
        return b""
    signed = [
        spend for spend in build.spends if spend.permit2_signed and spend.permit2_spender == permit.spender
    ]
    expect(bool(signed), "typed data names another spender")
    amounts = [spend.amount for spend in signed if spend.token == permit.token]
    expect(bool(amounts), "typed data names a token that is not sold")
    expect(permit.amount == sum(amounts), "typed data grants another amount")
    expect(0 <= permit.expiration <= latest, "typed data grants an allowance for over a day")
    expect(0 <= permit.sig_deadline <= latest, "typed data is good for over a day")
    expect(0 <= permit.nonce < 1 << 48, "typed data has a nonce that Permit2 does not have")
    return permit.words
