"""Ranks the quotes of a competition by their output less gas, in base units of the output token.

Those of an exact output by their input with gas, in base units of the input token: a bid is then what leaves
the wallet, below zero.

The core prices the gas of every quote alike: it takes the units of gas from the simulation, or else from the
quote, and one price per unit for all. A quote that states no gas costs as much as the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median_low

from quoteway import models
from quoteway.engine.gas_costs import with_l1_fee
from quoteway.engine.limits import OutsideTerms, PriceImpactTooHigh
from quoteway.errors import GatewayError, InvalidRequest, NotFound, Reason, UpstreamError
from quoteway.host.outcomes import Outcome
from quoteway.providers import Provider, TransactionProvider

CLOSE_BPS = 50
"""Two quotes are close when the worse one promises at least 99.5 % of the better one."""

QuoteOutcome = Outcome[Provider, models.Quote]


@dataclass(frozen=True, slots=True)
class Bid:
    """A quote in a competition.

    ``gas_cost`` is the cost of its gas in the token that ranks, 0 when nobody knows it; ``l1_cost`` the part
    of it for data on a parent chain. ``gas_unit_price`` is that of one unit of gas, None when unknown.
    ``order`` is the provider's place.
    """

    order: int
    provider: Provider
    quote: models.Quote
    gas_cost: int = 0
    gas_unit_price: Fraction | None = None
    side: models.Side = "exactIn"
    l1_cost: int = 0

    def with_l1_fee(self, fee_wei: int) -> Bid:
        """Returns the bid with this fee for its data, in wei, instead of an estimate."""
        quote, before = with_l1_fee(self.quote, fee_wei), self.quote.gas and self.quote.gas.l1_fee_wei
        cost = -(-self.l1_cost * fee_wei // before) if before else self.l1_cost
        return replace(self, quote=quote, gas_cost=self.gas_cost - self.l1_cost + cost, l1_cost=cost)

    @property
    def has_quota(self) -> bool:
        return isinstance(self.provider, TransactionProvider) and self.provider.has_quota

    @property
    def promised(self) -> int:
        """What the quote promises, less gas."""
        return _amount(self.quote, self.side) - self.gas_cost

    @property
    def guaranteed(self) -> int:
        """What the quote guarantees, less gas."""
        return _minimum(self.quote, self.side) - self.gas_cost

    @property
    def judged(self) -> models.Leg:
        """The leg that ranks: the output, or the input of an exact output."""
        return self.quote.outputs[0] if self.side == "exactIn" else self.quote.inputs[0]

    def paid(self, amount: int, gas_used: int) -> int:
        """What a simulation paid that used so much gas, less gas; ``amount`` is the change of ``judged``."""
        price = self.gas_unit_price
        return amount - (self.gas_cost if price is None else math.ceil(gas_used * price) + self.l1_cost)

    def is_close_to(self, better: Bid) -> bool:
        """Whether a better bid promises little more than this one."""
        return (better.promised - self.promised) * 10_000 <= abs(better.promised) * CLOSE_BPS


def bids_of(outcomes: Sequence[QuoteOutcome], side: models.Side = "exactIn") -> list[Bid]:
    """Returns the quotes of a competition with their gas costs, in the order of the outcomes."""
    quoted = [(at, o.provider, o.value) for at, o in enumerate(outcomes) if o.value is not None]
    quotes = [quote for _, _, quote in quoted]
    stated = [(quote, cost) for quote in quotes if (cost := _stated_cost(quote, side)) is not None]
    prices = [
        Fraction(cost - _l1_cost(quote, cost), quote.gas.units)
        for quote, cost in stated
        if quote.gas and quote.gas.units > 0
    ]
    price = median_low(prices) if prices else None
    units = [quote.gas.units for quote in quotes if quote.gas is not None and quote.gas.units > 0]
    usual = median_low([cost for _, cost in stated]) if stated else 0
    usual_l1 = median_low([_l1_cost(*each) for each in stated]) if stated else 0

    def bid(order: int, provider: Provider, quote: models.Quote) -> Bid:
        if price is None:
            own = _stated_cost(quote, side)
            return Bid(order, provider, quote, usual if own is None else own, side=side)
        used = quote.gas.units if quote.gas is not None and quote.gas.units > 0 else median_low(units)
        own = _stated_cost(quote, side)
        l1_cost = usual_l1 if own is None else _l1_cost(quote, own)
        return Bid(order, provider, quote, math.ceil(used * price) + l1_cost, price, side, l1_cost)

    return [bid(*each) for each in quoted]


def best(outcomes: Sequence[QuoteOutcome]) -> Bid:
    """Returns the quote with the highest minimum output after gas.

    Ties go to the provider asked first. Raises as ``refusal`` when there is no quote.
    """
    bids = bids_of(outcomes)
    if not bids:
        raise refusal(outcomes)
    return max(bids, key=lambda bid: bid.guaranteed)


def refusal(outcomes: Sequence[QuoteOutcome]) -> GatewayError:
    """Returns the error of a competition without a quote.

    ``InvalidRequest`` or ``NotFound`` when a provider rejected the parameters and all others had no route.
    Otherwise ``UpstreamError``, whose ``attempts`` list every outcome: ``OutsideTerms`` of the quote that
    comes nearest to the terms of a refresh, where one missed them.
    """
    attempts = attempts_of(outcomes)
    outside = [o.error for o in outcomes if isinstance(o.error, OutsideTerms)]
    if outside:
        nearest = min(outside, key=lambda error: error.short_by)
        nearest.attempts = attempts
        return nearest
    refusals = [o.error for o in outcomes if isinstance(o.error, (InvalidRequest, NotFound))]
    silent = [o for o in outcomes if o.kind == "no_route" and o.error is None]
    if refusals and len(refusals) + len(silent) == len(outcomes):
        return refusals[0]
    failed = next((o for o in outcomes if o.failed), None)
    impacts = [o.error for o in outcomes if isinstance(o.error, PriceImpactTooHigh)]
    spoken: GatewayError | None = min(impacts, key=lambda error: error.impact_bps, default=None)
    if spoken is None:
        spoken = next((o.error for o in outcomes if o.error is not None and not o.failed), None)
    message, reason = "No provider could quote this request.", failed.reason if failed else Reason.NO_ROUTE
    if spoken is not None:
        message, reason = spoken.message, spoken.reason
    elif failed is None:
        message = "No provider has a route for this pair."
    retryable = spoken is None and any(o.failed and o.failure().retryable is not False for o in outcomes)
    return UpstreamError(message, reason=reason, attempts=attempts, retryable=retryable)


def rank(quote: models.Quote, side: models.Side = "exactIn") -> int:
    """Returns what a quote guarantees after the gas that it states."""
    return _minimum(quote, side) - (_stated_cost(quote, side) or 0)


def attempts_of(
    outcomes: Sequence[QuoteOutcome], side: models.Side = "exactIn"
) -> tuple[models.Attempt, ...]:
    """Returns the outcomes as the ``attempts`` members of a response."""
    return tuple(_attempt(outcome, side) for outcome in outcomes)


def _attempt(outcome: QuoteOutcome, side: models.Side) -> models.Attempt:
    quote, reason = outcome.value, outcome.reason
    amount_out = quote.outputs[0].amount if quote is not None and quote.outputs else None
    amount_in = quote.inputs[0].amount if quote is not None and side == "exactOut" else None
    told = reason.value if reason else None
    return models.Attempt(outcome.provider.id, outcome.kind, amount_out, told, amount_in)


def _amount(quote: models.Quote, side: models.Side) -> int:
    if side == "exactOut":
        return -quote.inputs[0].amount
    return quote.outputs[0].amount if quote.outputs else 0


def _minimum(quote: models.Quote, side: models.Side) -> int:
    if side == "exactOut":
        return -quote.inputs[0].most
    if not quote.outputs:
        return 0
    first = quote.outputs[0]
    return first.amount if first.amount_min is None else first.amount_min


def _stated_cost(quote: models.Quote, side: models.Side) -> int | None:
    """Returns the cost of gas that a quote states, in the token that ranks; None when it states none."""
    net = quote.net_output
    if side == "exactOut":
        net = None if quote.total_input is None else -quote.total_input
    return None if net is None else _minimum(quote, side) - net


def _l1_cost(quote: models.Quote, cost: int) -> int:
    """Returns the part of a stated cost of gas that is for data on a parent chain, rounded up."""
    gas = quote.gas
    if gas is None or not gas.l1_fee_wei or not gas.cost_wei:
        return 0
    return -(-cost * gas.l1_fee_wei // gas.cost_wei)
