"""Looks for parallel paths that take least for an exact output, by steps that each take less than before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from quoteway_amm.exact_output_paths import OutputPath, paths_gas, rebalanced
from quoteway_amm.gas import GasModel, GasPrice

_ADDED_SHARES = (8, 32, 128)
COARSE = 1 << 10
"""While paths are compared, amounts are shared out to this part of the output; at last to the unit."""
_NEAR = 1e-9
"""More than what floats err by."""


@dataclass(frozen=True, slots=True)
class Trade:
    """A request. ``expired`` says that its time is over."""

    token_in: str
    token_out: str
    amount_out: int
    gas_model: GasModel
    gas_price: GasPrice
    max_hops: int
    max_legs: int
    expired: Callable[[], bool]


Chosen = tuple[tuple[OutputPath, ...], tuple[int, ...]]
"""Paths and what each of them buys."""


class Search:
    """Looks for paths and amounts that take less, with gas. ``candidates`` are ordered by their price."""

    def __init__(self, trade: Trade, candidates: Sequence[OutputPath]) -> None:
        self._trade = trade
        self._candidates = candidates
        self._costs: dict[Chosen, Fraction] = {}

    def cost(self, chosen: Chosen) -> Fraction:
        """Returns the input with gas."""
        found = self._costs.get(chosen)
        if found is None:
            trade = self._trade
            parts = [path.hops(amount) for path, amount in zip(*chosen, strict=True)]
            units = paths_gas(parts, trade.token_in, trade.token_out, trade.gas_model)
            gas = Fraction(units * trade.gas_price.numerator, trade.gas_price.denominator)
            found = self._costs[chosen] = gas + sum(part[0].amount_in for part in parts)
        return found

    def grown(self, parts: int) -> Chosen | None:
        """Returns the order built up of equal parts, each on the path that takes least for it."""
        left, paths, amounts, costs = self._trade.amount_out, list[OutputPath](), list[int](), list[int]()
        part = -(-left // parts)
        while left:
            amount = min(part, left)
            best: tuple[int, int] | None = None
            for at, path in enumerate(paths):
                total = path.amount_in(amounts[at] + amount)
                if total is not None and (best is None or total - costs[at] < best[0]):
                    best = total - costs[at], at
            new = self._cheapest(amount, paths, None if best is None else best[0])
            if new is not None:
                paths.append(new)
                amounts.append(0)
                costs.append(0)
                best = new.amount_in(amount) or 0, len(paths) - 1
            if best is None:
                return None
            costs[best[1]] += best[0]
            amounts[best[1]] += amount
            left -= amount
        return self._balanced(paths, amounts, COARSE)

    def improved(self, chosen: Chosen) -> Chosen:
        """Returns paths that take less than by any single change tried: one path more, less, or another."""
        changed = True
        while changed and not self._trade.expired():
            changed = False
            for tried in self._neighbours(chosen):
                if self.cost(tried) < self.cost(chosen):
                    chosen, changed = tried, True
                    break
                if self._trade.expired():
                    break
        return chosen

    def polished(self, chosen: Chosen) -> Chosen:
        """Returns the amounts moved until no single unit saves anything."""
        return self._balanced(*chosen, self._trade.amount_out)

    def _neighbours(self, chosen: Chosen) -> Iterator[Chosen]:
        paths, amounts = chosen
        whole = self._trade.amount_out
        for share in _ADDED_SHARES:
            amount = whole // share
            largest = max(range(len(paths)), key=lambda at: amounts[at])
            new = self._cheapest(amount, paths) if 0 < amount < amounts[largest] else None
            if new is not None:
                given = [each - amount * (at == largest) for at, each in enumerate(amounts)]
                yield self._balanced((*paths, new), (*given, amount), COARSE)
        for at, path in enumerate(paths):
            rest = paths[:at] + paths[at + 1 :]
            others = amounts[:at] + amounts[at + 1 :]
            if rest and (shared := _shared_out(rest, others, amounts[at])) is not None:
                yield self._balanced(rest, shared, COARSE)
            other = self._cheapest(amounts[at], rest, path.amount_in(amounts[at]))
            if other is not None:
                yield self._balanced((*rest, other), (*others, amounts[at]), COARSE)

    def _cheapest(
        self, amount: int, beside: Sequence[OutputPath], below: int | None = None
    ) -> OutputPath | None:
        """Returns the path without pools of the others that takes least, and less than ``below``."""
        used = frozenset[int]().union(*(path.pools for path in beside))
        legs = self._trade.max_legs - sum(len(path.edges) for path in beside)
        best = None
        for path in self._candidates:
            if below is not None and path.price * amount * (1 - _NEAR) >= below:
                break  # no output is cheaper than at the mid price
            if len(path.edges) > legs or not used.isdisjoint(path.pools):
                continue
            taken = path.amount_in(amount)
            if taken is not None and (below is None or taken < below):
                best, below = path, taken
        return best

    def _balanced(self, paths: Sequence[OutputPath], amounts: Sequence[int], parts: int) -> Chosen:
        """Returns the paths with the amounts that take least, without those that get nothing."""
        finest = max(self._trade.amount_out // parts, 1)
        found = rebalanced(paths, amounts, finest, self._trade.expired)
        kept = [(path, amount) for path, amount in zip(paths, found, strict=True) if amount]
        return tuple(path for path, _ in kept), tuple(amount for _, amount in kept)


def _shared_out(paths: Sequence[OutputPath], amounts: Sequence[int], more: int) -> tuple[int, ...] | None:
    """Returns amounts that buy ``more`` in proportion; None where a path cannot give its own."""
    total = sum(amounts)
    shared = [amount + more * amount // total for amount in amounts]
    shared[0] += total + more - sum(shared)
    given: Iterable[int | None] = (path.amount_in(amount) for path, amount in zip(paths, shared, strict=True))
    return None if None in given else tuple(shared)
