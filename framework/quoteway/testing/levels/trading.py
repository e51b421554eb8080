"""Level 2: what swaps say of their recipients, route, gas, fees and price impact is true."""

from __future__ import annotations

import itertools
from dataclasses import replace

from quoteway import Capability, Quote, SwapRequest
from quoteway.guard.acknowledgements import CODES
from quoteway.testing.conformance.provider import STRANGER
from quoteway.testing.execution import execute
from quoteway.testing.levels.calls import executed_quote, sealed_quote
from quoteway.testing.levels.check import Check, NotApplicable, require
from quoteway.testing.levels.requests import quoted
from quoteway.testing.levels.subject import Subject
from quoteway.testing.levels.truth import near

_SWAPS = frozenset({Capability.SWAP})
_GAS_FACTOR = 2.5
_TOLERANCE_BPS = 100


def _swaps(subject: Subject) -> list[SwapRequest]:
    """Returns the cases within a chain. Raises ``NotApplicable`` without one."""
    found = [case for case in subject.cases if not case.is_cross_chain]
    if not found:
        raise NotApplicable("it swaps nothing within a chain")
    return found


def _unit(subject: Subject, request: SwapRequest, token: str) -> str:
    """Returns the address of a token, the wrapped one for the native coin."""
    network = subject.gateway.runtime.chains[request.chain_id].network
    return (network.wrapped_native or token) if int(token, 16) == 0 else token


async def other_recipients_are_paid(subject: Subject) -> None:
    """Pays a third party, for each case that is quoted so; it must be so for one case at least."""
    paid = 0
    for case in _swaps(subject):
        request = replace(case, recipient=STRANGER)
        if await quoted(subject.provider, request) is None:
            continue
        sealed = await sealed_quote(subject, request)
        got = sealed.outputs[0]
        action = await subject.gateway.building.action(sealed, acknowledged=CODES)
        executed = await execute(subject.devnet, action, [(STRANGER, got.token.address)])
        require(not executed.reverted, "a swap for another recipient reverts")
        change = executed.deltas[STRANGER, got.token.address]
        require(change >= (got.amount_min or 0), f"another recipient gets {change}, below {got.amount_min}")
        paid += 1
    require(paid, "it never pays another recipient than the sender")


async def routes_are_what_is_executed(subject: Subject) -> None:
    """Compares the pools of the route with the events of the execution, and its amounts with the quote."""
    shown = False
    for case in _swaps(subject):
        quote, executed, _ = await executed_quote(subject, case)
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
        require(near(given, case.amount_in), f"its route takes {given}, the swap {case.amount_in}")
        got, amount = sum(path.hops[-1].amount_out for path in quote.route), quote.outputs[0].amount
        require(near(got, amount), f"its route pays {got}, the quote {amount}")
    if not shown:
        raise NotApplicable("its quotes show no route")


async def gas_is_what_is_used(subject: Subject) -> None:
    told = False
    for case in _swaps(subject)[:4]:
        quote = await quoted(subject.provider, case)
        if quote is None or quote.gas is None:
            continue
        told = True
        _, _, units = await executed_quote(subject, case)
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
    returned = await quoted(subject.provider, back)
    if returned is None:
        return None
    return 10_000 - returned.outputs[0].amount * 10_000 // request.amount_in


async def fees_are_no_more_than_trading_costs(subject: Subject) -> None:
    """Compares the fees taken from the input or output with the loss of a swap there and back."""
    for case in _swaps(subject):
        quote = await quoted(subject.provider, case)
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
            quote = await quoted(subject.provider, request)
            small = await quoted(subject.provider, replace(request, amount_in=request.amount_in // 100))
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


_PRICES = "Compute it from the amounts of the pools at the quote's block, or leave it None."

TRADING: tuple[Check, ...] = (
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
