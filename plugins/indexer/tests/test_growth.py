"""Yields between stored share prices, against decimal arithmetic of 60 digits."""

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quoteway_indexer.growth import Growth, Sample, yearly

HOUR = 3_600
DAY = 24 * HOUR
YEAR = 365 * DAY


def sample(hour, price, timestamp=None):
    """A price read at a block a minute before the end of an hour."""
    at = hour * HOUR + HOUR - 60 if timestamp is None else timestamp
    return Sample(hour * HOUR, 100 + hour, at, price, 10**12)


@given(
    price=st.integers(10**9, 10**40),
    ratio=st.integers(-(10**11), 10**11),
    elapsed=st.integers(DAY, 400 * DAY),
)
def test_a_yield_is_exact_to_twelve_digits(price, ratio, elapsed):
    after = price + price * ratio // 10**12
    with localcontext() as context:
        context.prec = 60
        exact = (Decimal(after) / Decimal(price)) ** (Decimal(YEAR) / Decimal(elapsed)) - 1
    found = yearly(sample(0, price, 1_000), sample(0, after, 1_000 + elapsed))
    assert abs(Decimal(found) - exact) <= Decimal("1e-12") * max(1, abs(exact))


def test_losses_are_negative_and_what_cannot_be_known_is_none():
    assert yearly(sample(0, 1000, 0), sample(0, 990, YEAR)) == pytest.approx(-0.01, abs=1e-12)
    assert yearly(sample(0, 1000, 0), sample(0, 0, YEAR)) == -1.0
    assert yearly(sample(0, 0, 0), sample(0, 1000, YEAR)) is None
    assert yearly(sample(0, 1, 0), sample(0, 10**30, HOUR)) is None  # larger than any float
    assert yearly(sample(0, 1000, 5), sample(0, 1000, 5)) is None
    assert yearly(None, sample(0, 1000)) is None


def test_windows_end_with_the_newest_price_that_stood_for_three_hours():
    prices = [sample(hour, 10**12 + hour * 10**7) for hour in range(800)]
    growth = Growth(prices)
    first, last = growth.ends(DAY, 800 * HOUR)
    assert (first.hour, last.hour) == (772 * HOUR, 796 * HOUR)  # 797 has only stood until 800
    assert growth.ends(None, 800 * HOUR) == (prices[0], prices[796])
    # What was known at an earlier time: later prices do not change it.
    assert growth.ends(DAY, 700 * HOUR)[1].hour == 696 * HOUR
    assert growth.ends(7 * DAY, 100 * HOUR)[0] is None
    assert growth.ends(DAY, 3 * HOUR) == (None, None)


def test_no_window_begins_or_ends_with_a_price_that_did_not_last():
    good = 10**12
    prices = [sample(hour, good) for hour in range(60)]
    prices[20] = sample(20, good * 958 // 1000)  # an hour within a rebalancing
    prices[55] = sample(55, good * 113 // 100)
    growth = Growth(prices)
    for now in range(30, 61):
        first, last = growth.ends(DAY, now * HOUR)
        assert {each.price for each in (first, last) if each} <= {good}
    # A loss that stays is one.
    lasting = [sample(hour, good if hour < 40 else good * 9 // 10) for hour in range(80)]
    first, last = Growth(lasting).ends(DAY, 60 * HOUR)
    assert (first.price, last.price) == (good, good * 9 // 10)


def test_a_missing_hour_makes_a_window_a_little_longer_and_many_make_it_unknown():
    prices = [sample(hour, 10**12 + hour) for hour in range(100) if hour not in (70, 71)]
    first, last = Growth(prices).ends(DAY, 98 * HOUR)
    assert (first.hour, last.hour) == (69 * HOUR, 94 * HOUR)
    gap = [sample(hour, 10**12 + hour) for hour in range(100) if not 60 <= hour <= 75]
    assert Growth(gap).ends(DAY, 98 * HOUR)[0] is None
