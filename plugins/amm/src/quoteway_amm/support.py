"""Which pools a flow uses: an acyclic choice within the limits, cut while the net of gas improves.

At the best prices of a set of pools, leaving a pool out costs at least its profit there, and leaving several
out costs at least the sum of their profits (the value without them is at most the value less their profits).
So once every pool's profit exceeds its gas, no smaller choice of the same pools is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quoteway_amm.dual import Solution, solve
from quoteway_amm.levels import Levels, better_move, first_levels
from quoteway_amm.pieces import Flags, Floats, Integers, Pieces

_SLACK = 1e-6
"""A better choice of levels is looked for until the value is within 0.01 bps of that without limits."""

_MOVES = 8
"""The most changes of levels tried in vain, one after the other."""

_SETTLED = 1e-5
"""A solution with a greater residual states too high a value: it is no improvement."""

_DUST = 1e-9
"""Legs below this share of the value are left out."""


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
    """One trade: its pools, ends, amount, limits, and the gas of each pool per use and per tick crossed."""

    pieces: Pieces
    node_in: int
    node_out: int
    amount_in: float
    max_hops: int
    max_legs: int
    hop_gas: Floats
    tick_gas: Floats
    expired: Callable[[], bool]


def choose(problem: Problem, solution: Solution) -> Support | None:
    """Returns the pools of the best flow found, from the best prices over all pools; None without any."""
    support = _connected(problem, _support(problem, _within_hops(problem, solution)))
    return _passable(problem, _profitable(problem, _fewer(problem, support)))


def _within_hops(problem: Problem, relaxed: Solution) -> Solution:
    """Returns the best trades between rising levels, the levels improved one node at a time."""
    pieces = problem.pieces
    guesses = first_levels(pieces, relaxed, problem.node_in, problem.node_out, problem.max_hops)
    trades = relaxed.trades
    for guess in guesses:
        down, up = guess.directions(pieces)
        if np.where(trades.zero_for_one, down[trades.pools], up[trades.pools]).all():
            return relaxed
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
    return best


def _fewer(problem: Problem, support: Support | None) -> Support | None:
    """Drops the legs with the least profit until there are at most `max_legs`, a third at a time."""
    current = support
    while current is not None and len(current.pools) > problem.max_legs:
        excess = len(current.pools) - problem.max_legs
        count = max(min(excess, len(current.pools) // 3), 1)
        current = _without(problem, current, np.argsort(current.profit - current.gas)[:count])
        if current is not None:
            current = _connected(problem, current)
    return current


def _profitable(problem: Problem, support: Support | None) -> Support | None:
    """Drops legs whose profit is below their gas while that improves the net, many at a time at first."""
    kept: set[int] = set()
    batch: int | None = None
    while support is not None and not problem.expired():
        missing = support.gas - support.profit
        losing = [at for at in np.argsort(-missing) if missing[at] > 0 and int(support.pools[at]) not in kept]
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
    return solve(problem.pieces, prices, problem.node_in, problem.node_out, problem.amount_in, down, up)


def _support(problem: Problem, solution: Solution) -> Support:
    trades, pieces = solution.trades, problem.pieces
    used = trades.amount_out > 0
    pools, falling = trades.pools[used], trades.zero_for_one[used]
    token0, token1 = pieces.token0[pools], pieces.token1[pools]
    source, target = np.where(falling, token0, token1), np.where(falling, token1, token0)
    amount_in = trades.amount_in[used]
    gas = problem.hop_gas[pools] + problem.tick_gas[pools] * trades.crossed[used]
    big = amount_in * solution.prices[source] > _DUST * solution.value
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
    pools, falling = support.pools[keep], support.zero_for_one[keep]
    nodes, numbers = np.unique(
        np.concatenate([support.source[keep], support.target[keep]]), return_inverse=True
    )
    source, target = numbers[: len(pools)], numbers[len(pools) :]
    at_in, at_out = np.searchsorted(nodes, problem.node_in), np.searchsorted(nodes, problem.node_out)
    if not _found(nodes, at_in, problem.node_in) or not _found(nodes, at_out, problem.node_out):
        return None
    token0, token1 = np.where(falling, source, target), np.where(falling, target, source)
    small = problem.pieces.take(pools, token0, token1)
    found = solve(small, support.prices[nodes], int(at_in), int(at_out), problem.amount_in, falling, ~falling)
    prices = np.zeros_like(support.prices)
    prices[nodes] = found.prices
    trades = found.trades
    used = trades.amount_out > 0
    here = trades.pools[used]
    amount_in, profit = trades.amount_in[used], trades.profit[used]
    big = amount_in * found.prices[source[here]] > _DUST * found.value
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
        prices,
        found.value,
    )


def _found(nodes: Integers, at: int | np.intp, node: int) -> bool:
    return int(at) < len(nodes) and int(nodes[at]) == node


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
