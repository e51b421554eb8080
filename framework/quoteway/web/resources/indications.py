"""Indicative prices of swaps: one amount, or a ladder of amounts."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from marshmallow import validates_schema

from quoteway.engine.indicating import SELLER, indicate, ladder
from quoteway.errors import Reason
from quoteway.models import MAX_UINT256, Capability, SwapRequest
from quoteway.networks import Network
from quoteway.web.http import fields
from quoteway.web.http.freshness import FreshQuery, at_least
from quoteway.web.http.name_fields import TokenField
from quoteway.web.http.operation import Call, get
from quoteway.web.http.schema import refuse
from quoteway.web.resources.integrator_fees import FeeQuery, fee_in
from quoteway.web.resources.swaps import EITHER_AMOUNT, SIDE, amounts_of, tokens_of
from quoteway.web.wire.indications import SwapDepth, SwapPrice
from quoteway.web.wire.view import Wire

MOST_RUNGS = 8


class PairQuery(FeeQuery, FreshQuery):
    """Two tokens of one network."""

    network = fields.NetworkField("Network of both tokens", required=True)
    from_token = TokenField("Token to sell", native=True, required=True)
    to_token = TokenField("Token to buy", native=True, required=True)

    @validates_schema
    def check_tokens(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        if data["from_token"] == data["to_token"]:
            raise refuse(Reason.CONFLICT, "must be another token than fromToken", "toToken")


class PriceQuery(PairQuery):
    """A swap within one network."""

    amount = EITHER_AMOUNT
    side = SIDE


class DepthQuery(PairQuery):
    """``amount`` is the smallest; each further one is ten times the one before."""

    amount = EITHER_AMOUNT
    side = SIDE
    rungs = fields.QueryInteger("Number of amounts", 1, MOST_RUNGS, load_default=5)

    @validates_schema
    def check_amounts(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        if data["amount"] * 10 ** (data["rungs"] - 1) > MAX_UINT256:
            raise refuse(Reason.OUT_OF_RANGE, "leads to amounts above 2^256 - 1", "amount")


async def _request_of(call: Call) -> SwapRequest:
    network: Network = call.query["network"]
    ends = network.chain_id, network.chain_id
    candidates = call.gateway.quoting.candidates(Capability.SWAP, *ends, atomic_batch=False)
    sold, bought = await tokens_of(call, network, network, call.query, candidates)
    return SwapRequest(
        chain_id=network.chain_id,
        to_chain_id=network.chain_id,
        token_in=sold,
        token_out=bought,
        **amounts_of(call.query),
        sender=SELLER,
        recipient=SELLER,
        slippage_bps=0,
        fee=fee_in(call.query),
    )


@get(
    "/v2/swaps/price",
    "What a swap would pay or take, indicatively",
    SwapPrice,
    query=PriceQuery,
    group="quotes",
    failures=(502,),
    description="Needs no wallet. Nothing is simulated, and there is no quoteId: request a quote to trade.",
)
async def get_swap_price(call: Call) -> Wire:
    async with at_least(call.gateway, call.query["network"].chain_id, call.query):
        found = await indicate(call.gateway.quoting, await _request_of(call))
    return SwapPrice.render(found, call.networks)


@get(
    "/v2/swaps/depth",
    "What swaps of growing amounts would pay or take, indicatively",
    SwapDepth,
    query=DepthQuery,
    group="quotes",
    failures=(502,),
    description="All amounts at one block. Each amount counts as one request of the rate limit.",
)
async def get_swap_depth(call: Call) -> Wire:
    amounts = [call.query["amount"] * 10**step for step in range(call.query["rungs"])]
    await call.count_further(len(amounts) - 1)
    chain_id = call.query["network"].chain_id
    async with at_least(call.gateway, chain_id, call.query):
        request = await _request_of(call)
        rungs = await ladder(call.gateway.quoting, request, amounts)
    block = await call.gateway.runtime.chain(chain_id).head()
    shown = SimpleNamespace(request=request, block=block, rungs=rungs)
    return SwapDepth.render(shown, call.networks)


OPERATIONS = (get_swap_price, get_swap_depth)
