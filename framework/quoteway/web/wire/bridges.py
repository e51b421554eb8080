"""Bridges: routes, and what is quoted and built of transfers."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire.actions import Action
from quoteway.web.wire.pages import Page
from quoteway.web.wire.quotes import Quote
from quoteway.web.wire.terms import TransferTerms, TransferTracking
from quoteway.web.wire.text import AmountText, NetworkText
from quoteway.web.wire.tokens import TokenRef
from quoteway.web.wire.view import View, list_of, nested, nullable, required


class BridgeQuote(TransferTerms, Quote):
    pass


class BridgeAction(TransferTracking, Action):
    pass


class BridgeRouteEntry(View):
    from_chain = required(NetworkText, "from_chain_id")
    to_chain = required(NetworkText, "to_chain_id")
    from_token = nested(TokenRef)
    to_token = nested(TokenRef)
    bridge = required(fields.String)
    min_amount = nullable(AmountText)
    max_amount = nullable(AmountText)
    estimated_seconds = nullable(fields.Integer)
    enabled = required(fields.Boolean)


class RoutePage(Page):
    data = list_of(BridgeRouteEntry)
