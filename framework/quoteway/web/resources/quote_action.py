"""Quotes and actions of swaps, bridges, pools and vaults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quoteway.engine.gateway import Gateway
from quoteway.engine.quoting import QuoteAnswer
from quoteway.guard.acknowledgements import CODES
from quoteway.models import Capability, Request
from quoteway.networks import Network
from quoteway.pricing.valuation import tokens_of_quote, tokens_of_request
from quoteway.web.http import fields
from quoteway.web.http.freshness import FreshBody, at_least
from quoteway.web.http.operation import Call, Operation, post_quotes
from quoteway.web.http.schema import RequestSchema
from quoteway.web.resources.ids import ResourceId
from quoteway.web.resources.permits import PermitsBody, permits_in
from quoteway.web.resources.signed_actions import signed_answer
from quoteway.web.wire.actions import Action
from quoteway.web.wire.quotes import Quote, ShownQuote, SwapQuote
from quoteway.web.wire.view import Wire

_QUOTE = """Asks every enabled provider that serves the request, checks the answers, and gives the best quote.
`quoteId` is signed and holds the quote: exchange it for an action as often as needed until it
expires. Nothing is reserved or sent."""
_ACTION = """Gives unsigned transactions, decoded again from their bytes and simulated in their order, with
the approvals that the wallet needs now. The same request at the same block gives the same bytes. What
simulation or checks refuse is an error, never a worse minimum."""
_EXCHANGE = " The body may be empty."

ReadRequest = Callable[[Call], Awaitable[tuple[Request, str | None]]]
"""Reads the request of a call, and the id of the one provider to ask for it."""


class AcknowledgingBody(FreshBody):
    """What every body of a quote or an action may have."""

    acknowledge = fields.Choices(
        "Codes of `acknowledgementNeeded` that the caller accepts", tuple(CODES), load_default=()
    )


class DeadlineBody(AcknowledgingBody):
    """The body of what can have a deadline on chain."""

    deadline = fields.StrictInteger(
        "Time until which the transactions may be executed, in Unix seconds: 60 seconds to 24 "
        "hours from now. Left out: the setting `quotes.action_deadline_s` (seconds), counted "
        "from the action",
        0,
        (1 << 53) - 1,
    )


class ConsentBody(PermitsBody, AcknowledgingBody):
    """The body of the action of a quote."""


@dataclass(frozen=True, slots=True)
class Quotable:
    """What is quoted and built below one path; ``noun`` is that of the operationIds."""

    capability: Capability
    noun: str
    path: str
    read_request: ReadRequest
    path_schema: type[RequestSchema] | None = None

    def quote(
        self,
        summary: str,
        response: type[Quote],
        body: type[RequestSchema],
        failures: tuple[int, ...] = (404, 502),
    ) -> Operation:
        """The operation that quotes a request."""

        async def create_quote(call: Call) -> Wire:
            async with at_least(call.gateway, chain_id_of(call), call.body):
                return await self.answer(call)

        path, path_schema = f"{self.path}/quote", self.path_schema
        declared = post_quotes(
            path,
            summary,
            response,
            description=_QUOTE,
            path_schema=path_schema,
            body=body,
            failures=failures,
        )
        return declared(create_quote, f"create{self.noun}Quote")

    async def answer(self, call: Call) -> Wire:
        """Returns the quote of the request in a call's body, at the head of its arrival."""
        gateway, body = call.gateway, call.body
        request, provider = await self.read_request(call)
        gateway.prices.begin(tokens_of_request(request))
        answer = await gateway.quoting.quote(
            self.capability,
            request,
            provider=provider,
            atomic_batch=body.get("atomic_batch") is not False,
            divides=body.get("atomic_batch") is True,
            acknowledged=body["acknowledge"],
            deadline=body.get("deadline"),
            chooses_slippage=body.get("slippage_bps", 0) is None,
            refreshable_until=body.get("refreshable_until"),
        )
        return await self.shown(call.gateway, answer)

    async def shown(self, gateway: Gateway, answer: QuoteAnswer) -> Wire:
        """Returns a fresh quote as it is answered, with USD values and the deadline of its action."""
        request = answer.sealed.request
        valuation = await gateway.valuation(tokens_of_quote(answer.quote, request.chain_id))
        shown = ShownQuote(
            answer.sealed,
            int(gateway.runtime.clock()),
            valuation.quote(answer.quote, gateway.tokens.coin(request.chain_id)),
            answer.approvals,
            answer.issues,
            answer.attempts,
            answer.taxes,
            answer.simulation,
            deadline=answer.sealed.deadline
            or answer.sealed.created_at + gateway.config.quotes.action_deadline_s,
        )
        view = SwapQuote if self.capability is Capability.SWAP else Quote
        return view.render(shown, gateway.runtime.networks)

    def action(
        self, summary: str, response: type[Action], body: type[RequestSchema] | None = None
    ) -> Operation:
        """The operation that builds the action of a request, or without ``body`` of the quote in the path.

        ``quoteId`` in a request names a quote whose minimums the action keeps. An action has no USD values:
        the same token at one block gives the same bytes, whether or not a price has come meanwhile.
        """

        async def create_action(call: Call) -> Wire:
            gateway, capability, accepted = call.gateway, self.capability, call.body["acknowledge"]
            permits = permits_in(call.body)
            if body is None:
                sealed = gateway.quote_tokens.open(capability, call.path["quoteId"])
                async with at_least(call.gateway, sealed.request.chain_id, call.body):
                    action = await gateway.building.action(sealed, acknowledged=accepted, permits=permits)
            else:
                token = call.body.get("quote_id")
                async with at_least(call.gateway, chain_id_of(call), call.body):
                    request, provider = await self.read_request(call)
                    pin = None if token is None else gateway.quote_tokens.open(capability, token)
                    action = await gateway.building.direct(
                        capability,
                        request,
                        provider=provider,
                        pin=pin,
                        acknowledged=accepted,
                        deadline=call.body.get("deadline"),
                        permits=permits,
                    )
            return signed_answer(call, action)

        path, path_schema = f"{self.path}/{'action' if body else '{quoteId}/action'}", self.path_schema
        declared = post_quotes(
            path,
            summary,
            response,
            description=_ACTION if body else _ACTION + _EXCHANGE,
            status=201,
            path_schema=path_schema,
            body=body or ConsentBody,
            body_required=body is not None,
            failures=(403, 404, 502),
        )
        return declared(create_action, f"create{self.noun}Action")


def chain_id_of(call: Call) -> int:
    """The network of the transactions: that of the path, or the first one that the body names."""
    place: ResourceId | Network = (
        call.path.get("resource") or call.body.get("from_chain") or call.body["network"]
    )
    return place.chain_id
