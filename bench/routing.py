"""Flows over generated markets without arbitrage: gap to the bound, and time of a warm solve."""

from __future__ import annotations

import argparse
import random
import statistics
import time

from bench.harness import harness
from bench.report import Report, percentile

SIZES = ((170, 20, 10), (1_000, 100, 20), (10_000, 300, 60))
"""Pools, tokens, and the goal for the median time of a warm solve in milliseconds."""

TRADES = 40
DOLLARS = (1e3, 1e4, 1e5, 1e6, 1e7)
LEAST_WORTH = 0.9
"""Trades that give less than this share of what they take drain the market: they are counted apart."""

WEI_PER_GAS = 10**10


async def measure(report: Report, options: argparse.Namespace) -> None:
    states = harness("market_states", "amm")
    for pools, tokens, goal_ms in SIZES:
        report.say(f"generating {pools} pools of {tokens} tokens, seed {options.seed}")
        state = states.generate(pools, tokens, options.seed)
        _measure_state(report, state, states, goal_ms, random.Random(options.seed))  # noqa: S311 - not for secrets


def _measure_state(report, state, states, goal_ms: int, rng: random.Random) -> None:  # type: ignore[no-untyped-def]
    from quoteway_amm import FREE, UNISWAP_GAS, GasPrice
    from quoteway_amm.bound import check_bound
    from quoteway_amm.flows import best_flow_exact_in
    from quoteway_amm.market import Market

    started = time.perf_counter()
    market = Market(state.pools, states.WRAPPED)
    market.arbitrage(states.WRAPPED)
    name = f"{len(state.pools):,} pools"
    report.baseline(f"{name}: prepared once per block", f"{time.perf_counter() - started:.2f} s")
    gaps, net_gaps, times, cpu, wrong, huge = [], [], [], [], [], []
    for number in range(TRADES):
        # Half of the trades are between hubs, half between any tokens, at every size of trade.
        names = states.HUBS if number % 2 else sorted(state.dollars)
        token_in, token_out = rng.sample(names, 2)
        amount = state.units(token_in, DOLLARS[number // 2 % len(DOLLARS)])
        arguments = market, states.WRAPPED, token_in, token_out, amount, UNISWAP_GAS
        found = best_flow_exact_in(*arguments, FREE, 4, 64)
        got = found.flow.amount_out * state.dollars[token_out]
        fair = got >= LEAST_WORTH * amount * state.dollars[token_in]
        (gaps if fair else huge).append(found.optimality.gap_bps)
        if number % 10 == 0:
            bound = check_bound(
                state.pools, found.optimality.prices, token_in, token_out, amount, states.WRAPPED
            )
            wrong += [found] * (bound != found.optimality.bound)
        per_wei = state.dollars[states.WRAPPED] / state.dollars[token_out]
        price = GasPrice(int(WEI_PER_GAS * per_wei * 1e12), 10**12)
        started, busy = time.perf_counter(), time.process_time()
        found = best_flow_exact_in(*arguments, price)
        times.append(time.perf_counter() - started)
        cpu.append(time.process_time() - busy)
        if fair:
            net_gaps.append(found.optimality.net_gap_bps)
    if huge:
        text = f"{len(huge)}, gap p50 {statistics.median(huge):.1f} bps"
        report.baseline(f"{name}: trades that lose over 10 % to price impact", text)
    report.at_most(
        f"{name}: gap to the bound without gas, p50", statistics.median(gaps), 0.1, "bps", digits=4
    )
    report.at_most(f"{name}: gap to the bound without gas, p99", percentile(gaps, 0.99), 1, "bps", digits=4)
    net = f"p50 {statistics.median(net_gaps):.3f}, p90 {percentile(net_gaps, 0.9):.3f} bps"
    report.baseline(f"{name}: gap to the bound net of gas at 10 gwei", net)
    report.none(f"{name}: bounds that check_bound does not confirm", wrong, "bounds")
    report.at_most(f"{name}: warm solve, p50", statistics.median(times) * 1e3, goal_ms, "ms")
    report.at_most(f"{name}: warm solve, p99", percentile(times, 0.99) * 1e3, goal_ms * 3.5, "ms")
    busy_ms = f"p50 {statistics.median(cpu) * 1e3:.1f}, p99 {percentile(cpu, 0.99) * 1e3:.1f} ms"
    report.baseline(f"{name}: warm solve, processor time", busy_ms)
