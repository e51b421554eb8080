"""Finds the best route of one deployment for a request at one block: a path, or a flow that splits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from quoteway import (
    Block,
    FieldError,
    InvalidRequest,
    Optimality,
    Reason,
    SwapRequest,
)
from quoteway_amm import (
    FREE,
    BandsExceeded,
    NoPath,
    taxed_amount,
)
from quoteway_amm.flow import Flow
from quoteway_router.paths import Refusal, flow_hops, path_hops
from quoteway_router.searching import Search, best_flow
from quoteway_router.splitting import Splitting
from quoteway_router.venue import network_gas_price

from quoteway_uniswap.candidates import PoolRef, PoolRefs, candidate_pools, hooked_pools
from quoteway_uniswap.certificates import certificate_of
from quoteway_uniswap.deployments import PROVIDER_ID, Deployment
from quoteway_uniswap.families import FAMILIES
from quoteway_uniswap.shared import ChainState

WRAPPING = "wrapped-native"
"""The protocol that a route shows where the native coin is only wrapped or unwrapped."""


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
    bought: tuple[int, ...] = ()
    """Of an exact output, what each of its paths buys."""
    fee_in: int = 0
    """Of an exact output, what the request's fee takes of the input beside what the pools take."""

    @property
    def worth(self) -> int:
        """What ranks routes of one request: the output net of gas, or minus the input with gas."""
        if self.gas_cost_in is not None:
            return -self.flow.amount_in - self.fee_in - self.gas_cost_in
        return self.amount_out if self.net_output is None else self.net_output


async def best_route(
    deployment: Deployment,
    chain: ChainState,
    splitting: Splitting,
    block: Block,
    request: SwapRequest,
    max_hops: int | None,
) -> Route | Refusal:
    """Returns the route with the greatest output after gas, or the reason why there is none.

    Takes one round trip when state is missing, a second one when a swap may leave the known ticks. Raises
    UpstreamError or RpcError when the chain cannot be read, InvalidRequest for a token whose tax cannot be
    quoted. ``max_hops`` is the deployment's limit, None without one.
    """
    states, taxes = chain.states, chain.taxes
    token_in, token_out = request.token_in.address, request.token_out.address
    discovered = chain.created.of(deployment, token_in, token_out)
    every = PoolRefs((*candidate_pools(deployment, token_in, token_out), *discovered.refs))
    refs = permitted(deployment, every, request)
    _, sold, bought, data_price = await asyncio.gather(
        states.graph(block, every, deployment.wrapped_native),
        taxes.of(request.token_in, block),
        taxes.of(request.token_out, block),
        chain.data_price(block),
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
        refs = PoolRefs(ref for ref in refs if ref.kind == "v2")
    amount = taxed_amount(request.amount_in, tax_in)
    if amount <= 0:
        return "amount_too_low"
    gas_price_wei = request.routing.gas_price_wei
    if gas_price_wei is None:
        gas_price_wei = network_gas_price(deployment, block)
    search = Search(
        deployment.chain_id,
        block,
        token_in,
        token_out,
        amount,
        gas_price_wei,
        path_hops(request, max_hops),
        flow_hops(request, max_hops),
        request.routing.max_legs,
        fee=fee,
        data_price=data_price,
    )
    for last in (False, True):
        graph = await states.graph(block, refs, deployment.wrapped_native)
        priced = graph if refs is every else await states.graph(block, every, deployment.wrapped_native)
        try:
            found = await best_flow(None if taxed else splitting, graph, priced, search, last=last)
        except BandsExceeded as error:
            await states.widen(block, refs, error.exceeded)
            continue
        break
    if isinstance(found, NoPath):
        return found.reason
    flow, optimality = found.split.flow, found.split.optimality
    if request.certificate and optimality is not None:
        certificate = await certificate_of(
            deployment, graph.pools, flow, optimality.bound, found.split.prices
        )
        optimality = replace(optimality, certificate=certificate)
    amount_out = taxed_amount(flow.amount_out, tax_out)
    if amount_out <= 0:
        return "amount_too_low"
    kept = amount_out if fee is None else amount_out - fee.of(amount_out)
    gas_cost = (found.gas_price or FREE).cost(flow.gas_units)
    net = None if found.gas_price is None else kept - gas_cost
    warnings = {
        "gas_exceeds_output": gas_cost >= kept,
        "hooked_pool_skipped": discovered.hooked or hooked_pools(deployment, token_in, token_out),
        "pool_not_known_far_enough": found.unknown,
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


def permitted(deployment: Deployment, refs: tuple[PoolRef, ...], request: SwapRequest) -> tuple[PoolRef, ...]:
    """Returns the pools that the request's limits allow: the same object where they allow all of them."""
    limits, chain_id = request.routing, request.chain_id
    if not (limits.protocols or limits.exclude_protocols or limits.pools or limits.exclude_pools):
        return refs
    kinds = {kind: limits.takes_protocol((PROVIDER_ID, deployment.label(kind))) for kind in FAMILIES}
    return PoolRefs(ref for ref in refs if kinds[ref.kind] and limits.takes_pool(chain_id, ref.id))
