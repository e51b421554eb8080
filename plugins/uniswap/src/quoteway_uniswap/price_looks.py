"""What pools say of a token's price at one time: the ratio and the depth of each."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from quoteway import NATIVE, Address
from quoteway_amm import PIPS, BandExceeded, ConcentratedPool, Pool, V2Pool, swap_exact_in

_BAND = 0.02
_UP, _DOWN = math.sqrt(1 + _BAND), math.sqrt(1 / (1 + _BAND))
_AMOUNT = 1 << 126


@dataclass(frozen=True, slots=True)
class PoolPrice:
    """A token's price in one pool: whole ``other`` coins per coin, and the depth in such coins.

    ``fee`` is that of a swap, as a fraction, the larger one where it depends on the direction.
    """

    other: Address
    ratio: float
    depth: float
    fee: float = 0.0


@dataclass(frozen=True, slots=True)
class Look:
    """What the pools of a token with base tokens said at one time, by the pools' ids.

    ``whole``: a pool that is not among them had no liquidity then. Else it may have been there.
    """

    pools: Mapping[str, PoolPrice] = field(default_factory=dict)
    whole: bool = True


def looks_of(
    pools: Iterable[Pool],
    tokens: Collection[Address],
    decimals: Mapping[Address, int],
    wrapped: Address,
    *,
    whole: bool = True,
) -> dict[Address, Look]:
    """Returns the looks at ``tokens``. The native coin of a pool counts as its wrapped form."""
    found: dict[Address, dict[str, PoolPrice]] = {token: {} for token in tokens}
    for pool in pools:
        token0, token1 = (wrapped if token == NATIVE else token for token in (pool.token0, pool.token1))
        if token0 not in found and token1 not in found:
            continue
        sides = _sides(pool, token0, token1, decimals)
        for token, side in zip((token0, token1), sides, strict=False):
            if token in found:
                found[token][pool.id] = side
    return {token: Look(said, whole) for token, said in found.items()}


def _sides(
    pool: Pool, token0: Address, token1: Address, decimals: Mapping[Address, int]
) -> tuple[PoolPrice, ...]:
    """Returns the prices of both tokens; none where they cannot be told."""
    numerator, denominator = pool.mid_price(True)
    if token0 not in decimals or token1 not in decimals or not numerator or not denominator:
        return ()
    try:
        ratio = numerator / denominator * 10.0 ** (decimals[token0] - decimals[token1])
        depth0, depth1 = (
            amount / 10.0 ** decimals[token]
            for amount, token in zip(depth_of(pool), (token0, token1), strict=True)
        )
    except OverflowError:
        return ()
    if not (ratio > 0 and math.isfinite(ratio) and math.isfinite(1 / ratio)):
        return ()
    fee = max(pool.swap_fee_pips(True), pool.swap_fee_pips(False)) / PIPS
    return PoolPrice(token1, ratio, depth1, fee), PoolPrice(token0, 1 / ratio, depth0, fee)


def depth_of(pool: Pool) -> tuple[int, int]:
    """Returns (token0, token1) that move the price by two per cent in the thinner direction."""
    if isinstance(pool, V2Pool):
        # Each reserve grows by a factor of sqrt(1.02).
        share = _UP - 1
        return int(pool.reserve0 * share), int(pool.reserve1 * share)
    if not isinstance(pool, ConcentratedPool):
        return 0, 0
    try:
        down = swap_exact_in(pool, True, _AMOUNT, int(pool.sqrt_price_x96 * _DOWN))
        up = swap_exact_in(pool, False, _AMOUNT, int(pool.sqrt_price_x96 * _UP))
    except (BandExceeded, ValueError):
        return 0, 0
    return min(down.amount_in, up.amount_out), min(down.amount_out, up.amount_in)
