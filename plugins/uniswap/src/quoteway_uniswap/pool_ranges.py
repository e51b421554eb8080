"""How the liquidity of a v3 or v4 pool lies around its price."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from quoteway import Block, InitialisedTick, PoolLiquidity
from quoteway_amm import MAX_TICK, MIN_TICK, BandExceeded, ConcentratedPool

from quoteway_uniswap.known_pools import KnownPool
from quoteway_uniswap.state import PoolStates

_MAX_TICKS_A_SIDE = 500
_ABOVE_ALL = 1 << 128


async def liquidity_at(states: PoolStates, block: Block, pool: KnownPool) -> PoolLiquidity | None:
    """Returns the ticks that are known of a pool, of up to at least twice and half the price.

    None for a v2 pool, for one without a price, and where the ticks around the price could not be read.
    Raises UpstreamError or RpcError when the chain could not be read.
    """
    state = await _state(states, block, pool)
    if state is not None and not _known(state)[0] <= state.tick <= _known(state)[1]:
        # The price left the ticks that were read first.
        below = state.tick < _known(state)[0]
        await states.widen(block, [pool.ref], [BandExceeded(state, below, 0, 0, 0, 0)])
        state = await _state(states, block, pool)
    if state is None or not _known(state)[0] <= state.tick <= _known(state)[1]:
        return None
    known, ticks = _nearest(_known(state), state)
    return PoolLiquidity(
        pool_id=pool.id,
        tick_spacing=state.tick_spacing,
        sqrt_price_x96=state.sqrt_price_x96,
        tick=state.tick,
        liquidity=state.liquidity,
        ticks=tuple(InitialisedTick(*each) for each in ticks),
        known=known,
        block=block,
    )


async def _state(states: PoolStates, block: Block, pool: KnownPool) -> ConcentratedPool | None:
    found = await states.load(block, [pool.ref])
    return found[0] if found and isinstance(found[0], ConcentratedPool) else None


def _nearest(
    known: tuple[int, int], pool: ConcentratedPool
) -> tuple[tuple[int, int], Sequence[tuple[int, int]]]:
    """Returns the ticks nearest to the price, and the span in which they are all there are."""
    price = bisect_right(pool.ticks, (pool.tick, _ABOVE_ALL))
    first, end = max(price - _MAX_TICKS_A_SIDE, 0), price + _MAX_TICKS_A_SIDE
    low = pool.ticks[first][0] if first else known[0]
    high = pool.ticks[end - 1][0] if end < len(pool.ticks) else known[1]
    return (low, high), pool.ticks[first:end]


def _known(pool: ConcentratedPool) -> tuple[int, int]:
    """Returns the lowest and the highest tick of the bitmap words that were read."""
    low, high = pool.word_lo * 256 * pool.tick_spacing, (pool.word_hi + 1) * 256 * pool.tick_spacing - 1
    return max(low, MIN_TICK), min(high, MAX_TICK)
