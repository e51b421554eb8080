"""Liquidity of v3 and v4 positions and of v2 shares: amounts, slippage bounds, earned fees.

Results are rounded as the contracts round. Square-root
prices are Q64.96, fee growth is Q128.128 and wraps at 2^256.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

from quoteway_amm.sqrt_price_math import (
    Q96,
    amount0_delta,
    amount0_delta_up,
    amount1_delta,
    amount1_delta_up,
)
from quoteway_amm.tick_math import MAX_SQRT_RATIO, MAX_TICK, MIN_SQRT_RATIO, MIN_TICK

MINIMUM_LIQUIDITY = 1000
"""Shares that the first mint of a v2 pair locks. Source: UniswapV2Pair.MINIMUM_LIQUIDITY."""

_UINT128 = 1 << 128
_UINT256 = 1 << 256
_MAX_ROUNDS = 16


# --- v3 and v4 --------------------------------------------------------------------------------------------


def liquidity_for_amount0(sqrt_a_x96: int, sqrt_b_x96: int, amount0: int) -> int:
    """Returns the liquidity of `amount0`. Source: LiquidityAmounts.getLiquidityForAmount0."""
    low, high = sorted((sqrt_a_x96, sqrt_b_x96))
    # The contract divides the product of the prices first: a single division would differ.
    return amount0 * (low * high // Q96) // (high - low)


def liquidity_for_amount1(sqrt_a_x96: int, sqrt_b_x96: int, amount1: int) -> int:
    """Returns the liquidity of `amount1`. Source: LiquidityAmounts.getLiquidityForAmount1."""
    return amount1 * Q96 // abs(sqrt_b_x96 - sqrt_a_x96)


def liquidity_for_amounts(
    sqrt_price_x96: int, sqrt_a_x96: int, sqrt_b_x96: int, amount0: int, amount1: int
) -> int:
    """Returns the greatest liquidity of two amounts. Source: LiquidityAmounts.getLiquidityForAmounts."""
    low, high = sorted((sqrt_a_x96, sqrt_b_x96))
    if sqrt_price_x96 <= low:
        return liquidity_for_amount0(low, high, amount0)
    if sqrt_price_x96 < high:
        return min(
            liquidity_for_amount0(sqrt_price_x96, high, amount0),
            liquidity_for_amount1(low, sqrt_price_x96, amount1),
        )
    return liquidity_for_amount1(low, high, amount1)


def amounts_for_liquidity(
    sqrt_price_x96: int, sqrt_a_x96: int, sqrt_b_x96: int, liquidity: int
) -> tuple[int, int]:
    """Returns (amount0, amount1) that a burn pays, rounded down. Source: v3 Pool._modifyPosition, v4
    Pool.modifyLiquidity."""
    return _amounts(sqrt_price_x96, sqrt_a_x96, sqrt_b_x96, liquidity, amount0_delta, amount1_delta)


def amounts_to_mint(sqrt_price_x96: int, sqrt_a_x96: int, sqrt_b_x96: int, liquidity: int) -> tuple[int, int]:
    """Returns (amount0, amount1) that a mint takes, rounded up. Source: as `amounts_for_liquidity`."""
    return _amounts(sqrt_price_x96, sqrt_a_x96, sqrt_b_x96, liquidity, amount0_delta_up, amount1_delta_up)


def _amounts(
    price: int,
    sqrt_a: int,
    sqrt_b: int,
    liquidity: int,
    delta0: Callable[[int, int, int], int],
    delta1: Callable[[int, int, int], int],
) -> tuple[int, int]:
    low, high = sorted((sqrt_a, sqrt_b))
    inside = min(max(price, low), high)
    amount0 = delta0(inside, high, liquidity) if inside < high else 0
    amount1 = delta1(low, inside, liquidity) if inside > low else 0
    return amount0, amount1


def amounts_used(
    sqrt_price_x96: int, sqrt_a_x96: int, sqrt_b_x96: int, amount0: int, amount1: int
) -> tuple[int, int, int]:
    """Returns (liquidity, amount0, amount1) of a mint with at most these amounts.

    Source: NonfungiblePositionManager.mint; PositionManager's MINT_POSITION_FROM_DELTAS.
    """
    liquidity = liquidity_for_amounts(sqrt_price_x96, sqrt_a_x96, sqrt_b_x96, amount0, amount1)
    return liquidity, *amounts_to_mint(sqrt_price_x96, sqrt_a_x96, sqrt_b_x96, liquidity)


def settled_amounts(
    sqrt_price_x96: int, sqrt_a_x96: int, sqrt_b_x96: int, amount: int, of_token0: bool
) -> tuple[int, int]:
    """Returns the (amount0, amount1) to offer to a mint when one amount is given: at most that amount of it.

    The offer is lowered until the mint takes all of it, so that allowances are used up. This never happens
    for large amounts of a token0 with cheap base units (DAI against USDC), because LiquidityAmounts rounds
    the product of the prices. Then the first offer is returned, and the mint leaves some units of it: see
    `amounts_used`. Raises ValueError when the position does not use this token at this price.
    """
    low, high = sorted((sqrt_a_x96, sqrt_b_x96))
    inside = min(max(sqrt_price_x96, low), high)
    if inside == (high if of_token0 else low):
        raise ValueError(f"at this price the position takes only token{int(of_token0)}")
    if of_token0:
        liquidity = liquidity_for_amount0(inside, high, amount)
    else:
        liquidity = liquidity_for_amount1(low, inside, amount)
    first = offer = amounts_to_mint(sqrt_price_x96, low, high, liquidity)
    for _ in range(_MAX_ROUNDS):
        _, taken0, taken1 = amounts_used(sqrt_price_x96, low, high, *offer)
        if (taken0, taken1) == offer:
            return offer
        offer = taken0, taken1
    return first


def prices_after_slippage(sqrt_price_x96: int, slippage_bps: int) -> tuple[int, int]:
    """Returns the square-root prices `slippage_bps` below and above. Source: v3-sdk
    Position.ratiosAfterSlippage."""
    square = sqrt_price_x96 * sqrt_price_x96
    lower = isqrt(square * (10_000 - slippage_bps) // 10_000)
    upper = isqrt(square * (10_000 + slippage_bps) // 10_000)
    return max(lower, MIN_SQRT_RATIO + 1), min(upper, MAX_SQRT_RATIO - 1)


def least_amounts_used(
    sqrt_price_x96: int, sqrt_a_x96: int, sqrt_b_x96: int, amount0: int, amount1: int, slippage_bps: int
) -> tuple[int, int]:
    """Returns the least amounts that a mint takes while the price stays within the slippage."""
    lower, upper = prices_after_slippage(sqrt_price_x96, slippage_bps)
    # The least may be at either end, or at the present price when that is at a bound of the range.
    tried = [amounts_used(price, sqrt_a_x96, sqrt_b_x96, amount0, amount1) for price in (lower, upper)]
    tried.append(amounts_used(sqrt_price_x96, sqrt_a_x96, sqrt_b_x96, amount0, amount1))
    return min(taken[1] for taken in tried), min(taken[2] for taken in tried)


def least_amounts_paid(
    sqrt_price_x96: int, sqrt_a_x96: int, sqrt_b_x96: int, liquidity: int, slippage_bps: int
) -> tuple[int, int]:
    """Returns the least amounts that a burn pays while the price stays within the slippage."""
    lower, upper = prices_after_slippage(sqrt_price_x96, slippage_bps)
    amount0, _ = amounts_for_liquidity(upper, sqrt_a_x96, sqrt_b_x96, liquidity)
    _, amount1 = amounts_for_liquidity(lower, sqrt_a_x96, sqrt_b_x96, liquidity)
    return amount0, amount1


def liquidity_paying(
    sqrt_price_x96: int, sqrt_a_x96: int, sqrt_b_x96: int, available: int, amount: int, of_token0: bool
) -> int | None:
    """Returns the least liquidity whose burn pays `amount` of a token; None when `available` pays less."""

    def pays(liquidity: int) -> int:
        return amounts_for_liquidity(sqrt_price_x96, sqrt_a_x96, sqrt_b_x96, liquidity)[not of_token0]

    return least(pays, amount, available)


def least(pays: Callable[[int], int], amount: int, available: int) -> int | None:
    """Returns the least argument up to `available` for which the rising `pays` reaches `amount`, or None."""
    if pays(available) < amount:
        return None
    low, high = 0, available
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if pays(middle) >= amount else (middle + 1, high)
    return low


def full_range(tick_spacing: int) -> tuple[int, int]:
    """Returns the lowest and the highest usable tick. Source: v4 TickMath.minUsableTick, maxUsableTick."""
    edge = MAX_TICK // tick_spacing * tick_spacing
    return -edge, edge


def nearest_usable_tick(tick: int, tick_spacing: int) -> int:
    """Returns the usable tick nearest to `tick`."""
    low, high = full_range(tick_spacing)
    return min(max((tick + tick_spacing // 2) // tick_spacing * tick_spacing, low), high)


def fee_growth_inside(
    tick: int,
    tick_lower: int,
    tick_upper: int,
    growth_global: int,
    growth_outside_lower: int,
    growth_outside_upper: int,
) -> int:
    """Returns the fees of one token per unit of liquidity earned inside a range; wraps at 2^256 by design.

    Source: v3 Tick.getFeeGrowthInside, v4 StateLibrary.getFeeGrowthInside (the same).
    """
    if not MIN_TICK <= tick_lower < tick_upper <= MAX_TICK:
        raise ValueError(
            f"tick_lower {tick_lower} must be below tick_upper {tick_upper}, both within {MAX_TICK} of 0"
        )
    below = growth_outside_lower if tick >= tick_lower else growth_global - growth_outside_lower
    above = growth_outside_upper if tick < tick_upper else growth_global - growth_outside_upper
    return (growth_global - below - above) % _UINT256


def fees_earned(growth_inside: int, growth_inside_last: int, liquidity: int) -> int:
    """Returns a position's fees since its last update, rounded down. Source: v3 and v4 Position.update."""
    return (growth_inside - growth_inside_last) % _UINT256 * liquidity >> 128


def tokens_owed(owed: int, earned: int) -> int:
    """Returns what a v3 position is owed; the sum wraps at 2^128 as in Position.update."""
    return (owed + earned) % _UINT128


# --- v2 ---------------------------------------------------------------------------------------------------


def v2_amounts_used(
    amount0: int, amount1: int, reserve0: int, reserve1: int, first_is_token0: bool = True
) -> tuple[int, int]:
    """Returns (amount0, amount1) that the router takes of these. Source: UniswapV2Router02._addLiquidity.

    The router tries the full amount of its first token first: the order may change the last unit.
    """
    if reserve0 <= 0 or reserve1 <= 0:
        raise ValueError(f"both reserves must be positive, got {reserve0} and {reserve1}")
    if not first_is_token0:
        taken1, taken0 = v2_amounts_used(amount1, amount0, reserve1, reserve0)
        return taken0, taken1
    optimal1 = amount0 * reserve1 // reserve0
    if optimal1 <= amount1:
        return amount0, optimal1
    return amount1 * reserve0 // reserve1, amount1


def v2_protocol_shares(reserve0: int, reserve1: int, total_supply: int, k_last: int) -> int:
    """Returns the shares minted to `feeTo` before a mint or burn: a sixth of the growth since the last one.

    `k_last` is 0 when the fee was off at the last mint or burn. Source: UniswapV2Pair._mintFee.
    """
    if k_last == 0:
        return 0
    root, root_last = isqrt(reserve0 * reserve1), isqrt(k_last)
    if root <= root_last:
        return 0
    return total_supply * (root - root_last) // (root * 5 + root_last)


def v2_shares_minted(amount0: int, amount1: int, reserve0: int, reserve1: int, total_supply: int) -> int:
    """Returns the shares for amounts received; `total_supply` includes the protocol's shares. Source:
    UniswapV2Pair.mint."""
    if total_supply == 0:
        return max(isqrt(amount0 * amount1) - MINIMUM_LIQUIDITY, 0)
    return min(amount0 * total_supply // reserve0, amount1 * total_supply // reserve1)


def v2_amounts_burned(shares: int, balance0: int, balance1: int, total_supply: int) -> tuple[int, int]:
    """Returns what a burn pays from the pair's balances. Source: UniswapV2Pair.burn."""
    return shares * balance0 // total_supply, shares * balance1 // total_supply
