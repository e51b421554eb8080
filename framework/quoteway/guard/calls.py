"""Compares what the calls of a build mean with the request and the sealed quote.

The core reads the meaning from the bytes (``quoteway.evm.calls``): nothing here is a provider's word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeGuard, TypeVar

from quoteway.evm.address import ERC7528_NATIVE, create2_address
from quoteway.evm.calls.meaning import Charge, Meaning, Payment, Reading, Transfer
from quoteway.evm.calls.registry import CallRegistry
from quoteway.guard.findings import MAX_DEADLINE_S, Expect, is_address, recipients, totals
from quoteway.models import (
    MAX_UINT256,
    NATIVE,
    Address,
    Build,
    DeploymentTerms,
    DeployRequest,
    IntegratorFee,
    Leg,
    ManageRequest,
    PoolRequest,
    Request,
    SealedQuote,
    Step,
    SwapRequest,
    TransferTracking,
    VaultRequest,
)

_Amount = TypeVar("_Amount", Charge, Payment)

_LIMITED = frozenset({"swap", "transfer", "remove"})
"""Actions whose contracts enforce a minimum of what they pay."""


def kind_of_vault(request: Request) -> str | None:
    """Returns what the vault is that a request names: its address is the caller's choice."""
    match request:
        case VaultRequest():
            return "erc4626"
        case ManageRequest():
            return "managed-vault"
    return None


def check_calls(
    sealed: SealedQuote,
    build: Build,
    readings: Sequence[Reading],
    calls: CallRegistry,
    expect: Expect,
    *,
    now: int,
    latest: int,
) -> None:
    """Checks the meanings of a build's calls. Raises ``UnsafeAnswer``.

    ``now`` and ``latest`` (Unix seconds) are the bounds of their deadlines.
    """
    request = sealed.request
    meanings = [reading.meaning for reading in readings]
    for meaning, step in zip(meanings, build.steps, strict=True):
        asked = meaning.action in _actions_of(request)
        expect(asked, f"its calldata is a call to {meaning.action}, which was not asked for")
        expect(meaning.owner in (None, request.sender), "its calldata uses the tokens of another account")
        if meaning.deadline is not None:
            # A bridge's own rules say how long it accepts a deposit: the action warns when that is longer.
            until = max(latest, now + MAX_DEADLINE_S) if meaning.action == "transfer" else latest
            current = now < meaning.deadline <= until
            expect(current, "the deadline in its calldata has passed, or is too far away")
            same = build.deadline in (None, meaning.deadline)
            expect(same, "its deadline is not the one in its calldata")
        if meaning.pays_until is not None:
            current = now < meaning.pays_until <= now + MAX_DEADLINE_S
            expect(current, "the time until which its transfer is paid out has passed, or is too far away")
        _check_members(request, build, step, meaning, expect)
    _check_once(request, meanings, expect)
    enforced = any(meaning.deadline is not None for meaning in meanings)
    expect(build.deadline is None or enforced, "its calldata has no deadline")
    wrapped = calls.wrapped_native(request.chain_id)
    _check_charges(sealed, build, meanings, wrapped, expect)
    _check_payments(sealed, build, meanings, calls, expect)
    _check_fee(sealed, meanings, expect)
    _check_refund(request, build, meanings, expect)


def _actions_of(request: Request) -> Collection[str]:
    """Returns what a request may call. An exchange (``swap``) is judged by its amounts alone."""
    match request:
        case SwapRequest():
            return {"transfer"} if request.is_cross_chain else {"swap"}
        case PoolRequest():
            return {request.action, "swap"}
        case VaultRequest():
            enters = request.action in ("deposit", "mint")
            return {"deposit", "mint", "swap"} if enters else {"withdraw", "redeem", "swap"}
        case ManageRequest():
            return {request.action}
        case DeployRequest():
            return {"deploy"}


def _check_once(request: Request, meanings: Sequence[Meaning], expect: Expect) -> None:
    """Checks that a position, a vault or a deployment is changed once, and that all moves of a rebalance
    together move what was asked for."""
    if isinstance(request, ManageRequest) and request.action == "rebalance":
        moved = [meaning.members["assets"] for meaning in meanings]
        whole = [MAX_UINT256] * len(moved)
        asked = moved == whole if request.amount is None else sum(moved) == request.amount
        expect(asked, "its calldata moves another amount than asked for")
    elif isinstance(request, PoolRequest | ManageRequest | DeployRequest):
        named = "deploy" if isinstance(request, DeployRequest) else request.action
        once = sum(meaning.action == named for meaning in meanings) <= 1
        expect(once, f"its calldata is a call to {named} twice")


# --- amounts ----------------------------------------------------------------------------------------------


def _check_charges(
    sealed: SealedQuote, build: Build, meanings: Iterable[Meaning], wrapped: Address | None, expect: Expect
) -> None:
    """Checks that the calls take no more than the build's inputs, which the signer reads, and use no less
    than they promise."""
    charges = [charge for meaning in meanings for charge in meaning.charges]
    most = totals((leg.token.address, leg.most) for leg in build.inputs)
    named = totals((charge.token, charge.maximum) for charge in charges if charge.token is not None)
    for token, amount in named.items():
        expect(amount <= most[token], f"its calldata takes more of {token} than quoted")
    unnamed = [charge for charge in charges if charge.token is None]
    legs = _in_order([leg for leg in build.inputs if leg.token.address not in named], wrapped)
    paired = _paired(unnamed, legs, lambda charge: charge.maximum)
    if paired is None:
        expect(False, "its calldata takes something that is not quoted")
        return
    for charge, leg in paired:
        token = leg.token.address
        expect(charge.maximum <= most[token], f"its calldata takes more of {token} than quoted")
    used = totals((charge.token, charge.minimum) for charge in charges)
    used += totals((leg.token.address, charge.minimum) for charge, leg in paired)
    # A vault does not limit what a mint or a withdrawal takes from below: its preview is checked in the run.
    limited = bool(charges) or not isinstance(sealed.request, VaultRequest)
    for leg in build.inputs:
        enough = not limited or used[leg.token.address] >= (leg.amount_min or 0)
        expect(enough, "its calldata uses less than the quoted minimum")
    if isinstance(sealed.request, PoolRequest) and sealed.request.action == "add":
        _check_shares(build, meanings, used, expect)


def _check_payments(
    sealed: SealedQuote, build: Build, meanings: Sequence[Meaning], calls: CallRegistry, expect: Expect
) -> None:
    """Checks that the calls pay every output to its account, and enforce its minimum."""
    request, own = sealed.request, sealed.request.chain_id
    limited = any(meaning.action in _LIMITED for meaning in meanings)
    payments = [payment for meaning in meanings for payment in meaning.payments]
    allowed = {*recipients(request), *(leg.account for leg in sealed.outputs)}
    for payment in payments:
        elsewhere = payment.chain_id not in (None, own)
        known = payment.recipient in allowed or (payment.recipient == request.sender and not elsewhere)
        where = f" on chain {payment.chain_id}" if elsewhere else ""
        expect(known, f"its calldata pays {payment.recipient}{where}, another account")
    if isinstance(request, SwapRequest) and request.amount_out is not None:
        # What the exact output did not need of the maximum.
        paid = {leg.token.address for leg in build.outputs}
        for payment in payments:
            refunded = payment.token in paid or payment.recipient == request.sender
            expect(refunded, f"its calldata returns unspent {payment.token} to another account")
    unpaid = []
    for leg in build.outputs:
        chain_id = leg.token.chain_id
        forms = _forms(leg, own, calls.wrapped_native(chain_id))
        mine = [
            payment
            for payment in payments
            if payment.token in forms
            and (payment.chain_id or own) == chain_id
            and payment.recipient == leg.account
        ]
        if mine:
            _check_minimum(mine, leg, limited, expect)
        else:
            unpaid.append(leg)
    unnamed = [payment for payment in payments if payment.token is None]
    legs = _in_order(unpaid, calls.wrapped_native(own))
    paired = _paired(unnamed, legs, lambda payment: payment.minimum or 0) or []
    missing = [leg for leg in legs if leg.amount_min and (limited or not unnamed) and not paired]
    expect(not missing, f"its calldata does not pay {_named(missing)} to the quoted account")
    for payment, leg in paired:
        expect(payment.recipient == leg.account, f"its calldata pays {payment.recipient}, another account")
        _check_minimum([payment], leg, limited, expect)


def _check_fee(sealed: SealedQuote, meanings: Sequence[Meaning], expect: Expect) -> None:
    """Checks that the calls pay the fee that was asked for, once, and no other: a share of what is bought, or
    beside an exact output the quoted amount of what is sold."""
    request = sealed.request
    fee = request.fee if isinstance(request, SwapRequest) else None
    portions = [portion for meaning in meanings for portion in meaning.portions]
    transfers = [transfer for meaning in meanings for transfer in meaning.transfers]
    exact_out = isinstance(request, SwapRequest) and request.amount_out is not None
    if fee is None or exact_out:
        expect(not portions, "its calldata pays somebody a share that was not asked for")
    if fee is None or not exact_out:
        for transfer in transfers:
            expect(False, f"its calldata pays {transfer.recipient}, another account")
    if fee is None or not isinstance(request, SwapRequest):
        return
    if exact_out:
        _check_fixed_fee(request, fee, sealed.fee_amount or 0, transfers, expect)
        return
    expect(len(portions) == 1, f"its calldata pays {len(portions)} fees, not one")
    (portion,) = portions
    bought = portion.token == request.token_out.address
    expect(bought, f"its calldata takes the fee in {portion.token}, which is not bought")
    expect(portion.recipient == fee.recipient, f"its calldata pays the fee to {portion.recipient}")
    expect(portion.bps == fee.bps, f"its calldata takes a fee of {portion.bps} bps, not of {fee.bps}")


def _check_fixed_fee(
    request: SwapRequest, fee: IntegratorFee, due: int, transfers: Sequence[Transfer], expect: Expect
) -> None:
    """Checks that ``due`` base units of what is sold are transferred to the fee's recipient, nothing else."""
    # A fee that is rounded down to nothing needs no transfer.
    expected = 1 if due else 0
    expect(len(transfers) == expected, f"its calldata pays {len(transfers)} fees, not {expected}")
    for transfer in transfers:
        sold = transfer.token == request.token_in.address
        expect(sold, f"its calldata takes the fee in {transfer.token}, which is not sold")
        expect(transfer.recipient == fee.recipient, f"its calldata pays the fee to {transfer.recipient}")
        expect(transfer.amount == due, f"its calldata takes a fee of {transfer.amount}, not of {due}")


def _check_shares(build: Build, meanings: Iterable[Meaning], used: Counter[Any], expect: Expect) -> None:
    """Checks the minimum of a pool's shares, for which the contract takes none: they come in proportion to
    what is used of the inputs, so the least of these must be as near to their amounts."""
    payments = [payment for meaning in meanings for payment in meaning.payments]
    if not any(payment.token is None and payment.minimum is None for payment in payments):
        return
    for got in build.outputs:
        for leg in build.inputs:
            # One unit more: both minimums are rounded down.
            kept = (used[leg.token.address] + 1) * got.amount >= (got.amount_min or 0) * leg.amount
            expect(kept, f"its calldata does not enforce the minimum of {got.token.address}")


def _check_minimum(payments: Sequence[Payment], leg: Leg, limited: bool, expect: Expect) -> None:
    if any(payment.minimum is None for payment in payments):
        expect(not limited, "its calldata enforces no minimum")
        return
    enforced = sum(payment.minimum or 0 for payment in payments)
    expect(
        enforced >= (leg.amount_min or 0),
        f"its calldata enforces a minimum of {enforced} of {leg.token.address}, less than quoted",
    )


def _paired(
    items: Sequence[_Amount], legs: Sequence[Leg], weight: Callable[[_Amount], int]
) -> list[tuple[_Amount, Leg]] | None:
    """Returns amounts without a token with the legs that they are of; None when there are too many.

    Both are in the order of the tokens. An amount of nothing has no leg.
    """
    if len(items) != len(legs):
        items = [item for item in items if weight(item)]
    if items and len(items) != len(legs):
        return None
    return list(zip(items, legs, strict=False))


def _in_order(legs: Iterable[Leg], wrapped: Address | None) -> list[Leg]:
    """Returns legs in the order of a pool's tokens: by address, the native coin by its wrapped form."""

    def key(leg: Leg) -> int:
        address = wrapped if leg.token.is_native and wrapped is not None else leg.token.address
        return int(address, 16)

    return sorted(legs, key=key)


def _forms(leg: Leg, own_chain_id: int, wrapped: Address | None) -> set[Address]:
    """Returns the addresses that stand for a token: bridges have several for the native coin."""
    if leg.token.chain_id == own_chain_id or not leg.token.is_native:
        return {leg.token.address}
    return {NATIVE, ERC7528_NATIVE, wrapped or NATIVE}


def _named(legs: Iterable[Leg]) -> str:
    return " and ".join(leg.token.address for leg in legs)


# --- accounts and members ---------------------------------------------------------------------------------


def _check_refund(request: Request, build: Build, meanings: Sequence[Meaning], expect: Expect) -> None:
    """Checks who gets a failed transfer back.

    Not every bridge names an account. But when the caller or the build names one, the calldata must have it.
    (The quote's was compared with the caller's when it was sealed.)
    """
    if not isinstance(request, SwapRequest) or not request.is_cross_chain:
        return
    account = request.refund_account
    for meaning in meanings:
        expect(meaning.refund in (None, account), "its calldata refunds another account")
    told = None
    if isinstance(build.terms, TransferTracking):
        ends = build.terms.origin_chain_id, build.terms.destination_chain_id
        expect(ends == (request.chain_id, request.to_chain_id), "its tracking names other chains than asked")
        told = build.terms.refund_address
    expect(told in (None, account), "its tracking names another refund account than asked")
    if told is not None or request.refund_to is not None:
        named = all(meaning.refund is not None for meaning in meanings)
        expect(named, "its calldata names no refund account")


def _check_members(request: Request, build: Build, step: Step, meaning: Meaning, expect: Expect) -> None:
    """Checks the values in the calldata that must be those of the request."""
    asked = _asked(request, build, step)
    for name, value in meaning.members.items():
        expect(value == asked.get(name, value), f"its calldata has another {name} than asked for")


def _asked(request: Request, build: Build, step: Step) -> dict[str, Any]:
    """Returns the values that the request sets, by member; what it leaves open is not among them."""
    match request:
        case PoolRequest():
            pool = request.pool_id.partition(":")[2].lower()
            return {
                **({"pool": pool} if len(pool) == 66 else {}),
                **({"position_id": int(request.position_id)} if _is_number(request.position_id) else {}),
                **({"tick_lower": request.tick_lower} if request.tick_lower is not None else {}),
                **({"tick_upper": request.tick_upper} if request.tick_upper is not None else {}),
            }
        case ManageRequest():
            amount = MAX_UINT256 if request.amount is None else request.amount
            asked: dict[str, Any] = {"bot": request.bot, "amount": amount}
            if is_address(request.strategy):  # another strategy is named by the id that the provider gives it
                asked["strategy"] = request.strategy
            return asked
        case DeployRequest():
            return _deployment(request, build.terms, step)
    return {}


def _deployment(request: DeployRequest, terms: object, step: Step) -> dict[str, Any]:
    """Returns the arguments of a deployment; the address that it predicts follows from them (EIP-1014)."""
    if not isinstance(terms, DeploymentTerms):
        return {"salt": None}
    try:
        salt, init_code_hash = bytes.fromhex(terms.salt[2:]), bytes.fromhex(terms.init_code_hash[2:])
        predicted = create2_address(step.to, salt, init_code_hash)
    except ValueError:
        return {"salt": None}
    told = terms.factory, terms.predicted_address, terms.asset, terms.owner, terms.bot
    return {
        "asset": request.asset,
        "owner": request.owner,
        "bot": request.bot or NATIVE,
        "strategy": terms.strategy,
        "salt": salt if told == (step.to, predicted, request.asset, request.owner, request.bot) else None,
    }


def _is_number(text: str | None) -> TypeGuard[str]:
    return text is not None and text.isascii() and text.isdecimal()
