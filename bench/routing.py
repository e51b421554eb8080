"""Flows over generated markets without arbitrage: gap to the bound, time of a warm solve, quotes a second."""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from bench.harness import harness
from bench.report import Report, percentile

SIZES = ((170, 20, 10), (1_000, 100, 20), (10_000, 300, 60))
"""Pools, tokens, and the goal for the median time of a warm solve in milliseconds."""

LARGEST = (100_000, 1_000)
"""Pools and tokens of the market that the growth of the time is measured up to."""

TRADES = 40
TRADES_OF_LARGEST = 10
SMALL_CASES = 20
DOLLARS = (1e3, 1e4, 1e5, 1e6, 1e7)
LEAST_WORTH = 0.9
"""Trades that give less than this share of what they take drain the market: they are counted apart."""

WEI_PER_GAS = 10**10
LEGS = 64
MORE_LEGS = 400
"""What trades with a gap over ``WIDE_BPS`` are solved with again: large ones need more pools."""
WIDE_BPS = 1.0


@dataclass
class Times:
    """Seconds of warm solves: by the clock, and of the processor by how the flow was found."""

    clock: list[float] = field(default_factory=list)
    single: list[float] = field(default_factory=list)
    solved: list[float] = field(default_factory=list)

    @property
    def cpu(self) -> list[float]:
        return [*self.single, *self.solved]


async def measure(report: Report, options: argparse.Namespace) -> None:
    states = harness("market_states", "amm")
    medians = []
    for pools, tokens, goal_ms in SIZES:
        report.say(f"generating {pools} pools of {tokens} tokens, seed {options.seed}")
        state = states.generate(pools, tokens, options.seed)
        times = _measure_state(report, state, states, goal_ms, random.Random(options.seed))  # noqa: S311 - not for secrets
        medians.append((pools, statistics.median(times.cpu)))
        _rates(report, f"{pools:,} pools", times)
    _measure_growth(report, states, medians, options.seed)
    _measure_small_cases(report, options.seed)


def _measure_state(report: Report, state: Any, states: Any, goal_ms: int, rng: random.Random) -> Times:
    from quoteway_amm import FREE
    from quoteway_amm.bound import check_bound
    from quoteway_amm.flows import best_flow_exact_in

    name = f"{len(state.pools):,} pools"
    market = _market(report, state, states, name)
    gaps, short_gaps, net_gaps, wrong, huge = [], [], [], [], []
    wide: list[float] = []
    times = Times()
    for number in range(TRADES):
        # Half of the trades are between hubs, half between any tokens, at every size of trade.
        names = states.HUBS if number % 2 else sorted(state.dollars)
        token_in, token_out = rng.sample(names, 2)
        amount = state.units(token_in, DOLLARS[number // 2 % len(DOLLARS)])
        arguments = market, states.WRAPPED, token_in, token_out, amount, _gas_model()
        found = best_flow_exact_in(*arguments, FREE, None, LEGS)
        got = found.flow.amount_out * state.dollars[token_out]
        fair = got >= LEAST_WORTH * amount * state.dollars[token_in]
        (gaps if fair else huge).append(found.optimality.gap_bps)
        if fair:
            short_gaps.append(best_flow_exact_in(*arguments, FREE, 4, LEGS).optimality.gap_bps)
            if found.optimality.gap_bps > WIDE_BPS:
                wide.append(best_flow_exact_in(*arguments, FREE, None, MORE_LEGS).optimality.gap_bps)
        if number % 10 == 0:
            bound = check_bound(
                state.pools, found.optimality.prices, token_in, token_out, amount, states.WRAPPED
            )
            wrong += [found] * (bound != found.optimality.bound)
        net_gap = _timed(times, arguments, _gas_price(state, states, token_out))
        if fair:
            net_gaps.append(net_gap)
    if huge:
        text = f"{len(huge)}, gap p50 {statistics.median(huge):.1f} bps"
        report.baseline(f"{name}: trades that lose over 10 % to price impact", text)
    report.at_most(
        f"{name}: gap to the bound without gas, p50", statistics.median(gaps), 0.1, "bps", digits=4
    )
    report.at_most(f"{name}: gap to the bound without gas, p99", percentile(gaps, 0.99), 1, "bps", digits=4)
    short = f"p50 {statistics.median(short_gaps):.4f}, p99 {percentile(short_gaps, 0.99):.4f} bps"
    report.baseline(f"{name}: the same with at most four hops", short)
    if wide:
        more = f"{len(wide)} trades, p50 {statistics.median(wide):.4f}, most {max(wide):.4f} bps"
        report.baseline(f"{name}: those over {WIDE_BPS:.0f} bps with up to {MORE_LEGS} legs", more)
    net = f"p50 {statistics.median(net_gaps):.3f}, p90 {percentile(net_gaps, 0.9):.3f} bps"
    report.baseline(f"{name}: gap to the bound net of gas at 10 gwei", net)
    report.none(f"{name}: bounds that check_bound does not confirm", wrong, "bounds")
    report.at_most(f"{name}: warm solve, p50", statistics.median(times.clock) * 1e3, goal_ms, "ms")
    report.at_most(f"{name}: warm solve, p99", percentile(times.clock, 0.99) * 1e3, goal_ms * 3.5, "ms")
    busy = f"p50 {statistics.median(times.cpu) * 1e3:.1f}, p99 {percentile(times.cpu, 0.99) * 1e3:.1f} ms"
    report.baseline(f"{name}: warm solve, processor time", busy)
    return times


def _market(report: Report, state: Any, states: Any, name: str) -> Any:
    from quoteway_amm.market import Market

    started = time.perf_counter()
    market = Market(state.pools, states.WRAPPED)
    market.arbitrage(states.WRAPPED)
    report.baseline(f"{name}: prepared once per block", f"{time.perf_counter() - started:.2f} s")
    return market


def _gas_model() -> Any:
    from quoteway_amm import UNISWAP_GAS

    return UNISWAP_GAS


def _gas_price(state: Any, states: Any, token_out: str) -> Any:
    from quoteway_amm import GasPrice

    per_wei = state.dollars[states.WRAPPED] / state.dollars[token_out]
    return GasPrice(int(WEI_PER_GAS * per_wei * 1e12), 10**12)


def _timed(times: Times, arguments: tuple[Any, ...], gas_price: Any) -> float:
    """Adds the time of one solve net of gas and returns its gap net of gas."""
    from quoteway_amm.flows import best_flow_exact_in

    started, busy = time.perf_counter(), time.process_time()
    found = best_flow_exact_in(*arguments, gas_price)
    busy = time.process_time() - busy
    times.clock.append(time.perf_counter() - started)
    proven = found.optimality.method == "single_path" and found.optimality.net_gap_bps <= 0.1
    (times.single if proven else times.solved).append(busy)
    return float(found.optimality.net_gap_bps)


def _rates(report: Report, name: str, times: Times) -> None:
    """Adds the quotes a second of one core, where the best single path suffices and where it does not."""
    for what, seconds, goal in (("solved", times.solved, 60), ("single path suffices", times.single, 400)):
        if seconds:
            rate = len(seconds) / sum(seconds)
            report.at_least(f"{name}: quotes a second of processor time, {what}", rate, goal, digits=0)


def _measure_growth(report: Report, states: Any, medians: list[tuple[int, float]], seed: int) -> None:
    """Adds the exponent of the median time from the least market to the largest."""
    report.say(f"generating {LARGEST[0]} pools of {LARGEST[1]} tokens, seed {seed}")
    state = states.generate(*LARGEST, seed)
    name = f"{LARGEST[0]:,} pools"
    market = _market(report, state, states, name)
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    times = Times()
    for number in range(TRADES_OF_LARGEST):
        names = states.HUBS if number % 2 else sorted(state.dollars)
        token_in, token_out = rng.sample(names, 2)
        amount = state.units(token_in, DOLLARS[number // 2 % len(DOLLARS)])
        arguments = market, states.WRAPPED, token_in, token_out, amount, _gas_model()
        price = _gas_price(state, states, token_out)
        # The first solve of a pair computes what a market keeps.
        _timed(Times(), arguments, price)
        _timed(times, arguments, price)
    largest = statistics.median(times.cpu)
    report.baseline(f"{name}: warm solve, processor time", f"p50 {largest * 1e3:.1f} ms")
    pools, least = medians[0]
    exponent = math.log(largest / least) / math.log(LARGEST[0] / pools)
    report.at_most(
        f"growth of the time of a solve from {pools} to {name}", exponent, 0.8, "(exponent)", digits=2
    )


def _measure_small_cases(report: Report, seed: int) -> None:
    """Compares flows net of gas with every choice of up to eight pools, and with the best single path."""
    from quoteway_amm import Graph, best_path_exact_in
    from quoteway_amm.flow import make_flow
    from quoteway_amm.flows import best_flow_exact_in

    checks, model = harness("flow_checks", "amm"), _gas_model()
    missed, below = [], []
    for number in range(SMALL_CASES):
        directed, amount, price = checks.small_case(seed + number, 5 + number % 3)
        order = "0xa", "0xb", amount
        found = best_flow_exact_in([pool for pool, _ in directed], None, *order, model, price)

        def score(hops: Any, order: Any = order, price: Any = price) -> Fraction:
            return Fraction(checks.net(make_flow(hops, *order, model, price, None), price))

        best = checks.best_by_trying(directed, *order, score)
        reached = checks.net(found.flow, price)
        missed.append(max(float((best - reached) / best) * 10_000, 0.0) if best > 0 else 0.0)
        path = best_path_exact_in(Graph([pool for pool, _ in directed]), *order, model, price)
        below += [number] * (reached < checks.net(path, price))
    report.at_most(
        "small cases: net of gas below trying every choice, worst", max(missed), 0.5, "bps", digits=4
    )
    report.none("small cases: flows net of gas below the best single path", below, "flows")
