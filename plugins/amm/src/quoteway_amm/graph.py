"""The pools of one block, indexed by token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from quoteway_amm.pool import NATIVE, PIPS, Pool

Quote = Callable[[bool, int], tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class Edge:
    """One pool in one direction. `rate`: base units out per base unit in at the mid price, less the fee."""

    pool: Pool
    zero_for_one: bool
    token_in: str
    token_out: str
    rate: float
    exact_in: Quote
    exact_out: Quote


class Graph:
    """The pools of one block; serves any number of searches.

    The native coin and `wrapped_native` are one node, so that a path may combine pools of both forms. Pairs
    of one pool with more than two tokens have its id: no path has two pools of one id.
    Addresses are compared as strings: use one spelling.
    """

    def __init__(self, pools: Iterable[Pool], wrapped_native: str | None = None) -> None:
        self.wrapped_native = wrapped_native
        self.pools = tuple(pools)
        self.shared_ids = shared_ids(self.pools)
        self._edges: dict[str, dict[str, list[Edge]]] = {}
        self._links: dict[str, set[str]] = {}
        self.native_prices: dict[Hashable, tuple[int, int]] = {}
        """What `native_price` has found here, by its question."""
        for pool in self.pools:
            a, b = self.node(pool.token0), self.node(pool.token1)
            if a == b:
                # The native coin against its wrapped form: wrapping has no fee and no slippage.
                continue
            self._links.setdefault(a, set()).add(b)
            self._links.setdefault(b, set()).add(a)
            if pool.has_liquidity:
                self._add(pool, True, pool.token0, pool.token1)
                self._add(pool, False, pool.token1, pool.token0)

    def node(self, token: str) -> str:
        """Returns the node of a token: the wrapped native coin for both its forms."""
        return self.wrapped_native if token == NATIVE and self.wrapped_native is not None else token

    def replaced(self, pools: Mapping[str, Pool]) -> Graph:
        """Returns the graph with new states of the pools with these ids. Other edges are shared.

        Raises ValueError for the id of a pool with several pairs: make a new graph of these.
        """
        if not self.shared_ids.isdisjoint(pools):
            raise ValueError("a pool with several pairs cannot be replaced by its id")
        made = Graph((), self.wrapped_native)
        made.pools = tuple(pools.get(pool.id, pool) for pool in self.pools)
        made.shared_ids = self.shared_ids
        made._links = self._links
        made._edges = {node: dict(others) for node, others in self._edges.items()}
        touched = {frozenset((self.node(pool.token0), self.node(pool.token1))) for pool in pools.values()}
        touched = {nodes for nodes in touched if len(nodes) == 2}
        for a, b in map(tuple, touched):
            for node, other in ((a, b), (b, a)):
                if other in made._edges.get(node, {}):
                    made._edges[node][other] = []
        for pool in made.pools:
            nodes = frozenset((self.node(pool.token0), self.node(pool.token1)))
            if nodes in touched and pool.has_liquidity:
                made._add(pool, True, pool.token0, pool.token1)
                made._add(pool, False, pool.token1, pool.token0)
        filled = {
            node: {other: edges for other, edges in others.items() if edges}
            for node, others in made._edges.items()
        }
        made._edges = {node: others for node, others in filled.items() if others}
        return made

    def limited(self, edges: Iterable[Edge]) -> Graph:
        """Returns the graph of some of its own edges."""
        made = Graph((), self.wrapped_native)
        made.pools, made._links = self.pools, self._links
        for edge in edges:
            near, far = self.node(edge.token_in), self.node(edge.token_out)
            made._edges.setdefault(near, {}).setdefault(far, []).append(edge)
        return made

    def edges(self, node_in: str, node_out: str) -> list[Edge]:
        """Returns the pools with liquidity that swap `node_in` for `node_out`."""
        return self._edges.get(node_in, {}).get(node_out, [])

    def neighbours(self, node: str) -> Iterable[str]:
        """Returns the nodes that share a pool with liquidity with `node`."""
        return self._edges.get(node, {})

    def arriving(self) -> dict[str, list[str]]:
        """Returns per node the nodes that it can be swapped from. In a limited graph these are not those that
        it can be swapped for.
        """
        found: dict[str, list[str]] = {}
        for node, others in self._edges.items():
            for other in others:
                found.setdefault(other, []).append(node)
        return found

    def linked(self, start: str, end: str, max_hops: int) -> bool:
        """Returns whether a path of at most `max_hops` pools exists, empty pools included."""
        return _reaches(self._links, start, end, max_hops)

    def joined(self, start: str, end: str, max_hops: int) -> bool:
        """Returns whether a path of at most `max_hops` pools with liquidity exists."""
        return _reaches(self._edges, start, end, max_hops)

    def _add(self, pool: Pool, zero_for_one: bool, token_in: str, token_out: str) -> None:
        numerator, denominator = pool.mid_price(zero_for_one)
        rate = numerator / denominator * (PIPS - pool.swap_fee_pips(zero_for_one)) / PIPS
        edge = Edge(pool, zero_for_one, token_in, token_out, rate, pool.exact_in, pool.exact_out)
        self._edges.setdefault(self.node(token_in), {}).setdefault(self.node(token_out), []).append(edge)


def shared_ids(pools: Iterable[Pool]) -> frozenset[str]:
    """Returns the ids that several pools have: those of which these are pairs."""
    return frozenset(name for name, count in Counter(pool.id for pool in pools).items() if count > 1)


def _reaches(
    links: dict[str, set[str]] | dict[str, dict[str, list[Edge]]], a: str, b: str, hops: int
) -> bool:
    seen = frontier = {a}
    for _ in range(hops):
        frontier = {node for near in frontier for node in links.get(near, ())} - seen
        if b in frontier:
            return True
        seen = seen | frontier
    return False
