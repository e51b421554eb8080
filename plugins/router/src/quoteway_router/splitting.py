"""Looks for a flow that pays more than the best single path, in the solver processes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from quoteway import MAX_UINT256, Block, Optimality
from quoteway_amm import UNISWAP_GAS, BandsExceeded, GasModel, GasPrice, Graph
from quoteway_amm.flow import Flow, make_flow

from quoteway_router.solver_messages import Order
from quoteway_router.solver_process import Snapshot
from quoteway_router.solver_processes import Solution, SolverProcesses

log = logging.getLogger("quoteway.router.splitting")

SOLVE_S = 0.3
"""The most time that a quote waits for a flow. It has the best single path without one."""
MAX_LEGS = 25
"""The most pools of a flow: its plan fits in a quote token, and its gas in any block."""


@dataclass(frozen=True, slots=True)
class Split:
    """A flow, and how near it is to the best one: None where the solver did not say."""

    flow: Flow
    optimality: Optimality | None = None
    prices: Mapping[str, int] = field(default_factory=dict)
    """The prices at which the bound of ``optimality`` holds, as the solver says."""


class Splitting:
    """Splits the swaps of one gateway. ``processes`` 0: every swap keeps its single path."""

    def __init__(self, processes: int) -> None:
        self.solvers = SolverProcesses(processes)
        # Of one object for all quotes on the same pools, a process is sent the pools once.
        self._snapshots: WeakKeyDictionary[Graph, Snapshot] = WeakKeyDictionary()

    async def improve(
        self,
        path: Flow,
        graph: Graph,
        chain_id: int,
        block: Block,
        gas_price: GasPrice,
        max_hops: int | None,
        max_legs: int | None,
        gas_model: GasModel = UNISWAP_GAS,
    ) -> Split:
        """Returns the flow that pays most after gas: a split, or ``path``. Waits for ``SOLVE_S`` at most.

        Raises BandsExceeded when pools that may win lack ticks; ``settled`` is then the Split without them.
        """
        if not self.solvers.count:
            return Split(path)
        legs = min(max_legs or MAX_LEGS, MAX_LEGS)
        ends = path.token_in, path.token_out
        order = Order(graph.wrapped_native, *ends, path.amount_in, gas_model, gas_price, max_hops, legs)
        try:
            solution = await self.solve(graph, chain_id, block, order)
        except BandsExceeded as error:
            raise BandsExceeded(error.exceeded, _better(path, error.settled, order, block)) from None
        return _better(path, solution, order, block)

    async def solve(self, graph: Graph, chain_id: int, block: Block, order: Order) -> Solution | None:
        """Returns what a solver process finds for an order within ``SOLVE_S``. Raises BandsExceeded."""
        if not self.solvers.count:
            return None
        return await self.solvers.solve(self._snapshot(graph, chain_id, block), order, SOLVE_S)

    def _snapshot(self, graph: Graph, chain_id: int, block: Block) -> Snapshot:
        known = self._snapshots.get(graph)
        if known is None or known.block_hash != block.hash:
            known = self._snapshots[graph] = Snapshot(chain_id, block.hash, graph.pools)
        return known


def _better(path: Flow, solution: Solution | None, order: Order, block: Block) -> Split:
    if solution is None:
        return Split(path)
    found = make_flow(
        solution.hops,
        order.token_in,
        order.token_out,
        order.amount_in,
        order.gas_model,
        order.gas_price,
        order.wrapped_native,
    )
    if found.amount_out - found.gas_cost < path.amount_out - path.gas_cost:
        return Split(path)  # its deadline came first
    return Split(found, *_optimality(solution.optimality, block))


def _optimality(told: Mapping[str, Any], block: Block) -> tuple[Optimality | None, Mapping[str, int]]:
    try:
        prices = msgspec.convert(told["prices"], dict[str, int])
        members = {**told, "families": tuple(told["families"]), "block": block, "certificate": None}
        found = msgspec.convert(members, Optimality)
    except (KeyError, TypeError, msgspec.ValidationError):
        log.error("the solver described its flow in another form than expected")
        return None, {}
    # A bound that says nothing: where an order drains the pools, the solver's prices may not converge.
    return (found, prices) if max(found.bound, found.arbitrage) <= MAX_UINT256 else (None, {})
