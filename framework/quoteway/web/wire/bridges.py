"""Bridges: routes, and what is quoted and built of transfers."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire.actions import Action
from quoteway.web.wire.pages import Page
from quoteway.web.wire.quotes import Quote
from quoteway.web.wire.text import AddressText, AmountText, NetworkText
from quoteway.web.wire.tokens import TokenRef
from quoteway.web.wire.view import View, from_details, list_of, member, nested, nullable, required


class Refund(View):
    chain_id = required(fields.Integer)
    token = required(AddressText)
    address = required(AddressText)
    on_expiry = member(fields.Raw(required=True, allow_none=True))


class BridgeQuote(Quote):
    estimated_seconds = from_details(fields.Integer(allow_none=True))
    fill_deadline = from_details(fields.Integer(allow_none=True))
    refund = from_details(fields.Nested(Refund, allow_none=True))


class Tracking(View):
    bridge = required(fields.String)
    origin_chain_id = required(fields.Integer)
    destination_chain_id = required(fields.Integer)
    expected_seconds = nullable(fields.Integer)
    refund_address = nullable(AddressText)


class BridgeAction(Action):
    tracking = from_details(fields.Nested(Tracking))


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
