"""Checks payments and refunds on another chain by the calldata, since no simulation shows them.

A provider declares where the decoded arguments have the chain id, recipient, token, minimum and, if any, the
refund account (``Arrival``). The values there must be the sealed ones. For functions that the core knows the
places are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from quoteway import models
from quoteway.evm import abi
from quoteway.evm.address import ERC7528_NATIVE
from quoteway.guard.findings import Expect
from quoteway.models import NATIVE, Address, Arrival, Build, Leg, SealedQuote, Step, SwapRequest

_DEPOSIT = Arrival(0, chain_id=(6,), recipient=(1,), token=(3,), amount_min=(5,), refund=(0,))
_DEPOSIT_TAIL = "uint32,uint32,uint32,bytes)"

# SpokePool.sol of across-protocol/contracts; AcrossFacetV4.sol of lifinance/contracts.
_PLACES: Mapping[str, Arrival] = {
    f"depositV3(address,address,address,address,uint256,uint256,uint256,address,{_DEPOSIT_TAIL}": _DEPOSIT,
    f"deposit(bytes32,bytes32,bytes32,bytes32,uint256,uint256,uint256,bytes32,{_DEPOSIT_TAIL}": _DEPOSIT,
    "startBridgeTokensViaAcrossV4("
    "(bytes32,string,string,address,address,address,uint256,uint256,bool,bool),"
    "(bytes32,bytes32,bytes32,bytes32,uint256,uint128,bytes32,uint32,uint32,uint32,bytes))": Arrival(
        0, chain_id=(0, 7), recipient=(1, 0), token=(1, 3), amount_min=(1, 4), refund=(1, 1)
    ),
}
"""Where the calldata of these functions holds what their contracts enforce on the other chain."""
_KNOWN = {abi.selector(signature): signature for signature in _PLACES}


def check_arrivals(sealed: SealedQuote, build: Build, wrapped_native: Address | None, expect: Expect) -> None:
    """Checks the calldata against every output on another chain.

    ``wrapped_native`` is the other chain's: bridges name it for the native coin.
    """
    remote = [leg for leg in build.outputs if leg.token.chain_id != sealed.request.chain_id]
    expect(
        len(build.arrivals) == len(remote),
        "it does not declare where its calldata has the payment on another chain",
    )
    for leg, arrival in zip(remote, build.arrivals, strict=True):
        expect(0 <= arrival.step < len(build.steps), "an arrival belongs to no transaction")
        step = build.steps[arrival.step]
        _check_places(arrival, step, expect)
        _check(leg, arrival, step, wrapped_native, expect)


def check_refund(sealed: SealedQuote, build: Build, expect: Expect) -> None:
    """Checks the refund account in the calldata.

    Not every bridge has one. But when the caller, the quote or the build names one, the calldata must have
    it. (The quote's was compared with the caller's when it was sealed.)
    """
    request = sealed.request
    if not isinstance(request, SwapRequest) or not request.is_cross_chain:
        return
    account, named = request.refund_account, 0
    for arrival in build.arrivals:
        if arrival.refund is not None:
            found = _at(build.steps[arrival.step], arrival.refund)
            expect(found == int(account, 16), "its calldata refunds another account")
            named += 1
    told = build.terms.refund_address if isinstance(build.terms, models.TransferTracking) else None
    expect(told in (None, account), "its tracking names another refund account than asked")
    if told is not None or request.refund_to is not None:
        expect(
            0 < named == len(build.arrivals), "it does not declare where its calldata has the refund account"
        )


def _check_places(arrival: Arrival, step: Step, expect: Expect) -> None:
    signature = _KNOWN.get(step.data[:4])
    if signature is None:
        return
    # A second signature with the same selector is found in seconds and would change what the places mean.
    expect(step.decoded.signature == signature, f"it decodes a call of {signature} as another function")
    expect(
        replace(arrival, step=0) == _PLACES[signature],
        "it declares other places in its calldata than this function has",
    )


def _check(leg: Leg, arrival: Arrival, step: Step, wrapped_native: Address | None, expect: Expect) -> None:
    where = f"on chain {leg.token.chain_id}"
    chain_id = _at(step, arrival.chain_id)
    expect(chain_id == leg.token.chain_id, f"its calldata pays out on chain {chain_id}, not {where}")
    expect(_at(step, arrival.recipient) == int(leg.account, 16), f"its calldata pays another account {where}")
    expect(
        _at(step, arrival.token) in _forms(leg, wrapped_native), f"its calldata pays another token {where}"
    )
    amount = _at(step, arrival.amount_min)
    expect(
        amount is not None and amount >= (leg.amount_min or 0), f"its calldata pays less than quoted {where}"
    )


def _forms(leg: Leg, wrapped_native: Address | None) -> set[int]:
    """The addresses that stand for a token: bridges have several for the native coin."""
    if leg.token.address != NATIVE:
        return {int(leg.token.address, 16)}
    forms = {NATIVE, ERC7528_NATIVE, wrapped_native or NATIVE}
    return {int(form, 16) for form in forms}


def _at(step: Step, path: Sequence[int]) -> int | None:
    """The number, address or bytes32 at a path into the decoded arguments, as a number; None without one."""
    value: Any = [argument.value for argument in step.decoded.args]
    for index in path:
        if not isinstance(value, (list, tuple)) or not 0 <= index < len(value):
            return None
        value = value[index]
    if isinstance(value, str) and value.startswith("0x") and len(value) in (42, 66):
        return int(value, 16)
    return value if type(value) is int else None
