"""Makes quotes from routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quoteway import (
    NATIVE,
    Address,
    Block,
    Fee,
    Gas,
    Hop,
    Issue,
    Leg,
    Notice,
    Quote,
    RoutePath,
    Spend,
    SwapRequest,
    Token,
)
from quoteway.evm import permit2
from quoteway_amm import UNISWAP_GAS
from quoteway_amm import Hop as PathHop

from quoteway_uniswap.candidates import hooked_pools, pool_id
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.routing import Route

HIGH_PRICE_IMPACT_BPS = 500

# The estimate is for storage in use; first use costs more. An action's gas limits are simulated.
_GAS_LIMIT_PCT = 150


def minimum_out(amount_out: int, slippage_bps: int) -> int:
    """Returns the minimum output: rounded down, at least 1."""
    return max(amount_out * (10_000 - slippage_bps) // 10_000, 1)


def spends_of(deployment: Deployment, request: SwapRequest, *, signed: bool) -> tuple[Spend, ...]:
    """Returns what the router pulls through Permit2: nothing for the native coin."""
    if request.token_in.address == NATIVE:
        return ()
    return (
        Spend(
            request.token_in.address,
            request.amount_in,
            permit2.ADDRESS,
            deployment.router,
            permit2_signed=signed,
        ),
    )


def quote_of_route(
    route: Route,
    block: Block,
    request: SwapRequest,
    tokens: Mapping[Address, Token],
    lifetime_s: int | None,
) -> Quote:
    """Returns the quote of a route at ``block``; ``tokens`` are the known tokens along the route."""
    deployment, path = route.deployment, route.path
    amount_min = minimum_out(route.amount_out, request.slippage_bps)
    tokens = {**tokens, **{token.address: token for token in (request.token_in, request.token_out)}}
    fees = [_lp_fee(tokens[hop.token_in], hop) for hop in path.hops if hop.token_in in tokens]
    net_output = None if route.net_output is None else route.net_output - (route.amount_out - amount_min)
    issues = [
        Issue("transfer_tax", token.address, tax_bps, 0)
        for token, tax_bps in ((request.token_in, route.tax_in_bps), (request.token_out, route.tax_out_bps))
        if tax_bps
    ]
    impact_bps = path.price_impact_bps
    if impact_bps > HIGH_PRICE_IMPACT_BPS:
        issues.append(
            Issue("high_price_impact", request.token_out.address, impact_bps, HIGH_PRICE_IMPACT_BPS)
        )
    return Quote(
        inputs=(Leg(request.token_in, request.amount_in, request.sender),),
        outputs=(Leg(request.token_out, route.amount_out, request.recipient, amount_min=amount_min),),
        block=block,
        plan=_plan(deployment, path.hops),
        spends=spends_of(deployment, request, signed=request.permit2_signature),
        slippage_bps=request.slippage_bps,
        fees=tuple(fees),
        gas=gas_of(deployment, path.gas_units, block),
        route=(RoutePath(10_000, tuple(_hop(deployment, hop) for hop in path.hops)),),
        price_impact_bps=impact_bps,
        issues=tuple(issues),
        warnings=tuple(_warnings(route, request)),
        net_output=None if net_output is None else max(net_output, 0),
        lifetime_s=lifetime_s,
    )


def quote_of_wrapping(
    deployment: Deployment, block: Block, request: SwapRequest, lifetime_s: int | None
) -> Quote:
    """Returns the quote of wrapping or unwrapping: one to one, so the minimum is the amount."""
    amount = request.amount_in
    gas = UNISWAP_GAS
    units = gas.transaction + (gas.wrap if request.token_in.address == NATIVE else gas.pull + gas.unwrap)
    hop = Hop(
        "uniswap",
        "wrapped-native",
        deployment.wrapped_native,
        request.token_in.address,
        request.token_out.address,
        amount,
        amount,
        0.0,
    )
    return Quote(
        inputs=(Leg(request.token_in, amount, request.sender),),
        outputs=(Leg(request.token_out, amount, request.recipient, amount_min=amount),),
        block=block,
        plan=_plan(deployment, ()),
        spends=spends_of(deployment, request, signed=request.permit2_signature),
        slippage_bps=request.slippage_bps,
        gas=gas_of(deployment, units, block),
        route=(RoutePath(10_000, (hop,)),),
        price_impact_bps=0,
        net_output=amount,
        lifetime_s=lifetime_s,
    )


def _plan(deployment: Deployment, hops: tuple[PathHop, ...]) -> dict[str, Any]:
    """Returns the plan; hops are [kind, token in, token out, fee, tick spacing], see ``hops_of_plan``."""
    return {
        "protocol": deployment.protocol,
        "router": deployment.router,
        "hops": [
            [hop.pool.kind, hop.token_in, hop.token_out, _key_fee(hop), getattr(hop.pool, "tick_spacing", 0)]
            for hop in hops
        ],
    }


def _key_fee(hop: PathHop) -> int:
    """Returns the fee in the pool's key: 0 for v2, the LP fee for v3 and hookless v4."""
    return int(getattr(hop.pool, "fee_pips", 0))


def _hop(deployment: Deployment, hop: PathHop) -> Hop:
    return Hop(
        "uniswap",
        f"{deployment.protocol}-{hop.pool.kind}",
        hop.pool.id,
        hop.token_in,
        hop.token_out,
        hop.amount_in,
        hop.amount_out,
        hop.fee_pips / 100,
    )


def _lp_fee(token: Token, hop: PathHop) -> Fee:
    amount = -(-hop.amount_in * hop.fee_pips // 1_000_000)
    return Fee("Liquidity providers' fee", "lp", token, amount, included=True, bps=hop.fee_pips / 100)


def gas_of(deployment: Deployment, units: int, block: Block) -> Gas:
    """Returns the gas estimate and its price. The limit leaves room for first use of storage."""
    limit = units * _GAS_LIMIT_PCT // 100
    if block.base_fee_wei is None:
        return Gas(units, limit)
    # Twice the base fee covers five full blocks: it rises by at most 12.5 % per block (EIP-1559).
    tip = deployment.priority_fee_wei
    return Gas(units, limit, 2 * block.base_fee_wei + tip, cost_wei=units * (block.base_fee_wei + tip))


def _warnings(route: Route, request: SwapRequest) -> list[Notice]:
    notices = []
    if "gas_exceeds_output" in route.path.warnings:
        notices.append(Notice("gas_exceeds_output", "Gas costs more than the output is worth."))
    for key in hooked_pools(route.deployment, request.token_in.address, request.token_out.address):
        notices.append(
            Notice(
                "hooked_pool_skipped",
                f"Pool {pool_id(key)} was skipped: its hooks may change any amount.",
            )
        )
    return notices
