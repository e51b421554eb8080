"""Flows: trades that split over pools and join again, their exact simulation, gas and certificate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from quoteway_amm.bound import node_of
from quoteway_amm.gas import GasModel, GasPrice
from quoteway_amm.pool import NATIVE, Kind, Pool
from quoteway_amm.routing import Hop, Path

SHARE_ONE = 1 << 64
"""All of what arrived at a node, in the unit of `PlannedLeg.share`."""

Method = Literal["single_path", "split"]


@dataclass(frozen=True, slots=True)
class Flow:
    """Legs in execution order: an acyclic graph, each pool once, legs into a node before those out of it.

    Of the legs out of a node all but the last take exactly their `amount_in`; the last takes the rest.
    `gas_cost` is in the output token. Tokens are as in `Path`.
    """

    token_in: str
    token_out: str
    legs: tuple[Hop, ...]
    amount_in: int
    amount_out: int
    gas_units: int
    gas_cost: int


@dataclass(frozen=True, slots=True)
class Optimality:
    """How near to the best a flow is, provable with `bound.check_bound` from `prices`.

    `bound`: no flow through the `pools` loaded pools, of the protocols `families`, has a greater output. It
    counts the arbitrage that the pools offer without any input; `arbitrage` bounds that part alone and is not
    subtracted. `gap_bps`: at most so much of the bound is missing, gas aside. `net_gap_bps`: the same net of
    gas, against a bound in which every pool used costs its least gas. Both are rounded up to 0.0001 bps.
    `prices`: an integer per node and base unit, all at one scale.
    """

    bound: int
    gap_bps: float
    net_gap_bps: float
    arbitrage: int
    pools: int
    families: tuple[Kind, ...]
    method: Method
    prices: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FlowResult:
    """A flow and its certificate."""

    flow: Flow
    optimality: Optimality


@dataclass(frozen=True, slots=True)
class PlannedLeg:
    """A pool of a flow and its share of what arrives at its input node, in 1 / `SHARE_ONE`.

    `used_up`: the pool can take no more, so that it should not get the rest. `most`: the most that it gets of
    the token in, whatever its share; None: no limit.
    """

    pool: Pool
    zero_for_one: bool
    share: int
    used_up: bool = False
    most: int | None = None

    @property
    def tokens(self) -> tuple[str, str]:
        """The token in and the token out."""
        pool = self.pool
        return (pool.token0, pool.token1) if self.zero_for_one else (pool.token1, pool.token0)


def flow_of_path(path: Path) -> Flow:
    """Returns a path as a flow with one leg per hop."""
    return Flow(
        path.token_in,
        path.token_out,
        path.hops,
        path.amount_in,
        path.amount_out,
        path.gas_units,
        path.gas_cost,
    )


def execution_order(
    legs: Iterable[PlannedLeg], node_in: str, node_out: str, wrapped_native: str | None
) -> list[PlannedLeg] | None:
    """Returns the legs so that all legs into a node precede those out of it; None for a cycle or a dead end.

    A leg is followed by those out of the node that it completes, so that chains stay together. Of the legs
    out of a node the largest with room left is the last: it takes the rest.
    """
    leaving: dict[str, list[PlannedLeg]] = {}
    missing: dict[str, int] = {}
    count = 0
    for leg in legs:
        source, target = (node_of(token, wrapped_native) for token in leg.tokens)
        leaving.setdefault(source, []).append(leg)
        missing[target] = missing.get(target, 0) + 1
        count += 1
    dead_end = any(node != node_out and node not in leaving for node in missing)
    if dead_end or missing.get(node_in) or node_out in leaving:
        return None
    for group in leaving.values():
        group.sort(key=lambda leg: (leg.used_up, -leg.share))
    order: list[PlannedLeg] = []
    # A stack with the legs to do: the next one is at the end.
    stack = list(leaving.get(node_in, ()))
    while stack:
        leg = stack.pop()
        order.append(leg)
        target = node_of(leg.tokens[1], wrapped_native)
        missing[target] -= 1
        if not missing[target]:
            stack.extend(leaving.get(target, ()))
    return order if len(order) == count else None


def simulate(
    order: Sequence[PlannedLeg], node_in: str, amount_in: int, wrapped_native: str | None
) -> tuple[Hop, ...] | None:
    """Returns the legs with exact amounts; None when a pool cannot take its amount or gives nothing.

    Raises BandExceeded when a leg leaves the known ticks.
    """
    last = {node_of(leg.tokens[0], wrapped_native): at for at, leg in enumerate(order)}
    arrived, left = {node_in: amount_in}, {node_in: amount_in}
    hops = []
    for at, leg in enumerate(order):
        token_in, token_out = leg.tokens
        source, target = node_of(token_in, wrapped_native), node_of(token_out, wrapped_native)
        taken = left[source] if last[source] == at else arrived[source] * leg.share // SHARE_ONE
        if leg.most is not None and last[source] != at:
            taken = min(taken, leg.most)
        if not 0 < taken <= left[source]:
            return None
        answer = leg.pool.exact_in(leg.zero_for_one, taken)
        if answer is None or not answer[0]:
            return None
        left[source] -= taken
        arrived[target] = left[target] = arrived.get(target, 0) + answer[0]
        fee_pips = leg.pool.swap_fee_pips(leg.zero_for_one)
        hops.append(
            Hop(leg.pool, leg.zero_for_one, token_in, token_out, taken, answer[0], fee_pips, answer[1])
        )
    return tuple(hops)


def make_flow(
    hops: tuple[Hop, ...],
    token_in: str,
    token_out: str,
    amount_in: int,
    gas_model: GasModel,
    gas_price: GasPrice,
    wrapped_native: str | None,
) -> Flow:
    """Returns simulated legs as a flow with its output and gas."""
    end = node_of(token_out, wrapped_native)
    amount_out = sum(hop.amount_out for hop in hops if node_of(hop.token_out, wrapped_native) == end)
    gas_units = flow_gas(hops, token_in, token_out, gas_model, wrapped_native)
    return Flow(token_in, token_out, hops, amount_in, amount_out, gas_units, gas_price.cost(gas_units))


def flow_gas(
    hops: Sequence[Hop], token_in: str, token_out: str, model: GasModel, wrapped_native: str | None
) -> int:
    """Returns the gas units of a flow; of a single path, what the path search says.

    A leg shares the router command of the one before it when both are of one protocol and alone at the node
    between them. Each node converts the native coin at most once each way.
    """
    arrivals: dict[str, list[str]] = {node_of(token_in, wrapped_native): [token_in]}
    departures: dict[str, list[str]] = {node_of(token_out, wrapped_native): [token_out]}
    for hop in hops:
        arrivals.setdefault(node_of(hop.token_out, wrapped_native), []).append(hop.token_out)
        departures.setdefault(node_of(hop.token_in, wrapped_native), []).append(hop.token_in)
    gas = model.transaction + (0 if token_in == NATIVE else model.pull)
    before: Hop | None = None
    for hop in hops:
        costs = model.of(hop.pool.kind)
        gas += costs.hop + costs.tick * hop.ticks_crossed
        node = node_of(hop.token_in, wrapped_native)
        alone = len(arrivals[node]) == 1 == len(departures[node])
        if (
            before is None
            or before.pool.kind != hop.pool.kind
            or not alone
            or node_of(before.token_out, wrapped_native) != node
        ):
            gas += costs.section
        before = hop
    if wrapped_native is not None:
        have, want = arrivals.get(wrapped_native, []), departures.get(wrapped_native, [])
        gas += model.wrap * (NATIVE in have and wrapped_native in want)
        gas += model.unwrap * (wrapped_native in have and NATIVE in want)
    return gas
