"""The cost of a quote's gas: at the caller's price, and with what a rollup charges for data on its L1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from quoteway import models
from quoteway.evm.l1_fee import L1Price
from quoteway.host.outcomes import Outcome
from quoteway.providers import Provider


def repriced(quote: models.Quote, gas_price_wei: int | None) -> models.Quote:
    """Returns a quote whose cost of gas and net amount are those at the caller's price of gas.

    The fee for the data on a parent chain does not follow it. A net amount whose gas has no known cost in wei
    stays as the provider states it.
    """
    if gas_price_wei is None or quote.gas is None:
        return quote
    cost_wei = quote.gas.units * gas_price_wei + (quote.gas.l1_fee_wei or 0)
    return _at_cost(quote, replace(quote.gas, cost_wei=cost_wei, price_wei=gas_price_wei))


def with_l1_fee(quote: models.Quote, fee_wei: int) -> models.Quote:
    """Returns a quote with this fee for its data in the cost of its gas and in its net amount.

    It replaces one that the quote has. A net amount whose gas has no cost in wei stays as it is.
    """
    gas = quote.gas
    if gas is None or gas.cost_wei is None:
        return quote if gas is None else replace(quote, gas=replace(gas, l1_fee_wei=fee_wei))
    cost_wei = gas.cost_wei - (gas.l1_fee_wei or 0) + fee_wei
    return _at_cost(quote, replace(gas, l1_fee_wei=fee_wei, cost_wei=cost_wei))


def with_estimated_l1_fees(
    outcomes: Sequence[Outcome[Provider, models.Quote]], price: L1Price | None
) -> list[Outcome[Provider, models.Quote]]:
    """Returns the outcomes with the fee for data, not built yet, in their quotes. ``price`` None: none."""

    def with_fee(quote: models.Quote | None) -> models.Quote | None:
        # The gateway's own quotes are made of others, which have their fees.
        if price is None or quote is None or quote.parts:
            return quote
        hops = (len(path.hops) for path in quote.route or ())
        legs = len(quote.route_legs) if quote.route_legs else sum(hops)
        return with_l1_fee(quote, price.of_legs(legs))

    return [replace(outcome, value=with_fee(outcome.value)) for outcome in outcomes]


def l1_fee_of(price: L1Price | None, steps: Iterable[models.Step]) -> int | None:
    """Returns what the data of built transactions costs in wei; None when the price is not known."""
    return None if price is None else price.of(steps)


def _at_cost(quote: models.Quote, gas: models.Gas) -> models.Quote:
    """Returns a quote with other gas, and its net amounts at the cost of that."""
    cost_wei, stated_wei = gas.cost_wei, quote.gas and quote.gas.cost_wei
    net_output, total_input = quote.net_output, quote.total_input

    def cost(stated: int) -> int:
        if not cost_wei:
            return 0
        return -(-stated * cost_wei // stated_wei) if stated_wei else stated

    if net_output is not None:
        minimum = quote.outputs[0].amount_min or 0
        net_output = minimum - cost(minimum - net_output)
    if total_input is not None:
        maximum = quote.inputs[0].most
        total_input = maximum + cost(total_input - maximum)
    return replace(quote, gas=gas, net_output=net_output, total_input=total_input)
