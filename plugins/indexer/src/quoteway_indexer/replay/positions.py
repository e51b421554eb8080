"""Fee growth and positions of a v4 pool: what ModifyLiquidity pays out has no event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

_WORD: Final = (1 << 256) - 1
Position: TypeAlias = tuple[bytes, int, int, bytes]
"""Owner, lower tick, upper tick and salt."""


class Positions:
    """Source: v4-core Pool.modifyLiquidity, crossTick and Position.update. Growths are Q128, modulo 2^256."""

    __slots__ = ("_outside", "_positions", "growth0", "growth1")

    def __init__(self) -> None:
        self.growth0 = self.growth1 = 0
        self._outside: dict[int, tuple[int, int]] = {}
        self._positions: dict[Position, tuple[int, int, int]] = {}

    def grow(self, amount0: int, amount1: int, liquidity: int) -> None:
        """Shares fees among the liquidity in range. They are lost where there is none, as in the contract."""
        if liquidity > 0:
            if amount0:
                self.growth0 = (self.growth0 + (amount0 << 128) // liquidity) & _WORD
            if amount1:
                self.growth1 = (self.growth1 + (amount1 << 128) // liquidity) & _WORD

    def cross(self, tick: int) -> None:
        """Turns the growth outside of a tick."""
        outside0, outside1 = self._outside[tick]
        self._outside[tick] = (self.growth0 - outside0) & _WORD, (self.growth1 - outside1) & _WORD

    def initialise(self, ticks: Iterable[int], tick: int) -> None:
        """Takes new ticks: all growth so far was below those at or under the price."""
        for each in ticks:
            self._outside[each] = (self.growth0, self.growth1) if each <= tick else (0, 0)

    def clear(self, ticks: Iterable[int]) -> None:
        """Forgets ticks without liquidity."""
        for each in ticks:
            self._outside.pop(each, None)

    def modify(self, position: Position, delta: int, tick: int) -> tuple[int, int]:
        """Changes the liquidity of a position at a tick. Returns the fees that are paid out.

        The position's ticks must be initialised still. Raises ``ValueError`` when it has less than is taken.
        """
        liquidity, last0, last1 = self._positions.get(position, (0, 0, 0))
        inside0, inside1 = self._inside(position[1], position[2], tick)
        fees0 = ((inside0 - last0) & _WORD) * liquidity >> 128
        fees1 = ((inside1 - last1) & _WORD) * liquidity >> 128
        if liquidity + delta < 0:
            raise ValueError(f"a position of {liquidity} cannot give {-delta}")
        if liquidity + delta:
            self._positions[position] = liquidity + delta, inside0, inside1
        else:
            self._positions.pop(position, None)
        return fees0, fees1

    def _inside(self, tick_lower: int, tick_upper: int, tick: int) -> tuple[int, int]:
        lower0, lower1 = self._outside[tick_lower]
        upper0, upper1 = self._outside[tick_upper]
        if tick < tick_lower:
            return (lower0 - upper0) & _WORD, (lower1 - upper1) & _WORD
        if tick >= tick_upper:
            return (upper0 - lower0) & _WORD, (upper1 - lower1) & _WORD
        return (self.growth0 - lower0 - upper0) & _WORD, (self.growth1 - lower1 - upper1) & _WORD

    def state(self) -> dict[str, Any]:
        """Returns everything in values of JSON."""
        return {
            "growth": [self.growth0, self.growth1],
            "outside": [[tick, *growths] for tick, growths in self._outside.items()],
            "positions": [
                [owner.hex(), lower, upper, salt.hex(), *values]
                for (owner, lower, upper, salt), values in self._positions.items()
            ],
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Positions:
        """Returns what ``state`` returned."""
        found = cls()
        found.growth0, found.growth1 = state["growth"]
        found._outside = {tick: (growth0, growth1) for tick, growth0, growth1 in state["outside"]}
        found._positions = {
            (bytes.fromhex(owner), lower, upper, bytes.fromhex(salt)): (liquidity, last0, last1)
            for owner, lower, upper, salt, liquidity, last0, last1 in state["positions"]
        }
        return found
