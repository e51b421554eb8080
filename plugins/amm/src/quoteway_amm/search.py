"""Search over all paths with an admissible bound: the answer of trying every path, in milliseconds.

It goes through token paths by length, holding for each one the candidates (pool choices) found so far, best
amount first. Two facts cut it short without losing the optimum. A pool's output grows with its input, so
along the sorted candidates the outputs of one pool only get worse. And no pool trades better than its price
before the trade, so the product of the best prices that remain bounds what a candidate can still become. Once
that bound, less the least gas any candidate has used, does not beat the best path in hand, the pool's
remaining candidates need no quote.

Dropping candidates that are worse in amount and in gas would not be exact: the larger amount may cross a tick
later, and pay for it. The floats here only decide what to skip, with a margin far above their error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from operator import itemgetter

from quoteway_amm.errors import BandExceeded
from quoteway_amm.gas import GasModel, GasPrice
from quoteway_amm.graph import Edge, Graph
from quoteway_amm.pool import NATIVE, PIPS, Kind

_MARGIN = 1e-9

Trail = tuple["Trail | None", Edge, int, int, int]
"""(trail before, edge, amount given to it, amount it answered, ticks crossed)."""

Candidate = tuple[int, int, str, "Kind | None", "Trail | None"]
"""(amount at the front, gas units so far, token at the front, protocol of the last hop, trail)."""

_amount = itemgetter(0)


class Search:
    """One search. Afterwards `best` is the winning candidate, or None with `saw_*` saying why.

    Forward (exact input) walks from the input token and maximises; backward (exact output) walks from the
    output token and minimises.
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
        self._best_score = 0
        self._best_float = -inf
        self.saw_zero = False
        self.saw_partial = False
        self._exceeded: dict[tuple[int, bool], tuple[float, BandExceeded]] = {}

    def run(self, max_hops: int) -> None:
        """Visit every path of up to `max_hops` over distinct tokens that could win."""
        start_node = self._graph.node(self._start)
        potentials = self._potentials(max_hops)
        first: Candidate = (self._amount, self._base_gas, self._start, None, None)
        layer: list[tuple[tuple[str, ...], list[Candidate]]] = [((start_node,), [first])]
        for hops_left in range(max_hops - 1, -1, -1):
            onward: list[tuple[tuple[str, ...], list[Candidate]]] = []
            for nodes, candidates in layer:
                for candidate in self._extend(nodes[-1], self._end_node, candidates, 1.0):
                    self._settle(candidate)
            if not hops_left:
                return
            potential = potentials[hops_left]
            for nodes, candidates in layer:
                for node in self._graph.neighbours(nodes[-1]):
                    if node in nodes or node == self._end_node or node not in potential:
                        continue
                    found = list(self._extend(nodes[-1], node, candidates, potential[node]))
                    if found:
                        found.sort(key=_amount, reverse=self._forward)
                        onward.append(((*nodes, node), found))
            layer = onward

    def exceeded(self) -> tuple[BandExceeded, ...]:
        """Pools that are not known far enough and, by the price where they end, might still win."""
        return tuple(error for upper, error in self._exceeded.values() if upper > self._floor())

    def _extend(
        self, near: str, far: str, candidates: list[Candidate], potential: float
    ) -> Iterator[Candidate]:
        edges = self._graph.edges(near, far) if self._forward else self._graph.edges(far, near)
        least_gas = min(candidate[1] for candidate in candidates)
        factor = self._sign * potential * (1 + self._sign * _MARGIN)
        for edge in edges:
            quote: Callable[[bool, int], tuple[int, int] | None]
            if self._forward:
                quote, near_token, far_token = edge.exact_in, edge.token_in, edge.token_out
            else:
                quote, near_token, far_token = edge.exact_out, edge.token_out, edge.token_in
            zero_for_one, kind = edge.zero_for_one, edge.pool.kind
            hop_gas = self._model.hops[kind]
            gas_bound = (least_gas + hop_gas.hop) * self._gas_rate * (1 - _MARGIN)
            for candidate in candidates:
                amount, gas, token, last_kind, trail = candidate
                try:
                    answer = quote(zero_for_one, amount)
                except BandExceeded as error:
                    self._note(error, edge, amount, factor, gas_bound)
                    continue
                if answer is None:
                    self.saw_partial = True
                    continue
                result, crossed = answer
                if not result:
                    self.saw_zero = True
                    break
                if result * factor - gas_bound <= self._floor():
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
        if self.best is None or score > self._best_score:
            self.best = (amount, gas, token, kind, trail)
            self._best_score = score
            self._best_float = score / self._gas_price.denominator

    def _floor(self) -> float:
        """The best path's net amount, lowered by the margin: what is at or below it cannot win."""
        return self._best_float - abs(self._best_float) * _MARGIN if self.best is not None else -inf

    def _note(self, error: BandExceeded, edge: Edge, amount: int, factor: float, gas_bound: float) -> None:
        # Beyond the edge the price can only be worse than at the edge.
        square = error.sqrt_price_x96 / 2**96
        rate = square * square if error.zero_for_one else 1 / (square * square)
        rate *= (PIPS - edge.pool.swap_fee_pips(error.zero_for_one)) / PIPS
        if self._forward:
            result = error.amount_out + (amount - error.amount_in) * rate
        else:
            result = error.amount_in + (amount - error.amount_out) / rate
        upper = result * factor - gas_bound
        key = (id(error.pool), error.zero_for_one)
        if key not in self._exceeded or self._exceeded[key][0] < upper:
            self._exceeded[key] = upper, error

    def _potentials(self, max_hops: int) -> list[dict[str, float]]:
        """By number of hops left, for each node: the best factor between it and the end."""
        graph, forward = self._graph, self._forward
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
