"""Keeps the curves of a pool state, which are made when they are first needed."""

from __future__ import annotations

from collections.abc import Callable

from quoteway_amm.curve import Curve


class CurveCache:
    """The curve and the mid price of each direction. A pickled one is empty: curves are made again."""

    __slots__ = ("_curves", "_prices")

    def __init__(self) -> None:
        self._curves: list[Curve | None] = [None, None]
        self._prices: list[tuple[int, int] | None] = [None, None]

    def __reduce__(self) -> tuple[type[CurveCache], tuple[()]]:
        return CurveCache, ()

    def get(self, zero_for_one: bool, make: Callable[[bool], Curve]) -> Curve:
        """Returns the curve of a direction, made by `make` the first time."""
        curve = self._curves[zero_for_one]
        if curve is None:
            curve = self._curves[zero_for_one] = make(zero_for_one)
        return curve

    def mid_price(self, zero_for_one: bool, make: Callable[[bool], tuple[int, int]]) -> tuple[int, int]:
        """Returns the mid price of a direction, made by `make` the first time."""
        price = self._prices[zero_for_one]
        if price is None:
            price = self._prices[zero_for_one] = make(zero_for_one)
        return price
