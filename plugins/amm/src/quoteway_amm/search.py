"""Branch-and-bound search for the best path. Gives the same result as trying every path.

The search extends token paths hop by hop. For each token path it keeps the candidates (choices of pools),
sorted by amount. It skips candidates by two facts. A pool's output grows with its input, so the outputs of
one pool get worse along the sorted candidates. No pool trades above its mid price, so the product of the best
remaining mid prices is an upper bound. When that bound, less the least gas of the candidates, does not exceed
the best path so far, the remaining candidates are skipped.

A candidate with less output and more gas than another is kept: the larger amount may cross one more tick
later. Floats only decide what to skip, with a margin far above their error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from operator import itemgetter

from quoteway_amm.errors import BandExceeded
from quoteway_amm.gas import GasModel, GasPrice
from quoteway_amm.graph import Edge, Graph
from quoteway_amm.pool import NATIVE, PIPS, Kind

_MARGIN = 1e-9

Trail = tuple["Trail | None", Edge, int, int, int]
"""(previous trail, edge, amount quoted for, quoted amount, ticks crossed)."""

Candidate = tuple[int, int, str, "Kind | None", "Trail | None"]
"""(amount so far, gas units so far, last token, protocol of the last hop, trail)."""

_amount = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What is known before a search with exact input, so that it can skip more.

    `prices`: per node and base unit, that of the end being 1, such that no pool has a profit above `profit`
    at them. Then a candidate ends with at most `price * amount + hops left * profit`. `score`: only paths
    with a greater output net of gas count, times the gas price's denominator; None: all do.
    """

    prices: Mapping[str, float]
    profit: float
    score: int | None


class Search:
    """One search. Sets `best`; when it stays None, `saw_zero` and `saw_partial` say why.

    Forward (exact input) starts at the input token and maximises the output. Backward (exact output) starts
    at the output token and minimises the input.
    """

    def __init__(
        self,
        graph: Graph,
        start: str,
        end: str,
        amount: int,
        gas_model: GasModel,
        gas_price: GasPrice,
        forward: bool,
        ceiling: Ceiling | None = None,
    ) -> None:
        self._graph = graph
        self._start, self._end = start, end
        self._end_node = graph.node(end)
        self._amount = amount
        self._model = gas_model
        self._gas_price = gas_price
        token_in = start if forward else end
        self._base_gas = gas_model.transaction + (0 if token_in == NATIVE else gas_model.pull)
        self._gas_rate = gas_price.numerator / gas_price.denominator
        self._forward = forward
        self._sign = 1 if forward else -1
        self.best: Candidate | None = None
        self._ceiling = ceiling
        self._best_score: int | None = None
        self._best_float = -inf
        if ceiling is not None and ceiling.score is not None:
            self._best_score = ceiling.score
            self._best_float = ceiling.score / gas_price.denominator
        self.saw_zero = False
        self.saw_partial = False
        self._exceeded: dict[tuple[int, bool], tuple[float, BandExceeded]] = {}

    def run(self, max_hops: int) -> None:
        """Searches all paths of at most `max_hops` over distinct tokens."""
        start_node = self._graph.node(self._start)
        potentials = self._potentials(max_hops)
        first: Candidate = (self._amount, self._base_gas, self._start, None, None)
        layer: list[tuple[tuple[str, ...], list[Candidate]]] = [((start_node,), [first])]
        for hops_left in range(max_hops - 1, -1, -1):
            onward: list[tuple[tuple[str, ...], list[Candidate]]] = []
            for nodes, candidates in layer:
                for candidate in self._extend(nodes[-1], self._end_node, candidates, 1.0, 0):
                    self._settle(candidate)
            if not hops_left:
                return
            potential = potentials[hops_left]
            for nodes, candidates in layer:
                for node in self._graph.neighbours(nodes[-1]):
                    if node in nodes or node == self._end_node or node not in potential:
                        continue
                    found = list(self._extend(nodes[-1], node, candidates, potential[node], hops_left))
                    if found:
                        found.sort(key=_amount, reverse=self._forward)
                        onward.append(((*nodes, node), found))
            layer = onward

    def exceeded(self) -> tuple[BandExceeded, ...]:
        """Returns the pools that may still win, judged by the price at their last known tick."""
        return tuple(error for upper, error in self._exceeded.values() if upper > self._floor())

    def _extend(
        self, near: str, far: str, candidates: list[Candidate], potential: float, hops_left: int
    ) -> Iterator[Candidate]:
        edges = self._graph.edges(near, far) if self._forward else self._graph.edges(far, near)
        least_gas = min(candidate[1] for candidate in candidates)
        factor = self._sign * potential * (1 + self._sign * _MARGIN)
        price, extra = inf, 0.0
        if self._ceiling is not None:
            price = self._ceiling.prices[far] * (1 + _MARGIN)
            extra = self._ceiling.profit * hops_left * (1 + _MARGIN)
        for edge in edges:
            quote: Callable[[bool, int], tuple[int, int] | None]
            if self._forward:
                quote, near_token, far_token = edge.exact_in, edge.token_in, edge.token_out
            else:
                quote, near_token, far_token = edge.exact_out, edge.token_out, edge.token_in
            zero_for_one, kind = edge.zero_for_one, edge.pool.kind
            shared = edge.pool.id in self._graph.shared_ids
            hop_gas = self._model.of(kind)
            gas_bound = (least_gas + hop_gas.hop) * self._gas_rate * (1 - _MARGIN)
            for candidate in candidates:
                amount, gas, token, last_kind, trail = candidate
                if self._ceiling is not None:
                    most = amount * edge.rate
                    if min(most * factor, most * price + extra) - gas_bound <= self._floor():
                        break
                if shared and _passes(trail, edge.pool.id):
                    continue
                try:
                    answer = quote(zero_for_one, amount)
                except BandExceeded as error:
                    self._note(error, edge, amount, factor, price, extra, gas_bound)
                    continue
                if answer is None:
                    self.saw_partial = True
                    continue
                result, crossed = answer
                if not result:
                    self.saw_zero = True
                    break
                if min(result * factor, result * price + extra) - gas_bound <= self._floor():
                    break
                gas += hop_gas.hop + hop_gas.tick * crossed
                if kind != last_kind:
                    gas += hop_gas.section
                if token != near_token:
                    gas += self._conversion(token, near_token)
                yield result, gas, far_token, kind, (trail, edge, amount, result, crossed)

    def _conversion(self, near: str, far: str) -> int:
        source = near if self._forward else far
        return self._model.wrap if source == NATIVE else self._model.unwrap

    def _settle(self, candidate: Candidate) -> None:
        amount, gas, token, kind, trail = candidate
        if token != self._end:
            gas += self._conversion(token, self._end)
        score = self._sign * amount * self._gas_price.denominator - gas * self._gas_price.numerator
        if self._best_score is None or score > self._best_score:
            self.best = (amount, gas, token, kind, trail)
            self._best_score = score
            self._best_float = score / self._gas_price.denominator

    def _floor(self) -> float:
        """Returns the net amount that a candidate must exceed: that of the best path, less the margin."""
        best = self._best_float
        return best - abs(best) * _MARGIN if self._best_score is not None else -inf

    def _note(
        self,
        error: BandExceeded,
        edge: Edge,
        amount: int,
        factor: float,
        price: float,
        extra: float,
        gas_bound: float,
    ) -> None:
        # Beyond the edge the price is worse than at the edge.
        square = error.sqrt_price_x96 / 2**96
        rate = square * square if error.zero_for_one else 1 / (square * square)
        rate *= (PIPS - edge.pool.swap_fee_pips(error.zero_for_one)) / PIPS
        if self._forward:
            result = error.amount_out + (amount - error.amount_in) * rate
        else:
            result = error.amount_in + (amount - error.amount_out) / rate
        upper = min(result * factor, result * price + extra) - gas_bound
        key = (id(error.pool), error.zero_for_one)
        if key not in self._exceeded or self._exceeded[key][0] < upper:
            self._exceeded[key] = upper, error

    def _potentials(self, max_hops: int) -> list[dict[str, float]]:
        """Returns, by hops left, the product of the best rates from each node to the end."""
        graph, forward = self._graph, self._forward
        if self._ceiling is not None:
            return self._reaches(max_hops)
        reach = {self._end_node: 1.0}
        rounds = [reach]
        for _ in range(max_hops - 1):
            wider = dict(reach)
            for node, factor in reach.items():
                for other in graph.neighbours(node):
                    edges = graph.edges(other, node) if forward else graph.edges(node, other)
                    rate = max(edge.rate for edge in edges)
                    if rate <= 0:
                        continue
                    through = factor * rate if forward else factor / rate
                    if other not in wider or (through > wider[other]) == forward:
                        wider[other] = through
            reach = wider
            rounds.append(reach)
        return rounds

    def _reaches(self, max_hops: int) -> list[dict[str, float]]:
        """Returns, by hops left, the nodes that reach the end: what the ceiling's prices say is enough."""
        arriving = self._graph.arriving()
        reach = {self._end_node}
        rounds = [dict.fromkeys(reach, inf)]
        for _ in range(max_hops - 1):
            reach = reach.union(*(arriving.get(node, ()) for node in reach))
            rounds.append(dict.fromkeys(reach, inf))
        return rounds


def _passes(trail: Trail | None, pool_id: str) -> bool:
    """Returns whether a path already has a pair of this pool."""
    while trail is not None:
        if trail[1].pool.id == pool_id:
            return True
        trail = trail[0]
    return False
