"""Random states of the pool families with stable and weighted formulas, and amounts of any size."""

from quoteway_amm.balancer_stable import ComposableStablePool
from quoteway_amm.balancer_v3 import WeightedV3Pool
from quoteway_amm.solidly import SolidlyPool
from quoteway_amm.stable_swap import FIRST, NG, TEMPLATE, THREE_POOL, StableSwapPool
from quoteway_amm.token_pair import TokenPair
from quoteway_amm.weighted import WeightedPool

ONE = 10**18


def log_random(rng, least, most):
    """Returns an integer of any size up to `most`, all sizes alike."""
    return min(most, max(least, int(most ** rng.random())))


def random_amount(rng, balance):
    """Returns dust, a part of the balance, or far more than it."""
    return rng.choice(
        [
            log_random(rng, 1, balance + 2),
            log_random(rng, 1, 20 * balance + 5),
            rng.randint(1, 50),
            int(balance * rng.random()) + 1,
        ]
    )


def random_solidly(rng, stable):
    units = [10 ** rng.choice([18, 18, 6, 8, 0, 24, 2]) for _ in range(2)]
    worth, skew = 10 ** rng.uniform(-1, 12), rng.choice([0, 0.1, 1, 3])
    reserves = [int(worth * 10 ** rng.uniform(-skew, skew) * unit) for unit in units]
    if rng.random() < 0.1:
        reserves = [log_random(rng, 0, 2**128) for _ in range(2)]
    return SolidlyPool("0xp", "0xa", "0xb", *reserves, *units, stable, rng.choice([0, 1, 5, 30, 100, 9999]))


def random_stable_swap(rng, count):
    rates = [10 ** (36 - rng.choice([6, 8, 18, 18, 2])) for _ in range(count)]
    rates = [int(rate * rng.choice([1, 1, rng.uniform(0.5, 3)])) for rate in rates]
    worth, skew = 10 ** rng.uniform(1, 14), rng.choice([0, 0.3, 1, 3, 6])
    balances = [int(worth * 10 ** rng.uniform(-skew, skew) * 10**36 / rate) for rate in rates]
    if rng.random() < 0.08:
        top = 2 ** rng.choice([100, 128, 160, 250])
        balances = [log_random(rng, 0, top) for _ in range(count)]
    formula = rng.choice([FIRST, THREE_POOL, TEMPLATE, NG])
    amplification = formula.a_precision * rng.choice([1, 2, 10, 100, 2000, rng.randint(1, 10**4)])
    multiplier = rng.choice([0, 2 * 10**10, 13 * 10**10]) if formula is NG else 0
    return StableSwapPool(
        "0xp", names(count), tuple(balances), tuple(rates), amplification,
        rng.choice([0, 1, 4 * 10**6, 3 * 10**7, 5 * 10**9]), formula, multiplier,
    )  # fmt: skip


def random_weighted(rng, count):
    shares = [rng.randint(1, 99) for _ in range(count)]
    weights = [share * ONE // sum(shares) for share in shares]
    weights[0] += ONE - sum(weights)
    factors = [10 ** (36 - rng.choice([6, 8, 18])) for _ in range(count)]
    balances = [int(10 ** rng.uniform(0, 9) * 10**36 / factor) for factor in factors]
    fee = rng.choice([0, 10**12, 3 * 10**15, 10**17])
    return WeightedPool("0xp", names(count), tuple(balances), tuple(factors), fee, tuple(weights))


def random_weighted_v3(rng, count):
    pool = random_weighted(rng, count)
    factors = tuple(factor // ONE for factor in pool.scaling_factors)
    rates = tuple(rng.choice([ONE, int(ONE * rng.uniform(0.5, 3))]) for _ in range(count))
    least = tuple(max(factor, 10**6) for factor in factors)
    fee = max(pool.swap_fee, 10**13) // 10**11 * 10**11
    return WeightedV3Pool("0xp", names(count), pool.balances, factors, rates, fee, pool.weights, least, 10**6)


def random_composable_stable(rng, count):
    factors = [10 ** (36 - rng.choice([6, 8, 18])) for _ in range(count)]
    worth, skew = 10 ** rng.uniform(1, 9), rng.choice([0, 0.3, 1, 2])
    balances = [int(worth * 10 ** rng.uniform(-skew, skew) * 10**36 / factor) for factor in factors]
    factors = [int(factor * rng.choice([1, rng.uniform(1, 1.3)])) for factor in factors]
    fee, amplification = rng.choice([0, 10**12, 4 * 10**14]), 1000 * rng.choice([1, 20, 200, 2000])
    return ComposableStablePool("0xp", names(count), tuple(balances), tuple(factors), fee, amplification)


def names(count):
    return tuple(f"0x{at}" for at in range(count))


def random_pool(rng, family):
    """Returns a pool of two tokens, or a pair of one with up to four, in any state."""
    if family.startswith("solidly"):
        return random_solidly(rng, family == "solidly-stable")
    count = rng.choice([2, 3, 4])
    make = {
        "curve-stableswap": random_stable_swap,
        "balancer-v2-weighted": random_weighted,
        "balancer-v3-weighted": random_weighted_v3,
        "balancer-v2-composable-stable": random_composable_stable,
    }[family]
    return TokenPair(make(rng, count), *rng.sample(range(count), 2))
