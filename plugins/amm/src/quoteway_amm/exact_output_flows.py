"""The cheapest parallel paths for an exact output, and a lower bound on what any trade takes for it.

Needs numpy (the extra `solver`): import it in a solver process only. The prices of the dual problem tell
which paths are worth a look, and prove the bound; every amount is exact.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from quoteway_amm.bound import PoolProfit, exceeded_pools, node_of
from quoteway_amm.dual import solve
from quoteway_amm.errors import BandsExceeded
from quoteway_amm.exact_output_paths import OutputPath, one_command_groups, paths_gas
from quoteway_amm.exact_output_search import COARSE, Chosen, Search, Trade
from quoteway_amm.flow import Flow
from quoteway_amm.gas import FREE, GasModel, GasPrice
from quoteway_amm.graph import Edge, Graph
from quoteway_amm.input_bound import input_bound
from quoteway_amm.market import Market, integer_prices
from quoteway_amm.pool import NATIVE, Kind, Pool
from quoteway_amm.routing import Hop, NoPath

_DUAL_ROUNDS = 8
_NEAR = 1e-9
"""Where a further round would change the input by less, the prices are good."""
_MOST_CANDIDATES = 5_000
_TOLERANCE = 0.05
"""Paths whose price is by so much worse than that of the bound are not looked at first."""
_FIRST_PARTS = (1, 4, 16)
"""An order is built up of so many equal parts, each on the path that takes least for it."""


@dataclass(frozen=True, slots=True)
class InputBound:
    """A lower bound on the input, provable with `input_bound.check_input_bound` from `prices`.

    `net_bound` is the same with gas: every transaction and every pool used costs its least gas. `arbitrage`:
    at most so much of the input token the pools offer without any input.
    """

    bound: int
    net_bound: int
    arbitrage: int
    pools: int
    families: tuple[Kind, ...]
    prices: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ExactOutput:
    """Paths that buy exactly the output, one after the other in `flow.legs`, and the bound on its input."""

    flow: Flow
    optimality: InputBound


def cheapest_exact_output(
    pools: Sequence[Pool] | Market,
    wrapped_native: str | None,
    token_in: str,
    token_out: str,
    amount_out: int,
    gas_model: GasModel,
    gas_price: GasPrice = FREE,
    max_hops: int = 3,
    max_legs: int = 25,
    deadline_s: float = 1.0,
) -> ExactOutput | NoPath:
    """Returns the parallel paths that take least, with gas, among those found.

    No pool is used twice, and each path is of one family and one form of the native coin. Each has at most
    `max_hops` pools, all together at most `max_legs`. After `deadline_s` nothing more is improved. Raises
    BandsExceeded, with this result as `settled`, when the bound needs ticks that are not known, and
    ValueError for a bad request.
    """
    if amount_out <= 0 or max_hops < 1 or max_legs < 1:
        raise ValueError(f"amount {amount_out}, max_hops {max_hops}, max_legs {max_legs} must be positive")
    ends = time.monotonic() + deadline_s
    market = pools if isinstance(pools, Market) else Market(pools, wrapped_native)
    node_in, node_out = (node_of(token, wrapped_native) for token in (token_in, token_out))
    if node_in == node_out:
        raise ValueError(f"{token_in} and {token_out} are the same token: a swap needs two")
    if not market.graph.linked(node_in, node_out, max_hops):
        return NoPath("no_pool")
    if not market.graph.joined(node_in, node_out, max_hops):
        return NoPath("no_liquidity")
    trade = Trade(
        token_in,
        token_out,
        amount_out,
        gas_model,
        gas_price,
        max_hops,
        max_legs,
        lambda: time.monotonic() > ends,
    )
    prices, profits = _best_prices(market, node_in, node_out, amount_out)
    chosen = _search(market, trade, prices)
    if chosen is None:
        return NoPath("insufficient_liquidity")
    bound = input_bound(profits, prices, node_in, node_out, amount_out)
    result = ExactOutput(
        _flow_of(trade, chosen),
        InputBound(
            math.ceil(bound),
            math.ceil(_net_bound(market, trade, prices, profits, bound)),
            market.arbitrage(node_in),
            len(market.pools),
            market.families,
            prices,
        ),
    )
    exceeded = exceeded_pools(market.pools, profits)
    if exceeded:
        named = {(id(error.pool), error.zero_for_one): error for error in exceeded}
        raise BandsExceeded(tuple(named.values()), result)
    return result


# --- the bound --------------------------------------------------------------------------------------------


def _best_prices(
    market: Market, node_in: str, node_out: str, amount_out: int
) -> tuple[dict[str, int], list[PoolProfit]]:
    """Returns the prices with the greatest bound found, and the profits of the pools at them.

    The greatest output of an input is concave, and the price of the input is its slope: Newton's method finds
    the input whose greatest output is ``amount_out``. The prices of any input prove a bound.
    """
    start, numbers = market.idle[0], market.number
    sold, bought = numbers[node_in], numbers[node_out]
    amount_in = amount_out * float(start[bought] / start[sold])
    best: tuple[Fraction, dict[str, int], list[PoolProfit]] | None = None
    for _ in range(_DUAL_ROUNDS):
        solution = solve(market.pieces, start, sold, bought, amount_in)
        prices = integer_prices(market.nodes, solution.prices)
        profits = market.profits(prices)
        bound = input_bound(profits, prices, node_in, node_out, amount_out)
        if best is None or bound > best[0]:
            best = bound, prices, profits
        slope = float(solution.prices[sold])
        change = (amount_out - solution.value) / slope if slope > 0 else math.inf
        if abs(change) <= _NEAR * amount_in or not math.isfinite(change):
            break
        start = solution.prices
        # One that is too large has prices of nothing: back to where they say something.
        amount_in = max(amount_in + change, amount_in / 16)
        if amount_in > 2.0**250:
            break
    assert best is not None
    return best[1], best[2]


def _net_bound(
    market: Market, trade: Trade, prices: dict[str, int], profits: list[PoolProfit], bound: Fraction
) -> Fraction:
    """Returns a bound on the input with gas: every transaction and every pool used costs its least gas."""
    model, price = trade.gas_model, trade.gas_price
    node_in, node_out = (node_of(token, market.wrapped_native) for token in (trade.token_in, trade.token_out))
    scale = prices[node_in] << 96
    costs = {kind: scale * gas.hop * price.numerator // price.denominator for kind, gas in model.hops.items()}
    each = input_bound(
        profits, prices, node_in, node_out, trade.amount_out, lambda index: costs[market.pools[index].kind]
    )
    hops = 1
    while not market.graph.joined(node_in, node_out, hops):
        hops += 1
    once = model.transaction + (0 if trade.token_in == NATIVE else model.pull)
    least = once + hops * min(model.of(kind).hop for kind in market.families)

    def cost(units: int) -> Fraction:
        return Fraction(units * price.numerator, price.denominator)

    return max(each + cost(once), bound + cost(least))


# --- the search -------------------------------------------------------------------------------------------


def _search(market: Market, trade: Trade, prices: Mapping[str, int]) -> Chosen | None:
    best: Chosen | None = None
    for tolerance in (_TOLERANCE, math.inf):
        search = Search(trade, _candidates(market, trade, prices, tolerance))
        for parts in _FIRST_PARTS:
            started = search.grown(parts)
            if started is not None:
                found = search.improved(started)
                if best is None or search.cost(found) < search.cost(best):
                    best = found
            if trade.expired():
                break
        if trade.expired():
            break
        fair = _price_of(market, trade, prices)
        if best is not None and _marginal_price(best) <= fair * (1 + tolerance):
            break
    return None if best is None else search.polished(best)


def _price_of(market: Market, trade: Trade, prices: Mapping[str, int]) -> float:
    """Returns the input per output at the prices of the bound."""
    node_in, node_out = (node_of(token, market.wrapped_native) for token in (trade.token_in, trade.token_out))
    return prices[node_out] / prices[node_in]


def _marginal_price(chosen: Chosen) -> float:
    """Returns what the next output would take, per base unit."""
    found = math.inf
    for path, amount in zip(*chosen, strict=True):
        step = amount // COARSE + 1
        now, more = path.amount_in(amount), path.amount_in(amount + step)
        if now is not None and more is not None:
            found = min(found, (more - now) / step)
    return found


def _candidates(
    market: Market, trade: Trade, prices: Mapping[str, int], tolerance: float
) -> list[OutputPath]:
    """Returns the paths whose price is at most by ``tolerance`` worse than that of the bound, best first."""
    wrapped = market.wrapped_native
    node_in, node_out = (node_of(token, wrapped) for token in (trade.token_in, trade.token_out))
    worst = _price_of(market, trade, prices) * (1 + tolerance)
    found: list[OutputPath] = []
    for group in one_command_groups(market.pools, wrapped):
        graph = Graph(group, wrapped)
        for edges in _walks(graph, node_in, node_out, trade.max_hops, prices, tolerance):
            path = OutputPath.of(edges)
            if path.price <= worst and len(edges) <= trade.max_legs:
                found.append(path)
        if trade.expired():
            break
    found.sort(key=lambda path: path.price)
    return found[:_MOST_CANDIDATES]


def _walks(
    graph: Graph, start: str, end: str, max_hops: int, prices: Mapping[str, int], tolerance: float
) -> Iterator[tuple[Edge, ...]]:
    """Yields the paths over distinct tokens, without pools that are far from the prices."""
    # A way may make up for a bad pool with good ones.
    room = 1 + 2 * tolerance

    def edges(node: str, after: str) -> list[Edge]:
        fair = prices[node] / prices[after] if prices[after] else math.inf
        return [edge for edge in graph.edges(node, after) if edge.rate > 0 and fair <= edge.rate * room]

    stack: list[tuple[tuple[str, ...], tuple[Edge, ...]]] = [((start,), ())]
    while stack:
        nodes, passed = stack.pop()
        for after in graph.neighbours(nodes[-1]):
            if after in nodes or (after != end and len(nodes) >= max_hops):
                continue
            for edge in edges(nodes[-1], after):
                if after == end:
                    yield (*passed, edge)
                else:
                    stack.append(((*nodes, after), (*passed, edge)))


def _flow_of(trade: Trade, chosen: Chosen) -> Flow:
    parts = sorted(
        (path.hops(amount) for path, amount in zip(*chosen, strict=True)),
        key=lambda part: -part[-1].amount_out,
    )
    units = paths_gas(parts, trade.token_in, trade.token_out, trade.gas_model)
    legs: tuple[Hop, ...] = tuple(hop for part in parts for hop in part)
    amount_in = sum(part[0].amount_in for part in parts)
    ends = trade.token_in, trade.token_out
    return Flow(*ends, legs, amount_in, trade.amount_out, units, trade.gas_price.cost(units))
