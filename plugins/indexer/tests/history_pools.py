"""Replays raw logs of v2, v3 and v4 pools in plain integers, for comparison with the index.

It imports nothing of the project. Swaps are simulated forward as the contracts do, exact input and exact
output, until one gives what the event says. Sources: UniswapV2Pair, UniswapV3Pool, v4-core Pool, their
SwapMath, SqrtPriceMath, TickMath, TickBitmap, Position and Tick.
"""

from __future__ import annotations

from decimal import Decimal, getcontext
from functools import cache
from itertools import pairwise

getcontext().prec = 130
Q96, Q128, WORD = 1 << 96, 1 << 128, (1 << 256) - 1
MIN_TICK, MAX_TICK = -887272, 887272
HOUR = 3600

_FACTORS = [int(Q128 / Decimal("1.0001") ** (Decimal(2**bit) / 2) + Decimal("0.5")) for bit in range(20)]


@cache
def ratio(tick: int) -> int:
    """TickMath.getSqrtRatioAtTick."""
    value = Q128
    for bit, factor in enumerate(_FACTORS):
        if abs(tick) >> bit & 1:
            value = value * factor >> 128
    if tick > 0:
        value = WORD // value
    return (value >> 32) + bool(value & 0xFFFFFFFF)


def tick_of(price: int) -> int:
    """The greatest tick whose ratio is at most a price."""
    low, high = MIN_TICK, MAX_TICK
    while low < high:
        middle = (low + high + 1) // 2
        if ratio(middle) <= price:
            low = middle
        else:
            high = middle - 1
    return low


def up(numerator: int, denominator: int) -> int:
    return (numerator + denominator - 1) // denominator


def amount0(a: int, b: int, liquidity: int, round_up: bool) -> int:
    a, b = min(a, b), max(a, b)
    if round_up:
        return up(up((liquidity << 96) * (b - a), b), a)
    return (liquidity << 96) * (b - a) // b // a


def amount1(a: int, b: int, liquidity: int, round_up: bool) -> int:
    product = liquidity * abs(b - a)
    return up(product, Q96) if round_up else product >> 96


def price_after(price: int, liquidity: int, amount: int, zero_for_one: bool, is_input: bool) -> int:
    """SqrtPriceMath.getNextSqrtPriceFromInput and ...FromOutput."""
    if zero_for_one == is_input:  # token0 moves
        if amount == 0:
            return price
        shifted = liquidity << 96
        moved = amount * price
        if is_input:
            if shifted + moved <= WORD and moved <= WORD:
                return up(shifted * price, shifted + moved)
            return up(shifted, shifted // price + amount)
        if moved > WORD or moved >= shifted:
            raise ValueError
        return up(shifted * price, shifted - moved)
    if is_input:
        return price + (amount << 96) // liquidity
    taken = up(amount << 96, liquidity)
    if taken >= price:
        raise ValueError
    return price - taken


def swap_step(
    v4: bool, price: int, target: int, liquidity: int, remaining: int, fee: int, exact_in: bool
) -> tuple[int, int, int, int]:
    """SwapMath.computeSwapStep: (price, amount in, amount out, fee)."""
    down = price >= target
    into, out_of = (amount0, amount1) if down else (amount1, amount0)
    if exact_in:
        less = remaining * (10**6 - fee) // 10**6
        amount_in = into(price, target, liquidity, True)
        after = target if less >= amount_in else price_after(price, liquidity, less, down, True)
        if v4:
            if after == target and less >= amount_in:
                taken = amount_in if fee == 10**6 else up(amount_in * fee, 10**6 - fee)
            else:
                amount_in, taken = less, remaining - less
        else:
            if after != target:
                amount_in = into(price, after, liquidity, True)
                taken = remaining - amount_in
            else:
                taken = up(amount_in * fee, 10**6 - fee)
        return after, amount_in, out_of(price, after, liquidity, False), taken
    amount_out = out_of(price, target, liquidity, False)
    after = target if remaining >= amount_out else price_after(price, liquidity, remaining, down, False)
    amount_out = min(out_of(price, after, liquidity, False), remaining)
    amount_in = into(price, after, liquidity, True)
    return after, amount_in, amount_out, up(amount_in * fee, 10**6 - fee)


class Bucket(dict):
    """The sums of one pool and hour, by the names of the columns of ``pool_hour``."""

    def __init__(self) -> None:
        super().__init__()
        self.swaps: list[tuple[str, str, str | None, tuple[int, int, int, int]]] = []

    def add(self, name: str, side: int, amount: int) -> None:
        key = f"{name}{side}"
        self[key] = self.get(key, 0) + amount


class Pool:
    """What the oracle knows of a pool. ``since`` is the second up to which integrals are complete."""

    def __init__(self, key: str, tokens: tuple[str, str]) -> None:
        self.key, self.tokens = key, tokens
        self.price: int | None = None
        self.tick = 0
        self.since = 0
        self.bucket = Bucket()

    def pass_time(self, now: int) -> None:
        if self.price is not None:
            seconds = now - self.since
            for side, amount in enumerate(self.principal()):
                self.bucket.add("principal_seconds", side, amount * seconds)
            self.bucket.add("tick_seconds", 0, self.tick_now() * seconds)
            self.bucket.add("seconds", 0, seconds)
        self.since = now

    def tick_now(self) -> int:
        return self.tick

    def seen(self) -> None:
        prices = self.bucket.setdefault("prices", [])
        prices.append(self.price)


class Pair(Pool):
    """UniswapV2Pair."""

    def __init__(self, key: str, tokens: tuple[str, str]) -> None:
        super().__init__(key, tokens)
        self.reserves = (0, 0)
        self.moved: tuple[int, int] | None = None

    def principal(self) -> tuple[int, int]:
        return self.reserves

    def uncollected(self) -> tuple[int, int]:
        return 0, 0

    def tick_now(self) -> int:
        assert self.price is not None
        return tick_of(self.price)

    def explained(self, amounts: tuple[int, int]) -> None:
        assert self.moved is not None
        for side in (0, 1):
            self.bucket.add("donated", side, self.moved[side] - amounts[side])
        self.moved = None

    def unexplained(self) -> None:
        if self.moved is not None:
            self.explained((0, 0))


class Ranges(Pool):
    """A pool of v3 or v4."""

    def __init__(self, key: str, tokens: tuple[str, str], fee: int, spacing: int, v4: bool) -> None:
        super().__init__(key, tokens)
        self.fee, self.spacing, self.v4 = fee, spacing, v4
        self.liquidity = 0
        self.ticks: dict[int, list[int]] = {}  # gross, net, outside0, outside1
        self.positions: dict[tuple, list[int]] = {}  # liquidity, inside0, inside1, owed0, owed1
        self.growth = [0, 0]
        self.protocol = (0, 0)
        self.held = [0, 0]
        self.owed_to_protocol = [0, 0]

    def principal(self) -> tuple[int, int]:
        total0 = total1 = liquidity = 0
        ticks = sorted(self.ticks)
        assert self.price is not None
        for lower, upper in pairwise(ticks):
            liquidity += self.ticks[lower][1]
            low, high = ratio(lower), ratio(upper)
            here = min(max(self.price, low), high)
            total0 += amount0(here, high, liquidity, False)
            total1 += amount1(low, here, liquidity, False)
        return total0, total1

    def uncollected(self) -> tuple[int, int]:
        principal = self.principal() if self.price is not None else (0, 0)
        return tuple(self.held[side] - self.owed_to_protocol[side] - principal[side] for side in (0, 1))

    def swap(self, moved: tuple[int, int], price: int, liquidity: int, tick: int, fee: int | None) -> int:
        """Applies a swap that moved these amounts into the pool. Returns the side of the input."""
        assert self.price is not None
        down = moved[0] > 0 or (moved[1] <= 0 and price < self.price)
        side = 0 if down else 1
        tries = [(moved[side], True, None), (-moved[1 - side], False, None), (moved[side], True, price)]
        tries += [(-moved[1 - side], False, price), (1 << 120, True, price), (1 << 120, False, price)]
        rate = self.fee if fee is None else fee
        for amount, exact_in, limit in tries:
            try:
                found = self._simulate(down, amount, exact_in, limit, rate)
            except (ValueError, ZeroDivisionError):
                continue
            if found[:3] == (moved, price, liquidity):
                break
        else:
            raise AssertionError(f"no swap of {self.key} moves {moved} to {price}")
        assert ratio(tick) <= price <= ratio(tick + 1)
        _, _, _, fees, to_protocol, growth, crossed = found
        for at, inside in crossed:
            entry = self.ticks[at]
            for which in (0, 1):
                now = inside if which == side else self.growth[which]
                entry[2 + which] = (now - entry[2 + which]) & WORD
        self.growth[side] = growth
        self.price, self.liquidity, self.tick = price, liquidity, tick
        self.bucket.add("volume", side, moved[side])
        self.bucket.add("lp_fee", side, fees - to_protocol)
        self.bucket.add("protocol_fee", side, to_protocol)
        for which in (0, 1):
            self.held[which] += moved[which]
        if self.v4:
            self.held[side] -= to_protocol
        else:
            self.owed_to_protocol[side] += to_protocol
        return side

    def _simulate(self, down: bool, amount: int, exact_in: bool, limit: int | None, rate: int):
        side, price, tick, liquidity = (0 if down else 1), self.price, self.tick, self.liquidity
        growth, fees, to_protocol = self.growth[side], 0, 0
        crossed, moved_in, moved_out, remaining = [], 0, 0, amount
        assert price is not None
        if limit is None:
            limit = ratio(MIN_TICK) + 1 if down else ratio(MAX_TICK) - 1
        while remaining and price != limit:
            following, is_tick = self._next(tick, down)
            target_tick = ratio(following)
            target = max(target_tick, limit) if down else min(target_tick, limit)
            start = price
            price, amount_in, amount_out, fee = swap_step(
                self.v4, price, target, liquidity, remaining, rate, exact_in
            )
            remaining -= amount_in + fee if exact_in else amount_out
            moved_in, moved_out, fees = moved_in + amount_in + fee, moved_out + amount_out, fees + fee
            setting = self.protocol[side]
            if setting and self.v4:
                part = fee if rate == setting else (amount_in + fee) * setting // 10**6
            else:
                part = fee // setting if setting else 0
            to_protocol += part
            if liquidity:
                growth = (growth + ((fee - part) << 128) // liquidity) & WORD
            if price == target_tick:
                if is_tick:
                    crossed.append((following, growth))
                    net = self.ticks[following][1]
                    liquidity += -net if down else net
                tick = following - 1 if down else following
            elif price != start:
                tick = tick_of(price)
        moved = (moved_in, -moved_out) if down else (-moved_out, moved_in)
        return moved, price, liquidity, fees, to_protocol, growth, crossed

    def _next(self, tick: int, down: bool) -> tuple[int, bool]:
        """TickBitmap.nextInitializedTickWithinOneWord."""
        compressed = tick // self.spacing
        if down:
            first = compressed >> 8 << 8
            found = [t for t in self.ticks if first * self.spacing <= t <= tick]
            return (max(found), True) if found else (max(first * self.spacing, MIN_TICK), False)
        last = ((compressed + 1) >> 8 << 8) + 255
        found = [t for t in self.ticks if tick < t <= last * self.spacing]
        return (min(found), True) if found else (min(last * self.spacing, MAX_TICK), False)

    def modify(self, position: tuple, lower: int, upper: int, delta: int) -> None:
        """Changes a position, and counts what it is owed."""
        for tick, sign in ((lower, 1), (upper, -1)):
            if delta and tick not in self.ticks:
                below = tick <= self.tick
                self.ticks[tick] = [0, 0, self.growth[0] if below else 0, self.growth[1] if below else 0]
            if delta:
                self.ticks[tick][0] += delta
                self.ticks[tick][1] += sign * delta
        known = self.positions.setdefault((*position, lower, upper), [0, 0, 0, 0, 0])
        for which in (0, 1):
            inside = self._inside(lower, upper, which)
            known[3 + which] += ((inside - known[1 + which]) & WORD) * known[0] >> 128
            known[1 + which] = inside
        known[0] += delta
        for tick in (lower, upper):
            if delta and self.ticks[tick][0] == 0:
                del self.ticks[tick]
        if lower <= self.tick < upper:
            self.liquidity += delta

    def _inside(self, lower: int, upper: int, which: int) -> int:
        def outside(tick: int) -> int:
            return self.ticks.get(tick, [0, 0, 0, 0])[2 + which]

        below = outside(lower) if self.tick >= lower else (self.growth[which] - outside(lower)) & WORD
        above = outside(upper) if self.tick < upper else (self.growth[which] - outside(upper)) & WORD
        return (self.growth[which] - below - above) & WORD

    def principal_of(self, lower: int, upper: int, delta: int) -> tuple[int, int]:
        assert self.price is not None
        low, high = ratio(lower), ratio(upper)
        sign, size, round_up = (1, delta, True) if delta > 0 else (-1, -delta, False)
        if self.tick < lower:
            return sign * amount0(low, high, size, round_up), 0
        if self.tick >= upper:
            return 0, sign * amount1(low, high, size, round_up)
        return (
            sign * amount0(self.price, high, size, round_up),
            sign * amount1(low, self.price, size, round_up),
        )
