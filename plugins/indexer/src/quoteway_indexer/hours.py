"""Intervals of series, and values by hour."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from quoteway import GrowthWindow, Series

HOUR_S = 3_600
DAY_S = 86_400
YEAR_S = 365 * DAY_S
INTERVALS_S: Mapping[str, int] = {"1h": HOUR_S, "1d": DAY_S, "1w": 7 * DAY_S}
WINDOWS_S: Mapping[str, int] = {"1d": DAY_S, "7d": 7 * DAY_S, "30d": 30 * DAY_S}
NAN = float("nan")

Interval: TypeAlias = Literal["1h", "1d", "1w"]
Points: TypeAlias = tuple[tuple[int, float | None], ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a series is asked for."""

    id: str
    metric: str
    start: int
    end: int
    interval: str

    @property
    def step_s(self) -> int:
        return INTERVALS_S[self.interval]

    @property
    def moments(self) -> range:
        """Returns the starts of the intervals, as multiples of the interval."""
        return range(-(-self.start // self.step_s) * self.step_s, self.end, self.step_s)

    def series(
        self,
        unit: str,
        points: Points,
        *,
        current: float | None,
        method: str,
        coverage: tuple[int, int],
        components: Mapping[str, float | None],
        windows: Mapping[str, float | None] | None = None,
        amounts: Mapping[str, int | None] | None = None,
        endpoints: tuple[GrowthWindow, ...] | None = None,
    ) -> Series:
        """Returns the series, with its gaps."""
        return Series(
            id=self.id,
            metric=self.metric,
            unit=unit,
            interval=cast(Interval, self.interval),
            start=self.start,
            end=self.end,
            points=points,
            source="index",
            method=method,
            updated_at=coverage[1],
            current=current,
            gaps=_gaps(points, self.step_s),
            components=components,
            windows=windows,
            coverage=coverage,
            amounts=amounts,
            endpoints=endpoints,
        )


@dataclass(slots=True)
class HourColumns:
    """Numbers of each hour since ``first``; NaN where one is not known."""

    first: int
    columns: tuple[array[float], ...] = field(default_factory=tuple)

    @property
    def until(self) -> int:
        """Returns the end of the last hour."""
        return self.first + HOUR_S * len(self.columns[0])

    def at(self, column: int, hour: int) -> float:
        """Returns the number of an hour."""
        place = (hour - self.first) // HOUR_S
        values = self.columns[column]
        return values[place] if 0 <= place < len(values) else NAN

    def cut(self, hour: int) -> None:
        """Forgets this hour and later ones."""
        for values in self.columns:
            del values[max(0, (hour - self.first) // HOUR_S) :]

    def replace(self, since: int, rows: Iterable[tuple[int, Sequence[float | None]]]) -> int:
        """Puts hours, in ascending order, in the place of those from ``since`` on.

        Returns the first that is another one now, or the end of those that are the same.
        """
        place = max(0, (since - self.first) // HOUR_S)
        before = [values[place:].tobytes() for values in self.columns]
        self.cut(since)
        self.add(rows)
        after = [values[place:].tobytes() for values in self.columns]
        same = min(map(_equal_doubles, before, after))
        return self.first + HOUR_S * (min(place, len(self.columns[0])) + same)

    def add(self, rows: Iterable[tuple[int, Sequence[float | None]]]) -> None:
        """Adds hours in ascending order, after those that are known."""
        for hour, numbers in rows:
            missing = (hour - self.until) // HOUR_S
            for values, number in zip(self.columns, numbers, strict=True):
                if missing > 0:
                    values.extend([NAN] * missing)
                values.append(NAN if number is None else number)


def _equal_doubles(one: bytes, other: bytes) -> int:
    """Returns how many doubles are the same at the beginning. As bytes: NaN is not equal to itself."""
    most = min(len(one), len(other))
    if one[:most] == other[:most]:
        return most // 8
    return next(at for at in range(0, most, 8) if one[at : at + 8] != other[at : at + 8]) // 8


def known(value: float) -> float | None:
    """Returns None for a value that is not known."""
    return value if value - value == 0 else None


def _gaps(points: Points, step_s: int) -> tuple[tuple[int, int], ...]:
    gaps: list[tuple[int, int]] = []
    for moment, value in points:
        if value is not None:
            continue
        if gaps and gaps[-1][1] == moment:
            gaps[-1] = gaps[-1][0], moment + step_s
        else:
            gaps.append((moment, moment + step_s))
    return tuple(gaps)
