"""Random attacks on prices on real contracts, and honest markets beside them.

``python price_attacks.py --attacks 300 --controls 300 --seed 1`` prints what was found and exits with 1 when
a holding counts for more than the router really pays for it and than it was honestly worth, when a price is
wrong without a warning, or when an honest token has a wrong price or none.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from execution import Reverted, command_line
from market import FULL, Market
from quoteway import NATIVE, GatewayError
from quoteway_devnet.chains import Devnet
from quoteway_devnet.tables import PoolRow, Range
from quoteway_uniswap.prices import ChainPrices

BLOCK_TIMES_S = (1, 2, 12, 60)
"""The nodes keep 128 blocks: two minutes to two hours of state."""
HISTORY_S = 4_000
SHORT_S = 300
"""What lasts no longer must not move a price at all."""
TOLERANCE = 0.005
MOVED = 0.02
GAP = 0.002
"""From which difference between two pools on somebody trades it away in an honest market."""
DOLLARS = ("USDC", "USDT", "DAI")
SINGLE = ("LDO", "CRV", "EURC", "GHO", "MKR", "PEPE", "LINK", "UNI", "AAVE", "cbBTC")


@dataclass
class Kind:
    """What was found of one kind of attack. ``outcomes`` counts the tokens by what their price says."""

    scenarios: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    holdings: int = 0
    over: list[str] = field(default_factory=list)
    """Holdings that count for more than they pay and than they were honestly worth."""
    silent: list[str] = field(default_factory=list)
    """Wrong prices without a warning."""


@dataclass
class Report:
    """What was compared. ``missing`` and ``off``: honest tokens without a price, and with one that is not
    what the pools say.
    """

    kinds: dict[str, Kind] = field(default_factory=lambda: defaultdict(Kind))
    controls: int = 0
    prices: int = 0
    anchored: int = 0
    missing: list[str] = field(default_factory=list)
    off: list[str] = field(default_factory=list)
    worst_off: float = 0.0
    seconds: float = 0.0

    @property
    def attacks(self) -> int:
        return sum(kind.scenarios for kind in self.kinds.values())

    @property
    def wrong(self) -> list[str]:
        found = [line for kind in self.kinds.values() for line in (*kind.over, *kind.silent)]
        return [*found, *self.missing, *self.off]


# --- attacks: each returns the tokens it is about, and whether it lasted for ten blocks at most -------------


async def thin_pools(market: Market) -> tuple[list[str], bool]:
    """A made-up token in a few pools with little to take."""
    chance = market.chance
    usd, decimals = chance.choice(("0.001", "7", "1000000", "900000000")), chance.choice((6, 18))
    # A thin pool has less than one unit of six decimals of the dearest one.
    market.make_token("FAKE", usd, 18 if usd == "900000000" else decimals)
    rows = [
        _row(chance, "FAKE", chance.choice(("WETH", "USDC", "DAI", "WBTC")), 10 ** chance.uniform(2, 5))
        for _ in range(chance.randint(1, 3))
    ]
    market.make_pools(*{(row.protocol, row.a, row.b, row.fee): row for row in rows}.values())
    market.wait(chance.choice((1, 300, 2000, 5000)))
    return ["FAKE"], False


async def rings(market: Market) -> tuple[list[str], bool]:
    """Made-up tokens that are worth a lot in each other, and one of them in a thin pool."""
    chance, names = market.chance, ["FAKE", "RING", "LOOP"]
    for name in names:
        market.make_token(name, chance.choice(("5", "40000", "3000000")))
    deep = [_row(chance, a, b, 10**7) for a, b in (("FAKE", "RING"), ("RING", "LOOP"), ("LOOP", "FAKE"))]
    market.make_pools(
        *deep, _row(chance, "FAKE", chance.choice(("WETH", "USDC")), 10 ** chance.uniform(2, 4.6))
    )
    market.wait(chance.choice((1, 600, 4000)))
    return names, False


async def fresh_deep_pools(market: Market) -> tuple[list[str], bool]:
    """A deep pool at a false price, new: of a made-up token, or of a listed one beside its own pools."""
    chance = market.chance
    symbol = chance.choice(("FAKE", *SINGLE))
    if symbol == "FAKE":
        market.make_token("FAKE", "250000")
        market.make_pools(_row(chance, "FAKE", "USDC", 2 * 10**6), _row(chance, "FAKE", "WETH", 10**6))
    else:
        factor = chance.choice((0.2, 1.5, 3, 20))
        false = {symbol: str(float(market.rows[symbol].price) * factor)}
        fee = chance.choice((100, 10_000))
        other = "DAI" if symbol in ("LDO", "PEPE") else "WETH"
        rows = [
            PoolRow("v3", symbol, other, 2 * 10**7, fee, ranges=FULL),
            PoolRow("v2", symbol, "USDC", 10**7),
        ]
        market.make_pools(*chance.sample(rows, chance.randint(1, 2)), usd=false)
    market.wait(chance.choice((1, 120, 600, 1500)))
    return [symbol], False


async def pushes_of_blocks(market: Market) -> tuple[list[str], bool]:
    """Pools of a token pushed by up to ten times their depth, for one block to ten."""
    symbols = await _push(market)
    market.wait(min(market.block_s * market.chance.randint(1, 10), SHORT_S))
    return symbols, True


async def standing_pushes(market: Market) -> tuple[list[str], bool]:
    """The same, left to stand for up to an hour."""
    symbols = await _push(market)
    market.wait(int(60 * market.chance.uniform(1, 58)))
    return symbols, False


async def wash_trades(market: Market) -> tuple[list[str], bool]:
    """Many trades to and fro in pools of a made-up or a listed token."""
    chance = market.chance
    if chance.random() < 0.5:
        market.make_token("FAKE", "12")
        pools, symbol = market.make_pools(_row(chance, "FAKE", "USDC", 5 * 10**4)), "FAKE"
    else:
        symbol = chance.choice(SINGLE)
        pools = _pools_of(market, symbol)
    for _ in range(chance.randint(4, 10)):
        pool = chance.choice(pools)
        for sold in chance.sample((pool.token0, pool.token1), 2):
            await market.push(pool, sold, pool.depth_usd * chance.uniform(0.002, 0.02))
        market.wait(chance.choice((1, 60, 200)))
    return [symbol], False


async def donations(market: Market) -> tuple[list[str], bool]:
    """Tokens given to v2 pairs for nothing, and pools that lend, flash, and are paid back more."""
    chance = market.chance
    pairs = [
        pool for pool in market.manifest.pools if pool.protocol == "uniswap-v2" and "TAX" not in pool.pair
    ]
    pair = chance.choice(pairs)
    sold = chance.choice((pair.token0, pair.token1))
    market.donate(pair, sold, pair.depth_usd * chance.uniform(0.05, 2))
    lasting = chance.choice((market.block_s, 600, 3000))
    market.wait(lasting)
    return _symbols(market, pair), lasting <= SHORT_S


async def pegs(market: Market) -> tuple[list[str], bool]:
    """A dollar token off its peg in one of its pools."""
    chance = market.chance
    pool = chance.choice([p for p in market.manifest.pools if set(_symbols(market, p)) <= set(DOLLARS)])
    await market.push(
        pool, chance.choice((pool.token0, pool.token1)), pool.depth_usd * chance.uniform(0.4, 2)
    )
    lasting = chance.choice((market.block_s, 5 * market.block_s, 900, 3000))
    market.wait(lasting)
    return [*_symbols(market, pool), "WETH"], lasting <= SHORT_S


ATTACKS: tuple[Callable[[Market], Awaitable[tuple[list[str], bool]]], ...] = (
    thin_pools,
    rings,
    fresh_deep_pools,
    pushes_of_blocks,
    standing_pushes,
    wash_trades,
    donations,
    pegs,
)


async def _push(market: Market) -> list[str]:
    chance = market.chance
    symbol = chance.choice((*SINGLE, "WETH", "WBTC", "wstETH"))
    pools = _pools_of(market, symbol)
    address, up = market.tokens[symbol].address, chance.random() < 0.7
    for pool in chance.sample(pools, chance.randint(1, min(len(pools), 3))):
        own = pool.token0 if _is(market, pool.token0, address) else pool.token1
        other = pool.token1 if own == pool.token0 else pool.token0
        try:
            await market.push(pool, other if up else own, pool.depth_usd * chance.uniform(0.1, 0.5))
        except LookupError:
            continue  # a pool that an earlier push has emptied
    return [symbol]


def _row(chance: random.Random, a: str, b: str, usd: float) -> PoolRow:
    kind = chance.choice(("v2", "v3", "v3", "v4"))
    fee = chance.choice((500, 3000, 10_000))
    ranges = chance.choice((FULL, (Range("0.99", "1.01", 90), Range(None, None, 10))))
    if kind == "v2":
        return PoolRow("v2", a, b, int(usd))
    spacing = {500: 10, 3000: 60, 10_000: 200}[fee]
    return PoolRow(kind, a, b, int(usd), fee, spacing if kind == "v4" else 0, ranges)


def _pools_of(market: Market, symbol: str) -> list[Any]:
    address = market.tokens[symbol].address
    return [
        pool
        for pool in market.manifest.pools
        if pool.hooks == NATIVE and any(_is(market, token, address) for token in (pool.token0, pool.token1))
    ]


def _is(market: Market, token: str, address: str) -> bool:
    return (market.network.wrapped_native if token == NATIVE else token) == address


def _symbols(market: Market, pool: Any) -> list[str]:
    return [market._row_of(token).symbol for token in (pool.token0, pool.token1)]


# --- what is checked ----------------------------------------------------------------------------------------


async def attack(market: Market, make: Callable[..., Any], report: Report, where: str) -> None:
    """Attacks, and compares what holdings count for with what the router pays for them."""
    chance = market.chance
    symbols, short = await make(market)
    kind = report.kinds[make.__name__]
    kind.scenarios += 1
    await market.fresh()
    block = await market.chain.head()
    prices = ChainPrices(market.context, market.chain, market.pools._deployments[31337])
    held = dict.fromkeys([*symbols, *chance.sample(("WETH", "LDO", "USDT", "LINK", "WBTC"), 1)])
    amounts = {symbol: market.units(symbol, 10 ** chance.uniform(2, 6.7)) for symbol in held}
    by_address = {market.tokens[symbol].address: amount for symbol, amount in amounts.items()}
    known = await prices.at(list(by_address), block)
    payouts = await prices.payouts(by_address, block)
    for symbol, amount in amounts.items():
        made_up = all(row.symbol != symbol for row in market.manifest.tokens)
        token = replace(market.tokens[symbol], listed=not made_up)
        honest = 0.0 if made_up else market.usd[symbol]
        price, payout = known.get(token.address), payouts.get(token.address)
        what = f"{where} {make.__name__} {symbol}"
        kind.outcomes[_outcome(price)] += 1
        if price is None or price.usd is None:
            continue
        off = abs(price.usd / honest - 1) if honest else 0.0
        if (
            honest
            and off > (TOLERANCE if short else MOVED)
            and (short or (price.anchored and not price.warnings))
        ):
            kind.silent.append(f"{what}: {price.usd} is {off:.2%} off, moved {price.moved_1h_pct}")
        value = price.worth(token, amount, payout)
        worth = honest * amount / 10**token.decimals * (1 + TOLERANCE)
        kind.holdings += 1
        if value is not None and value > worth:
            paid = await market.sold_for(symbol, amount, value)
            if value > paid * 1.0001 + 0.01:
                kind.over.append(
                    f"{what}: counts {value:.2f}, pays {paid:.2f}, honestly {worth:.2f}, "
                    f"realisable {payout}, {price}"
                )


def _outcome(price: Any) -> str:
    if price is None:
        return "no price"
    return "moved" if price.warnings else "anchored" if price.anchored else "capped"


async def control(market: Market, report: Report, where: str) -> None:
    """Trades and changes liquidity as honest markets do, and compares prices with the contracts' own.

    A quarter of them are watched by a gateway all along.
    """
    chance = market.chance
    rows = market.pools._deployments[31337]
    warm = ChainPrices(market.context, market.chain, rows) if chance.random() < 0.25 else None
    pools = [pool for pool in market.manifest.pools if pool.hooks == NATIVE and "TAX" not in pool.pair]
    every = [*pools, *(pool for pool in market.manifest.pools if "TAX" in pool.pair)]
    tokens = [market.tokens[row.symbol].address for row in market.manifest.tokens]
    waits = [int(chance.expovariate(1 / 160)) for _ in range(chance.randint(12, 30))]
    for number, seconds in enumerate(waits, 1):
        pool = chance.choice(pools)
        if chance.random() < 0.15:
            await _change_liquidity(market, pool)
        else:
            sold = _sold_by_arbitrage(market, pool, every) or chance.choice((pool.token0, pool.token1))
            await market.push(pool, sold, pool.depth_usd * 10 ** chance.uniform(-4, -2.6))
        market.wait(seconds, then_s=0 if warm else sum(waits[number:]))
        if warm is not None:
            await market.fresh()
            await warm.at(tokens, await market.chain.head())
    await market.fresh()
    block = await market.chain.head()
    known = await (warm or ChainPrices(market.context, market.chain, rows)).at(tokens, block)
    true = market.true_prices(every)
    report.controls += 1
    for row in market.manifest.tokens:
        report.prices += 1
        price = known.get(row.address)
        if price is None or price.usd is None:
            # Each of these tokens had an anchored price when the devnet began.
            report.missing.append(f"{where} {row.symbol}: no price")
            continue
        report.anchored += price.anchored
        off = abs(price.usd / true[row.symbol] - 1)
        report.worst_off = max(report.worst_off, off)
        if off > TOLERANCE:
            report.off.append(
                f"{where} {row.symbol}: {price.usd} and {true[row.symbol]}, {off:.2%} off, {price}"
            )


def _sold_by_arbitrage(market: Market, pool: Any, pools: Sequence[Any]) -> str | None:
    """Returns the token that this pool pays too much for; None where nobody gains by a trade."""
    true = market.true_prices(pools)
    first, second = _symbols(market, pool)
    gap = market.pool_price(pool) * true[second] / true[first] - 1
    if abs(gap) < GAP:
        return None
    sold: str = pool.token0 if gap > 0 else pool.token1
    return sold


async def _change_liquidity(market: Market, pool: Any) -> None:
    """Adds liquidity to a pool, or takes out all of what was added before."""
    await market.fresh()
    held = [
        each for each in await market.pools.positions(market.sender, market.pool_id(pool)) if each.amounts
    ]
    try:
        if held and pool.protocol != "uniswap-v2":
            more = {"position_id": held[0].position_id}
            await market.operate(market.of(pool, "remove", pool.token0, None, **more))
        else:
            symbol = market._row_of(pool.token0).symbol
            amount = market.units(symbol, pool.depth_usd * market.chance.uniform(0.01, 0.3))
            await market.operate(market.of(pool, "add", pool.token0, amount))
    except (GatewayError, Reverted):
        pass  # some positions cannot be had at this price


# --- runs ---------------------------------------------------------------------------------------------------


async def run_price_attacks(
    attacks: int, controls: int, seed: int, say: Callable[[str], None] = lambda _: None
) -> Report:
    """Runs so many of each."""
    report, started_at = Report(), time.perf_counter()
    kinds = [(ATTACKS[number % len(ATTACKS)], number) for number in range(attacks)]
    cases = [*kinds, *((None, number) for number in range(controls))]
    for done, (make, number) in enumerate(cases, 1):
        block_s = BLOCK_TIMES_S[(number // len(ATTACKS) if make else number) % len(BLOCK_TIMES_S)]
        where = f"{number} ({block_s} s)"
        # Each on a devnet of its own: one that went back to a snapshot has lost the states before it.
        async with Devnet.start() as devnet, Market(devnet, seed * 10_000 + number, block_s) as market:
            market.begin(HISTORY_S)
            await (attack(market, make, report, where) if make else control(market, report, where))
        if done % 20 == 0:
            say(f"{done} of {len(cases)} scenarios, {len(report.wrong)} wrong")
    report.seconds = time.perf_counter() - started_at
    return report


def main() -> int:
    options = command_line(__doc__, attacks=300, controls=300, seed=1)
    report = asyncio.run(run_price_attacks(options.attacks, options.controls, options.seed, say=print))
    for name, kind in report.kinds.items():
        print(name, kind.scenarios, kind.holdings, dict(kind.outcomes), len(kind.over), len(kind.silent))
    print(f"{report.controls} controls, {report.prices} prices, {report.anchored} anchored")
    print(f"{len(report.missing)} missing, worst {report.worst_off:.3%} off, {report.seconds:.0f} s")
    print(*report.wrong, sep="\n")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
