"""Quotes and actions of swaps, bridges, pools and vaults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from quoteway.models import Action, Capability, Request
from quoteway.pricing.valuation import tokens_of_quote, tokens_of_request
from quoteway.web.http.operation import Call, Handler, Operation
from quoteway.web.wire.actions import Action as ActionView
from quoteway.web.wire.quotes import Measured, Quote, ShownQuote, SwapQuote
from quoteway.web.wire.view import Wire

quote_operation = partial(Operation, "POST", group="quotes", failures=(404, 502))
action_operation = partial(Operation, "POST", group="quotes", failures=(404, 502), status=201)

ReadRequest = Callable[[Call], Awaitable[tuple[Request, str | None]]]
"""Reads the request of a call, and the id of the one provider to ask for it."""


def quote_of(capability: Capability, read_request: ReadRequest) -> Handler:
    """The handler that quotes a request."""

    async def create_quote(call: Call) -> Wire:
        request, provider = await read_request(call)
        return await quote(call, capability, request, provider=provider)

    return create_quote


def action_of(capability: Capability, read_request: ReadRequest) -> Handler:
    """The handler that builds a request's action. ``quoteId`` names a quote whose minimums it keeps."""

    async def create_action(call: Call) -> Wire:
        request, provider = await read_request(call)
        gateway, token = call.gateway, call.body.get("quote_id")
        pin = None if token is None else gateway.quote_tokens.open(capability, token)
        action = await gateway.building.direct(capability, request, provider=provider, pin=pin)
        return _rendered_action(call, action)

    return create_action


def action_of_quote(capability: Capability) -> Handler:
    """The handler that builds the action of the quote in the path."""

    async def create_action(call: Call) -> Wire:
        sealed = call.gateway.quote_tokens.open(capability, call.path["quoteId"])
        return _rendered_action(call, await call.gateway.building.action(sealed))

    return create_action


async def quote(
    call: Call,
    capability: Capability,
    request: Request,
    *,
    provider: str | None = None,
    atomic_batch: bool = True,
) -> Wire:
    """Asks the providers and renders the winning quote; ``atomic_batch`` as ``Quoting.quote`` takes it."""
    gateway = call.gateway
    gateway.prices.begin(tokens_of_request(request))
    answer = await gateway.quoting.quote(capability, request, provider=provider, atomic_batch=atomic_batch)
    valuation = await gateway.valuation(tokens_of_quote(answer.quote, request.chain_id))
    measured = Measured(
        valuation.quote(answer.quote, gateway.tokens.coin(request.chain_id)),
        answer.approvals,
        answer.issues,
        answer.attempts,
        deadline=answer.sealed.created_at + gateway.config.quotes.action_deadline_s,
    )
    return _rendered_quote(call, ShownQuote(answer.sealed, int(gateway.runtime.clock()), measured))


def shown_quote(call: Call, capability: Capability, token: str) -> Wire:
    """A quote read from its token alone, also when it has expired."""
    sealed = call.gateway.quote_tokens.open(capability, token, allow_expired=True)
    return _rendered_quote(call, ShownQuote(sealed, int(call.gateway.runtime.clock())))


def _rendered_quote(call: Call, shown: ShownQuote) -> Wire:
    view = SwapQuote if shown.sealed.capability is Capability.SWAP else Quote
    return view.render(shown, call.networks)


def _rendered_action(call: Call, action: Action) -> Wire:
    """The Action object. It has no USD values: the same token at one block gives the same bytes, whether or
    not a price has come meanwhile."""
    return ActionView.render(action, call.networks)
