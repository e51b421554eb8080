"""Replays a v3 or v4 pool: every step of a swap is computed again, as each rounds and splits its fee.

Sources: v3-core UniswapV3Pool, v4-core Pool, their SwapMath and TickBitmap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from quoteway_amm import MAX_TICK, MIN_TICK, PIPS
from quoteway_amm.sqrt_price_math import amount0_delta, amount0_delta_up, amount1_delta, amount1_delta_up

from quoteway_indexer.replay.ladder import Ladder
from quoteway_indexer.replay.positions import Positions
from quoteway_indexer.replay.tick_prices import ratio_at
from quoteway_indexer.replay.two_token_pool import TwoTokenPool

_WORDS: Final = 2 * MAX_TICK // 256 + 3
"""The most words of the tick bitmap that a swap passes."""
_SWAP_DELTA_HOOKS: Final = 0b1100
"""v4-core Hooks: BEFORE_SWAP_RETURNS_DELTA_FLAG and AFTER_SWAP_RETURNS_DELTA_FLAG."""


class RangePool(TwoTokenPool):
    """A pool of v3; one of v4 has ``positions``.

    ``held0`` and ``held1`` are what came less what went by its events. In v3 that has what is ``owed0`` and
    ``owed1`` to the protocol; in v4 the PoolManager has protocol fees, the pool never. The remainder beside
    the principal is owed to the providers, with what rounding left.
    """

    __slots__ = (
        "_end",
        "_fee_pips",
        "_first",
        "_highest",
        "_hooked",
        "_ladder",
        "_lowest",
        "_parts",
        "_settings",
        "_spacing",
        "_told",
        "held0",
        "held1",
        "liquidity",
        "owed0",
        "owed1",
        "positions",
        "tick",
    )

    def __init__(self, key: bytes, fee_pips: int, spacing: int, hooks: bytes | None, is_v4: bool) -> None:
        super().__init__(key)
        self._fee_pips = fee_pips
        self._spacing = spacing
        self._hooked = bool(hooks and hooks[-1] & _SWAP_DELTA_HOOKS)
        self._ladder = Ladder(0)
        self._settings = 0, 0
        self._parts = 0
        self._told = False
        self.positions = Positions() if is_v4 else None
        self.tick = self.liquidity = 0
        self.held0 = self.held1 = self.owed0 = self.owed1 = 0
        # A swap within these two prices makes one step while the tick is from _first to below _end.
        self._first = self._end = self._lowest = self._highest = 0

    def initialise(self, timestamp: int, price: int, tick: int) -> None:
        """Applies Initialize."""
        self.at = timestamp
        self.price, self.tick = price, tick
        self._ladder.move_to(tick)
        self.hour.quote(price)

    def swap(
        self,
        timestamp: int,
        transaction: bytes,
        sender: bytes,
        recipient: bytes | None,
        amount0: int,
        amount1: int,
        price: int,
        liquidity: int,
        tick: int,
        fee_pips: int | None,
        told0: int | None,
        told1: int | None,
    ) -> None:
        """Applies Swap. Amounts are what the pool gains; ``told`` are protocol fees that the event has."""
        if timestamp != self.at:
            self.pass_time(timestamp)
        before = self.price
        if before is None:
            raise ValueError("a swap before the first price")
        down = amount0 > 0 or (amount1 <= 0 and price < before)
        amount_in = amount0 if down else amount1
        rate = self._fee_pips if fee_pips is None else fee_pips
        if not self._first <= self.tick < self._end:
            self._find_segment()
        try:
            if self._lowest < price <= before if down else before <= price < self._highest:
                fee, protocol = self._one_step(down, before, price, amount_in, rate)
            else:
                fee, protocol = self._walk(down, before, price, amount_in, rate)
        except (ArithmeticError, LookupError, ValueError):
            self._resume(price, tick, liquidity)
            fee = protocol = 0
            self.spoil()
        self.price, self.tick = price, tick
        if liquidity != self.liquidity or not self._ladder.fits(tick):
            self._resume(price, tick, liquidity)
            self.spoil()
        hour = self.hour
        hour.swaps += 1
        hour.quote(price)
        if self._hooked:
            hour.inexact += 1
        told = told0 if down else told1
        if told is not None:
            protocol, self._told = told, True
        self.held0 += amount0
        self.held1 += amount1
        if down:
            hour.volume0 += amount_in
            hour.lp0 += fee - protocol
            hour.protocol0 += protocol
            amounts = amount_in, 0, 0, -amount1
        else:
            hour.volume1 += amount_in
            hour.lp1 += fee - protocol
            hour.protocol1 += protocol
            amounts = 0, amount_in, -amount0, 0
        if protocol:
            self._owe(down, protocol)
        hour.trade(transaction, sender, recipient, amounts)

    def change(
        self,
        timestamp: int,
        owner: bytes,
        tick_lower: int,
        tick_upper: int,
        salt: bytes | None,
        delta: int,
        amount0: int | None,
        amount1: int | None,
    ) -> None:
        """Applies ModifyLiquidity; Mint or Burn of v3, where burnt amounts stay until they are collected."""
        if timestamp != self.at:
            self.pass_time(timestamp)
        positions, price = self.positions, self.price
        if positions is None:
            if delta:
                self._ladder.change(tick_lower, tick_upper, delta, self.tick)
            if amount0 is not None and amount1 is not None:
                self.held0 += max(amount0, 0)
                self.held1 += max(amount1, 0)
        else:
            if price is None:
                raise ValueError("liquidity before the first price")
            came, went = self._ladder.change(tick_lower, tick_upper, delta, self.tick) if delta else ([], [])
            positions.initialise(came, self.tick)
            fee0, fee1 = positions.modify((owner, tick_lower, tick_upper, salt or b""), delta, self.tick)
            positions.clear(went)
            moved0, moved1 = self._amounts_of(price, tick_lower, tick_upper, delta)
            self.held0 += moved0 - fee0
            self.held1 += moved1 - fee1
        self.liquidity = self._ladder.liquidity
        self._first = self._end = 0

    def collect(self, timestamp: int, owner: bytes | None, amount0: int, amount1: int) -> None:
        """Applies Collect, and CollectProtocol, which has no owner."""
        if timestamp != self.at:
            self.pass_time(timestamp)
        self.held0 -= amount0
        self.held1 -= amount1
        if owner is None:
            self.owed0 -= amount0
            self.owed1 -= amount1

    def flash(self, timestamp: int, paid0: int, paid1: int) -> None:
        """Applies Flash of v3: the protocol's part is of all that is paid."""
        if timestamp != self.at:
            self.pass_time(timestamp)
        hour = self.hour
        if self._told and not self._parts:
            hour.inexact += 1  # the setting that such a pool begins with has no event
        protocol0, protocol1 = self._part(paid0, self._settings[0]), self._part(paid1, self._settings[1])
        self.held0 += paid0
        self.held1 += paid1
        self.owed0 += protocol0
        self.owed1 += protocol1
        hour.flash0 += paid0
        hour.flash1 += paid1
        hour.protocol0 += protocol0
        hour.protocol1 += protocol1
        hour.lp0 += paid0 - protocol0
        hour.lp1 += paid1 - protocol1

    def donate(self, timestamp: int, amount0: int, amount1: int) -> None:
        """Applies Donate of v4."""
        if timestamp != self.at:
            self.pass_time(timestamp)
        self.held0 += amount0
        self.held1 += amount1
        self.hour.donated0 += amount0
        self.hour.donated1 += amount1
        if self.positions is not None:
            self.positions.grow(amount0, amount1, self.liquidity)

    def set_protocol_fee(self, setting0: int, setting1: int, packed: int | None, parts: int | None) -> None:
        """Applies SetFeeProtocol of v3 or ProtocolFeeUpdated of v4."""
        if packed is not None:
            self._settings = packed & 0xFFF, packed >> 12
        else:
            self._settings, self._parts = (setting0, setting1), parts or 0

    def principal(self) -> tuple[int, int]:
        """Returns what burning the liquidity of each interval between ticks pays, rounded down."""
        return (0, 0) if self.price is None else self._ladder.principal(self.price)

    def uncollected(self, principal: tuple[int, int]) -> tuple[int, int]:
        """Returns what the pool has beside the principal and what is owed to the protocol."""
        return self.held0 - self.owed0 - principal[0], self.held1 - self.owed1 - principal[1]

    def current_tick(self, price: int) -> int:
        """Returns the tick, as the contract has it."""
        return self.tick

    def liquidity_in_range(self) -> int | None:
        """Returns the liquidity at the price."""
        return self.liquidity

    def _one_step(self, down: bool, before: int, price: int, amount_in: int, rate: int) -> tuple[int, int]:
        """Returns fee and protocol fee of a swap that passes neither a tick nor a word of the bitmap."""
        if self.positions is not None:
            step_in = amount_in * (PIPS - rate) // PIPS
        elif down:
            step_in = amount0_delta_up(price, before, self.liquidity)
        else:
            step_in = amount1_delta_up(price, before, self.liquidity)
        fee = amount_in - step_in
        if fee < 0:
            raise ValueError("the price change takes more than the input")
        protocol = self._protocol_part(down, step_in, fee, rate)
        if self.positions is not None:
            self._grow(down, fee - protocol)
        return fee, protocol

    def _walk(self, down: bool, before: int, price: int, amount_in: int, rate: int) -> tuple[int, int]:
        """Returns fee and protocol fee of a swap step by step. Raises ``ValueError`` when it does not fit."""
        ladder, positions, now, tick = self._ladder, self.positions, before, self.tick
        input_between = amount0_delta_up if down else amount1_delta_up
        left, fees, protocols = amount_in, 0, 0
        for _ in range(_WORDS + len(ladder.ticks)):
            stop, initialised = self._stop_below(tick) if down else self._stop_above(tick)
            bound = ratio_at(stop)
            target = max(bound, price) if down else min(bound, price)
            if (target > now) if down else (target < now):
                raise ValueError("the price of the event is on the other side")
            step_in = input_between(target, now, self.liquidity)
            if step_in > left:
                raise ValueError("the price change takes more than the input")
            if target == bound and step_in < left:
                fee = min(-(-step_in * rate // (PIPS - rate)), left - step_in) if rate < PIPS else 0
            else:
                if positions is not None:
                    # v4 counts the remaining input less the fee as amount, v3 what the price change takes.
                    step_in = left * (PIPS - rate) // PIPS
                fee = left - step_in
            protocol = self._protocol_part(down, step_in, fee, rate)
            if positions is not None:
                self._grow(down, fee - protocol)
            fees, protocols, left, now = fees + fee, protocols + protocol, left - step_in - fee, target
            if now == bound:
                if initialised:
                    if positions is not None:
                        positions.cross(stop)
                    (ladder.step_down if down else ladder.step_up)()
                    self.liquidity = ladder.liquidity
                tick = stop - 1 if down else stop
            if now == price and not left:
                return fees, protocols
        raise ValueError("the input is not used up at the price of the event")

    def _stop_below(self, tick: int) -> tuple[int, bool]:
        edge = max((tick // self._spacing >> 8 << 8) * self._spacing, MIN_TICK)
        ladder = self._ladder
        if ladder.at and ladder.ticks[ladder.at - 1] >= edge:
            return ladder.ticks[ladder.at - 1], True
        return edge, False

    def _stop_above(self, tick: int) -> tuple[int, bool]:
        edge = min(((tick // self._spacing + 1) | 255) * self._spacing, MAX_TICK)
        ladder = self._ladder
        if ladder.at < len(ladder.ticks) and ladder.ticks[ladder.at] <= edge:
            return ladder.ticks[ladder.at], True
        return edge, False

    def _find_segment(self) -> None:
        tick, spacing = self.tick, self._spacing
        below, above = self._stop_below(tick)[0], self._stop_above(tick)[0]
        self._lowest, self._highest = ratio_at(below), ratio_at(above)
        # The last tick of a word looks up into the next word, and the others do not.
        last = (tick // spacing | 255) * spacing
        self._first, self._end = (
            (max(below, last), min(above, last + spacing)) if tick >= last else (below, above)
        )

    def _protocol_part(self, down: bool, step_in: int, fee: int, rate: int) -> int:
        setting = self._settings[0] if down else self._settings[1]
        if not setting:
            return 0
        if self.positions is None:
            return self._part(fee, setting)
        return fee if rate == setting else (step_in + fee) * setting // PIPS

    def _part(self, amount: int, setting: int) -> int:
        if self._parts:
            return amount * setting // self._parts
        return amount // setting if setting else 0

    def _grow(self, down: bool, fee: int) -> None:
        assert self.positions is not None
        self.positions.grow(fee if down else 0, 0 if down else fee, self.liquidity)

    def _owe(self, down: bool, protocol: int) -> None:
        if self.positions is not None:
            self.held0, self.held1 = self.held0 - protocol * down, self.held1 - protocol * (not down)
        elif down:
            self.owed0 += protocol
        else:
            self.owed1 += protocol

    def _amounts_of(self, price: int, tick_lower: int, tick_upper: int, delta: int) -> tuple[int, int]:
        """Returns what a change of a position moves into the pool, rounded in its favour."""
        if not delta:
            return 0, 0
        low, high, size = ratio_at(tick_lower), ratio_at(tick_upper), abs(delta)
        sign = 1 if delta > 0 else -1
        between0, between1 = (
            (amount0_delta_up, amount1_delta_up) if delta > 0 else (amount0_delta, amount1_delta)
        )
        if self.tick < tick_lower:
            return sign * between0(low, high, size), 0
        if self.tick >= tick_upper:
            return 0, sign * between1(low, high, size)
        return sign * between0(price, high, size), sign * between1(low, price, size)

    def _resume(self, price: int, tick: int, liquidity: int) -> None:
        """Goes on from what an event says, whatever was before it."""
        self.price, self.tick, self.liquidity = price, tick, liquidity
        self._ladder.move_to(tick)
        self._first = self._end = 0

    def state(self) -> dict[str, Any]:
        """See ``ReplayedPool``."""
        ladder = self._ladder
        return {
            "price": self.price,
            "tick": self.tick,
            "liquidity": self.liquidity,
            "ticks": ladder.ticks,
            "liquidities": ladder.liquidities,
            "gross": ladder.gross,
            "settings": self._settings,
            "parts": self._parts,
            "told": self._told,
            "held": [self.held0, self.held1],
            "owed": [self.owed0, self.owed1],
            "doubtful": self.doubtful,
            "positions": None if self.positions is None else self.positions.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """See ``ReplayedPool``."""
        self.price, self.tick, self.liquidity = state["price"], state["tick"], state["liquidity"]
        self._ladder = Ladder(self.tick, state["ticks"], state["liquidities"], state["gross"])
        setting0, setting1 = state["settings"]
        self._settings, self._parts, self._told = (setting0, setting1), state["parts"], state["told"]
        (self.held0, self.held1), (self.owed0, self.owed1) = state["held"], state["owed"]
        self.doubtful = state["doubtful"]
        self.positions = None if state["positions"] is None else Positions.restored(state["positions"])
        self._first = self._end = 0
