"""Which pools a flow uses: an acyclic choice within the limits, cut while the net of gas improves.

At the best prices of a set of pools, leaving a pool out costs at least its profit there, and leaving several
out costs at least the sum of their profits (the value without them is at most the value less their profits).
So once every pool's profit exceeds its gas, no smaller choice of the same pools is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from quoteway_amm.dual import Solution, best_trades, solve
from quoteway_amm.levels import DUST, Levels, better_move, first_levels
from quoteway_amm.pieces import Flags, Floats, Integers, Pieces

ANY_HOPS = 12
"""The most pools on each way through a flow without a limit: far more than a good flow has."""

_SLACK = 1e-6
"""A better choice of levels is looked for until the value is within 0.01 bps of that without limits."""

_MOVES = 8
"""The most changes of levels tried in vain, one after the other."""

_NEAR_DAMPING = 1e-4
_FINE = 1e-8
"""The prices of a choice of legs are found to 0.0001 bps of the value."""

_FULL = 0.75
"""The share of the most legs from which on other legs may be better ones."""

_EXCHANGES = 8
"""The most rounds of exchanges of legs when the flow has as many as it may."""

_SETTLED = 1e-3
"""A solution with a greater residual states too high a value: it is no improvement."""


@dataclass(frozen=True, slots=True)
class Support:
    """The trades of chosen pools at their best prices; nodes numbered as in the market.

    `pools` are positions in the market's pieces. `net` is the value less the gas of the pools, in base units
    of the output token. `used_up` legs take all that their pool can take.
    """

    pools: Integers
    zero_for_one: Flags
    source: Integers
    target: Integers
    amount_in: Floats
    used_up: Flags
    profit: Floats
    gas: Floats
    prices: Floats
    value: float

    @property
    def net(self) -> float:
        return self.value - float(self.gas.sum())


@dataclass(frozen=True, slots=True)
class Problem:
    """One trade: its pools, ends, amount, limits, and the gas of each pool per use and per tick crossed.

    Pools with the same number in `rivals` are pairs of one pool: a flow has one of them at most. None: all
    are pools of their own. `barred` pools are not used.
    """

    pieces: Pieces
    node_in: int
    node_out: int
    amount_in: float
    max_hops: int
    max_legs: int
    hop_gas: Floats
    tick_gas: Floats
    expired: Callable[[], bool]
    rivals: Integers | None = None
    barred: Integers | None = None


def choose(problem: Problem, solution: Solution) -> Support | None:
    """Returns the pools of the best flow found, from the best prices over all pools; None without any."""
    if problem.rivals is not None:
        problem, solution = _without_rivals(problem, solution, problem.rivals)
    within, down, up = _within_hops(problem, solution)
    everything = _alone(problem, _connected(problem, _support(problem, within)))
    support = _fewer(problem, everything)
    full = support is not everything
    support = _profitable(problem, support)
    if full and support is not None and len(support.pools) > problem.max_legs * _FULL:
        exchanged = _exchanged(problem, support, within.prices, down, up)
        support = support if exchanged is support else _profitable(problem, exchanged)
    return _passable(problem, support)


def _without_rivals(problem: Problem, solution: Solution, rivals: Integers) -> tuple[Problem, Solution]:
    """Returns a problem in which the pairs that trade are alone in their pool, and its best prices."""
    down = np.ones(len(rivals), dtype=np.bool_)
    while not problem.expired():
        trades = solution.trades
        beaten = trades.pools[_beaten(rivals, trades.pools, trades.profit)]
        if not len(beaten):
            break
        down[beaten] = False
        start, ends = solution.prices, (problem.node_in, problem.node_out)
        solution = solve(problem.pieces, start, *ends, problem.amount_in, down, down)
    return replace(problem, barred=np.flatnonzero(~down)), solution


def _alone(problem: Problem, support: Support | None) -> Support | None:
    """Drops the legs of which another pair of the same pool has a greater profit."""
    if support is None or problem.rivals is None:
        return support
    beaten = _beaten(problem.rivals, support.pools, support.profit)
    left = _without(problem, support, beaten) if len(beaten) else support
    return None if left is None else _connected(problem, left)


def _beaten(rivals: Integers, pools: Integers, profit: Floats) -> Integers:
    """Returns the positions of the pools of which another pair has a greater profit."""
    best: dict[int, int] = {}
    for at in np.argsort(-profit, kind="stable").tolist():
        best.setdefault(int(rivals[pools[at]]), at)
    kept = set(best.values())
    return np.array([at for at in range(len(pools)) if at not in kept], dtype=np.int64)


def _within_hops(problem: Problem, relaxed: Solution) -> tuple[Solution, Flags, Flags]:
    """Returns the best trades between rising levels, the levels improved one node at a time, and which pools
    these let trade zero_for_one and back.
    """
    pieces = problem.pieces
    guesses = first_levels(pieces, relaxed, problem.node_in, problem.node_out, problem.max_hops)
    trades = relaxed.trades
    source = np.where(trades.zero_for_one, pieces.token0[trades.pools], pieces.token1[trades.pools])
    dust = trades.amount_in * relaxed.prices[source] <= DUST * relaxed.value
    for guess in guesses:
        down, up = guess.directions(pieces)
        if (dust | np.where(trades.zero_for_one, down[trades.pools], up[trades.pools])).all():
            return relaxed, down, up
    solved = [_solve_all(problem, relaxed.prices, guess) for guess in guesses]
    first = int(solved[1].value > solved[0].value and solved[1].residual < _SETTLED)
    best, levels = solved[first], guesses[first]
    tried: set[tuple[int, int]] = set()
    while best.value < relaxed.value * (1 - _SLACK) and len(tried) < _MOVES and not problem.expired():
        move = better_move(pieces, best, levels, tried)
        if move is None or move[2] < _SLACK * best.value:
            break
        node, level, _ = move
        tried.add((node, level))
        moved = levels.moved(node, level)
        found = _solve_all(problem, best.prices, moved)
        if found.value > best.value and found.residual < _SETTLED:
            tried = {(node, int(levels.level[node]))}
            best, levels = found, moved
    return best, *levels.directions(pieces)


def _fewer(problem: Problem, support: Support | None) -> Support | None:
    """Drops the legs with the least profit until `max_legs` are left, most of the excess at a time."""
    current = support
    while current is not None and len(current.pools) > problem.max_legs:
        excess = len(current.pools) - problem.max_legs
        count = max(min(excess * 2 // 3, len(current.pools) // 2), 1)
        current = _without(problem, current, np.argsort(current.profit - current.gas)[:count])
        if current is not None:
            current = _connected(problem, current)
    return current


def _exchanged(
    problem: Problem, support: Support | None, prices: Floats, down: Flags, up: Flags
) -> Support | None:
    """Exchanges the legs with the least profit for pools that have more at the flow's prices, while it gains.

    `prices` are for the tokens that the flow does not touch; `down` and `up` keep it without a cycle.
    """
    for _ in range(_EXCHANGES):
        if support is None or problem.expired():
            break
        around = np.where(support.prices > 0, support.prices, prices)
        trades = best_trades(problem.pieces, around, down, up)
        outside = ~np.isin(trades.pools, support.pools)
        if problem.rivals is not None:
            outside &= ~np.isin(problem.rivals[trades.pools], problem.rivals[support.pools])
            outside[_beaten(problem.rivals, trades.pools, trades.profit)] = False
        pools, falling = trades.pools[outside], trades.zero_for_one[outside]
        gas = problem.hop_gas[pools] + problem.tick_gas[pools] * trades.crossed[outside]
        gain = trades.profit[outside] - gas
        most = np.argsort(-gain)[: max(problem.max_legs // 3, 4)]
        most = most[gain[most] > _SLACK / 100 * support.value]
        if not len(most):
            break
        tried = _restricted(
            problem,
            around,
            np.concatenate([support.pools, pools[most]]),
            np.concatenate([support.zero_for_one, falling[most]]),
        )
        tried = None if tried is None else _fewer(problem, _connected(problem, tried))
        if tried is None or tried.net <= support.net * (1 + _SLACK / 10):
            break
        support = tried
    return support


def _profitable(problem: Problem, support: Support | None) -> Support | None:
    """Drops legs whose profit is below their gas while that improves the net, many at a time at first."""
    kept: set[int] = set()
    batch: int | None = None
    while support is not None and not problem.expired():
        missing = support.gas - support.profit
        least = _SLACK * support.value
        losing = [
            at for at in np.argsort(-missing) if missing[at] > least and int(support.pools[at]) not in kept
        ]
        if not losing:
            break
        batch = max(len(losing) // 2, 1) if batch is None else min(batch, len(losing))
        tried = _without(problem, support, np.array(losing[:batch]))
        if tried is not None:
            tried = _connected(problem, tried)
        if tried is not None and tried.net > support.net:
            support = tried
            batch = None
        elif batch > 1:
            batch //= 2
        else:
            kept.add(int(support.pools[losing[0]]))
    return support


def _passable(problem: Problem, support: Support | None) -> Support | None:
    """Drops legs into nodes whose pools onwards are all used up: a flow may leave nothing there."""
    while support is not None:
        room = np.zeros(len(support.prices), dtype=np.bool_)
        room[problem.node_out] = True
        room[support.source[~support.used_up]] = True
        if not room[problem.node_in]:
            return None
        stuck = np.flatnonzero(~room[support.target])
        if not len(stuck):
            break
        least = stuck[np.argsort(support.profit[stuck])[:1]]
        support = _without(problem, support, least)
        support = None if support is None else _connected(problem, support)
    return support


def _connected(problem: Problem, support: Support) -> Support | None:
    """Drops legs that do not lie between input and output: what flows there is dust."""
    current: Support | None = support
    while current is not None:
        sources, targets = current.source.tolist(), current.target.tolist()
        ahead = _reach(sources, targets, problem.node_in)
        behind = _reach(targets, sources, problem.node_out)
        dead = [at for at in range(len(sources)) if sources[at] not in ahead or targets[at] not in behind]
        if not dead:
            break
        current = _without(problem, current, np.array(dead, dtype=np.int64))
    return current if current is not None and len(current.pools) else None


def _solve_all(problem: Problem, prices: Floats, levels: Levels) -> Solution:
    down, up = levels.directions(problem.pieces)
    if problem.barred is not None:
        down[problem.barred] = up[problem.barred] = False
    return solve(problem.pieces, prices, problem.node_in, problem.node_out, problem.amount_in, down, up)


def _support(problem: Problem, solution: Solution) -> Support:
    trades, pieces = solution.trades, problem.pieces
    used = trades.amount_out > 0
    pools, falling = trades.pools[used], trades.zero_for_one[used]
    token0, token1 = pieces.token0[pools], pieces.token1[pools]
    source, target = np.where(falling, token0, token1), np.where(falling, token1, token0)
    amount_in = trades.amount_in[used]
    gas = problem.hop_gas[pools] + problem.tick_gas[pools] * trades.crossed[used]
    big = amount_in * solution.prices[source] > DUST * solution.value
    return Support(
        pools[big],
        falling[big],
        source[big],
        target[big],
        amount_in[big],
        trades.weight[used][big] == 0,
        trades.profit[used][big],
        gas[big],
        solution.prices,
        solution.value,
    )


def _without(problem: Problem, support: Support, removed: Integers) -> Support | None:
    """Returns the best flow over the other legs; None when they do not join input and output."""
    keep = np.ones(len(support.pools), dtype=np.bool_)
    keep[removed] = False
    return _restricted(problem, support.prices, support.pools[keep], support.zero_for_one[keep])


def _restricted(problem: Problem, prices: Floats, pools: Integers, falling: Flags) -> Support | None:
    """Returns the best flow over some pools in one direction each, found from `prices`; None without any."""
    ends = problem.pieces.token0[pools], problem.pieces.token1[pools]
    source, target = np.where(falling, *ends), np.where(falling, *ends[::-1])
    touched = np.zeros(len(prices), dtype=np.bool_)
    touched[source] = touched[target] = True
    if not touched[problem.node_in] or not touched[problem.node_out]:
        return None
    nodes = np.flatnonzero(touched)
    numbers = np.cumsum(touched) - 1
    source, target = numbers[source], numbers[target]
    token0, token1 = np.where(falling, source, target), np.where(falling, target, source)
    small = problem.pieces.take(pools, token0, token1)
    found = solve(
        small,
        prices[nodes],
        int(numbers[problem.node_in]),
        int(numbers[problem.node_out]),
        problem.amount_in,
        falling,
        ~falling,
        _NEAR_DAMPING,
        _FINE,
    )
    reached = np.zeros_like(prices)
    reached[nodes] = found.prices
    trades = found.trades
    used = trades.amount_out > 0
    here = trades.pools[used]
    amount_in, profit = trades.amount_in[used], trades.profit[used]
    big = amount_in * found.prices[source[here]] > DUST * found.value
    here = here[big]
    if not len(here):
        return None
    gas = problem.hop_gas[pools[here]] + problem.tick_gas[pools[here]] * trades.crossed[used][big]
    return Support(
        pools[here],
        falling[here],
        nodes[source[here]],
        nodes[target[here]],
        amount_in[big],
        trades.weight[used][big] == 0,
        profit[big],
        gas,
        reached,
        found.value,
    )


def _reach(sources: list[int], targets: list[int], start: int) -> set[int]:
    onward: dict[int, list[int]] = {}
    for source, target in zip(sources, targets, strict=True):
        onward.setdefault(source, []).append(target)
    seen, stack = {start}, [start]
    while stack:
        for node in onward.get(stack.pop(), ()):
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return seen
