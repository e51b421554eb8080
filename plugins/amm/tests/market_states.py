"""Generated markets without arbitrage: pools of hubs and other tokens, prices apart by less than the fees."""

import math
import random
from dataclasses import dataclass

from quoteway_amm import (
    MAX_TICK,
    MIN_TICK,
    ConcentratedPool,
    Pool,
    V2Pool,
    sqrt_ratio_at_tick,
    tick_at_sqrt_ratio,
    word_of_tick,
)

SPACINGS = {100: 1, 500: 10, 3000: 60, 10000: 200}
WRAPPED = "0xw"
HUBS = (WRAPPED, "0x01", "0x02", "0x03")
HUB_DOLLARS = (3000.0 / 10**18, 1.0 / 10**6, 1.0 / 10**18, 90_000.0 / 10**8)


@dataclass(frozen=True)
class State:
    """Pools and, per token, dollars per base unit."""

    pools: tuple[Pool, ...]
    dollars: dict[str, float]

    def units(self, token: str, dollars: float) -> int:
        return max(int(dollars / self.dollars[token]), 1)


def generate(pool_count: int, token_count: int, seed: int, positions: int = 20) -> State:
    """Returns pools around fair prices, each off by at most half its fee: no cycle has a profit."""
    rng = random.Random(seed)
    dollars = dict(zip(HUBS, HUB_DOLLARS, strict=True))
    names = [*HUBS]
    for number in range(token_count - len(HUBS)):
        names.append(f"0x1{number:04x}")
        dollars[names[-1]] = math.exp(rng.gauss(0, 2)) / 10 ** rng.choice((6, 18, 18, 18))
    pools = []
    for number in range(pool_count):
        a = names[number % token_count]
        b = rng.choice([name for name in (HUBS if rng.random() < 0.85 else names) if name != a])
        pools.append(_pool(rng, f"0xp{number:05x}", *sorted((a, b)), dollars, positions))
    return State(tuple(pools), dollars)


def _pool(rng, name, a, b, dollars, positions):
    both_hubs = a in HUBS and b in HUBS
    worth = math.exp(rng.gauss(16.5 if both_hubs else 13.5, 1.5))
    kind = rng.choice(("v2", "v3", "v3", "v4"))
    fee = 3000 if kind == "v2" else rng.choice((100, 500, 3000) if both_hubs else (500, 3000, 10000))
    price = dollars[a] / dollars[b] * (1 + rng.uniform(-0.5, 0.5) * fee / 1e6)
    if kind == "v2":
        reserve0 = int(worth / 2 / dollars[a])
        return V2Pool(name, a, b, reserve0, int(reserve0 * price))
    sqrt_price = int(math.sqrt(price) * 2**96)
    tick, spacing = tick_at_sqrt_ratio(sqrt_price), SPACINGS[fee]
    net, liquidity = {}, 0
    for _ in range(rng.randint(1, positions)):
        half = max(int(math.exp(rng.uniform(4, 10)) / spacing), 1)
        centre = tick // spacing + rng.randint(-half, half)
        lower, upper = (centre - half) * spacing, (centre + half + 1) * spacing
        most = MAX_TICK // spacing * spacing
        lower, upper = max(lower, -most), min(upper, most)
        if lower >= upper:
            continue
        width = math.sqrt(sqrt_ratio_at_tick(upper) / sqrt_ratio_at_tick(lower)) - 1
        amount = int(worth / positions / 2 / dollars[b] / (math.sqrt(price) * width)) + 1
        net[lower] = net.get(lower, 0) + amount
        net[upper] = net.get(upper, 0) - amount
        liquidity += amount if lower <= tick < upper else 0
    return ConcentratedPool(
        kind, name, a, b, fee, spacing, sqrt_price, tick, liquidity, tuple(sorted(net.items())),
        word_of_tick(MIN_TICK, spacing), word_of_tick(MAX_TICK, spacing),
    )  # fmt: skip
