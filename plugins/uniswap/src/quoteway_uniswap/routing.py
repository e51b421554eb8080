"""Finds the best path of one deployment for a request at one block."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from quoteway import NATIVE, Address, Block, SwapRequest
from quoteway_amm import (
    UNISWAP_GAS,
    BandsExceeded,
    GasPrice,
    Graph,
    NoPath,
    Path,
    best_path_exact_in,
    native_price,
    taxed_amount,
)

from quoteway_uniswap.candidates import candidate_pools
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.state import PoolStates
from quoteway_uniswap.taxes import TransferTaxes

_PROBE_WEI = 10**17
_FREE = GasPrice(0)

Refusal = Literal["no_pool", "no_liquidity", "amount_too_low", "insufficient_liquidity"]


@dataclass(frozen=True, slots=True)
class Route:
    """A path with the amount that the recipient gets.

    ``amount_out`` is after the output token's transfer tax. ``gas_price_wei`` is base fee and tip, None when
    the chain has no base fee. ``net_output`` is ``amount_out`` less gas, None when gas has no price in that
    token.
    """

    deployment: Deployment
    path: Path
    amount_out: int
    tax_in_bps: int
    tax_out_bps: int
    gas_price_wei: int | None
    net_output: int | None


async def best_route(
    deployment: Deployment,
    states: PoolStates,
    taxes: TransferTaxes,
    block: Block,
    request: SwapRequest,
    max_hops: int,
) -> Route | Refusal:
    """Returns the route with the greatest output after gas, or the reason why there is none.

    Takes one round trip when state is missing, a second one when a swap may leave the known ticks. Raises
    UpstreamError or RpcError when the chain cannot be read, InvalidRequest for a token whose tax cannot be
    quoted.
    """
    token_in, token_out = request.token_in.address, request.token_out.address
    refs = candidate_pools(deployment, token_in, token_out)
    _, sold, bought = await asyncio.gather(
        states.load(block, refs), taxes.of(request.token_in, block), taxes.of(request.token_out, block)
    )
    tax_in, tax_out = sold.to_pool_bps, bought.from_pool_bps
    taxed = bool(tax_in or tax_out)
    if taxed:
        # Only v2 pairs use the amount that arrived, and only their router checks the minimum on it.
        refs = tuple(ref for ref in refs if ref.kind == "v2")
    amount = taxed_amount(request.amount_in, tax_in)
    if amount <= 0:
        return "amount_too_low"
    gas_price_wei = None if block.base_fee_wei is None else block.base_fee_wei + deployment.priority_fee_wei
    for last in (False, True):
        graph = Graph(await states.load(block, refs), deployment.wrapped_native)
        price = _gas_price(graph, token_out, gas_price_wei)
        try:
            found = best_path_exact_in(
                graph, token_in, token_out, amount, UNISWAP_GAS, price or _FREE, max_hops
            )
        except BandsExceeded as error:
            if last:
                found = error.settled
            else:
                await states.widen(block, refs, error.exceeded)
                continue
        break
    if isinstance(found, NoPath):
        return found.reason
    amount_out = taxed_amount(found.amount_out, tax_out)
    if amount_out <= 0:
        return "amount_too_low"
    net = None if price is None else amount_out - found.gas_cost
    return Route(deployment, found, amount_out, tax_in, tax_out, gas_price_wei, net)


def _gas_price(graph: Graph, token_out: Address, gas_price_wei: int | None) -> GasPrice | None:
    if gas_price_wei is None:
        return None
    try:
        price = native_price(graph, token_out, _PROBE_WEI)
    except BandsExceeded as error:
        settled = error.settled
        price = (settled.amount_out, _PROBE_WEI) if isinstance(settled, Path) else None
    return None if price is None else GasPrice.from_native(gas_price_wei, price)


def is_wrapping(request: SwapRequest, wrapped_native: Address) -> bool:
    """Returns whether the request only wraps or unwraps the native coin."""
    return {request.token_in.address, request.token_out.address} == {NATIVE, wrapped_native}
