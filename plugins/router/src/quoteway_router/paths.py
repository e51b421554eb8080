"""The best single path of a request: the floor that a split must beat, and the price of gas in a token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from quoteway import Address, Reason, SwapRequest
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
)
from quoteway_amm.flow import Flow, flow_of_path

PATH_HOPS = 3
"""The most pools on a single path by default. The ways of a split may pass more."""
_PROBE_WEI = 10**17

Refusal = Literal["no_pool", "no_liquidity", "amount_too_low", "insufficient_liquidity"]

REFUSALS: Mapping[Refusal, tuple[str, Reason]] = {
    "no_liquidity": ("The pools of this pair hold no liquidity.", Reason.INSUFFICIENT_LIQUIDITY),
    "insufficient_liquidity": (
        "No path can trade the whole amount: request a smaller one.",
        Reason.INSUFFICIENT_LIQUIDITY,
    ),
    "amount_too_low": (
        "The output of this amount rounds to zero: request a larger amount.",
        Reason.AMOUNT_TOO_LOW,
    ),
}


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


def flow_hops(request: SwapRequest, max_hops: int | None) -> int | None:
    """Returns the most hops of each way through a flow, by setting and request; None: any number."""
    limits = (max_hops, request.routing.max_hops)
    return min((each for each in limits if each is not None), default=None)


def path_hops(request: SwapRequest, max_hops: int | None) -> int:
    """Returns the most hops of a single path: ``PATH_HOPS`` where neither setting nor request say it."""
    most = flow_hops(request, max_hops) or PATH_HOPS
    return min(most, request.routing.max_legs or most)


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
