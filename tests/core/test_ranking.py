"""The gas of quotes in a competition, in base units of the output, and what is close."""

from fractions import Fraction

import pytest
from quoteway.engine.ranking import Bid, best, bids_of, refusal
from quoteway.errors import NotFound, UpstreamError
from quoteway.guard.findings import UnsafeAnswer
from quoteway.host.outcomes import Outcome
from quoteway.models import Block, Gas, SwapRequest
from quoteway.providers import SwapProvider
from quoteway.testing.fakes import swap_quote
from sold_usdc import NOW, SOLD, USDC, USER, WETH

REQUEST = SwapRequest(1, 1, USDC, WETH, SOLD, USER, USER, 0)
BLOCK = Block(1, "0x" + "11" * 32, NOW)


class Named(SwapProvider):
    def __init__(self, name):
        self.id = name

    async def quote(self, request):
        return None

    async def build(self, sealed):
        raise AssertionError


def outcome(name, amount, units=None, cost=None):
    more = {} if units is None else {"gas": Gas(units, units)}
    if cost is not None:
        more["net_output"] = amount - cost
    return Outcome(Named(name), "quoted", swap_quote(REQUEST, amount, BLOCK, **more))


def costs(*outcomes):
    return [bid.gas_cost for bid in bids_of(outcomes)]


def test_a_quote_without_gas_costs_as_much_as_the_others():
    assert costs(outcome("a", 1_000, 100, 50), outcome("b", 1_000)) == [50, 50]
    assert costs(outcome("a", 1_000, cost=50), outcome("b", 1_000)) == [50, 50]
    assert costs(outcome("a", 1_000, 100, 50), outcome("b", 1_000, 200)) == [50, 100]
    assert best([outcome("free", 990), outcome("honest", 1_000, 100, 50)]).provider.id == "honest"


def test_one_price_of_gas_counts_for_all():
    """One that states a tiny cost for the same gas, or a huge one, gains nothing by it."""
    honest = outcome("a", 1_000, 100, 50), outcome("b", 1_000, 100, 52)
    assert costs(*honest, outcome("cheap", 1_000, 100, 0)) == [50, 50, 50]
    assert costs(*honest, outcome("dear", 1_000, 1, 900)) == [52, 52, 1]


def test_gas_without_a_known_price_costs_nothing():
    assert costs(outcome("a", 1_000, 100), outcome("b", 1_000)) == [0, 0]
    assert bids_of([Outcome(Named("none"), "no_route")]) == []


def test_the_gas_of_a_run_counts_and_not_the_stated_one():
    quote = outcome("a", 1_000, 1, 1).value
    assert Bid(0, Named("a"), quote, 1, Fraction(1, 2)).paid(1_000, 101) == 949
    assert Bid(0, Named("a"), quote, 1, None).paid(1_000, 101) == 999


@pytest.mark.parametrize(("amount", "close"), [(100_000, True), (99_500, True), (99_499, False)])
def test_close_is_within_half_a_percent(amount, close):
    better, other = bids_of([outcome("a", 100_000), outcome("b", amount)])
    assert other.is_close_to(better) is close


@pytest.mark.parametrize(
    ("failures", "retryable"),
    [
        ([UnsafeAnswer("a", "a lie")], False),
        ([UnsafeAnswer("a", "a lie"), UpstreamError("Down.", retryable=True)], True),
        ([UnsafeAnswer("a", "a lie"), None], True),
        ([UnsafeAnswer("a", "a lie"), NotFound("No pool.")], False),
    ],
)
def test_a_retry_is_worth_it_only_where_one_may_help(failures, retryable):
    """A provider that lied lies again; one without an error was late."""
    kinds = {NotFound: "no_route", type(None): "timeout"}
    outcomes = [
        Outcome(Named(f"a{at}"), kinds.get(type(error), "failed"), error=error)
        for at, error in enumerate(failures)
    ]
    assert refusal(outcomes).retryable is retryable
