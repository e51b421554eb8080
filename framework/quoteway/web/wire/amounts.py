"""What answers are made of: tokens, legs, fees, gas, approvals, issues, routes and the block."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire.text import AddressText, AmountText, CodeText, IntegerText, LinkText, NetworkText
from quoteway.web.wire.view import View, nullable, required


class TokenRef(View):
    address = required(AddressText)
    chain_id = required(fields.Integer)
    network = required(NetworkText, "chain_id")
    symbol = nullable(fields.String)
    name = nullable(fields.String)
    decimals = required(fields.Integer)
    is_native = required(fields.Boolean)
    logo_uri = nullable(LinkText)
    price_usd = nullable(fields.Float)


class BlockRef(View):
    number = required(fields.Integer)
    hash = required(fields.String)
    timestamp = required(fields.Integer, description="Unix seconds")


class Leg(View):
    token = required(TokenRef)
    amount = required(AmountText)
    amount_min = nullable(AmountText)
    amount_max = nullable(AmountText)
    amount_usd = nullable(fields.Float)
    account = required(AddressText)


class Fee(View):
    name = required(fields.String)
    kind = required(fields.String, enum=["protocol", "integrator", "bridge", "lp", "gas"])
    token = required(TokenRef)
    amount = required(AmountText)
    amount_usd = nullable(fields.Float)
    bps = nullable(fields.Float)
    included = required(fields.Boolean)


class Gas(View):
    units = required(IntegerText)
    limit = required(IntegerText)
    max_fee_per_gas = nullable(AmountText, "max_fee_per_gas_wei")
    l1_fee = nullable(AmountText, "l1_fee_wei")
    cost = nullable(AmountText, "cost_wei")
    cost_usd = nullable(fields.Float)


class Approval(View):
    token = required(AddressText)
    spender = required(AddressText)
    required = required(AmountText)
    current = nullable(AmountText)
    needed = nullable(fields.Boolean)
    needs_reset = nullable(fields.Boolean)


class Issue(View):
    code = required(fields.String)
    token = nullable(AddressText)
    actual = nullable(AmountText)
    required = nullable(AmountText)


class Notice(View):
    code = required(fields.String)
    message = required(fields.String)


class Hop(View):
    provider = required(fields.String)
    protocol = required(fields.String)
    pool = required(fields.String)
    token_in = required(AddressText)
    token_out = required(AddressText)
    amount_in = required(AmountText)
    amount_out = required(AmountText)
    fee_bps = nullable(fields.Float)


class RoutePath(View):
    bps = required(fields.Integer)
    hops = required([Hop])


class QuotePart(View):
    """One provider's part of a quote that several carry out, in order: its own legs and minimums."""

    kind = required(CodeText, "capability", enum=["swap", "bridge"])
    provider = required(fields.String)
    inputs = required([Leg])
    outputs = required([Leg])
