"""Quotes and actions of swaps, bridges, pools and vaults."""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web

from quoteway.models import Action, Capability, Request, SealedQuote
from quoteway.pricing.valuation import tokens_of_quote, tokens_of_request
from quoteway.web.http.envelope import json_response
from quoteway.web.http.operation import NO_STORE, Call
from quoteway.web.wire.actions import Action as ActionView
from quoteway.web.wire.quotes import Measured, Quote, ShownQuote, SwapQuote


async def quote(
    call: Call,
    capability: Capability,
    request: Request,
    *,
    provider: str | None = None,
    atomic_batch: bool = True,
) -> dict[str, Any]:
    """Asks the providers and renders the winning quote; ``atomic_batch`` as ``Spine.quote`` takes it."""
    gateway = call.gateway
    gateway.begin_valuation(tokens_of_request(request))
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


def shown_quote(call: Call, capability: Capability, token: str) -> dict[str, Any]:
    """A quote read back from its token alone, also when it has expired."""
    sealed = call.gateway.quote_tokens.open(capability, token, allow_expired=True)
    return _rendered_quote(call, ShownQuote(sealed, int(call.gateway.runtime.clock())))


def _rendered_quote(call: Call, shown: ShownQuote) -> dict[str, Any]:
    view = SwapQuote if shown.sealed.capability is Capability.SWAP else Quote
    return view.render(shown, call.networks)


async def exchange(call: Call, capability: Capability, token: str) -> web.Response:
    """A quote token for its action."""
    sealed = call.gateway.quote_tokens.open(capability, token)
    return rendered(call, await call.gateway.building.action(sealed))


async def direct(
    call: Call,
    capability: Capability,
    request: Request,
    *,
    provider: str | None = None,
    pin: SealedQuote | None = None,
) -> web.Response:
    """A request that stands alone, for its action; ``pin`` keeps the minimums of an earlier quote."""
    action = await call.gateway.building.direct(capability, request, provider=provider, pin=pin)
    return rendered(call, action)


def rendered(call: Call, action: Action) -> web.Response:
    """201 with the Action object. It carries no USD values: the same token at one block gives the same
    bytes, whether or not a price has come meanwhile."""
    wire = ActionView.render(action, call.networks)
    return json_response(orjson.dumps(wire), status=201, headers=NO_STORE)


def pinned(call: Call, capability: Capability) -> SealedQuote | None:
    """The quote that an action's optional ``quoteId`` names. Raises ``NotFound``."""
    token = call.body.get("quote_id")
    return None if token is None else call.gateway.quote_tokens.open(capability, token)
