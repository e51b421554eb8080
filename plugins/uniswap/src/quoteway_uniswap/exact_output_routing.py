"""Finds the paths that give an exact output for the least input with gas.

The router computes an exact output backwards within one protocol only. The best single path of each protocol
competes with several in parallel, which the solver processes look for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from quoteway import Address, Block, IntegratorFee, InvalidRequest, Reason, SwapRequest
from quoteway_amm import BandExceeded, BandsExceeded, GasPrice, Graph, Hop, NoPath, Path, best_path_exact_out
from quoteway_amm.exact_output_paths import one_command_groups
from quoteway_amm.flow import Flow
from quoteway_router.data_gas import leg_data_units, with_data_gas
from quoteway_router.paths import PATH_HOPS, Refusal, gas_price_in, path_hops
from quoteway_router.solver_messages import Order
from quoteway_router.solver_processes import Solution
from quoteway_router.splitting import MAX_LEGS, Splitting
from quoteway_router.venue import network_gas_price

from quoteway_uniswap.candidates import PoolRef, candidate_pools, hooked_pools
from quoteway_uniswap.certificates import certificate_of
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.exact_output import parts_of
from quoteway_uniswap.exact_output_gas import EXACT_OUTPUT_GAS
from quoteway_uniswap.exact_output_splitting import Proof, optimality_of, proof_of
from quoteway_uniswap.quoting import legs_to_encode, maximum_in, units_of
from quoteway_uniswap.routing import Route, permitted
from quoteway_uniswap.shared import ChainState

_FREE = GasPrice(0)
_REFUSALS: Sequence[Refusal] = ("insufficient_liquidity", "amount_too_low", "no_liquidity", "no_pool")
"""What is told of a request that no protocol can serve: the first that holds for one of them."""


_Found = tuple[Flow, tuple[int, ...]]
"""Paths with what their pools pay, and what each is asked for."""


async def best_exact_output(
    deployment: Deployment,
    chain: ChainState,
    splitting: Splitting,
    block: Block,
    request: SwapRequest,
    max_hops: int | None,
) -> Route | Refusal:
    """Returns the route with the least input with gas, or the reason why there is none.

    Waits and raises as ``best_route``. Raises InvalidRequest for a token that taxes transfers: the router
    computes the input from the output without the tax.
    """
    assert request.amount_out is not None
    states, taxes = chain.states, chain.taxes
    token_in, token_out = request.token_in.address, request.token_out.address
    discovered = chain.created.of(deployment, token_in, token_out)
    every = (*candidate_pools(deployment, token_in, token_out), *discovered.refs)
    _, sold, bought, data_price = await asyncio.gather(
        states.graph(block, every, deployment.wrapped_native),
        taxes.of(request.token_in, block),
        taxes.of(request.token_out, block),
        chain.data_price(block),
    )
    if sold.to_pool_bps or bought.from_pool_bps:
        text = "A token that taxes transfers cannot be swapped for an exact output: use side exactIn."
        raise InvalidRequest(text, reason=Reason.UNSUPPORTED_TOKEN)
    gas_price_wei = request.routing.gas_price_wei
    if gas_price_wei is None:
        gas_price_wei = network_gas_price(deployment, block)
    refs = permitted(deployment, every, request)
    max_legs = min(request.routing.max_legs or MAX_LEGS, MAX_LEGS)
    price: GasPrice | None = None
    for last in (False, True):
        graph = await states.graph(block, refs, deployment.wrapped_native)
        priced = await states.graph(block, every, deployment.wrapped_native)
        price = gas_price_in(priced, token_in, gas_price_wei)
        order = Order(
            deployment.wrapped_native,
            token_in,
            token_out,
            0,
            with_data_gas(EXACT_OUTPUT_GAS, data_price, gas_price_wei),
            _before_fee(price or _FREE, request.fee),
            path_hops(request, max_hops),
            max_legs,
            request.amount_out,
        )
        found, refusals, exceeded = await _single_paths(deployment, chain, block, refs, order, request.fee)
        solution: Solution | None = None
        if last or not exceeded:
            solution, further = await _solved(splitting, graph, deployment.chain_id, block, order)
            exceeded += further
        if last or not exceeded:
            break
        await states.widen(block, refs, exceeded)
    proof: Proof | None = None
    if solution is not None:
        proof = proof_of(solution.optimality)
        if (executed := _executed(order, solution.hops, request.fee)) is not None:
            found.append(executed)
    if not found:
        return next((each for each in _REFUSALS if each in refusals), "no_pool")

    def fee_in(each: _Found) -> int:
        return 0 if request.fee is None else request.fee.of(each[0].amount_in)

    def gas_cost(each: _Found) -> int:
        legs = legs_to_encode(deployment, each[0].legs, each[1])
        units = units_of(deployment, request, each[0].legs, legs, request.amount_out or 0)
        return (price or _FREE).cost(units)

    def whole_cost(each: _Found) -> int:
        data = (price or _FREE).cost(leg_data_units(data_price, gas_price_wei) * len(each[0].legs))
        return each[0].amount_in + fee_in(each) + gas_cost(each) + data

    best = min(found, key=whole_cost)
    flow, asked = best
    optimality = None if proof is None else optimality_of(proof, order, flow, block)
    if request.certificate and optimality is not None and proof is not None:
        certificate = await certificate_of(
            deployment, graph.pools, flow, optimality.bound, proof.prices, request.amount_out
        )
        optimality = replace(optimality, certificate=certificate)
    warnings = {
        "gas_exceeds_output": gas_cost(best) >= flow.amount_in,
        "hooked_pool_skipped": discovered.hooked or hooked_pools(deployment, token_in, token_out),
        "pool_not_known_far_enough": exceeded,
        "pools_not_searched": discovered.partial,
    }
    return Route(
        deployment,
        flow,
        flow.amount_out,
        0,
        0,
        gas_price_wei,
        None,
        optimality,
        warnings=tuple(code for code, applies in warnings.items() if applies),
        gas_cost_in=None if price is None else gas_cost(best),
        bought=asked,
        fee_in=fee_in(best),
    )


async def _single_paths(
    deployment: Deployment,
    chain: ChainState,
    block: Block,
    refs: Sequence[PoolRef],
    order: Order,
    fee: IntegratorFee | None,
) -> tuple[list[_Found], set[Refusal], list[BandExceeded]]:
    """Returns the best path of each protocol, why others have none, and pools whose ticks are not known."""
    found: list[_Found] = []
    refusals: set[Refusal] = set()
    exceeded: list[BandExceeded] = []
    for group in one_command_groups(refs, deployment.wrapped_native):
        graph = await chain.states.graph(block, group, deployment.wrapped_native)
        path, further = _best_path(graph, order)
        exceeded += further
        if isinstance(path, NoPath):
            refusals.add(path.reason)
        elif (executed := _executed(order, path.hops, fee)) is not None:
            found.append(executed)
        else:
            refusals.add("insufficient_liquidity")
    return found, refusals, exceeded


def _best_path(graph: Graph, order: Order) -> tuple[Path | NoPath, Sequence[BandExceeded]]:
    """Returns the best path through the known ticks, and the pools beyond them that might win."""
    assert order.amount_out is not None
    ends = order.token_in, order.token_out
    try:
        path = best_path_exact_out(
            graph, *ends, order.amount_out, order.gas_model, order.gas_price, order.max_hops or PATH_HOPS
        )
    except BandsExceeded as error:
        return error.settled, error.exceeded
    return path, ()


async def _solved(
    splitting: Splitting, graph: Graph, chain_id: int, block: Block, order: Order
) -> tuple[Solution | None, Sequence[BandExceeded]]:
    """Returns the paths that the solver found, and the pools whose ticks its bound needs."""
    try:
        return await splitting.solve(graph, chain_id, block, order), ()
    except BandsExceeded as error:
        return error.settled, error.exceeded


def _executed(order: Order, hops: Sequence[Hop], fee: IntegratorFee | None) -> _Found | None:
    """Returns paths as they are executed; None when they cannot be, or take more than the router can read."""
    assert order.wrapped_native is not None
    found = as_executed(order.token_in, order.token_out, order.wrapped_native, hops)
    if found is None:
        return None
    taken = found[0].amount_in
    fee_in = 0 if fee is None else fee.of(taken)
    return found if taken == maximum_in(taken, 0, {hop.pool.kind for hop in hops}, fee_in) else None


def _before_fee(gas_price: GasPrice, fee: IntegratorFee | None) -> GasPrice:
    """Returns a price of gas in units of what the pools take: on that the sender pays the fee, not on gas."""
    if fee is None:
        return gas_price
    return GasPrice(gas_price.numerator * 10_000, gas_price.denominator * (10_000 + fee.bps))


def as_executed(
    token_in: Address, token_out: Address, wrapped_native: Address, hops: Sequence[Hop]
) -> tuple[Flow, tuple[int, ...]] | None:
    """Returns paths with what their pools pay, and what each is asked for; None when a pool cannot take its
    input.

    A v2 pair takes an input that is rounded up, and pays all that it is worth, so the next one takes that.
    """
    parts = parts_of(hops, wrapped_native)
    executed = list[tuple[Hop, ...]]()
    for part in parts:
        amount, made = part[0].amount_in, list[Hop]()
        for hop in part:
            if hop.pool.kind == "v2":
                answer = hop.pool.exact_in(hop.zero_for_one, amount)
                if answer is None:
                    return None
                hop = replace(hop, amount_in=amount, amount_out=answer[0])
            made.append(hop)
            amount = hop.amount_out
        executed.append(tuple(made))
    amount_in = sum(part[0].amount_in for part in executed)
    amount_out = sum(part[-1].amount_out for part in executed)
    legs = tuple(hop for part in executed for hop in part)
    flow = Flow(token_in, token_out, legs, amount_in, amount_out, 0, 0)
    return flow, tuple(part[-1].amount_out for part in parts)
