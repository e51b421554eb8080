"""The state of a v3 or hookless v4 pool at one block, with the initialised ticks that are known."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter

from quoteway_amm.errors import BandExceeded
from quoteway_amm.pool import NATIVE, PIPS, Kind
from quoteway_amm.swap_math import combined_fee
from quoteway_amm.tick_math import MAX_SQRT_RATIO, MAX_TICK, MIN_SQRT_RATIO, MIN_TICK

_index = itemgetter(0)


def word_of_tick(tick: int, tick_spacing: int) -> int:
    """Returns the index of the bitmap word that holds `tick`. Source: TickBitmap.compress and position."""
    return tick // tick_spacing >> 8


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ConcentratedState:
    """Price, liquidity, fees and known ticks of a pool.

    `id` is the pool's address (v3) or its 32-byte id (v4). `fee_pips` is the v3 fee or the `lpFee` of v4's
    slot0. `ticks` holds every initialised tick of the bitmap words `word_lo` to `word_hi`, both inclusive,
    ascending, as (index, liquidityNet). The protocol fees are as slot0 gives them. v4: pips per direction,
    charged on top of the LP fee. v3 and all other kinds: 0, or a denominator from 4 to 10; a share of the LP
    fee that changes no amount. `hooks` (v4) is the contract that the pool's key names, the zero address
    without one: amounts are exact when it changes none. `key_fee_pips` is the fee of a v4 pool's key, where
    that is not `fee_pips`: a flag where the hooks set the fee.
    """

    kind: Kind
    id: str
    token0: str
    token1: str
    fee_pips: int
    tick_spacing: int
    sqrt_price_x96: int
    tick: int
    liquidity: int
    ticks: tuple[tuple[int, int], ...]
    word_lo: int
    word_hi: int
    protocol_fee_zero_for_one: int = 0
    protocol_fee_one_for_zero: int = 0
    hooks: str = NATIVE
    key_fee_pips: int | None = None

    def __post_init__(self) -> None:
        if not MIN_SQRT_RATIO <= self.sqrt_price_x96 < MAX_SQRT_RATIO:
            raise ValueError(
                f"pool {self.id}: sqrt_price_x96 {self.sqrt_price_x96} is outside "
                f"[{MIN_SQRT_RATIO}, {MAX_SQRT_RATIO}): the pool is not initialised"
            )
        if self.tick_spacing <= 0 or not 0 <= self.fee_pips <= PIPS:
            raise ValueError(
                f"pool {self.id}: tick_spacing {self.tick_spacing} must be positive, and fee_pips "
                f"{self.fee_pips} from 0 to {PIPS}"
            )
        previous = MIN_TICK - 1
        for tick, _ in self.ticks:
            if tick <= previous or tick % self.tick_spacing or tick > MAX_TICK:
                raise ValueError(
                    f"pool {self.id}: ticks must be ascending multiples of {self.tick_spacing} from "
                    f"{MIN_TICK} to {MAX_TICK}, got {tick} after {previous}"
                )
            if not self.word_lo <= word_of_tick(tick, self.tick_spacing) <= self.word_hi:
                raise ValueError(
                    f"pool {self.id}: tick {tick} is outside words [{self.word_lo}, {self.word_hi}]"
                )
            previous = tick

    @property
    def has_liquidity(self) -> bool:
        """Whether a swap may find liquidity: in range, at a known tick, or beyond the known words."""
        spacing = self.tick_spacing
        all_known = self.word_lo <= word_of_tick(MIN_TICK, spacing) and self.word_hi >= word_of_tick(
            MAX_TICK, spacing
        )
        return self.liquidity > 0 or bool(self.ticks) or not all_known

    @property
    def stops_at_words(self) -> bool:
        """Whether a swap stops at the ends of bitmap words too, and rounds there. Else at ticks alone."""
        return True

    @property
    def is_v4(self) -> bool:
        """Whether amounts are those of v4-core. Those of every other family are those of v3-core."""
        return self.kind == "v4"

    def swap_fee_pips(self, zero_for_one: bool) -> int:
        """Returns the fee withheld from the input: the pool's fee, in v4 LP and protocol fee together."""
        if self.is_v4:
            return combined_fee(self.protocol_fee(zero_for_one), self.fee_pips)
        return self.fee_pips

    def protocol_fee(self, zero_for_one: bool) -> int:
        """Returns the protocol fee of a direction as slot0 gives it."""
        return self.protocol_fee_zero_for_one if zero_for_one else self.protocol_fee_one_for_zero

    def mid_price(self, zero_for_one: bool) -> tuple[int, int]:
        """Returns (numerator, denominator): base units out per base unit in, before fees."""
        square = self.sqrt_price_x96 * self.sqrt_price_x96
        return (square, 1 << 192) if zero_for_one else (1 << 192, square)

    def word_edge(self, tick: int, zero_for_one: bool) -> int:
        """Returns the last tick of the bitmap word that a swap at `tick` reads next.

        Raises BandExceeded when that word is not known.
        """
        spacing = self.tick_spacing
        first = tick // spacing if zero_for_one else tick // spacing + 1
        word = first >> 8
        if not self.word_lo <= word <= self.word_hi:
            unknown = tick if zero_for_one else first * spacing
            raise BandExceeded(self, zero_for_one, unknown, 0, 0, self.sqrt_price_x96)
        if zero_for_one:
            return max((word << 8) * spacing, MIN_TICK)
        return min(((word << 8) + 255) * spacing, MAX_TICK)


def next_tick_within_one_word(
    pool: ConcentratedState, tick: int, zero_for_one: bool
) -> tuple[int, int | None]:
    """Returns the next stop of a swap at `tick`: (tick, its liquidityNet, None when not initialised).

    The loop stops at the end of a word too, and each stop rounds once more: skipping it gives a quote that is
    too high. Source: TickBitmap.nextInitializedTickWithinOneWord, clamped as in Pool.swap. Raises
    BandExceeded.
    """
    edge = pool.word_edge(tick, zero_for_one)
    at = bisect_right(pool.ticks, tick, key=_index)
    if zero_for_one:
        return pool.ticks[at - 1] if at > 0 and pool.ticks[at - 1][0] >= edge else (edge, None)
    return pool.ticks[at] if at < len(pool.ticks) and pool.ticks[at][0] <= edge else (edge, None)
