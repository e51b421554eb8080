"""The principal of all positions of a pool at one block."""

from __future__ import annotations

from collections.abc import Sequence

from quoteway import Block
from quoteway_amm import (
    MAX_TICK,
    MIN_TICK,
    BandExceeded,
    ConcentratedPool,
    Pool,
    V2Pool,
    amounts_for_liquidity,
    sqrt_ratio_at_tick,
    word_of_tick,
)

from quoteway_uniswap.candidates import PoolRef
from quoteway_uniswap.state import PoolStates

_MAX_WIDENINGS = 40


async def whole_pool(states: PoolStates, block: Block, ref: PoolRef) -> Pool | None:
    """Returns a pool with all its ticks; None when it does not exist or some ticks could not be read.

    Raises UpstreamError or RpcError when the chain could not be read.
    """
    for _ in range(_MAX_WIDENINGS):
        found = await states.load(block, [ref])
        if not found:
            return None
        (pool,) = found
        if not isinstance(pool, ConcentratedPool):
            return pool
        first, last = word_of_tick(MIN_TICK, pool.tick_spacing), word_of_tick(MAX_TICK, pool.tick_spacing)
        # When no word is known, the words below are read first; the words above start from their end.
        below = pool.word_lo > first or pool.word_lo > pool.word_hi
        above = pool.word_hi < last and pool.word_lo <= pool.word_hi
        if not below and not above:
            return pool
        sides = [side for side, wanted in ((True, below), (False, above)) if wanted]
        await states.widen(block, [ref], [BandExceeded(pool, side, 0, 0, 0, 0) for side in sides])
    return None


def principal(pool: Pool) -> tuple[int, int]:
    """Returns (amount0, amount1) in base units; ``pool`` must have all its ticks.

    v2: the reserves. v3, v4: what a burn of all liquidity pays without uncollected fees, rounded down between
    each two initialised ticks.
    """
    if isinstance(pool, V2Pool):
        return pool.reserve0, pool.reserve1
    assert isinstance(pool, ConcentratedPool)
    total0 = total1 = liquidity = 0
    for (tick, net), (upper, _) in zip(pool.ticks, pool.ticks[1:], strict=False):
        liquidity += net
        bounds = sqrt_ratio_at_tick(tick), sqrt_ratio_at_tick(upper)
        amount0, amount1 = amounts_for_liquidity(pool.sqrt_price_x96, *bounds, liquidity)
        total0, total1 = total0 + amount0, total1 + amount1
    return total0, total1


async def principals(
    states: PoolStates, block: Block, refs: Sequence[PoolRef]
) -> dict[str, tuple[int, int] | None]:
    """Returns the principal of pools by id; None for a pool that could not be read completely."""
    found: dict[str, tuple[int, int] | None] = {}
    await states.load(block, refs)
    for ref in refs:
        pool = await whole_pool(states, block, ref)
        found[ref.id] = None if pool is None else principal(pool)
    return found
