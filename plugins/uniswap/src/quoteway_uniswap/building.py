"""Builds the router's transaction from a sealed quote, along the quote's route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from quoteway import (
    NATIVE,
    Block,
    Build,
    Chain,
    Context,
    Leg,
    SealedQuote,
    SignatureRequest,
    Step,
    SwapRequest,
    Token,
)
from quoteway.evm import permit2
from quoteway.evm.units import readable_units

from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.quoting import spends_of
from quoteway_uniswap.router import Order, SwapHop, encode_swap


async def build_swap(
    context: Context, chain: Chain, deployment: Deployment, sealed: SealedQuote, request: SwapRequest
) -> Build:
    """Returns the transaction of a quote: the same bytes for the same quote and block."""
    block = await chain.head()
    deadline = deadline_of(context, block, sealed)
    (given,), (got,) = sealed.inputs, sealed.outputs
    order = Order(
        token_in=given.token.address,
        token_out=got.token.address,
        amount_in=given.amount,
        amount_out_min=got.amount_min or got.amount,
        recipient=got.account,
        wrapped_native=deployment.wrapped_native,
    )
    hops = hops_of_plan(sealed.plan)
    permit = await _permit(chain, block, deployment, request, deadline)
    made = encode_swap(deployment.router_version, order, hops, deadline, permit)
    intent = _intent(given, got, order.amount_out_min, deadline, bool(hops))
    step = Step(
        kind="swap",
        to=deployment.router,
        data=made.data,
        value=made.value,
        chain_id=request.chain_id,
        decoded=made.decoded,
        description=_description(given.token, got.token, hops),
        intent=intent,
        target_label=f"{deployment.protocol.title()} Universal Router",
    )
    signatures: tuple[SignatureRequest, ...] = ()
    if permit is not None and made.signature_offset is not None:
        typed_data = permit.typed_data(request.chain_id)
        signatures = (SignatureRequest("permit2-permit-single", typed_data, 0, made.signature_offset),)
    return Build(
        steps=(step,),
        spends=spends_of(deployment, request, signed=permit is not None),
        inputs=sealed.inputs,
        outputs=sealed.outputs,
        deadline=deadline,
        signatures=signatures,
    )


def deadline_of(context: Context, block: Block, sealed: SealedQuote) -> int:
    """Returns the Unix time until which an action is valid."""
    # The newest block of a quiet chain may be old, and the next block carries the present time.
    return max(block.timestamp, sealed.created_at) + context.config.quotes.action_deadline_s


def until_text(deadline: int) -> str:
    """Returns a deadline as UTC text."""
    return datetime.fromtimestamp(deadline, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def hops_of_plan(plan: Mapping[str, Any]) -> tuple[SwapHop, ...]:
    """Returns the hops of a plan made by ``quoting``."""
    return tuple(
        SwapHop(kind, token_in, token_out, fee, spacing)
        for kind, token_in, token_out, fee, spacing in plan["hops"]
    )


async def _permit(
    chain: Chain, block: Block, deployment: Deployment, request: SwapRequest, deadline: int
) -> permit2.PermitSingle | None:
    """Returns the permit to sign; None when none was requested or the Permit2 allowance suffices."""
    token = request.token_in.address
    if not request.permit2_signature or token == NATIVE:
        return None
    call = permit2.ALLOWANCE.encode([request.sender, token, deployment.router])
    answer = await chain.call(permit2.ADDRESS, call, block=block)
    amount, expiration, nonce = permit2.ALLOWANCE.decode_output(answer)
    if amount >= request.amount_in and expiration >= deadline:
        return None
    return permit2.PermitSingle(token, request.amount_in, deadline, nonce, deployment.router, deadline)


def _intent(given: Leg, got: Leg, minimum: int, deadline: int, swaps: bool) -> str:
    until = until_text(deadline)
    sold, bought = _amount(given.token, given.amount), _amount(got.token, minimum)
    if not swaps:
        verb = "Wrap" if given.token.is_native else "Unwrap"
        return f"{verb} exactly {sold} into {bought}, sent to {got.account}, before {until}"
    return f"Swap exactly {sold} for at least {bought}, sent to {got.account}, before {until}"


def _description(token_in: Token, token_out: Token, hops: Sequence[SwapHop]) -> str:
    if not hops:
        return f"{'Wrap' if token_in.is_native else 'Unwrap'} {_name(token_in)} through the router"
    ways = ", ".join(hop.kind if hop.kind == "v2" else f"{hop.kind} {hop.fee / 10_000:g} %" for hop in hops)
    return f"Swap {_name(token_in)} for {_name(token_out)} through {len(hops)} pool(s): {ways}"


def _amount(token: Token, amount: int) -> str:
    return f"{readable_units(amount, token.decimals)} {_name(token)}"


def _name(token: Token) -> str:
    return token.symbol or token.address
