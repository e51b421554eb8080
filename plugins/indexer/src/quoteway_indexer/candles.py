"""The price history of a token, from its hours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from quoteway import Address, Candle, PriceHistory
from quoteway.evm.address import address_bytes

from quoteway_indexer.hours import HOUR_S, INTERVALS_S, Interval
from quoteway_indexer.progress import read_progress
from quoteway_indexer.store import Condition, Reader, Row, Select

_COLUMNS = ("hour", "open_usd", "high_usd", "low_usd", "close_usd", "mean_usd", "depth_usd", "confidence")
METHOD = (
    "Each hour: the median over the pools with dollar tokens and other base tokens, weighted by what moves "
    "their price by two per cent, of their mean price by time (geometric, as Uniswap's oracle). Pools count "
    "a day after their creation; below a depth floor there is no price. Dollar tokens are compared with each "
    "other. Longer intervals: the mean, the extremes, the first and the last of their hours."
)


async def price_history(
    reader: Reader, chain_id: int, token: Address, start: int, end: int, interval: str, now: int
) -> PriceHistory | None:
    """Returns the candles of a token; None in a deployment that computes no prices.

    A new index, whose first prices are not computed yet, has none and no coverage, as of ``now``.

    Raises ``UpstreamError`` when the index cannot be read.
    """
    if not reader.keeps("token_hour"):
        return None
    computed = (await read_progress(reader, chain_id)).prices
    step_s = INTERVALS_S[interval]
    first = -(-start // step_s) * step_s
    where = (
        Condition("chain_id", "=", chain_id),
        Condition("token", "=", address_bytes(token)),
        Condition("hour", ">=", first),
        Condition("hour", "<", -(-end // step_s) * step_s),
    )
    rows = await reader.fetch(Select("token_hour", _COLUMNS, where, ("hour",)))
    # Either may be kept for longer than the other one.
    begins = [
        await reader.fetch(Select(table, ("hour",), (where[0],), ("hour",), 1))
        for table in ("pool_hour", "token_hour")
    ]
    since = min((hour for rows in begins for (hour,) in rows if isinstance(hour, int)), default=None)
    until = max(
        [
            now if computed is None else computed,
            *(hour + HOUR_S for row in rows[-1:] if isinstance(hour := row[0], int)),
        ]
    )
    by_interval: dict[int, list[Row]] = {}
    for row in rows:
        if isinstance(row[0], int) and row[5] is not None:
            by_interval.setdefault(row[0] // step_s * step_s, []).append(row)
    return PriceHistory(
        chain_id=chain_id,
        token=token,
        interval=cast(Interval, interval),
        start=start,
        end=end,
        candles=tuple(_candle(moment, hours) for moment, hours in sorted(by_interval.items())),
        source="index",
        method=METHOD,
        updated_at=until,
        coverage=None if computed is None or since is None else (since, until),
    )


def _candle(moment: int, rows: Sequence[Row]) -> Candle:
    columns = list(zip(*rows, strict=True))
    opened, high, low, close, mean = (cast(tuple[float, ...], column) for column in columns[1:6])
    depths, confidences = ([value for value in column if value is not None] for column in columns[6:])
    return Candle(
        timestamp=moment,
        open=opened[0],
        high=max(high),
        low=min(low),
        close=close[-1],
        mean=math.fsum(mean) / len(rows),
        depth_usd=min(cast(list[float], depths), default=None),
        confidence=min(cast(list[float], confidences), default=None),
        hours=len(rows),
    )
