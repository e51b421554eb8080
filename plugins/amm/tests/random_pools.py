"""Random pool snapshots for the property tests."""

from hypothesis import strategies as st
from quoteway_amm import MAX_TICK, MIN_TICK, ConcentratedPool, V2Pool, sqrt_ratio_at_tick, word_of_tick

SPACINGS = {100: 1, 500: 10, 3000: 60, 10000: 200}


def all_words(spacing):
    return word_of_tick(MIN_TICK, spacing), word_of_tick(MAX_TICK, spacing)


@st.composite
def concentrated_pools(draw, token0="0xa", token1="0xb", pool_id="0xpool", reach=3000):
    """Returns pools with random positions around a random price, some out of range; all ticks known."""
    fee = draw(st.sampled_from(sorted(SPACINGS)))
    spacing = SPACINGS[fee]
    kind = draw(st.sampled_from(["v3", "v4"]))
    tick = draw(st.integers(-reach, reach))
    low, high = sqrt_ratio_at_tick(tick), sqrt_ratio_at_tick(tick + 1)
    price = low + draw(st.integers(0, 10**6)) * (high - low - 1) // 10**6
    net, liquidity = {}, 0
    for _ in range(draw(st.integers(0, 5))):
        lower = (tick // spacing + draw(st.integers(-60, 40))) * spacing
        upper = lower + draw(st.integers(1, 80)) * spacing
        amount = draw(st.integers(1, 10 ** draw(st.integers(1, 24))))
        net[lower] = net.get(lower, 0) + amount
        net[upper] = net.get(upper, 0) - amount
        if lower <= tick < upper:
            liquidity += amount
    # Where two positions cancel out, the tick stays initialised with a liquidityNet of 0, as on chain.
    word_lo, word_hi = all_words(spacing)
    protocol = st.integers(0, 1000) if kind == "v4" else st.just(0)
    return ConcentratedPool(
        kind, pool_id, token0, token1, fee, spacing, price, tick, liquidity, tuple(sorted(net.items())),
        word_lo, word_hi, draw(protocol), draw(protocol),
    )  # fmt: skip


def v2_pools(token0="0xa", token1="0xb", pool_id="0xpair", least=0):
    reserve = st.integers(least, 10**24)
    return st.builds(V2Pool, st.just(pool_id), st.just(token0), st.just(token1), reserve, reserve)


amounts = st.integers(0, 30).flatmap(lambda digits: st.integers(1, 10**digits))
