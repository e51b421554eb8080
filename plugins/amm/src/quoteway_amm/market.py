"""The pools of one block prepared for the solver. Needs numpy: import it in a solver process only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from quoteway_amm.bound import PoolProfit, dual_value, node_of, profit_of
from quoteway_amm.curve import Curve
from quoteway_amm.dual import solve
from quoteway_amm.graph import Edge, Graph
from quoteway_amm.pieces import Flags, Floats, Integers, Pieces, make_pieces
from quoteway_amm.pool import Pool
from quoteway_amm.spot import Spot, best_rates, spot

_MARGIN = 1e-9
_NO_CURVE = Curve(False, (), 1, 1, 0)


class Market:
    """Pools with everything that does not depend on a trade: graph, curves, arrays.

    Make it once per block and use it for every trade. `previous` lends what pools of the same identity had.
    """

    def __init__(
        self, pools: Sequence[Pool], wrapped_native: str | None = None, previous: Market | None = None
    ) -> None:
        self.pools = tuple(pools)
        self.wrapped_native = wrapped_native
        self.graph = Graph(self.pools, wrapped_native)
        known = {} if previous is None else dict(zip(map(id, previous.pools), previous._curves, strict=True))
        self._curves: list[tuple[Curve, Curve]] = [
            known.get(id(pool)) or _curves_of(pool) for pool in self.pools
        ]
        ends = [tuple(node_of(t, wrapped_native) for t in (pool.token0, pool.token1)) for pool in self.pools]
        self.nodes = tuple(sorted({node for pair in ends for node in pair}))
        self.number = {node: number for number, node in enumerate(self.nodes)}
        # The native coin against its wrapped form is no pool: see Graph.
        self.index = np.array(
            [i for i, (a, b) in enumerate(ends) if a != b and self.pools[i].has_liquidity], dtype=np.int64
        )
        self.pieces = make_pieces(
            [self.pools[i] for i in self.index],
            [self._curves[i] for i in self.index],
            [(self.number[ends[i][0]], self.number[ends[i][1]]) for i in self.index],
        )
        self._rounds = np.array([self._curves[i][0].excess > 0 for i in self.index], dtype=np.bool_)
        self.mid_prices = _mid_prices(self.pieces, len(self.nodes))
        self.rivals = _rivals([self.pools[i].id for i in self.index], self.graph.shared_ids)
        kinds = [pool.kind for pool in self.pools]
        self._spots: dict[int, Spot] = {}
        self._reaches: dict[int, Floats] = {}
        self.families = tuple(sorted(set(kinds)))
        self.family = np.array([self.families.index(kinds[i]) for i in self.index], dtype=np.int64)

    @cached_property
    def rates(self) -> Floats:
        """The best rate of the first unit between each two nodes, after fees; 0 where no pool trades."""
        return best_rates(self.pieces, len(self.nodes))

    @cached_property
    def position(self) -> dict[int, int]:
        """The position in the pieces of each pool, by its identity."""
        return {id(self.pools[index]): at for at, index in enumerate(self.index.tolist())}

    @cached_property
    def edges(self) -> list[tuple[Edge, Edge]]:
        """The edges of each pool of the pieces: zero_for_one and back."""
        found: list[dict[bool, Edge]] = [{} for _ in self.index]
        for node in self.nodes:
            for other in self.graph.neighbours(node):
                for edge in self.graph.edges(node, other):
                    found[self.position[id(edge.pool)]][edge.zero_for_one] = edge
        return [(edge[True], edge[False]) for edge in found]

    @cached_property
    def complete(self) -> tuple[Flags, Flags]:
        """Whether all liquidity of each pool of the pieces is known: zero_for_one and back."""
        curves = [self._curves[index] for index in self.index]
        down, up = ([pair[side].complete for pair in curves] for side in (True, False))
        return np.array(down, dtype=np.bool_), np.array(up, dtype=np.bool_)

    def spot(self, node_out: int) -> Spot:
        """Returns what the first unit of each token gives of one token."""
        if node_out not in self._spots:
            self._spots[node_out] = spot(self.rates, node_out, self.idle[0])
        return self._spots[node_out]

    def reach(self, node_in: int) -> Floats:
        """Returns what the first unit of one token gives of each token."""
        if node_in not in self._reaches:
            self._reaches[node_in] = spot(self.rates.T, node_in, 1 / self.idle[0]).rounds[-1]
        return self._reaches[node_in]

    def profits(self, prices: Mapping[str, int]) -> list[PoolProfit]:
        """Returns what `bound.pool_profits` yields, many times faster.

        Pools without a profit are recognised in floats: the margin is a million times what they can err.
        """
        values = np.array([float(prices[node]) for node in self.nodes])
        pieces = self.pieces
        ratio = np.sqrt(values[pieces.token0] / values[pieces.token1])
        falls = ratio < pieces.price * pieces.kept_down * (1 + _MARGIN)
        rises = ratio * pieces.kept_up * (1 + _MARGIN) > pieces.price
        found = []
        for at in np.flatnonzero(falls | rises | self._rounds).tolist():
            index = int(self.index[at])
            price0, price1 = (prices[self.nodes[int(token[at])]] for token in (pieces.token0, pieces.token1))
            for zero_for_one, maybe in ((True, falls[at]), (False, rises[at])):
                maybe = maybe or self._rounds[at]
                profit = (
                    profit_of(index, self._curves[index][zero_for_one], price0, price1) if maybe else None
                )
                if profit is not None:
                    found.append(profit)
        return found

    @cached_property
    def idle(self) -> tuple[Floats, dict[str, int], list[PoolProfit]]:
        """Prices at which the pools have the least profit without any input, and these profits."""
        busiest = int(np.bincount(self.pieces.token0).argmax())
        prices = solve(self.pieces, self.mid_prices, busiest, busiest, 0.0).prices
        exact = integer_prices(self.nodes, prices)
        return prices, exact, self.profits(exact)

    def arbitrage(self, node_out: str) -> int:
        """Returns a bound on what the pools give of a token without any input."""
        _, prices, profits = self.idle
        return math.floor(dual_value(profits, prices, node_out, node_out, 0))


def _curves_of(pool: Pool) -> tuple[Curve, Curve]:
    """Returns the curves of both directions, upwards first. A formula may have none where nothing trades."""
    return (pool.curve(False), pool.curve(True)) if pool.has_liquidity else (_NO_CURVE, _NO_CURVE)


def _rivals(ids: Sequence[str], shared: frozenset[str]) -> Integers | None:
    """Returns a number for each pool that its other pairs have too; None where every pool is alone."""
    if not shared:
        return None
    number = {name: at for at, name in enumerate(dict.fromkeys(ids))}
    return np.array([number[name] for name in ids], dtype=np.int64)


def integer_prices(nodes: Sequence[str], prices: Floats) -> dict[str, int]:
    """Returns float prices as integers at one scale, each exact to its last bit and of 64 bits at least."""
    split = [math.frexp(price) for price in prices.tolist()]
    least = min(exponent for _, exponent in split)
    return {
        node: int(mantissa * 2**53) << (exponent - least + 11)
        for node, (mantissa, exponent) in zip(nodes, split, strict=True)
    }


def _mid_prices(pieces: Pieces, count: int) -> Floats:
    """Returns one price per node from the pools' mid prices, through the deepest pools (Prim's tree)."""
    prices = np.zeros(count)
    joined: list[list[int]] = [[] for _ in range(count)]
    for at, ends in enumerate(zip(pieces.token0.tolist(), pieces.token1.tolist(), strict=True)):
        for node in ends:
            joined[node].append(at)
    token0, token1 = pieces.token0.tolist(), pieces.token1.tolist()
    roots, depths = pieces.price.tolist(), pieces.depth.tolist()
    for start in sorted(range(count), key=lambda node: -len(joined[node])):
        if prices[start]:
            continue
        heap = [(0.0, start, 1.0)]
        while heap:
            _, node, price = heappop(heap)
            if prices[node]:
                continue
            prices[node] = price
            for at in joined[node]:
                root, is0 = roots[at], token0[at] == node
                # The worth of the pool's virtual reserve of this token.
                worth = depths[at] * price * (1 / root if is0 else root)
                other, rate = (token1[at], 1 / (root * root)) if is0 else (token0[at], root * root)
                if not prices[other]:
                    heappush(heap, (-worth, other, price * rate))
    return prices
