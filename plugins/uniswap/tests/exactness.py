"""Executes random swaps on the devnet and compares received with quoted amounts, to the wei.

``python exactness.py --swaps 3000 --seed 1`` prints a summary and exits with 1 when any difference
is not zero.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from execution import Reverted, SwapHarness, command_line, started
from quoteway import NATIVE, SwapRequest, UpstreamError
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet

SWAPS_PER_STATE = 40
"""Number of swaps after which the chain goes back to its first state."""
FRESH_RECIPIENT = "0x000000000000000000000000000000000000dEaD"


@dataclass(frozen=True)
class Difference:
    """One executed swap. ``wei`` is received minus quoted."""

    pair: str
    amount_in: int
    path: str
    quoted: int
    received: int
    router_left: int

    @property
    def wei(self) -> int:
        return self.received - self.quoted


@dataclass
class Report:
    """Executed swaps, refusals by reason, and reverts."""

    swaps: list[Difference] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    reverted: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def wrong(self) -> list[Difference]:
        """Swaps that did not pay the quoted amount, or left tokens in the router."""
        return [swap for swap in self.swaps if swap.wei or swap.router_left]

    @property
    def paths(self) -> Counter[str]:
        """The number of swaps per sequence of pool kinds."""
        return Counter(swap.path for swap in self.swaps)


async def execute_random_swaps(
    n: int, seed: int, devnet: Devnet | None = None, slugs: Iterable[str] = ("devnet", "devnet-l2")
) -> Report:
    """Executes ``n`` random swaps of all tokens, of 10^-6 to 30 % of a pool's depth."""
    chance = random.Random(seed)
    report = Report()
    started_at = time.perf_counter()
    counts = [n - n // 5, n // 5]
    async with started(devnet) as running:
        for slug, count in zip(slugs, counts, strict=False):
            async with SwapHarness(running, slug) as harness:
                await _run(harness, chance, count, report)
    report.seconds = time.perf_counter() - started_at
    return report


async def _run(harness: SwapHarness, chance: random.Random, count: int, report: Report) -> None:
    executed = 0
    snapshot = harness.rpc("evm_snapshot")
    while executed < count:
        if executed % SWAPS_PER_STATE == SWAPS_PER_STATE - 1:
            snapshot = harness.rewind(snapshot)
        request = random_request(harness, chance)
        pair = f"{request.token_in.symbol}>{request.token_out.symbol}"
        try:
            quote = await harness.quote(request)
        except UpstreamError as error:
            report.refused[str(error.reason)] += 1
            continue
        if quote is None:
            report.refused["no_route"] += 1
            continue
        path = "-".join(hop.protocol.removeprefix("uniswap-") for hop in quote.route[0].hops)
        executed += 1
        try:
            build = await harness.build(request, quote)
            done = harness.execute(request, quote, build)
        except Reverted as error:
            report.reverted.append(str(error))
            continue
        left = sum(done.left.values())
        report.swaps.append(Difference(pair, request.amount_in, path, done.quoted, done.received, left))
    harness.rpc("evm_revert", snapshot)


def random_request(harness: SwapHarness, chance: random.Random) -> SwapRequest:
    """Returns a request sized by the depth of a random pool of the input token."""
    prices = {token.address: token for token in harness.manifest.tokens}
    prices[NATIVE] = prices[harness.network.wrapped_native]
    pool = chance.choice([pool for pool in harness.manifest.pools if pool.hooks == NATIVE])
    sold, bought = (pool.token0, pool.token1) if chance.random() < 0.5 else (pool.token1, pool.token0)
    if chance.random() < 0.5:
        bought = chance.choice(
            [token for token in prices if _wrapped(harness, token) != _wrapped(harness, sold)]
        )
    sold, bought = _either_form(harness, chance, sold), _either_form(harness, chance, bought)
    info = prices[sold]
    depth = Fraction(pool.depth_usd, 2) / Fraction(info.price_usd) * 10**info.decimals
    amount = max(int(depth * Fraction(10 ** chance.uniform(-6, -0.5229))), 1)
    sender = chance.choice(ACCOUNTS).address
    by_address = {token.address: token for token in harness.tokens.values()}
    return SwapRequest(
        harness.network.chain_id,
        harness.network.chain_id,
        by_address[sold],
        by_address[bought],
        amount,
        sender,
        sender if chance.random() < 0.5 else FRESH_RECIPIENT,
        chance.choice((0, 10, 50, 300)),
    )


def _wrapped(harness: SwapHarness, token: str) -> str:
    return harness.network.wrapped_native if token == NATIVE else token


def _either_form(harness: SwapHarness, chance: random.Random, token: str) -> str:
    if token in (NATIVE, harness.network.wrapped_native):
        return chance.choice((NATIVE, harness.network.wrapped_native))
    return token


def main() -> None:
    """Runs the command line."""
    options = command_line(__doc__, swaps=3000, seed=1)
    report = asyncio.run(execute_random_swaps(options.swaps, options.seed))
    each_ms = 1000 * report.seconds / max(len(report.swaps), 1)
    print(
        f"{len(report.swaps)} swaps executed, seed {options.seed}, "
        f"{report.seconds:.1f} s ({each_ms:.0f} ms each)"
    )
    print(f"not quoted: {dict(report.refused)}; reverted: {len(report.reverted)}")
    hops = Counter(path.count("-") + 1 if "wrapped" not in path else 0 for path in report.paths.elements())
    print(f"hops: {dict(sorted(hops.items()))}; paths: {dict(report.paths.most_common())}")
    print(f"received minus quoted is not 0 wei in {len(report.wrong)} of {len(report.swaps)}")
    for line in [*report.reverted[:5], *map(str, report.wrong[:10])]:
        print(line)
    sys.exit(bool(report.wrong or report.reverted))


if __name__ == "__main__":
    main()
