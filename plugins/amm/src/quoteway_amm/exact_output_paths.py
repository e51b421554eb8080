"""Paths in parallel for one exact output: no pool twice, each of one family with one form of the coin.

A router computes an exact output backwards within one family, so the paths do not join. Each buys an amount
of its own, and the amounts sum to the output. Everything here is exact: integers, and the pools' own maths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from quoteway_amm.errors import BandExceeded
from quoteway_amm.gas import GasModel
from quoteway_amm.graph import Edge
from quoteway_amm.pool import NATIVE, Kind
from quoteway_amm.routing import Hop

_FIRST_SHARE = 8
"""The first amount that moves between two paths is this part of the output."""


class Exchange(Protocol):
    """A pool, or what names one."""

    @property
    def kind(self) -> Kind: ...

    @property
    def token0(self) -> str: ...

    @property
    def token1(self) -> str: ...


_Exchange = TypeVar("_Exchange", bound=Exchange)


def one_command_groups(pools: Sequence[_Exchange], wrapped_native: str | None) -> list[tuple[_Exchange, ...]]:
    """Returns the pools that one command can pass through: of one family, with one form of the coin."""
    groups: dict[tuple[int, ...], tuple[_Exchange, ...]] = {}
    for kind in dict.fromkeys(pool.kind for pool in pools):
        of_kind = [pool for pool in pools if pool.kind == kind]
        for other_form in (NATIVE, wrapped_native):
            group = tuple(pool for pool in of_kind if other_form not in (pool.token0, pool.token1))
            if group:
                groups.setdefault(tuple(map(id, group)), group)
    return list(groups.values())


@dataclass(frozen=True, slots=True, eq=False)
class OutputPath:
    """Pools from the input token to the output token. `price`: input per output at their mid prices."""

    edges: tuple[Edge, ...]
    price: float
    pools: frozenset[int]
    """The identities of the pools."""

    @classmethod
    def of(cls, edges: Sequence[Edge]) -> OutputPath:
        """Returns the path through pools with a rate above 0."""
        price = 1.0
        for edge in edges:
            price /= edge.rate
        return cls(tuple(edges), price, frozenset(id(edge.pool) for edge in edges))

    def amount_in(self, amount_out: int) -> int | None:
        """Returns the least input; None where a pool cannot give its amount, or its known ticks end."""
        amount = amount_out
        for edge in reversed(self.edges):
            try:
                answer = edge.exact_out(edge.zero_for_one, amount)
            except BandExceeded:
                return None
            if answer is None:
                return None
            amount = answer[0]
        return amount

    def hops(self, amount_out: int) -> tuple[Hop, ...]:
        """Returns the hops for an output that the pools can give."""
        hops, amount = list[Hop](), amount_out
        for edge in reversed(self.edges):
            answer = edge.exact_out(edge.zero_for_one, amount)
            assert answer is not None
            fee_pips = edge.pool.swap_fee_pips(edge.zero_for_one)
            ends = edge.token_in, edge.token_out
            hops.append(Hop(edge.pool, edge.zero_for_one, *ends, answer[0], amount, fee_pips, answer[1]))
            amount = answer[0]
        return tuple(reversed(hops))


def rebalanced(
    paths: Sequence[OutputPath],
    amounts: Sequence[int],
    finest: int,
    expired: Callable[[], bool] = lambda: False,
) -> list[int]:
    """Returns amounts with the same sum for which the paths together take less, or as much.

    ``amounts`` are such that every path can give its own. Amounts move from the path that saves most to the
    one that takes least for them, first large ones, down to ``finest``. Costs are convex but for rounding, so
    that ends near the least input.
    """
    now = [*amounts]
    step = max(sum(now) // _FIRST_SHARE, 1)
    costs: list[int] = [_cost(path, amount) or 0 for path, amount in zip(paths, now, strict=True)]
    while len(paths) > 1 and not expired():
        less = [_less(path, amount, step) for path, amount in zip(paths, now, strict=True)]
        more = [_cost(path, amount + step) for path, amount in zip(paths, now, strict=True)]
        for _ in range(4 * len(paths)):
            source, target = _best_move(costs, less, more)
            if source == target:
                break
            for at, change, reached in ((source, -step, less[source]), (target, step, more[target])):
                assert reached is not None
                now[at] += change
                costs[at] = reached
                less[at] = _less(paths[at], now[at], step)
                more[at] = _cost(paths[at], now[at] + step)
        if step <= finest:
            break
        step = max(step // 4, finest, 1)
    return now


def _best_move(
    costs: Sequence[int], less: Sequence[int | None], more: Sequence[int | None]
) -> tuple[int, int]:
    """Returns (from, to) of the move that saves most; the same path twice when none saves anything."""
    best, found = 0, (0, 0)
    for source, before in enumerate(less):
        if before is None:
            continue
        for target, after in enumerate(more):
            if target == source or after is None:
                continue
            gain = costs[source] - before - (after - costs[target])
            if gain > best:
                best, found = gain, (source, target)
    return found


def _less(path: OutputPath, amount_out: int, step: int) -> int | None:
    """Returns what a path takes for a step less; None where it gives less than a step."""
    return None if amount_out < step else _cost(path, amount_out - step)


def _cost(path: OutputPath, amount_out: int) -> int | None:
    return path.amount_in(amount_out) if amount_out else 0


def paths_gas(
    parts: Iterable[Sequence[Hop]],
    token_in: str,
    token_out: str,
    model: GasModel,
) -> int:
    """Returns the gas units of parallel paths: those of one family and form share a section."""
    gas = model.transaction + (0 if token_in == NATIVE else model.pull)
    sections, wraps, unwraps = set[tuple[Kind, str, str]](), False, False
    for part in parts:
        sold, bought = part[0].token_in, part[-1].token_out
        sections.add((part[0].pool.kind, sold, bought))
        for have, want in ((token_in, sold), (bought, token_out)):
            wraps = wraps or (have == NATIVE != want)
            unwraps = unwraps or (have != NATIVE == want)
        for hop in part:
            costs = model.of(hop.pool.kind)
            gas += costs.hop + costs.tick * hop.ticks_crossed
    gas += sum(model.of(kind).section for kind, *_ in sections)
    return gas + model.wrap * wraps + model.unwrap * unwraps
