"""The best single path, found at once, with prices that may prove that splitting it gains next to nothing.

At any prices a path gives at most the worth of its input and the profits of its pools, less what it loses in
pools that have none. So pools that lose more than a known flow does are left out, and often all of them: the
search sees a few pools of thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from quoteway_amm.average import average_rates
from quoteway_amm.errors import BandExceeded
from quoteway_amm.gas import GasModel, GasPrice
from quoteway_amm.graph import Edge
from quoteway_amm.market import Market
from quoteway_amm.pieces import Floats, Pieces
from quoteway_amm.routing import Hop, Path, better_path_exact_in
from quoteway_amm.search import Ceiling
from quoteway_amm.spot import spot, start_prices

_MARGIN = 1e-9

_PARALLEL = 8
"""The most pools between two tokens that are tried for a first path."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before a search. `prices`: per node, that of the output being 1. `profits`: of the pools
    that have one at these prices, in base units of the output. `score`: the net of gas to exceed, times the
    gas price's denominator; None: none.
    """

    prices: Floats
    profits: Sequence[float]
    score: int | None


def better_path(
    market: Market,
    token_in: str,
    token_out: str,
    amount_in: int,
    gas_model: GasModel,
    gas_price: GasPrice,
    max_hops: int,
    known: Known,
) -> Path | None:
    """Returns the path of `best_path_exact_in` when its output net of gas exceeds what is known, else None.

    Raises BandsExceeded as that search does.
    """
    graph, prices = market.graph, known.prices
    if known.score is not None:
        floor = known.score / gas_price.denominator
        least_gas = gas_model.transaction + min(gas.hop for gas in gas_model.hops.values())
        floor += least_gas * gas_price.numerator / gas_price.denominator * (1 - _MARGIN)
        edges = _winning_edges(
            market, known, max_hops, graph.node(token_in), graph.node(token_out), amount_in, floor
        )
        if not edges:
            return None
        graph = graph.limited(edges)
    by_node = dict(zip(market.nodes, prices.tolist(), strict=True))
    ceiling = Ceiling(by_node, max(known.profits, default=0.0), known.score)
    return better_path_exact_in(
        graph, token_in, token_out, amount_in, gas_model, gas_price, max_hops, ceiling
    )


def _winning_edges(
    market: Market, known: Known, max_hops: int, node_in: str, node_out: str, amount_in: int, floor: float
) -> list[Edge]:
    """Returns the pools and directions that a path with an output above `floor` may have."""
    pieces, prices = market.pieces, known.prices
    start, end = market.number[node_in], market.number[node_out]
    # What the pools of a path add, at most, and so what is lost on the way, at most.
    extra = float(sum(sorted(known.profits)[-max_hops:]))
    lost = amount_in * float(prices[start]) + extra - floor + _MARGIN * abs(floor)
    if lost < 0:
        return []
    # A path carries at least floor - extra into each of its pools, at these prices.
    share = lost / (floor - extra) if floor > extra else inf
    reach, spot_prices = market.reach(start), market.spot(end).prices
    least = floor / amount_in * (1 - _MARGIN)
    found: list[Edge] = []
    for side, source, target, rate in (
        (0, pieces.token0, pieces.token1, np.exp(2 * pieces.low)),
        (1, pieces.token1, pieces.token0, np.exp(-2 * pieces.high)),
    ):
        if floor > 0:
            # So much arrives at the least, by either prices.
            arriving = np.maximum((floor - extra) / prices[source], floor / spot_prices[source])
            average = average_rates(pieces, side == 0, arriving)
            rate = np.where(market.complete[side], np.minimum(rate, average), rate)
        near = rate * prices[target] >= prices[source] * (1 - share - _MARGIN)
        # Nor does it give more than the best rates to, in and from the pool.
        near &= reach[source] * rate * spot_prices[target] >= least
        found += [market.edges[at][side] for at in np.flatnonzero(near).tolist()]
    return found


def first_path(
    market: Market, node_in: int, node_out: int, amount_in: int, max_hops: int
) -> tuple[Hop, ...] | None:
    """Returns a path along the best spot prices with exact amounts; None when it cannot take the amount."""
    rounds = market.spot(node_out).rounds
    node, amount = node_in, amount_in
    hops: list[Hop] = []
    for left in range(min(max_hops, len(rounds) - 1) - 1, -1, -1):
        onward = market.rates[node] * rounds[left]
        target = int(onward.argmax())
        hop = _best_hop(market, node, target, amount) if onward[target] else None
        if hop is None:
            return None
        hops.append(hop)
        node, amount = target, hop.amount_out
        if node == node_out:
            return tuple(hops)
    return None


def _best_hop(market: Market, near: int, far: int, amount: int) -> Hop | None:
    best: Hop | None = None
    edges = market.graph.edges(market.nodes[near], market.nodes[far])
    for edge in sorted(edges, key=lambda edge: -edge.rate)[:_PARALLEL]:
        if best is not None and amount * edge.rate <= best.amount_out:
            break
        try:
            answer = edge.exact_in(edge.zero_for_one, amount)
        except BandExceeded:
            continue
        if answer is not None and answer[0] > (0 if best is None else best.amount_out):
            fee = edge.pool.swap_fee_pips(edge.zero_for_one)
            best = Hop(
                edge.pool, edge.zero_for_one, edge.token_in, edge.token_out, amount, answer[0], fee, answer[1]
            )
    return best


def prices_after(market: Market, path: Sequence[Hop], node_out: int) -> Floats:
    """Returns spot prices after the trades of a path: what the next unit of each token would give."""
    pieces, rates = market.pieces, market.rates.copy()
    for hop in path:
        near, far = (market.number[market.graph.node(token)] for token in (hop.token_in, hop.token_out))
        at = market.position[id(hop.pool)]
        falling = np.flatnonzero((pieces.token0 == near) & (pieces.token1 == far))
        rising = np.flatnonzero((pieces.token0 == far) & (pieces.token1 == near))
        others = [
            *np.exp(2 * pieces.low[falling[falling != at]]),
            *np.exp(-2 * pieces.high[rising[rising != at]]),
        ]
        rates[near, far] = max(rate_after(pieces, at, hop.zero_for_one, float(hop.amount_in)), *others, 0.0)
    return start_prices(spot(rates, node_out, market.idle[0]), market.idle[0], node_out)


def rate_after(pieces: Pieces, pool: int, zero_for_one: bool, amount_in: float) -> float:
    """Returns the rate of the next unit, after the fee, in a pool that took `amount_in`; 0 of a full one."""
    first, home, last = int(pieces.first[pool]), int(pieces.home[pool]), int(pieces.last[pool])
    edges, liquidity = pieces.edges, pieces.liquidity
    if zero_for_one:
        kept = float(pieces.kept_down[pool])
        taken = amount_in * kept * kept
        passed = int(np.searchsorted(pieces.paid0[first : home + 1][::-1], taken))
        at = home - passed
        if at < first:
            return 0.0
        near = min(at + 1, home)
        rest = (taken - pieces.paid0[near]) / max(liquidity[at], 1e-300)
        root = max(1 / (1 / edges[near] + rest), edges[at])
        return float(root * kept) ** 2
    kept = float(pieces.kept_up[pool])
    taken = amount_in * kept * kept
    at = home + int(np.searchsorted(-pieces.gained1[home : last + 1], taken))
    if at > last:
        return 0.0
    near = max(at - 1, home)
    rest = (taken + pieces.gained1[near]) / max(liquidity[near], 1e-300)
    root = min(edges[near] + rest, edges[at])
    return float(kept / root) ** 2
