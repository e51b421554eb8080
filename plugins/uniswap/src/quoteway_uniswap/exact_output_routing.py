"""Finds the path of one protocol that gives an exact output for the least input with gas.

The router computes an exact output backwards within one protocol only, so the paths of each protocol compete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from quoteway import NATIVE, Block, InvalidRequest, Reason, SwapRequest
from quoteway_amm import UNISWAP_GAS, BandsExceeded, GasPrice, Graph, Hop, NoPath, Path, best_path_exact_out
from quoteway_amm.flow import Flow, flow_of_path

from quoteway_uniswap.candidates import PoolRef, candidate_pools, hooked_pools
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.quoting import units_of
from quoteway_uniswap.routing import Refusal, Route, gas_price_in, network_gas_price, permitted
from quoteway_uniswap.shared import ChainState

_FREE = GasPrice(0)
_FAMILIES = ("v2", "v3", "v4")
_REFUSALS: Sequence[Refusal] = ("insufficient_liquidity", "amount_too_low", "no_liquidity", "no_pool")
"""What is told of a request that no protocol can serve: the first that holds for one of them."""


async def best_exact_output(
    deployment: Deployment, chain: ChainState, block: Block, request: SwapRequest, max_hops: int
) -> Route | Refusal:
    """Returns the route with the least input with gas, or the reason why there is none.

    Waits and raises as ``best_route``. Raises InvalidRequest for a token that taxes transfers: the router
    computes the input from the output without the tax.
    """
    states, taxes = chain.states, chain.taxes
    token_in, token_out = request.token_in.address, request.token_out.address
    discovered = chain.created.of(deployment, token_in, token_out)
    every = (*candidate_pools(deployment, token_in, token_out), *discovered.refs)
    _, sold, bought = await asyncio.gather(
        states.graph(block, every, deployment.wrapped_native),
        taxes.of(request.token_in, block),
        taxes.of(request.token_out, block),
    )
    if sold.to_pool_bps or bought.from_pool_bps:
        text = "A token that taxes transfers cannot be swapped for an exact output: use side exactIn."
        raise InvalidRequest(text, reason=Reason.UNSUPPORTED_TOKEN)
    gas_price_wei = request.routing.gas_price_wei
    if gas_price_wei is None:
        gas_price_wei = network_gas_price(deployment, block)
    found: list[Flow] = []
    refusals: set[Refusal] = set()
    price: GasPrice | None = None
    unknown = False
    for refs in _families(deployment, permitted(deployment, every, request)):
        for last in (False, True):
            graph = await states.graph(block, refs, deployment.wrapped_native)
            priced = await states.graph(block, every, deployment.wrapped_native)
            price = gas_price_in(priced, token_in, gas_price_wei)
            path, exceeded = _best_path(graph, request, price or _FREE, max_hops)
            if exceeded is None or last:
                unknown = unknown or exceeded is not None
                break
            await states.widen(block, refs, exceeded.exceeded)
        if isinstance(path, NoPath):
            refusals.add(path.reason)
        elif (flow := _as_executed(path)) is not None:
            found.append(flow)
        else:
            refusals.add("insufficient_liquidity")
    if not found:
        return next((each for each in _REFUSALS if each in refusals), "no_pool")

    def gas_cost(flow: Flow) -> int:
        units = units_of(deployment, request, flow.legs, request.amount_out or 0)
        return (price or _FREE).cost(units)

    flow = min(found, key=lambda each: each.amount_in + gas_cost(each))
    warnings = {
        "gas_exceeds_output": gas_cost(flow) >= flow.amount_in,
        "hooked_pool_skipped": discovered.hooked or hooked_pools(deployment, token_in, token_out),
        "pool_not_known_far_enough": unknown,
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
        warnings=tuple(code for code, applies in warnings.items() if applies),
        gas_cost_in=None if price is None else gas_cost(flow),
    )


def _families(deployment: Deployment, refs: Sequence[PoolRef]) -> list[tuple[PoolRef, ...]]:
    """Returns the pools that one command can pass through: of one protocol, with one form of the coin."""
    groups = [
        tuple(ref for ref in refs if ref.kind == kind and form not in (ref.token0, ref.token1))
        for kind in _FAMILIES
        for form in ((NATIVE, deployment.wrapped_native) if kind == "v4" else (NATIVE,))
    ]
    return [group for group in groups if group]


def _best_path(
    graph: Graph, request: SwapRequest, gas_price: GasPrice, max_hops: int
) -> tuple[Path | NoPath, BandsExceeded | None]:
    """Returns the best path through the known ticks, and the pools beyond them that might win."""
    assert request.amount_out is not None
    tokens = request.token_in.address, request.token_out.address
    try:
        path = best_path_exact_out(graph, *tokens, request.amount_out, UNISWAP_GAS, gas_price, max_hops)
    except BandsExceeded as error:
        return error.settled, error
    return path, None


def _as_executed(path: Path) -> Flow | None:
    """Returns a path with what its pools pay; None when a pool cannot take its input.

    A v2 pair takes an input that is rounded up, and pays all that it is worth, so the next one takes that.
    """
    flow = flow_of_path(path)
    if path.hops[0].pool.kind != "v2":
        return flow
    amount, legs = path.amount_in, list[Hop]()
    for hop in path.hops:
        answer = hop.pool.exact_in(hop.zero_for_one, amount)
        if answer is None:
            return None
        legs.append(replace(hop, amount_in=amount, amount_out=answer[0]))
        amount = answer[0]
    return replace(flow, legs=tuple(legs), amount_out=amount)
