"""The concave curve of a pool in one direction, as pieces of constant liquidity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Segment(NamedTuple):
    """A piece `x * y = liquidity^2` between two square-root prices (token1 per token0, Q64.96)."""

    sqrt_price_lo_x96: int
    sqrt_price_hi_x96: int
    liquidity: int


@dataclass(frozen=True, slots=True)
class Curve:
    """What a pool gives at most for an input, before the contract's rounding, which favours the pool.

    `segments` are in the order of the trade: prices fall for `zero_for_one`, else they rise. Between two
    segments there may be a gap without liquidity. Of the input, `fee_numerator / fee_denominator` is traded
    and the rest is the fee. `complete` is False when liquidity may exist beyond `end_sqrt_price_x96`, the
    last price at which the pool's ticks are known. `excess` are base units of the output that an input may
    give beyond the segments, where the contract's rounding favours the trader; a pool with such rounding has
    it in both directions.
    """

    zero_for_one: bool
    segments: tuple[Segment, ...]
    fee_numerator: int
    fee_denominator: int
    end_sqrt_price_x96: int
    complete: bool = True
    excess: int = 0
