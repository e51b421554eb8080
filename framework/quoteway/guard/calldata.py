"""The last check on everything a provider returns: what does not pass here reaches no client.

Two passes. Here the bytes are read: chain, targets, calldata decoded and re-encoded, spenders, minimums, who
gets what on another chain, and who is refunded if nobody does. ``run_guard`` reads what the ordered run did
on the chain's state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from quoteway.errors import Reason, UpstreamError
from quoteway.evm import abi, permit2
from quoteway.evm.address import checksum
from quoteway.guard import opaque
from quoteway.guard.cross_chain import check_arrivals, check_refund
from quoteway.guard.model_types import BUILD_TERMS, QUOTE_TERMS, flaw
from quoteway.guard.permits import check_signatures
from quoteway.guard.plans import plain_plan
from quoteway.models import (
    APPROVAL_KINDS,
    MAX_UINT256,
    NATIVE,
    Address,
    Block,
    Build,
    DecodedCall,
    DeployRequest,
    Leg,
    PoolRequest,
    Quote,
    Request,
    SealedQuote,
    Spend,
    Step,
    SwapRequest,
    Token,
    TransferTerms,
    VaultRequest,
)
from quoteway.providers import Provider

MAX_STEPS = 16
MAX_CALLDATA_BYTES = 128 * 1024
MAX_UINT160 = (1 << 160) - 1

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")

_CORE_ONLY: Mapping[bytes, str] = {
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

_OF_SHARES = ("deposit", "withdraw", "mint", "redeem")
"""What is done with a vault's shares; all else that a vault is asked for is its management."""

_MAX_DEADLINE_S = 24 * 3600


class UnsafeAnswer(UpstreamError):  # noqa: N818 - named as the others of quoteway.errors
    """A provider's answer that the guard refused. The message says what, to operator and client alike."""

    def __init__(self, provider: str, finding: str) -> None:
        super().__init__(
            f"The answer of provider {provider} was refused: {finding}.", reason=Reason.UNSAFE_ANSWER
        )
        self.finding = finding


def check_form(provider: Provider, answer: object, kind: Any) -> None:
    """That an answer is of a type made of the classes of ``models``, in all its members. Raises
    ``UnsafeAnswer``."""
    found = flaw(answer, kind)
    if found is not None:
        raise UnsafeAnswer(provider.id, f"in its answer {getattr(kind, '__name__', 'the list')}{found}")


def check_quote(provider: Provider, request: Request, quote: Quote) -> None:
    """Shape and honesty of a quote against its request. Raises ``UnsafeAnswer``."""

    def expect(holds: bool, finding: str) -> None:
        if not holds:
            raise UnsafeAnswer(provider.id, finding)

    expect(isinstance(quote, Quote), "it is not a Quote")
    expect(isinstance(quote.block, Block), "it does not say at which block it was read")
    expect(isinstance(quote.plan, Mapping), "its plan is not a table")
    plain_plan(quote.plan)
    expect(quote.parts == (), "it claims to have parts of other providers")
    found = flaw(quote.terms, QUOTE_TERMS[type(request)])
    expect(found is None, f"its member terms{found}")
    expect(quote.lifetime_s is None or quote.lifetime_s > 0, "it is over before it begins")
    sender, recipients = parties(request)
    for leg in quote.inputs:
        expect(leg.account == sender, "it takes from another account than the sender")
        expect(leg.token.chain_id == request.chain_id, "it takes from another chain than asked")
    expect(all(leg.account in recipients for leg in quote.outputs), "it pays another recipient than asked")
    for leg in (*quote.inputs, *quote.outputs):
        expect(_is_amount(leg.amount), "an amount is not a whole number of base units below 2^256")
        for bound in (leg.amount_min, leg.amount_max):
            expect(
                bound is None or _is_amount(bound), "a bound is not a whole number of base units below 2^256"
            )
        expect(leg.amount_min is None or leg.amount_min <= leg.amount, "a minimum exceeds its amount")
        expect(leg.amount <= most_of(leg), "an amount exceeds its maximum")
        expect(is_address(leg.account), "an account is not an EIP-55 address")
        expect(is_address(leg.token.address), "a token is not an EIP-55 address")
    check_form(provider, quote, Quote)
    # A client may approve ahead of the action.
    _check_spends(provider, request, quote.inputs, quote.spends, expect)
    if isinstance(request, PoolRequest):
        _check_liquidity(request, quote, expect)
    elif isinstance(request, VaultRequest) and request.action in _OF_SHARES:
        _check_shares(request, quote, expect)
    elif not isinstance(request, SwapRequest):
        expect(not quote.inputs, "it takes tokens for what costs none")
    if not isinstance(request, SwapRequest):
        expect(quote.net_output is None, "it ranks itself where nobody compares amounts")
        return
    expect(len(quote.inputs) == 1 and len(quote.outputs) == 1, "a swap has one input and one output")
    spent, got = quote.inputs[0], quote.outputs[0]
    expect(_same_token(spent.token, request.token_in), "it sells another token than asked")
    expect(spent.amount == request.amount_in, "it sells another amount than asked")
    # The most is what the allowance and the run are held to, the least is what of the allowance may be left.
    for bound in (spent.amount_min, spent.amount_max):
        expect(bound is None or bound == request.amount_in, "it sells another amount than asked")
    expect(_same_token(got.token, request.token_out), "it buys another token than asked")
    expect(got.token.chain_id == request.to_chain_id, "it pays out on another chain than asked")
    expect(got.account == request.recipient, "it pays another recipient than asked")
    refund = quote.terms.refund if isinstance(quote.terms, TransferTerms) else None
    promised = request.refund_account if refund is None else refund.address
    expect(promised == request.refund_account, "it promises the refund to another account than asked")
    expect(got.amount_min is not None, "it states no minimum")
    floor = got.amount * (10_000 - request.slippage_bps) // 10_000
    minimum = got.amount_min or 0
    expect(minimum >= floor, "its minimum is below the slippage asked for")
    expect(quote.net_output is None or quote.net_output <= minimum, "it ranks itself above its own minimum")


def _check_liquidity(request: PoolRequest, quote: Quote, expect: Callable[[bool, str], None]) -> None:
    """What a pool's other tokens are, and how much of them is due, the pool alone knows."""
    for leg in quote.inputs:
        asked = leg.token.address == request.asset and request.amount is not None
        expect(not asked or most_of(leg) <= (request.amount or 0), "it takes more of the asset than asked")
    most = {"collect": 0, "remove": 1}.get(
        request.action
    )  # what is removed is a position, or one share token
    expect(most is None or len(quote.inputs) <= most, f"it takes tokens that {request.action} does not need")
    expect(bool(quote.outputs) or most is None, "it pays nothing")
    expect(all(leg.amount_min is not None for leg in quote.outputs), "it states no minimum")


def _check_shares(request: VaultRequest, quote: Quote, expect: Callable[[bool, str], None]) -> None:
    """Assets for shares or shares for assets: the asset asked for is the one or the other, and the side that
    is not exact moves no further than the slippage asked for."""
    expect(len(quote.inputs) == 1 and len(quote.outputs) == 1, "it does not exchange one token for another")
    paid, got = quote.inputs[0], quote.outputs[0]
    tokens = {paid.token.address, got.token.address}
    expect(len(tokens) == 2 and request.asset in tokens, "it exchanges another asset than asked")
    expect(got.token.chain_id == request.chain_id, "it pays out on another chain than asked")
    minimum = got.amount_min or 0
    expect(minimum > 0, "it states no minimum")
    expect(
        minimum >= got.amount * (10_000 - request.slippage_bps) // 10_000, "its minimum is below the slippage"
    )
    least = paid.amount * (10_000 - request.slippage_bps) // 10_000
    expect(
        paid.amount_min is None or paid.amount_min >= least,
        "it leaves more of the allowance than the slippage",
    )
    most = -(-paid.amount * (10_000 + request.slippage_bps) // 10_000)
    expect(most_of(paid) <= most, "its maximum is above the slippage asked for")
    if request.amount is None:
        return
    if paid.token.address == request.asset:
        expect(most_of(paid) <= request.amount, "it takes more of the asset than asked")
    else:
        expect(minimum >= request.amount, "it pays less of the asset than asked")


def check_units(provider: Provider, legs: Iterable[Leg], known: Mapping[Address, Token]) -> None:
    """That tokens which the caller did not name are counted in their own unit: every amount that people read
    is made with it. Raises ``UnsafeAnswer``."""
    for leg in legs:
        fact = known.get(leg.token.address)
        if fact is not None and not _same_token(leg.token, fact):
            raise UnsafeAnswer(
                provider.id, f"it counts {leg.token.address} in another unit than the token does"
            )


def most_of(leg: Leg) -> int:
    """The most that an input may take: its maximum where it has one, else its amount."""
    return leg.amount if leg.amount_max is None else leg.amount_max


def parties(request: Request) -> tuple[Address, frozenset[Address]]:
    """Who signs and pays, and who may be paid."""
    if isinstance(request, DeployRequest):
        return request.owner, frozenset({request.owner})
    if isinstance(request, SwapRequest):
        return request.sender, frozenset({request.recipient})
    return request.sender, frozenset({request.sender, request.recipient})


def _named_by_caller(request: Request) -> Mapping[Address, str]:
    """The vault whose id the caller gave: a target and spender by the caller's own word, listed or not."""
    address = request.vault_id.partition(":")[2] if isinstance(request, VaultRequest) else ""
    return {address: "Vault"} if is_address(address) else {}


def check_build(
    provider: Provider,
    sealed: SealedQuote,
    build: Build,
    *,
    now: int,
    chain_now: int = 0,
    wrapped_native_out: Address | None = None,
) -> None:
    """The bytes of a build against the sealed quote. Raises ``UnsafeAnswer`` with the first finding.

    ``chain_now`` is the time of the chain's newest block, where known: a test chain may be ahead of ``now``
    (Unix seconds). ``wrapped_native_out`` is the wrapped native coin of the chain that is paid out on, where
    known.
    """
    request = sealed.request
    chain_id = request.chain_id

    def expect(holds: bool, finding: str) -> None:
        if not holds:
            raise UnsafeAnswer(provider.id, finding)

    expect(
        isinstance(build, Build) and 0 < len(build.steps) <= MAX_STEPS, "it has no, or too many, transactions"
    )
    found = flaw(build.terms, BUILD_TERMS[type(request)])
    expect(found is None, f"its member terms{found}")
    targets = {**provider.contracts(chain_id), **_named_by_caller(request)}
    for step in build.steps:
        _check_step(step, chain_id, targets, expect)
    _check_spends(provider, request, sealed.inputs, build.spends, expect)
    native_in = sum(most_of(leg) for leg in sealed.inputs if leg.token.is_native)
    expect(
        sum(step.value for step in build.steps) <= native_in, "it spends more of the native coin than quoted"
    )
    _check_legs(sealed, build, expect)
    opaque.check_calldata(sealed, build, expect)
    if isinstance(request, SwapRequest):
        for leg in build.outputs:
            minimum = leg.amount_min or 0
            # Or the value is the minimum: wrapping the native coin pays out what is sent, and takes no
            # argument.
            held = any(_word(minimum) in step.data or step.value == minimum for step in build.steps)
            expect(held, "its calldata does not hold the quoted minimum")
    check_arrivals(sealed, build, wrapped_native_out, expect)
    check_refund(sealed, build, expect)
    # Not by the quote's own block, which the provider names.
    latest = max(now, chain_now) + _MAX_DEADLINE_S
    expect(
        build.deadline is None or now < build.deadline <= latest,
        "its deadline has passed, or is over a day away",
    )
    check_signatures(sealed, build, latest, expect)
    check_form(provider, build, Build)


def _check_step(
    step: Step, chain_id: int, targets: Mapping[Address, str], expect: Callable[[bool, str], None]
) -> None:
    expect(step.chain_id == chain_id, f"a transaction is for chain {step.chain_id}, not {chain_id}")
    expect(is_address(step.to) and step.to != NATIVE, "a transaction's target is not an EIP-55 address")
    expect(step.to != permit2.ADDRESS, "a transaction goes to Permit2 itself")
    own = step.approval is None and step.kind not in APPROVAL_KINDS
    expect(own, "a transaction of its own claims to be an approval")
    expect(step.to in targets, f"a transaction goes to {step.to}, which the provider does not declare")
    expect(_is_amount(step.value), "a transaction's value is not a whole number of wei")
    expect(
        isinstance(step.data, bytes) and len(step.data) <= MAX_CALLDATA_BYTES,
        "calldata is not bytes, or too long",
    )
    expect(step.data[:4] not in _CORE_ONLY, f"a transaction calls {_CORE_ONLY.get(step.data[:4])} itself")
    try:
        encoded = abi.reencode(step.decoded)
    except Exception:  # isolation border: the description may be anything at all
        encoded = b""
    expect(encoded == step.data, "calldata is not what its decoded form encodes to")
    try:
        held = step.decoded.opaque or _holds(step.data, step.decoded.inner)
    except Exception:  # as above
        held = False
    expect(held, "what its decoded form says is packed inside does not stand in the calldata")


def _holds(data: bytes, calls: Iterable[DecodedCall]) -> bool:
    """Whether the arguments of packed calls stand in the bytes; a router's commands have no selector."""
    return all(abi.reencode(call)[4:] in data and _holds(data, call.inner) for call in calls)


def _check_spends(
    provider: Provider,
    request: Request,
    inputs: Sequence[Leg],
    spends: Sequence[Spend],
    expect: Callable[[bool, str], None],
) -> None:
    spenders = {*provider.spenders(request.chain_id), *_named_by_caller(request)}
    quoted: dict[Address, int] = {}
    for leg in inputs:
        quoted[leg.token.address] = quoted.get(leg.token.address, 0) + most_of(leg)
    taken: dict[Address, int] = {}
    for spend in spends:
        expect(
            _is_amount(spend.amount) and spend.amount > 0, "a spend is not a positive number of base units"
        )
        taken[spend.token] = taken.get(spend.token, 0) + spend.amount
        expect(
            spend.spender in spenders,
            f"it spends through {spend.spender}, which the provider does not declare",
        )
        if spend.permit2_spender is not None:
            expect(spend.spender == permit2.ADDRESS, "a Permit2 spend does not go through Permit2")
            expect(
                spend.permit2_spender in spenders, f"Permit2 spender {spend.permit2_spender} is not declared"
            )
            expect(spend.amount <= MAX_UINT160, "a Permit2 spend does not fit uint160")
    for token, amount in taken.items():
        expect(token != NATIVE and amount <= quoted.get(token, 0), f"it spends more of {token} than quoted")


def _check_legs(sealed: SealedQuote, build: Build, expect: Callable[[bool, str], None]) -> None:
    """What the build restates is what was sealed: no more in, no lower minimum out, nobody else."""

    def by_key(legs: Sequence[Leg]) -> dict[tuple[int, Address, Address], Leg]:
        keyed = {(leg.token.chain_id, leg.token.address, leg.account): leg for leg in legs}
        expect(len(keyed) == len(legs), "it names one token and account twice")
        return keyed

    for leg in (*build.inputs, *build.outputs):
        expect(_is_amount(leg.amount), "an amount is not a whole number of base units below 2^256")
    built = by_key(build.inputs)
    quoted = by_key(sealed.inputs)
    expect(built.keys() == quoted.keys(), "its inputs are not those quoted")
    for key, leg in quoted.items():
        expect(built[key].amount <= most_of(leg), f"it takes more of {leg.token.address} than quoted")
        expect(_same_token(built[key].token, leg.token), "it counts a token in another unit than quoted")
    built = by_key(build.outputs)
    quoted = by_key(sealed.outputs)
    expect(built.keys() == quoted.keys(), "its outputs are not those quoted")
    for key, leg in quoted.items():
        now = built[key].amount_min
        kept = leg.amount_min is None or (_is_amount(now) and now is not None and now >= leg.amount_min)
        expect(kept, "its minimum is below the quoted one")
        expect(_same_token(built[key].token, leg.token), "it counts a token in another unit than quoted")


def _is_amount(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_UINT256


def is_address(text: object) -> bool:
    """Whether it is an address in its one spelling (EIP-55)."""
    return isinstance(text, str) and _ADDRESS.fullmatch(text) is not None and checksum(text) == text


def _same_token(one: Token, other: Token) -> bool:
    return (one.chain_id, one.address, one.decimals) == (other.chain_id, other.address, other.decimals)


def _word(value: int) -> bytes:
    """The significant bytes of a number: how it stands in calldata, whatever the width of its type."""
    return value.to_bytes(32).lstrip(b"\0")
