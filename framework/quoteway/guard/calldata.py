"""Checks the bytes of a build against the sealed quote: chain, targets, calldata decoded and re-encoded,
spenders, minimums, recipients and refunds on another chain. ``outcome`` checks what they do when they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from quoteway.evm import abi, permit2
from quoteway.guard import opaque
from quoteway.guard.amounts import check_spends, is_address, is_amount, most_of, named_by_caller, same_token
from quoteway.guard.cross_chain import check_arrivals, check_refund
from quoteway.guard.findings import Expect, check_form, expectation
from quoteway.guard.model_types import BUILD_TERMS, flaw
from quoteway.guard.permits import check_signatures
from quoteway.models import (
    APPROVAL_KINDS,
    NATIVE,
    Address,
    Build,
    DecodedCall,
    Leg,
    SealedQuote,
    Step,
    SwapRequest,
)
from quoteway.providers import Provider

MAX_STEPS = 16
MAX_CALLDATA_BYTES = 128 * 1024
_MAX_DEADLINE_S = 24 * 3600

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
    sealed: SealedQuote,
    build: Build,
    *,
    now: int,
    chain_now: int = 0,
    wrapped_native_out: Address | None = None,
) -> None:
    """Checks the bytes of a build. Raises ``UnsafeAnswer`` with the first finding.

    ``now`` and ``chain_now``, the time of the newest block where known, are Unix seconds: a test chain may be
    ahead. ``wrapped_native_out`` is the wrapped native coin of the chain that pays out, where known.
    """
    request = sealed.request
    chain_id = request.chain_id

    expect = expectation(provider)

    expect(
        isinstance(build, Build) and 0 < len(build.steps) <= MAX_STEPS,
        f"it must have 1 to {MAX_STEPS} transactions",
    )
    found = flaw(build.terms, BUILD_TERMS[type(request)])
    expect(found is None, f"its member terms{found}")
    targets = {**provider.contracts(chain_id), **named_by_caller(request)}
    for step in build.steps:
        _check_step(step, chain_id, targets, expect)
    check_spends(provider, request, sealed.inputs, build.spends, expect)
    native_in = sum(most_of(leg) for leg in sealed.inputs if leg.token.is_native)
    expect(
        sum(step.value for step in build.steps) <= native_in, "it spends more of the native coin than quoted"
    )
    _check_legs(sealed, build, expect)
    opaque.check_calldata(sealed, build, expect)
    if isinstance(request, SwapRequest):
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
    check_signatures(sealed, build, latest, expect)
    check_form(provider, build, Build)


def _check_step(step: Step, chain_id: int, targets: Mapping[Address, str], expect: Expect) -> None:
    expect(step.chain_id == chain_id, f"a transaction is for chain {step.chain_id}, not {chain_id}")
    expect(is_address(step.to) and step.to != NATIVE, "a transaction's target is not an EIP-55 address")
    expect(step.to != permit2.ADDRESS, "a transaction goes to Permit2 itself")
    own = step.approval is None and step.kind not in APPROVAL_KINDS
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


def _holds(data: bytes, calls: Iterable[DecodedCall]) -> bool:
    """Whether the bytes contain the arguments of nested calls; a router's commands have no selector."""
    return all(abi.reencode(call)[4:] in data and _holds(data, call.inner) for call in calls)


def _check_legs(sealed: SealedQuote, build: Build, expect: Expect) -> None:
    """Checks the build's legs against the sealed ones: same tokens and accounts, no more in, no less out."""

    def by_key(legs: Sequence[Leg]) -> dict[tuple[int, Address, Address], Leg]:
        keyed = {(leg.token.chain_id, leg.token.address, leg.account): leg for leg in legs}
        expect(len(keyed) == len(legs), "it names one token and account twice")
        return keyed

    for leg in (*build.inputs, *build.outputs):
        expect(is_amount(leg.amount), "an amount is not a whole number of base units below 2^256")
    built = by_key(build.inputs)
    quoted = by_key(sealed.inputs)
    expect(built.keys() == quoted.keys(), "its inputs are not those quoted")
    for key, leg in quoted.items():
        expect(built[key].amount <= most_of(leg), f"it takes more of {leg.token.address} than quoted")
        expect(same_token(built[key].token, leg.token), "it changes the decimals of a token")
    built = by_key(build.outputs)
    quoted = by_key(sealed.outputs)
    expect(built.keys() == quoted.keys(), "its outputs are not those quoted")
    for key, leg in quoted.items():
        now = built[key].amount_min
        kept = leg.amount_min is None or (is_amount(now) and now is not None and now >= leg.amount_min)
        expect(kept, "its minimum is below the quoted one")
        expect(same_token(built[key].token, leg.token), "it changes the decimals of a token")


def _word(value: int) -> bytes:
    """The significant bytes of a number: calldata contains them whatever the width of its type."""
    return value.to_bytes(32).lstrip(b"\0")
