"""Finds the best route of one deployment for a request at one block: a path, or a flow that splits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Literal

from quoteway import (
    NATIVE,
    Address,
    Block,
    FieldError,
    IntegratorFee,
    InvalidRequest,
    Optimality,
    Reason,
    SwapRequest,
)
from quoteway_amm import (
    UNISWAP_GAS,
    BandsExceeded,
    GasModel,
    GasPrice,
    Graph,
    NoPath,
    Path,
    best_path_exact_in,
    native_price,
    taxed_amount,
)
from quoteway_amm.flow import Flow, flow_of_path

from quoteway_uniswap.candidates import PoolRef, candidate_pools, hooked_pools
from quoteway_uniswap.certificates import certificate_of
from quoteway_uniswap.deployments import PROVIDER_ID, Deployment, Venue
from quoteway_uniswap.families import FAMILIES
from quoteway_uniswap.shared import ChainState
from quoteway_uniswap.splitting import Split, Splitting

WRAPPING = "wrapped-native"
"""The protocol that a route shows where the native coin is only wrapped or unwrapped."""

_PROBE_WEI = 10**17
_FREE = GasPrice(0)
_WHOLE_BPS = 10_000

Refusal = Literal["no_pool", "no_liquidity", "amount_too_low", "insufficient_liquidity"]


@dataclass(frozen=True, slots=True)
class Route:
    """A flow with what it pays before the request's fee. A path is the smallest flow.

    ``amount_out`` is after the output token's transfer tax. ``gas_price_wei`` is the request's, else base fee
    and tip, None when the chain has no base fee. ``net_output`` is ``amount_out`` less fee and gas, None
    when gas has no price in that token. ``optimality`` is None where it was not computed. ``gas_cost_in`` is
    what gas costs in the input token, of an exact output; None when it has no price in it.
    """

    deployment: Deployment
    flow: Flow
    amount_out: int
    tax_in_bps: int
    tax_out_bps: int
    gas_price_wei: int | None
    net_output: int | None
    optimality: Optimality | None = None
    warnings: tuple[str, ...] = ()
    """Codes of ``quoteway.models.WARNINGS``."""
    gas_cost_in: int | None = None

    @property
    def worth(self) -> int:
        """What ranks routes of one request: the output net of gas, or minus the input with gas."""
        if self.gas_cost_in is not None:
            return -self.flow.amount_in - self.gas_cost_in
        return self.amount_out if self.net_output is None else self.net_output


async def best_route(
    deployment: Deployment,
    chain: ChainState,
    splitting: Splitting,
    block: Block,
    request: SwapRequest,
    max_hops: int,
) -> Route | Refusal:
    """Returns the route with the greatest output after gas, or the reason why there is none.

    Takes one round trip when state is missing, a second one when a swap may leave the known ticks. Raises
    UpstreamError or RpcError when the chain cannot be read, InvalidRequest for a token whose tax cannot be
    quoted.
    """
    states, taxes = chain.states, chain.taxes
    token_in, token_out = request.token_in.address, request.token_out.address
    discovered = chain.created.of(deployment, token_in, token_out)
    every = (*candidate_pools(deployment, token_in, token_out), *discovered.refs)
    refs = permitted(deployment, every, request)
    _, sold, bought = await asyncio.gather(
        states.graph(block, every, deployment.wrapped_native),
        taxes.of(request.token_in, block),
        taxes.of(request.token_out, block),
    )
    tax_in, tax_out = sold.to_pool_bps, bought.from_pool_bps
    taxed, fee = bool(tax_in or tax_out), request.fee
    if fee is not None and tax_out:
        # The router would get it taxed, and pay it out taxed once more.
        text = "cannot be charged on a token that taxes transfers"
        field = FieldError("feeBps", Reason.UNSUPPORTED_TOKEN, text)
        raise InvalidRequest(field.sentence, reason=Reason.UNSUPPORTED_TOKEN, fields=(field,))
    if taxed:
        # Only v2 pairs use the amount that arrived, and only their router checks the minimum on it.
        refs = tuple(ref for ref in refs if ref.kind == "v2")
    amount = taxed_amount(request.amount_in, tax_in)
    if amount <= 0:
        return "amount_too_low"
    gas_price_wei = request.routing.gas_price_wei
    if gas_price_wei is None:
        gas_price_wei = network_gas_price(deployment, block)
    max_legs, unknown = request.routing.max_legs, False
    for last in (False, True):
        graph = await states.graph(block, refs, deployment.wrapped_native)
        # What gas costs does not depend on which pools the route may use.
        priced = await states.graph(block, every, deployment.wrapped_native)
        price = gas_price_in(priced, token_out, gas_price_wei)
        weight = _before_fee(price or _FREE, fee)
        found: Split | NoPath
        try:
            path, unknown = settled_path(graph, token_in, token_out, amount, weight, max_hops, last=last)
            if isinstance(path, NoPath):
                found = path
            elif taxed:
                found = Split(path)
            else:
                found = await splitting.improve(
                    path, graph, deployment.chain_id, block, weight, max_hops, max_legs
                )
        except BandsExceeded as error:
            if not last:
                await states.widen(block, refs, error.exceeded)
                continue
            found, unknown = error.settled, True
        break
    if isinstance(found, NoPath):
        return found.reason
    flow, optimality = found.flow, found.optimality
    if request.certificate and optimality is not None:
        certificate = await certificate_of(deployment, graph.pools, flow, optimality.bound, found.prices)
        optimality = replace(optimality, certificate=certificate)
    amount_out = taxed_amount(flow.amount_out, tax_out)
    if amount_out <= 0:
        return "amount_too_low"
    kept = amount_out if fee is None else amount_out - fee.of(amount_out)
    gas_cost = (price or _FREE).cost(flow.gas_units)
    net = None if price is None else kept - gas_cost
    warnings = {
        "gas_exceeds_output": gas_cost >= kept,
        "hooked_pool_skipped": discovered.hooked or hooked_pools(deployment, token_in, token_out),
        "pool_not_known_far_enough": unknown,
        "pools_not_searched": discovered.partial,
    }
    return Route(
        deployment,
        flow,
        amount_out,
        tax_in,
        tax_out,
        gas_price_wei,
        net,
        optimality,
        tuple(code for code, applies in warnings.items() if applies),
    )


def settled_path(
    graph: Graph,
    token_in: Address,
    token_out: Address,
    amount: int,
    gas_price: GasPrice,
    max_hops: int,
    gas_model: GasModel = UNISWAP_GAS,
    *,
    last: bool,
) -> tuple[Flow | NoPath, bool]:
    """Returns (the best single path, whether pools beyond their known ticks were left out).

    Raises BandsExceeded instead of leaving them out, but not with ``last``.
    """
    unknown = False
    try:
        path = best_path_exact_in(graph, token_in, token_out, amount, gas_model, gas_price, max_hops)
    except BandsExceeded as error:
        if not last:
            raise
        path, unknown = error.settled, True
    return path if isinstance(path, NoPath) else flow_of_path(path), unknown


def network_gas_price(venue: Venue, block: Block) -> int | None:
    """Returns base fee and tip in wei; None when the chain has no base fee."""
    return None if block.base_fee_wei is None else block.base_fee_wei + venue.priority_fee_wei


def permitted(deployment: Deployment, refs: tuple[PoolRef, ...], request: SwapRequest) -> tuple[PoolRef, ...]:
    """Returns the pools that the request's limits allow."""
    limits, chain_id = request.routing, request.chain_id
    kinds = {kind: limits.takes_protocol((PROVIDER_ID, deployment.label(kind))) for kind in FAMILIES}
    return tuple(ref for ref in refs if kinds[ref.kind] and limits.takes_pool(chain_id, ref.id))


def hops_allowed(request: SwapRequest, max_hops: int) -> int:
    """Returns the most hops of a path: those of the deployment, or fewer by the request's limits."""
    asked = (request.routing.max_hops, request.routing.max_legs)
    return min(each for each in (max_hops, *asked) if each is not None)


def _before_fee(gas_price: GasPrice, fee: IntegratorFee | None) -> GasPrice:
    """Returns a price of gas in units of the output before fee: the recipient pays for it after fee."""
    if fee is None:
        return gas_price
    return GasPrice(gas_price.numerator * _WHOLE_BPS, gas_price.denominator * (_WHOLE_BPS - fee.bps))


def gas_price_in(
    graph: Graph, token: Address, gas_price_wei: int | None, gas_model: GasModel = UNISWAP_GAS
) -> GasPrice | None:
    """Returns what a unit of gas costs in a token; None when the graph's pools do not tell."""
    if gas_price_wei is None:
        return None
    try:
        price = native_price(graph, token, _PROBE_WEI, gas_model=gas_model)
    except BandsExceeded as error:
        settled = error.settled
        price = (settled.amount_out, _PROBE_WEI) if isinstance(settled, Path) else None
    return None if price is None else GasPrice.from_native(gas_price_wei, price)


def is_wrapping(request: SwapRequest, wrapped_native: Address) -> bool:
    """Returns whether the request only wraps or unwraps the native coin."""
    return {request.token_in.address, request.token_out.address} == {NATIVE, wrapped_native}
