"""Builds the router's transaction from a sealed quote, along the quote's route."""

from __future__ import annotations

from quoteway import (
    NATIVE,
    Block,
    Build,
    Chain,
    Context,
    SealedQuote,
    SignatureRequest,
    Step,
    SwapRequest,
)
from quoteway.evm import permit2
from quoteway_router.venue import deadline_of

from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.orders import Order
from quoteway_uniswap.plans import hops_of_plan
from quoteway_uniswap.quoting import spends_of
from quoteway_uniswap.router import encode_swap


async def build_swap(
    context: Context, chain: Chain, deployment: Deployment, sealed: SealedQuote, request: SwapRequest
) -> Build:
    """Returns the transaction of a quote: the same bytes for the same quote and block."""
    block = await chain.head()
    deadline = deadline_of(context, block, sealed)
    (given,), (got,) = sealed.inputs, sealed.outputs
    hops = hops_of_plan(sealed.plan)
    exact_out = request.amount_out is not None and bool(hops)
    fee_amount = (sealed.fee_amount or 0) if exact_out else 0
    order = Order(
        token_in=given.token.address,
        token_out=got.token.address,
        amount_in=given.most - fee_amount,
        amount_out_min=got.amount_min or got.amount,
        recipient=got.account,
        wrapped_native=deployment.wrapped_native,
        fee=request.fee,
        exact_out=exact_out,
        fee_amount=fee_amount,
    )
    permit = await _permit(chain, block, deployment, request, given.most, deadline)
    made = encode_swap(deployment.router_version, order, hops, deadline, permit)
    step = Step(deployment.router, made.data, made.value, request.chain_id)
    signatures: tuple[SignatureRequest, ...] = ()
    if permit is not None and made.signature_offset is not None:
        typed_data = permit.typed_data(request.chain_id)
        signatures = (SignatureRequest("permit2-permit-single", typed_data, 0, made.signature_offset),)
    return Build(
        steps=(step,),
        spends=spends_of(deployment, given, signed=permit is not None),
        inputs=sealed.inputs,
        outputs=sealed.outputs,
        deadline=deadline,
        signatures=signatures,
    )


async def _permit(
    chain: Chain, block: Block, deployment: Deployment, request: SwapRequest, most: int, deadline: int
) -> permit2.PermitSingle | None:
    """Returns the permit to sign for ``most`` base units.

    None when none was requested or the Permit2 allowance suffices.
    """
    token = request.token_in.address
    if not request.permit2_signature or token == NATIVE:
        return None
    call = permit2.ALLOWANCE.encode([request.sender, token, deployment.router])
    answer = await chain.call(permit2.ADDRESS, call, block=block)
    amount, expiration, nonce = permit2.ALLOWANCE.decode_output(answer)
    if amount >= most and expiration >= deadline:
        return None
    return permit2.PermitSingle(token, most, deadline, nonce, deployment.router, deadline)
