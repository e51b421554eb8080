"""The suite for providers of series and prices over time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import pytest

from quoteway import Address, Capability, MetricsProvider, PriceHistory, Series
from quoteway.testing.conformance import provider as suite
from quoteway.testing.conformance.listing import check_series, made_up_id

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway

_INTERVALS_S: dict[Literal["1h", "1d"], int] = {"1h": 3_600, "1d": 86_400}
_SPAN_S = 2 * 86_400


class MetricsConformance(suite.ProviderConformance):
    """Fixtures that a subclass defines:

    - ``gateway``: a started gateway with the provider.
    - ``known``: resource ids and metrics whose series it has.
    - ``traded``: chain ids and tokens whose prices it keeps; none by default.
    - ``span``: start and end of what is asked for, in Unix seconds; the last two days by default.
    """

    capability: ClassVar[Capability] = Capability.METRICS

    @pytest.fixture
    def known(self) -> Sequence[tuple[str, str]]:
        pytest.fail(f"{type(self).__name__} gives no fixture `known`")

    @pytest.fixture
    def traded(self) -> Sequence[tuple[int, Address]]:
        return ()

    @pytest.fixture
    def span(self) -> tuple[int, int]:
        return last_days()

    async def test_series_are_those_asked_for(
        self, provider: MetricsProvider, known: Sequence[tuple[str, str]], span: tuple[int, int]
    ) -> None:
        for resource_id, metric in known:
            for interval, interval_s in _INTERVALS_S.items():
                start, end = span
                series = await provider.series(resource_id, metric, start, end, interval)
                assert isinstance(series, Series), f"no {metric} of {resource_id}"
                check_series(series, resource_id, metric)
                assert series.interval == interval, f"asked for {interval}, got {series.interval}"
                _in_span([at for at, _ in series.points], start, end, interval_s)

    async def test_a_shorter_span_has_the_same_values(
        self, provider: MetricsProvider, known: Sequence[tuple[str, str]], span: tuple[int, int]
    ) -> None:
        for resource_id, metric in known:
            start, end = span
            whole = await provider.series(resource_id, metric, start, end, "1h")
            part = await provider.series(resource_id, metric, (start + end) // 2, end, "1h")
            assert whole is not None, f"no {metric} of {resource_id}"
            assert part is not None, f"no {metric} of {resource_id} in a shorter span"
            values = dict(whole.points)
            # The first point of a span may have a part of its interval, and the last one may still change.
            for at, value in part.points[1:-1]:
                assert values.get(at, value) == value, (
                    f"{metric} of {resource_id} at {at} is {values[at]}, and {value} in a shorter span"
                )

    async def test_what_it_does_not_have_is_none(
        self, provider: MetricsProvider, known: Sequence[tuple[str, str]], span: tuple[int, int]
    ) -> None:
        asked = (*span, "1h")
        for chain_id in sorted(provider.networks):
            assert await provider.series(made_up_id(chain_id), "tvl", *asked) is None, "a pool that is none"
        assert await provider.series("no id", "tvl", *asked) is None, "an id of another form"
        for resource_id, _ in known[:1]:
            assert await provider.series(resource_id, "no-such-metric", *asked) is None, "an unknown metric"

    async def test_price_histories_are_sound(
        self, provider: MetricsProvider, traded: Sequence[tuple[int, Address]], span: tuple[int, int]
    ) -> None:
        for chain_id, token in traded:
            for interval, interval_s in _INTERVALS_S.items():
                start, end = span
                history = await provider.price_history(chain_id, token, start, end, interval)
                assert isinstance(history, PriceHistory), f"no prices of {token}"
                assert (history.chain_id, history.token, history.interval) == (chain_id, token, interval)
                check_candles(history, interval_s)
                _in_span([candle.timestamp for candle in history.candles], start, end, interval_s)

    async def test_the_index_says_how_far_it_is(self, provider: MetricsProvider) -> None:
        for status in await provider.index_status():
            assert status.chain_id in provider.networks, f"an index of chain {status.chain_id}"
            assert 0 <= status.percent <= 100, f"{status.percent} percent"
            for name in ("blocks_per_s", "logs_per_s", "eta_s", "lag_blocks", "lag_s"):
                value = getattr(status, name)
                assert value is None or (math.isfinite(value) and value >= 0), f"{name} is {value}"

    async def test_a_stranger_has_no_past(self, provider: MetricsProvider) -> None:
        for chain_id in sorted(provider.networks):
            tokens = await provider.wallet_tokens(chain_id, suite.STRANGER)
            assert tokens is None or not tokens.received, "a stranger received tokens"
            transfers = await provider.wallet_transfers(chain_id, suite.STRANGER)
            assert transfers is None or not transfers.transfers, "a stranger has transfers"

    async def test_the_event_loop_is_never_kept(
        self, provider: MetricsProvider, known: Sequence[tuple[str, str]], span: tuple[int, int]
    ) -> None:
        for resource_id, metric in known[:2]:
            asked = (*span, "1h")
            await provider.series(resource_id, metric, *asked)
            kept_s = await suite.longest_block(lambda: provider.series(resource_id, metric, *asked))  # noqa: B023
            assert kept_s < suite.MAX_BLOCK_S, f"{kept_s * 1000:.0f} ms on the event loop"

    async def test_cancellation_is_honoured(
        self,
        gateway: Gateway,
        provider: MetricsProvider,
        known: Sequence[tuple[str, str]],
        span: tuple[int, int],
    ) -> None:
        for resource_id, metric in known[:1]:
            asked = (*span, "1h")
            await suite.assert_cancellable(gateway, lambda: provider.series(resource_id, metric, *asked))  # noqa: B023


def check_candles(history: PriceHistory, interval_s: int) -> None:
    """Checks that candles are in order, begin at multiples of the interval, and have positive prices."""
    for candle in history.candles:
        assert candle.timestamp % interval_s == 0, f"a candle begins at {candle.timestamp}"
        prices = (candle.open, candle.high, candle.low, candle.close, candle.mean)
        assert all(math.isfinite(price) and price > 0 for price in prices), f"prices {prices}"
        inner = (candle.open, candle.close, candle.mean)
        assert candle.low <= min(inner), f"its lowest price is {candle.low}, and others are {inner}"
        assert max(inner) <= candle.high, f"its highest price is {candle.high}, and others are {inner}"
        assert candle.confidence is None or 0 <= candle.confidence <= 1, f"confidence {candle.confidence}"
        assert candle.depth_usd is None or candle.depth_usd >= 0, f"depth {candle.depth_usd}"


def last_days() -> tuple[int, int]:
    """Returns start and end of the last two days, in Unix seconds."""
    end = int(time.time())
    return end - _SPAN_S, end


def _in_span(times: Sequence[int], start: int, end: int, interval_s: int) -> None:
    assert list(times) == sorted(set(times)), "points are in order, one per time"
    for at in times:
        assert start - interval_s < at <= end + interval_s, f"a point at {at}, asked from {start} to {end}"
