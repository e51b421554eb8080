"""The past prices of a wallet's tokens: asked for some tokens after the other, however many there are."""

import math
from types import SimpleNamespace

import pytest
from quoteway import UpstreamError
from quoteway.evm.address import checksum
from quoteway.host.history import MOST_HOURS, History
from quoteway.metrics_provider import MetricsProvider
from quoteway.models import HourPrice, TokenHours
from quoteway.pricing.past_prices import HOUR_S, HOURS_AT_ONCE, PastPrices, read_past_prices

DAY_S = 24 * HOUR_S
TOKENS = [checksum(f"0x{number:040x}") for number in range(1, 121)]


class Index(MetricsProvider):
    """Has a price of each token in each hour that it is asked for."""

    def __init__(self, usd=lambda number, hour: float(number + hour // HOUR_S), shift_s=0):
        self.id = "index"
        self.usd, self.shift_s = usd, shift_s
        self.asked = []

    async def series(self, *_):
        return None

    async def hour_prices(self, chain_id, tokens, start, end):
        hours = range(start + self.shift_s, end + self.shift_s + 1, HOUR_S)
        self.asked.append(len(tokens) * len(hours))
        return tuple(
            TokenHours(each, tuple(HourPrice(hour, self.usd(TOKENS.index(each), hour)) for hour in hours))
            for each in tokens
        )


def history(index):
    async def ask_all(sources, checked, **_):
        return [SimpleNamespace(value=await checked(each), failed=False) for each in sources]

    return History(SimpleNamespace(enabled=lambda *_: [index], calls=SimpleNamespace(ask_all=ask_all)), 5.0)


async def test_a_year_of_prices_of_many_tokens_is_read_in_answers_of_bounded_length():
    index = Index()
    end = 365 * DAY_S - HOUR_S
    assert len(TOKENS) * 365 * 24 > 2 * MOST_HOURS
    found = await read_past_prices(history(index), 1, TOKENS, 0, end)
    assert sum(index.asked) == len(TOKENS) * 365 * 24
    assert max(index.asked) <= HOURS_AT_ONCE
    for number in (0, 59, 119):
        for hour in (0, HOUR_S, 100 * DAY_S, end):
            assert found.within(TOKENS[number], hour) == number + hour // HOUR_S


async def test_a_span_of_more_hours_than_are_asked_for_at_once_is_read_token_by_token():
    index = Index()
    await read_past_prices(history(index), 1, TOKENS[:3], 0, 6 * 365 * DAY_S)
    assert index.asked == [6 * 365 * 24 + 1] * 3


async def test_no_tokens_are_not_asked_for():
    index = Index()
    found = await read_past_prices(history(index), 1, [], 0, DAY_S)
    assert index.asked == []
    assert found.within(TOKENS[0], 0) is None


@pytest.mark.parametrize("shift_s", [-HOUR_S, HOUR_S, 2**63])
async def test_an_hour_that_was_not_asked_for_is_refused(shift_s):
    with pytest.raises(UpstreamError):
        await read_past_prices(history(Index(shift_s=shift_s)), 1, TOKENS[:2], 0, DAY_S)


@pytest.mark.parametrize("usd", [-1.0, math.inf, math.nan, pytest.param(10**400, id="huge"), None])
async def test_a_price_that_is_none_is_refused(usd):
    with pytest.raises(UpstreamError):
        await read_past_prices(history(Index(usd=lambda *_: usd)), 1, TOKENS[:2], 0, DAY_S)


def test_prices_that_are_added_replace_those_of_their_token():
    first, other = TOKENS[:2]
    prices = PastPrices([TokenHours(first, (HourPrice(0, 1.0),)), TokenHours(other, (HourPrice(0, 2.0),))])
    prices.add([TokenHours(first, (HourPrice(HOUR_S, 3.0),))])
    assert [prices.within(each, HOUR_S) for each in (first, other)] == [3.0, 2.0]
    assert prices.within(first, 0) is None
