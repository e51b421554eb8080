"""TVL, volume, fees and APR of a pool, computed from chain state and the logs of a bounded window."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cachetools import LRUCache
from quoteway import Block, Chain, Context, GatewayError, Price, Series
from quoteway_router.logs import Logs

from quoteway_uniswap.block_times import BlockTimes
from quoteway_uniswap.known_pools import KnownPool
from quoteway_uniswap.pool_value import principals
from quoteway_uniswap.prices import UniswapPrices
from quoteway_uniswap.state import PoolStates
from quoteway_uniswap.trade_history import SETTLED_BLOCKS, Activity, TradeHistory

METRICS = ("tvl", "volume", "fees", "apr")
INTERVALS_S: Mapping[str, int] = {"1h": 3_600, "1d": 86_400, "1w": 604_800}
DAY_S = 86_400
_DAYS_A_YEAR = 365
_MAX_TVL_POINTS = 24
_VALUES_AT_ONCE = 4
_VALUES_KEPT = 16_384

Interval = Literal["1h", "1d", "1w"]
_Sides = tuple[int, int]
_Prices = tuple[Price | None, Price | None]


@dataclass(frozen=True, slots=True)
class _Query:
    """The pool, span and interval of a series, and the block at which it is computed."""

    pool: KnownPool
    head: Block
    start: int
    end: int
    interval: Interval

    @property
    def step_s(self) -> int:
        return INTERVALS_S[self.interval]

    @property
    def moments(self) -> list[int]:
        """Returns the starts of the intervals in the span, as multiples of the interval."""
        return list(range(-(-self.start // self.step_s) * self.step_s, self.end, self.step_s))

    def series(
        self,
        metric: str,
        unit: str,
        values: Mapping[int, float | None],
        *,
        current: float | None,
        method: str,
        components: Mapping[str, float | None] | None = None,
        windows: Mapping[str, float | None] | None = None,
    ) -> Series:
        """Returns the series, with null at every moment without a value."""
        points = tuple((moment, values.get(moment)) for moment in self.moments)
        return Series(
            id=self.pool.id,
            metric=metric,
            unit=unit,
            interval=self.interval,
            start=self.start,
            end=self.end,
            points=points,
            source="chain",
            method=method,
            updated_at=self.head.timestamp,
            current=current,
            block=self.head,
            gaps=_gaps(points, self.step_s),
            components=components,
            windows=windows,
        )


@dataclass(frozen=True, slots=True)
class _Window:
    """The trades of a window and the blocks of its intervals. ``since`` is its actual start."""

    activity: Activity
    since: int
    whole_day: bool
    buckets: Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Day:
    """A pool's last 24 hours: US dollars, and APR as a fraction; None when unknown."""

    volume_usd: float | None
    fees_usd: float | None
    apr: float | None


class PoolSeries:
    """The series of one chain's pools. Logs are read over the last ``window_s`` seconds."""

    def __init__(
        self,
        context: Context,
        chain: Chain,
        logs: Logs,
        states: PoolStates,
        prices: UniswapPrices,
        window_s: int = DAY_S,
    ) -> None:
        self._context = context
        self._chain = chain
        self._trades = TradeHistory(chain, logs, states)
        self._states = states
        self._prices = prices
        self._times = BlockTimes(chain)
        self._window_s = window_s
        self._values: LRUCache[tuple[str, str], float | None] = LRUCache(_VALUES_KEPT)
        """Principal of a pool in US dollars at a settled block, by the pool's id and the block's hash."""

    async def of(
        self, pool: KnownPool, metric: str, start: int, end: int, interval: Interval
    ) -> Series | None:
        """Returns one metric; None when it is not one of ``METRICS``.

        Raises UpstreamError when the chain cannot be read.
        """
        if metric not in METRICS:
            return None
        head = await self._chain.head()
        query = _Query(pool, head, start, end, interval)
        if metric == "tvl":
            return await self._tvl(query)
        window = await self._window(query)
        prices = await self._prices_at(pool, head)
        if metric == "apr":
            return await self._apr(query, window, prices)
        return self._flow(query, metric, window, prices)

    async def day(self, pool: KnownPool, head: Block) -> Day:
        """Returns volume, fees and APR of the whole window for the catalog.

        Raises UpstreamError when the chain cannot be read.
        """
        window = await self._window(_Query(pool, head, head.timestamp, head.timestamp, "1d"))
        if not window.whole_day:
            return Day(None, None, None)
        prices = await self._prices_at(pool, head)
        volume, fees, lp = (
            _usd(pool, window.activity.total(part), prices) for part in ("volume", "fees", "lp")
        )
        return Day(volume, fees, self._rate(lp, await self._value(pool, head)))

    def _rate(self, lp_usd: float | None, principal_usd: float | None) -> float | None:
        """Returns the LP fees of the window over principal, scaled to a year."""
        if lp_usd is None or not principal_usd:
            return None
        return lp_usd * _DAYS_A_YEAR * DAY_S / self._window_s / principal_usd

    # --- state ----------------------------------------------------------------------------------------------

    async def _tvl(self, query: _Query) -> Series:
        """Reads the end of each interval, newest first, until a node has no state for the block."""
        pool, head = query.pool, query.head
        current = await self._value(pool, head)
        values: dict[int, float | None] = {}
        earlier = [moment for moment in query.moments if moment <= head.timestamp][-_MAX_TVL_POINTS:]
        for end in range(len(earlier), 0, -_VALUES_AT_ONCE):
            part = earlier[max(0, end - _VALUES_AT_ONCE) : end]
            found = await asyncio.gather(*(self._closing_value(query, moment, current) for moment in part))
            values |= {moment: value for moment, (_, value) in zip(part, found, strict=True)}
            if not all(known for known, _ in found):
                break
        return query.series(
            "tvl",
            "usd",
            values,
            current=current,
            method=(
                "Principal of all liquidity (v2: reserves; v3, v4: what burning it pays, without "
                "uncollected fees) read at the last block of each interval, at prices from the chain's pools "
                f"at that block. At most {_MAX_TVL_POINTS} points, as far back as the node keeps state; "
                "null: the state or a price is unknown."
            ),
        )

    async def _closing_value(
        self, query: _Query, moment: int, current: float | None
    ) -> tuple[bool, float | None]:
        """Returns whether the state at the end of an interval is known, and the principal then."""
        head, closes = query.head, moment + query.step_s
        if closes > head.timestamp:
            now = query.end > head.timestamp - 60 or closes <= query.end
            return True, current if now else None
        try:
            after = await self._times.first_since(closes, head)
            if after is None or after.number == 0:
                return False, None
            block = await self._chain.block(after.number - 1)
            key = query.pool.id, block.hash
            value: float | None = self._values.get(key)
            if value is None:
                value = await self._value(query.pool, block)
                if block.number <= head.number - SETTLED_BLOCKS:
                    self._values[key] = value
        except GatewayError:
            return False, None
        return True, value

    async def _value(self, pool: KnownPool, block: Block) -> float | None:
        held = (await principals(self._states, block, [pool.ref]))[pool.ref.id]
        return None if held is None else _worth(pool, held, await self._prices_at(pool, block))

    async def _prices_at(self, pool: KnownPool, block: Block) -> _Prices:
        addresses = [token.address for token in pool.tokens]
        found = await self._prices.prices(pool.deployment.chain_id, addresses, block)
        first, second = (found.get(address) for address in addresses)
        return first, second

    # --- flows ----------------------------------------------------------------------------------------------

    async def _window(self, query: _Query) -> _Window:
        """Returns the trades since the start of the window."""
        pool, head = query.pool, query.head
        since = head.timestamp - self._window_s
        first = await self._times.first_since(since, head)
        number = head.number if first is None else first.number
        found = await self._trades.since(pool, number, head)
        complete = found.first <= number
        if not complete:
            since = (await self._chain.block(found.first)).timestamp
        moments = [moment for moment in query.moments if since <= moment <= head.timestamp]
        edges = sorted({*moments, *(moment + query.step_s for moment in moments)})
        blocks = await asyncio.gather(*(self._times.first_since(edge, head) for edge in edges))
        begins = dict(zip(edges, blocks, strict=True))
        buckets = {}
        for moment in moments:
            opens, closes = begins[moment], begins[moment + query.step_s]
            if opens is not None:
                buckets[moment] = (opens.number, closes.number if closes else head.number + 1)
        return _Window(found, since, complete, buckets)

    def _flow(self, query: _Query, metric: str, window: _Window, prices: _Prices) -> Series:
        pool, found = query.pool, window.activity
        values = {
            moment: _usd(pool, found.total(metric, *blocks), prices)
            for moment, blocks in window.buckets.items()
        }
        return query.series(
            metric,
            "usd",
            values,
            current=_usd(pool, found.total(metric), prices) if window.whole_day else None,
            method=_flow_method(metric, window, self._window_s),
            components=_components(pool, metric, found),
        )

    async def _apr(self, query: _Query, window: _Window, prices: _Prices) -> Series:
        found = window.activity
        lp_usd = _usd(query.pool, found.total("lp"), prices) if window.whole_day else None
        principal_usd = await self._value(query.pool, query.head)
        apr = self._rate(lp_usd, principal_usd)
        return query.series(
            "apr",
            "fraction",
            {},
            current=apr,
            method=(
                f"Liquidity providers' fees of blocks {found.first} to {found.last.number} (the "
                f"last {self._window_s / 3600:g} hours) times {_DAYS_A_YEAR} days over that window, over the "
                "principal at the last block; not compounded, no rewards, no donations. Only the present "
                "value is known: nodes do not keep past state. null: logs, state or a price are unknown."
            ),
            components={"base": apr, "reward": None, "lpFeesUsd": lp_usd, "principalUsd": principal_usd},
            windows={"1d": apr if self._window_s == DAY_S else None, "7d": None, "30d": None},
        )


def _flow_method(metric: str, window: _Window, window_s: int) -> str:
    what = {
        "volume": "Inputs of swaps, fees included, from Swap events",
        "fees": (
            "Fees in the input token, computed again for each swap with the fee and protocol fee of its "
            "block (v2: the rate of the input, a sixth to the protocol while feeTo is set), with what flash "
            "loans of v3 pay and what is donated to the providers of v4, which is shown apart"
        ),
    }[metric]
    found = window.activity
    inexact = found.inexact
    rest = f" {inexact} swap(s) at the rate of their input: the state before is unknown." if inexact else ""
    early = "" if window.whole_day else " The nodes returned logs for less than the window."
    return (
        f"{what}, blocks {found.first} to {found.last.number}, at prices from the chain's pools at the last "
        f"block. Logs are read over {window_s / 3600:g} hours: intervals that begin earlier are null; "
        f"current is the whole window.{rest}{early}"
    )


def _components(pool: KnownPool, metric: str, found: Activity) -> dict[str, float | None]:
    """Returns whole coins of each token, split into LP fees, protocol fees and donations."""
    parts = ("volume",) if metric == "volume" else ("lp", "protocol", "donated")
    return {
        f"{part}{side}": found.total(part)[side] / 10 ** pool.tokens[side].decimals
        for part in parts
        for side in (0, 1)
    }


def _usd(pool: KnownPool, amounts: _Sides, prices: _Prices) -> float | None:
    """Returns the US dollars of trades or fees; None when a token with an amount has no price."""
    total = 0.0
    for token, amount, price in zip(pool.tokens, amounts, prices, strict=True):
        if not amount:
            continue
        if price is None or price.usd is None:
            return None
        total += amount / 10**token.decimals * price.usd
    return total


def _worth(pool: KnownPool, amounts: _Sides, prices: _Prices) -> float | None:
    """Returns what a pool holds in US dollars; None when a token with an amount has no price."""
    values = [
        0.0 if not amount else None if price is None else price.worth(token, amount)
        for token, amount, price in zip(pool.tokens, amounts, prices, strict=True)
    ]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _gaps(points: tuple[tuple[int, float | None], ...], step_s: int) -> tuple[tuple[int, int], ...]:
    gaps: list[tuple[int, int]] = []
    for moment, value in points:
        if value is not None:
            continue
        if gaps and gaps[-1][1] == moment:
            gaps[-1] = (gaps[-1][0], moment + step_s)
        else:
            gaps.append((moment, moment + step_s))
    return tuple(gaps)
