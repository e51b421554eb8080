"""Level 2: what quotes say is true: amounts, minimums, recipients, route, gas, fees and price impact."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quoteway import Capability, GatewayError, Quote, SwapRequest
from quoteway.guard.acknowledgements import CODES
from quoteway.models import APPROVAL_KINDS
from quoteway.testing.conformance.provider import STRANGER
from quoteway.testing.execution import Executed, execute
from quoteway.testing.levels.calls import sealed_quote
from quoteway.testing.levels.check import Check, Failed, NotApplicable, require
from quoteway.testing.levels.subject import Subject

_SWAPS = frozenset({Capability.SWAP})
_GAS_FACTOR = 2.5
_TOLERANCE_BPS = 100
_SOLVER_BPS = 200
_SAME_BPS = 10
"""How far amounts of a route may be from those of the quote: parts of a pool's amount are rounded."""


def _swaps(subject: Subject) -> list[SwapRequest]:
    return [case for case in subject.cases if case.amount_out is None]


def _unit(subject: Subject, request: SwapRequest, token: str) -> str:
    """Returns the address of a token, the wrapped one for the native coin."""
    network = subject.gateway.runtime.chains[request.chain_id].network
    return (network.wrapped_native or token) if int(token, 16) == 0 else token


def _wraps(subject: Subject, request: SwapRequest) -> bool:
    ends = (request.token_in.address, request.token_out.address)
    return len({_unit(subject, request, end) for end in ends}) == 1


async def _quoted(subject: Subject, request: Any) -> Quote | None:
    try:
        quote: Quote | None = await subject.provider.quote(request)
    except GatewayError:
        return None
    return quote


async def generated_amounts_are_paid(subject: Subject) -> None:
    """Quotes random amounts, a ten-thousandth to a hundred times each case, and simulates their build."""
    for case in subject.cases:
        for _ in range(3):
            amount = int(case.amount * 10 ** subject.random.uniform(-4, 2)) if _is_vault(case) else None
            request = (
                replace(case, amount=amount or 1)
                if amount is not None
                else replace(case, amount_in=int(case.amount_in * 10 ** subject.random.uniform(-4, 2)) or 1)
            )
            if await _quoted(subject, request) is None:
                continue
            try:
                sealed = await sealed_quote(subject, request)
                action = await subject.gateway.building.action(sealed, acknowledged=CODES)
            except GatewayError as error:
                raise Failed(f"the gateway refuses its quote of {_amount(request)} units: {error}") from error
            require(
                action.simulation.status != "reverted",
                f"the build of its quote of {_amount(request)} units reverts",
            )


def _is_vault(case: Any) -> bool:
    return hasattr(case, "vault_id")


def _amount(request: Any) -> int:
    return int(request.amount if _is_vault(request) else request.amount_in)


async def concurrent_quotes_are_their_own(subject: Subject) -> None:
    requests = [replace(case, amount_in=case.amount_in * n) for case in _swaps(subject) for n in (1, 3)]
    alone = [await _quoted(subject, request) for request in requests]
    for _ in range(3):
        together = await asyncio.gather(*(_quoted(subject, request) for request in requests))
        for request, was, quote in zip(requests, alone, together, strict=True):
            require(
                _alike(was, quote),
                f"{request.amount_in} {request.token_in.symbol}: {_said(was)} alone, "
                f"{_said(quote)} among others",
            )


def _alike(one: Quote | None, other: Quote | None) -> bool:
    """Returns whether two quotes are of one request. A solver under load may find less."""
    if one is None or other is None:
        return one is other
    return [leg.token for leg in one.inputs] == [leg.token for leg in other.inputs] and all(
        (a.token, a.account) == (b.token, b.account)
        and abs(a.amount - b.amount) * 10_000 <= _SOLVER_BPS * a.amount
        for a, b in zip(one.outputs, other.outputs, strict=True)
    )


def _said(quote: Quote | None) -> str:
    legs = () if quote is None else quote.outputs
    return ", ".join(f"{leg.amount} {leg.token.symbol} to {leg.account}" for leg in legs) or "no quote"


async def minimums_allow_the_slippage(subject: Subject) -> None:
    for case in _swaps(subject):
        if _wraps(subject, case):
            continue
        for bps in (50, 300):
            quote = await _quoted(subject, replace(case, slippage_bps=bps))
            if quote is None or quote.is_estimate:
                continue
            for leg in quote.outputs:
                most = leg.amount * (10_000 - bps) // 10_000 + 1
                require(
                    leg.amount_min is not None and leg.amount_min <= most,
                    f"with slippage_bps {bps} the minimum is {leg.amount_min}, expected at most {most}",
                )


async def other_recipients_are_paid(subject: Subject) -> None:
    """Pays a third party, for each case that is quoted so; it must be so for one case at least."""
    paid = 0
    for case in _swaps(subject):
        request = replace(case, recipient=STRANGER)
        if await _quoted(subject, request) is None:
            continue
        sealed = await sealed_quote(subject, request)
        got = sealed.outputs[0]
        action = await subject.gateway.building.action(sealed, acknowledged=CODES)
        executed = await execute(subject.devnet, action, [(STRANGER, got.token.address)])
        require(not executed.reverted, "a swap for another recipient reverts")
        change = executed.deltas[STRANGER, got.token.address]
        require(change >= (got.amount_min or 0), f"another recipient gets {change}, below {got.amount_min}")
        paid += 1
    require(paid or not _swaps(subject), "it never pays another recipient than the sender")


async def _executed(subject: Subject, request: SwapRequest) -> tuple[Quote, Executed, int]:
    """Returns the provider's quote, its execution, and the gas of its own transactions."""
    gateway = subject.gateway
    answer = await gateway.quoting.quote(subject.capability, request, provider=subject.provider.id)
    quote, sealed = answer.quote, gateway.quote_tokens.open(subject.capability, answer.sealed.token)
    action = await gateway.building.action(sealed, acknowledged=CODES)
    executed = await execute(subject.devnet, action)
    require(not executed.reverted, f"a swap of {request.amount_in} {request.token_in.symbol} reverts")
    steps = zip(action.steps, executed.receipts, strict=True)
    units = sum(int(r["gasUsed"], 16) for step, r in steps if step.kind not in APPROVAL_KINDS)
    return quote, executed, units


async def routes_are_what_is_executed(subject: Subject) -> None:
    """Compares the pools of the route with the events of the execution, and its amounts with the quote."""
    shown = False
    for case in _swaps(subject):
        quote, executed, _ = await _executed(subject, case)
        if not quote.route:
            continue
        shown = True
        logs = [log for receipt in executed.receipts for log in receipt["logs"]]
        seen = {log["address"].lower() for log in logs}
        seen |= {topic.lower() for log in logs for topic in log["topics"]}
        require(sum(path.bps for path in quote.route) == 10_000, "the shares of its paths are not 10,000 bps")
        for path in quote.route:
            ends = [(hop.token_in, hop.token_out) for hop in path.hops]
            tokens = [_unit(subject, case, end) for end in (ends[0][0], ends[-1][1])]
            wanted = [_unit(subject, case, end.address) for end in (case.token_in, case.token_out)]
            require(tokens == wanted, "a path of its route does not lead from the input to the output")
            for (_, left), (right, _) in itertools.pairwise(ends):
                require(
                    _unit(subject, case, left) == _unit(subject, case, right),
                    "two hops of its route are not connected",
                )
            for hop in path.hops:
                require(hop.pool.lower() in seen, f"its route shows pool {hop.pool}, which was not used")
        given = sum(path.hops[0].amount_in for path in quote.route)
        require(_near(given, case.amount_in), f"its route takes {given}, the swap {case.amount_in}")
        got, amount = sum(path.hops[-1].amount_out for path in quote.route), quote.outputs[0].amount
        require(_near(got, amount), f"its route pays {got}, the quote {amount}")
    if not shown:
        raise NotApplicable("its quotes show no route")


def _near(one: int, other: int) -> bool:
    return abs(one - other) * 10_000 <= _SAME_BPS * max(one, other) + 10_000


async def gas_is_what_is_used(subject: Subject) -> None:
    told = False
    for case in _swaps(subject)[:4]:
        quote = await _quoted(subject, case)
        if quote is None or quote.gas is None:
            continue
        told = True
        _, _, units = await _executed(subject, case)
        factor = max(quote.gas.units, 1) / units
        require(
            1 / _GAS_FACTOR < factor < _GAS_FACTOR,
            f"it says {quote.gas.units:,} units of gas, its transactions use {units:,}",
        )
        require(quote.gas.limit >= quote.gas.units, "its gas limit is below its gas units")
    if not told:
        raise NotApplicable("its quotes say no gas: the core measures it")


async def _round_trip_loss_bps(subject: Subject, request: SwapRequest, quote: Quote) -> int | None:
    """Returns what is lost by swapping there and back, in basis points; None where it cannot be."""
    back = replace(
        request,
        token_in=request.token_out,
        token_out=request.token_in,
        amount_in=quote.outputs[0].amount,
    )
    returned = await _quoted(subject, back)
    if returned is None:
        return None
    return 10_000 - returned.outputs[0].amount * 10_000 // request.amount_in


async def fees_are_no_more_than_trading_costs(subject: Subject) -> None:
    """Compares the fees taken from the input or output with the loss of a swap there and back."""
    for case in _swaps(subject):
        quote = await _quoted(subject, case)
        if quote is None or not quote.fees:
            continue
        for fee in quote.fees:
            require(fee.amount >= 0, f"a fee of {fee.amount} units")
        loss = await _round_trip_loss_bps(subject, case, quote)
        if loss is None:
            continue
        require(loss >= 0, f"a swap there and back gains {-loss} bps: one of the amounts is not true")
        for leg in (*quote.inputs, *quote.outputs):
            unit = _unit(subject, case, leg.token.address)
            taken = sum(
                fee.amount
                for fee in quote.fees
                if fee.included and fee.kind != "gas" and _unit(subject, case, fee.token.address) == unit
            )
            bps = taken * 10_000 // max(leg.amount, 1)
            require(
                bps <= loss + _TOLERANCE_BPS,
                f"it says fees of {bps} bps of the {leg.token.symbol}; there and back costs {loss} bps",
            )


async def price_impact_is_what_amounts_show(subject: Subject) -> None:
    """Compares ``price_impact_bps`` with the price of a hundredth of the amount, and with trading costs."""
    told = False
    for case in _swaps(subject):
        for times in (1, 100):
            request = replace(case, amount_in=case.amount_in * times)
            quote = await _quoted(subject, request)
            small = await _quoted(subject, replace(request, amount_in=request.amount_in // 100))
            if quote is None or small is None or quote.price_impact_bps is None:
                continue
            if small.outputs[0].amount < 10_000:
                continue
            told = True
            worse = 10_000 - quote.outputs[0].amount * 10_000 // (small.outputs[0].amount * 100)
            loss = await _round_trip_loss_bps(subject, request, quote)
            most = max(worse, loss if loss is not None else 10_000) + _TOLERANCE_BPS
            require(
                worse - _TOLERANCE_BPS <= quote.price_impact_bps <= most,
                f"it says an impact of {quote.price_impact_bps} bps; a hundredth of the amount has a price "
                f"{worse} bps better, and there and back costs {loss} bps",
            )
    if not told:
        raise NotApplicable("its quotes say no price impact")


async def quotes_say_who_pays_and_gets(subject: Subject) -> None:
    """Checks legs, block and texts of quotes as a signer reads them."""
    for case in _swaps(subject):
        quote = await _quoted(subject, case)
        if quote is None:
            continue
        head = await subject.gateway.runtime.chains[case.chain_id].head()
        require(
            quote.block.number <= head.number, f"it is of block {quote.block.number}, the head {head.number}"
        )
        require([leg.account for leg in quote.inputs] == [case.sender], "its input is not the sender's")
        require(
            [leg.account for leg in quote.outputs] == [case.recipient], "its output is not the recipient's"
        )
        require(quote.lifetime_s is None or 0 < quote.lifetime_s <= 3_600, f"lifetime_s {quote.lifetime_s}")
        require(_depth(quote.plan) <= 8, "its plan is nested deeper than 8")


def _depth(value: object) -> int:
    inner: Sequence[object] = ()
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, list | tuple):
        inner = value
    return 1 + max(map(_depth, inner), default=0)


_PRICES = "Compute it from the amounts of the pools at the quote's block, or leave it None."

TRUTH: tuple[Check, ...] = (
    Check(
        "quotes_say_who_pays_and_gets",
        2,
        "Fill inputs with the sender, outputs with the recipient, block with chain.head().",
        quotes_say_who_pays_and_gets,
        _SWAPS,
    ),
    Check(
        "generated_amounts_are_paid",
        2,
        "Compute each amount as the contract does, at every size, or return None.",
        generated_amounts_are_paid,
        frozenset({Capability.SWAP, Capability.VAULT}),
    ),
    Check(
        "concurrent_quotes_are_their_own",
        2,
        "Keep nothing of a request on the provider or in the module: pass it as an argument.",
        concurrent_quotes_are_their_own,
        _SWAPS,
    ),
    Check(
        "minimums_allow_the_slippage",
        2,
        "Set amount_min to amount * (10,000 - slippage_bps) / 10,000, rounded down.",
        minimums_allow_the_slippage,
        _SWAPS,
    ),
    Check(
        "other_recipients_are_paid",
        2,
        "Encode request.recipient as the receiver of the output.",
        other_recipients_are_paid,
        _SWAPS,
    ),
    Check(
        "routes_are_what_is_executed",
        2,
        "Show in Quote.route the pools that build() uses, with their amounts.",
        routes_are_what_is_executed,
        _SWAPS,
    ),
    Check("gas_is_what_is_used", 2, "Measure the gas, or leave Quote.gas None.", gas_is_what_is_used, _SWAPS),
    Check(
        "fees_are_no_more_than_trading_costs",
        2,
        "Name only what is taken, in base units of the fee's token.",
        fees_are_no_more_than_trading_costs,
        _SWAPS,
    ),
    Check("price_impact_is_what_amounts_show", 2, _PRICES, price_impact_is_what_amounts_show, _SWAPS),
)
