"""What must hold of every flow, and a search for good flows that shares nothing with the optimiser."""

import itertools
import random
from fractions import Fraction

from quoteway_amm import NATIVE, GasPrice, V2Pool
from quoteway_amm.flow import SHARE_ONE, PlannedLeg, execution_order, simulate

WRAPPED = "0xw"


def node(token):
    return WRAPPED if token == NATIVE else token


def check_flow(flow, token_in, token_out, amount_in, max_hops=None, max_legs=None):
    """Asserts that the legs can be executed in their order with these amounts and leave nothing."""
    legs = flow.legs
    assert len({leg.pool.id for leg in legs}) == len(legs)
    assert max_legs is None or len(legs) <= max(max_legs, 4)
    held, depth, left = {node(token_in): amount_in}, {node(token_in): 0}, set()
    for leg in legs:
        source, target = node(leg.token_in), node(leg.token_out)
        tokens = (leg.pool.token0, leg.pool.token1)
        assert (leg.token_in, leg.token_out) == (tokens if leg.zero_for_one else tokens[::-1])
        # Every leg into a node comes before those out of it.
        assert target not in left
        left.add(source)
        assert leg.pool.exact_in(leg.zero_for_one, leg.amount_in) == (leg.amount_out, leg.ticks_crossed)
        held[source] -= leg.amount_in
        assert held[source] >= 0
        held[target] = held.get(target, 0) + leg.amount_out
        depth[target] = max(depth.get(target, 0), depth[source] + 1)
    assert held.pop(node(token_out)) == flow.amount_out
    assert not any(held.values())
    assert flow.amount_in == amount_in
    assert max_hops is None or max(depth.values()) <= max_hops


def net(flow, gas_price):
    """Returns the output after gas."""
    return flow.amount_out - Fraction(flow.gas_units * gas_price.numerator, gas_price.denominator)


def small_case(seed, count=6):
    """Returns pools with directions, an amount and a gas price. The pools lead from the input "0xa" to the
    output "0xb", from the input to a third token, and from that to the output, in turns.
    """
    rng = random.Random(seed)
    directed = []
    ways = itertools.cycle((("0xa", "0xb"), ("0xa", "0xc"), ("0xc", "0xb")))
    for number, (source, target) in zip(range(count), ways, strict=False):
        token0, token1 = sorted((source, target))
        reserve = int(10 ** rng.uniform(23, 25))
        pool = V2Pool(f"0x{number}", token0, token1, reserve, int(reserve * rng.uniform(0.998, 1.002)))
        directed.append((pool, token0 == source))
    return (
        directed,
        int(10 ** rng.uniform(20, 23.5)),
        GasPrice(rng.choice((0, int(10 ** rng.uniform(12, 15))))),
    )


def best_by_trying(directed, token_in, token_out, amount_in, score):
    """Returns the best score over every choice of the pools given as (pool, zero_for_one).

    Shares start equal and move between the legs of a node by halving steps.
    """
    best = None
    for size in range(1, len(directed) + 1):
        for chosen in itertools.combinations(directed, size):
            found = _best_shares(chosen, token_in, token_out, amount_in, score)
            if found is not None and (best is None or found > best):
                best = found
    return best


def _best_shares(chosen, token_in, token_out, amount_in, score):
    groups = {}
    for at, (pool, zero_for_one) in enumerate(chosen):
        groups.setdefault(pool.token0 if zero_for_one else pool.token1, []).append(at)
    shares = [0.0] * len(chosen)
    for group in groups.values():
        for at in group:
            shares[at] = 1 / len(group)

    def value(trial):
        legs = [PlannedLeg(p, z, int(s * SHARE_ONE)) for (p, z), s in zip(chosen, trial, strict=True)]
        order = execution_order(legs, token_in, token_out, None)
        hops = None if order is None else simulate(order, token_in, amount_in, None)
        return None if hops is None else score(hops)

    now = value(shares)
    if now is None:
        return None
    moves = [pair for group in groups.values() for pair in itertools.permutations(group, 2)]
    step = 0.25
    while step > 1e-5:
        improved = False
        for giver, taker in moves:
            if shares[giver] <= step:
                continue
            trial = list(shares)
            trial[giver] -= step
            trial[taker] += step
            tried = value(trial)
            if tried is not None and tried > now:
                shares, now, improved = trial, tried, True
        if not improved:
            step /= 2
    return now
