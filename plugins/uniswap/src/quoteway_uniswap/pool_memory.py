"""Pools as they were, by what they record of it in their present state: without an archive.

A v3 pool adds up its tick and liquidity over time and keeps some of the sums: two of them have the mean
between them. A v2 pair knows when its reserves changed last, and has been as it is since then. A v4 pool
records nothing. Source: v3-core Oracle.observe, v2-core UniswapV2Pair.getReserves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isqrt

from quoteway import Block, Chain
from quoteway.evm.abi import function
from quoteway.evm.chain import Call
from quoteway_amm import ConcentratedPool, Pool, V2Pool

from quoteway_uniswap.abi_words import signed, words_of

_OBSERVE = function("observe(uint32[] ages) returns (int56[], uint160[])")
_RESERVES = function("getReserves() returns (uint112, uint112, uint32)")
_MAX_LIQUIDITY = (1 << 128) - 1


async def pools_before(
    chain: Chain, block: Block, wanted: Mapping[int, Sequence[Pool]], span_s: int
) -> dict[int, list[Pool]]:
    """Returns pools as they were in the ``span_s`` seconds after each moment (Unix seconds) before ``block``.

    Those that do not tell it are left out. Takes one request.
    """
    asked = [(moment, pool) for moment, pools in wanted.items() for pool in pools if pool.kind == "v3"]
    pairs = list({pool.id: pool for pools in wanted.values() for pool in pools if pool.kind == "v2"})
    reads = [_observe(pool.id, block.timestamp, moment, span_s) for moment, pool in asked]
    reads += [Call(pair, _RESERVES.encode([]), gas=30_000, max_output=96) for pair in pairs]
    answers = await chain.call_many(reads, block=block) if reads else []
    found: defaultdict[int, list[Pool]] = defaultdict(list)
    for (moment, pool), answer in zip(asked, answers, strict=False):
        seconds = min(span_s, block.timestamp - moment)
        if isinstance(answer, bytes) and (mean := _mean(pool, answer, seconds)) is not None:
            found[moment].append(mean)
    changed = {
        pair: words_of(answer)[2]
        for pair, answer in zip(pairs, answers[len(asked) :], strict=True)
        if isinstance(answer, bytes) and len(answer) == 96
    }
    for moment, pools in wanted.items():
        # The pair's time is that of its last change modulo 2^32.
        found[moment] += [
            pool
            for pool in pools
            if isinstance(pool, V2Pool)
            and pool.id in changed
            and (block.timestamp - changed[pool.id]) % (1 << 32) >= block.timestamp - moment
        ]
    return dict(found)


def _observe(pool: str, now_s: int, moment: int, span_s: int) -> Call:
    ages = [now_s - moment, max(now_s - moment - span_s, 0)]
    return Call(pool, _OBSERVE.encode([ages]), gas=400_000, max_output=256)


def _mean(pool: Pool, answer: bytes, seconds: int) -> ConcentratedPool | None:
    """Returns the pool at the mean tick, with the harmonic mean of its liquidity at every price."""
    words = words_of(answer)
    if len(words) != 8 or not isinstance(pool, ConcentratedPool):
        return None
    ticks = signed(words[4] - words[3], 56)
    per_liquidity = (words[7] - words[6]) % (1 << 160)
    if not per_liquidity:
        return None
    tick = ticks / seconds
    liquidity = min((seconds << 128) // per_liquidity, _MAX_LIQUIDITY)
    try:
        price_x192 = int(1.0001**tick * (1 << 96)) << 96
        return replace(
            pool, sqrt_price_x96=isqrt(price_x192), tick=int(tick // 1), liquidity=liquidity, ticks=()
        )
    except (ValueError, OverflowError):
        return None
