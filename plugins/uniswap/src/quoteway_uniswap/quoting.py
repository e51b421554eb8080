"""Makes quotes from routes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from quoteway import (
    NATIVE,
    Address,
    Block,
    Hop,
    IntegratorFee,
    Issue,
    Leg,
    Notice,
    Optimality,
    Quote,
    RoutePath,
    Spend,
    SwapRequest,
    Token,
)
from quoteway.evm import permit2
from quoteway_amm import UNISWAP_GAS, Kind
from quoteway_amm import Hop as PathHop
from quoteway_router.amounts import gas_of, impact_issues, lp_fee, minimum_out
from quoteway_router.flow_routes import price_impact_bps, route_legs, route_paths

from quoteway_uniswap.deployments import PROVIDER_ID, Deployment
from quoteway_uniswap.exact_output import exact_output_legs, parts_of, parts_price_impact_bps
from quoteway_uniswap.exact_output_splitting import with_input_fee
from quoteway_uniswap.flow import SwapHop, legs_of
from quoteway_uniswap.flow_gas import gas_units
from quoteway_uniswap.orders import Order
from quoteway_uniswap.plans import plan_of
from quoteway_uniswap.router import work_of
from quoteway_uniswap.routing import WRAPPING, Route

Legs = tuple[SwapHop, ...]


_MOST: Mapping[Kind, int] = {
    "v2": permit2.MAX_AMOUNT - 1,
    "v3": permit2.MAX_AMOUNT - 1,
    "v4": (1 << 128) - 1,
}
"""The greatest maximum input of an exact output, by protocol: v4 has 128 bits for it."""


def maximum_in(amount_in: int, slippage_bps: int, kinds: Iterable[Kind], fee_in: int = 0) -> int:
    """Returns the most that the pools may take for an exact output: rounded down, within what the router can
    read, and what Permit2 can pull together with ``fee_in``.
    """
    most = min(permit2.MAX_AMOUNT - 1 - fee_in, *(_MOST[kind] for kind in kinds))
    return min(amount_in * (10_000 + slippage_bps) // 10_000, most)


def legs_to_encode(deployment: Deployment, hops: Sequence[PathHop], bought: Sequence[int]) -> Legs:
    """Returns the legs of a flow; with ``bought`` those of an exact output's paths, which buy that."""
    wrapped = deployment.wrapped_native
    return exact_output_legs(hops, bought, wrapped) if bought else legs_of(hops, wrapped)


def spends_of(deployment: Deployment, given: Leg, *, signed: bool) -> tuple[Spend, ...]:
    """Returns what the router may pull of an input through Permit2: nothing for the native coin."""
    if given.token.is_native:
        return ()
    spend = Spend(given.token.address, given.most, permit2.ADDRESS, deployment.router, permit2_signed=signed)
    return (spend,)


def quote_of_route(
    route: Route,
    block: Block,
    request: SwapRequest,
    tokens: Mapping[Address, Token],
    lifetime_s: int | None,
    *,
    hops_capped: bool = False,
) -> Quote:
    """Returns the quote of a route at ``block``; ``tokens`` are the known tokens along the route.

    ``hops_capped``: the request allows more hops than the deployment looks for.
    Raises ValueError for a route that splits although a token taxes transfers: parts that meet in the router
    would be taxed twice, and amounts of legs do not count the tax.
    """
    deployment, hops = route.deployment, route.flow.legs
    paths = route_paths(deployment, hops)
    if len(paths) > 1 and (route.tax_in_bps or route.tax_out_bps):
        raise ValueError("a token that taxes transfers needs a route of one path")
    given, got = _legs(route, request)
    amount_out, amount_min = got.amount, got.amount_min or 0
    tokens = {**tokens, **{token.address: token for token in (request.token_in, request.token_out)}}
    fees = [lp_fee(tokens[hop.token_in], hop) for hop in hops if hop.token_in in tokens]
    net_output = None if route.net_output is None else route.net_output - (amount_out - amount_min)
    issues = [
        Issue("transfer_tax", token.address, tax_bps, 0)
        for token, tax_bps in ((request.token_in, route.tax_in_bps), (request.token_out, route.tax_out_bps))
        if tax_bps
    ]
    impact = parts_price_impact_bps if route.bought else price_impact_bps
    impact_bps = impact(deployment, hops)
    legs = legs_to_encode(deployment, hops, route.bought)
    units = units_of(deployment, request, hops, legs, amount_min)
    issues += impact_issues(request, impact_bps)
    return Quote(
        inputs=(given,),
        outputs=(got,),
        block=block,
        plan=plan_of(deployment, legs),
        spends=spends_of(deployment, given, signed=request.permit2_signature),
        slippage_bps=request.slippage_bps,
        fees=tuple(fees),
        gas=gas_of(deployment, units, block, route.gas_price_wei),
        route=paths,
        price_impact_bps=impact_bps,
        issues=tuple(issues),
        warnings=tuple(map(Notice, (*route.warnings, *(("max_hops_capped",) if hops_capped else ())))),
        net_output=None if net_output is None else max(net_output, 0),
        lifetime_s=lifetime_s,
        route_legs=route_legs(deployment, hops),
        optimality=_after_fee(route, request),
        fee_amount=None if request.fee is None else _fee_amount(route, request, request.fee),
        total_input=None if route.gas_cost_in is None else given.most + route.gas_cost_in,
    )


def _fee_amount(route: Route, request: SwapRequest, fee: IntegratorFee) -> int:
    return fee.of(route.amount_out) if request.amount_out is None else route.fee_in


def _after_fee(route: Route, request: SwapRequest) -> Optimality | None:
    """Returns how near to the best a route is, with the fee taken from its output and from the bound alike.

    Of an exact output it is added to the input and to the bound.
    The gaps are shares, so the fee changes them by its rounding alone: at most one base unit.
    """
    found, fee = route.optimality, request.fee
    if found is None or fee is None:
        return found
    if request.amount_out is not None:
        return with_input_fee(found, fee, route.flow.amount_in)
    bound, got = (amount - fee.of(amount) for amount in (found.bound, route.amount_out))
    gap_bps = max(found.gap_bps, -(-(bound - got) * 10**8 // max(bound, 1)) / 10**4)
    return replace(
        found,
        bound=bound,
        arbitrage=found.arbitrage - fee.of(found.arbitrage),
        gap_bps=gap_bps,
        net_gap_bps=found.net_gap_bps + gap_bps - found.gap_bps,
    )


def _legs(route: Route, request: SwapRequest) -> tuple[Leg, Leg]:
    """Returns what a quote takes and pays, with the bound of the side that is not exact."""
    hops = route.flow.legs
    given = Leg(request.token_in, request.amount_in, request.sender)
    if request.amount_out is not None:
        taken, kinds = route.flow.amount_in, {hop.pool.kind for hop in hops}
        most = maximum_in(taken, request.slippage_bps, kinds, route.fee_in) + route.fee_in
        given = Leg(request.token_in, taken + route.fee_in, request.sender, amount_max=most)
        amount_out, amount_min = route.amount_out, request.amount_out
    else:
        amount_out = route.amount_out - (0 if request.fee is None else request.fee.of(route.amount_out))
        amount_min = minimum_out(amount_out, request.slippage_bps)
    return given, Leg(request.token_out, amount_out, request.recipient, amount_min=amount_min)


def quote_of_wrapping(
    deployment: Deployment, block: Block, request: SwapRequest, lifetime_s: int | None
) -> Quote:
    """Returns the quote of wrapping or unwrapping: one to one, so the minimum is the amount."""
    amount = request.amount
    exact_out = request.amount_out is not None
    given = Leg(request.token_in, amount, request.sender, amount_max=amount if exact_out else None)
    gas = UNISWAP_GAS
    units = gas.transaction + (gas.wrap if request.token_in.address == NATIVE else gas.pull + gas.unwrap)
    hop = Hop(
        PROVIDER_ID,
        WRAPPING,
        deployment.wrapped_native,
        request.token_in.address,
        request.token_out.address,
        amount,
        amount,
        0.0,
    )
    return Quote(
        inputs=(given,),
        outputs=(Leg(request.token_out, amount, request.recipient, amount_min=amount),),
        block=block,
        plan=plan_of(deployment, ()),
        spends=spends_of(deployment, given, signed=request.permit2_signature),
        slippage_bps=request.slippage_bps,
        gas=gas_of(deployment, units, block, request.routing.gas_price_wei),
        route=(RoutePath(10_000, (hop,)),),
        price_impact_bps=0,
        net_output=None if exact_out else amount,
        total_input=amount if exact_out else None,
        lifetime_s=lifetime_s,
    )


def units_of(
    deployment: Deployment, request: SwapRequest, hops: Sequence[PathHop], legs: Legs, amount_min: int
) -> int:
    """Returns the gas of the transaction to come, without a permit in it."""
    exact_out, taken, fee_in = request.amount_out is not None, request.amount_in, 0
    if exact_out:
        taken = sum(part[0].amount_in for part in parts_of(hops, deployment.wrapped_native))
        fee_in = 0 if request.fee is None else request.fee.of(taken)
    order = Order(
        request.token_in.address,
        request.token_out.address,
        taken,
        amount_min,
        request.recipient,
        deployment.wrapped_native,
        fee=request.fee,
        exact_out=exact_out,
        fee_amount=fee_in,
    )
    work = work_of(deployment.router_version, order, legs)
    if exact_out and not request.slippage_bps:
        work = replace(work, refund=None)  # the maximum is spent
    return gas_units(work, hops)
