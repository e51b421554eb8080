"""Volume, fees, TVL and APR of pools, from their hours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from quoteway import Series

from quoteway_indexer.hours import DAY_S, HOUR_S, WINDOWS_S, YEAR_S, Asked, known
from quoteway_indexer.pool_book import PoolBook, PoolHours
from quoteway_indexer.pool_rows import AMOUNTS, HELD, STATES

FEES = ("lp_fee", "protocol_fee", "donated")
_SHOWN = {"lp_fee": "lp", "protocol_fee": "protocol", "flash_fee": "flash"}
_LONGEST_S = max(WINDOWS_S.values())


async def pool_series(book: PoolBook, chain_id: int, pool: bytes, asked: Asked) -> Series | None:
    """Returns a series of a pool; None when its hours are not indexed.

    Raises ``UpstreamError`` when the index cannot be read.
    """
    reach = _LONGEST_S if asked.metric == "apr" else DAY_S
    hours = await book.hours(chain_id, pool, max(0, asked.start - reach))
    if hours is None:
        return None
    last = hours.until // HOUR_S * HOUR_S
    if hours.first > max(hours.known.since, last - reach):  # the span is long ago, and ``current`` is not
        hours = await book.hours(chain_id, pool, last - reach) or hours
    return _MADE[asked.metric](hours, asked)


def _volume(hours: PoolHours, asked: Asked) -> Series:
    parts = {
        f"{name}{side}": (name, side, _over(hours, asked))
        for name in ("volume", "washed")
        for side in range(hours.sides)
    }
    method = (
        "Inputs of swaps with their fees. Components are whole coins of each token over all points: washed "
        "is what the same account traded back within the hour, and part of the volume."
    )
    return _flow(hours, asked, ("volume",), parts, method)


def _fees(hours: PoolHours, asked: Asked) -> Series:
    parts = {
        f"{_SHOWN.get(name, name)}{side}": (name, side, _over(hours, asked))
        for name in ("lp_fee", "protocol_fee", "flash_fee", "donated")
        for side in range(hours.sides)
    }
    method = (
        "Fees of swaps and of flash loans for the providers (lp) and for the protocol, and what was donated "
        "to the providers. Components are whole coins of each token over all points; flash is part of lp and "
        "protocol."
    )
    return _flow(hours, asked, FEES, parts, method)


def _flow(
    hours: PoolHours,
    asked: Asked,
    names: tuple[str, ...],
    parts: dict[str, tuple[str, int, tuple[int, int]]],
    method: str,
) -> Series:
    columns = [hours.usd.columns[AMOUNTS.index(name)] for name in names]

    def total(first: int, until: int) -> float | None:
        start, end = hours.place(first), hours.place(until)
        return known(math.fsum([math.fsum(column[start:end]) for column in columns]))

    last = hours.until // HOUR_S * HOUR_S
    amounts = {name: hours.amount(flow, side, *span) for name, (flow, side, span) in parts.items()}
    units = [10**token.decimals for token in hours.known.tokens]
    return _made(
        hours,
        asked,
        total,
        current=total(last - DAY_S, last) if last - DAY_S >= hours.known.created else None,
        method=(
            f"{method} In US dollars at the mean price of each hour; null where a token that moved had none. "
            "current: the last 24 whole hours."
        ),
        components={
            name: None if amount is None else amount / units[parts[name][1]]
            for name, amount in amounts.items()
        },
        amounts=amounts,
    )


def _tvl(hours: PoolHours, asked: Asked) -> Series:
    columns = [hours.usd.columns[AMOUNTS.index(name)] for name in STATES]

    def standing(_first: int, until: int) -> float | None:
        place = hours.place(until) - 1
        return known(sum([column[place] for column in columns]))

    end = min(max((moment + asked.step_s for moment in asked.moments), default=asked.end), hours.until)
    place = hours.place(end + HOUR_S - 1) - 1
    amounts: dict[str, int | None] = {}
    components: dict[str, float | None] = {}
    for at, values in enumerate(hours.states):
        state, side = divmod(at, hours.sides)
        name = f"{STATES[state]}{side}"
        amount = values[place] if end > hours.known.created and place >= 0 else None
        amounts[name] = amount
        components[name] = None if amount is None else amount / 10 ** hours.known.tokens[side].decimals
    return _made(
        hours,
        asked,
        standing,
        current=standing(0, hours.until + HOUR_S),
        method=(
            "What all liquidity would pay if it was withdrawn (principal) with the fees that providers have "
            "not collected, at the end of each interval and at the closing price of its last hour; null "
            "where a token had no price. Components are whole coins of each token at the end."
        ),
        components=components,
        amounts=amounts,
    )


def _apr(hours: PoolHours, asked: Asked) -> Series:
    last = hours.until // HOUR_S * HOUR_S
    window = "7d" if asked.interval == "1w" else "1d"
    windows = {name: _rate(hours, last - span_s, last) for name, span_s in WINDOWS_S.items()}

    def trailing(_first: int, until: int) -> float | None:
        end = min(until, last)
        return _rate(hours, end - WINDOWS_S[window], end)

    lp_usd, held = (known(_sum(hours, name, last - DAY_S, last)) for name in ("lp_fee", HELD))
    return _made(
        hours,
        asked,
        trailing,
        current=windows["1d"],
        unit="fraction",
        method=(
            "Fees of the providers over the principal, weighted by the time that it stood, in US dollars of "
            f"each hour, times a year of {YEAR_S} seconds over the window; not compounded, without donations "
            f"and rewards. Points are of the {window} before their end, windows and current (1d) end with "
            "the last whole hour; null unless the whole window is known."
        ),
        components={
            "base": windows["1d"],
            "reward": None,
            "lpFeesUsd": lp_usd,
            "principalUsd": None if held is None else held / DAY_S,
        },
        windows=windows,
    )


def _rate(hours: PoolHours, first: int, until: int) -> float | None:
    if first < hours.known.created or first < hours.first:
        return None
    fees, held = (known(_sum(hours, name, first, until)) for name in ("lp_fee", HELD))
    return None if fees is None or not held else fees * YEAR_S / held


def _made(
    hours: PoolHours,
    asked: Asked,
    value: Callable[[int, int], float | None],
    *,
    current: float | None,
    method: str,
    components: Mapping[str, float | None],
    amounts: Mapping[str, int | None] | None = None,
    windows: Mapping[str, float | None] | None = None,
    unit: str = "usd",
) -> Series:
    """Returns a series with the ``value`` of each interval that the index knows, by its span."""
    created, until = hours.known.created, hours.until
    points = _points(hours, asked, value)
    covered_to = -(-until // HOUR_S) * HOUR_S
    inexact = hours.inexact[hours.place(min(asked.end, covered_to))] - hours.inexact[hours.place(asked.start)]
    if inexact:
        method += f" {inexact} event(s) of the span could not be computed exactly."
    return asked.series(
        unit,
        points,
        current=current,
        method=method,
        coverage=(created, until),
        components=components,
        windows=windows,
        amounts=amounts,
    )


def _points(
    hours: PoolHours, asked: Asked, value: Callable[[int, int], float | None]
) -> tuple[tuple[int, float | None], ...]:
    """Returns the points of a series. Those of intervals that have ended are made once."""
    created, until, step_s, moments = hours.known.created, hours.until, asked.step_s, asked.moments
    covered_to = -(-until // HOUR_S) * HOUR_S

    def point(moment: int) -> tuple[int, float | None]:
        if moment + step_s <= created or moment >= until:
            return moment, None
        return moment, value(moment, min(moment + step_s, covered_to))

    ended = range(moments.start, min(moments.stop, until // HOUR_S * HOUR_S - step_s + 1), step_s)
    made = hours.points.setdefault((asked.metric, step_s), [])
    if made and not made[0][0] <= moments.start <= made[-1][0] + step_s:
        made.clear()
    made += map(point, ended[len(made) - (moments.start - made[0][0]) // step_s if made else 0 :])
    place = (moments.start - made[0][0]) // step_s if made else 0
    found = made[place : place + len(ended)]
    return (*found, *map(point, moments[len(found) :]))


def _over(hours: PoolHours, asked: Asked) -> tuple[int, int]:
    """Returns the span of all points that the index knows."""
    moments = asked.moments
    return (moments[0], moments[-1] + asked.step_s) if moments else (asked.start, asked.start)


def _sum(hours: PoolHours, name: str, first: int, until: int) -> float:
    column = hours.usd.columns[AMOUNTS.index(name)]
    return math.fsum(column[hours.place(first) : hours.place(until)])


_MADE = {"tvl": _tvl, "volume": _volume, "fees": _fees, "apr": _apr}
METRICS = tuple(_MADE)
