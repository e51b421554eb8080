"""Pools and positions in them."""

from __future__ import annotations

from marshmallow import fields

from quoteway.models import Pool
from quoteway.web.wire.amounts import BlockRef, Leg
from quoteway.web.wire.pages import Page
from quoteway.web.wire.quotes import Quote
from quoteway.web.wire.text import AddressText, AmountText, TimeText
from quoteway.web.wire.tokens import TokenRef
from quoteway.web.wire.view import (
    View,
    from_details,
    list_of,
    member,
    named,
    nested,
    nested_or_null,
    nullable,
    required,
    strings,
)


def _pair(pool: Pool) -> str:
    return "/".join(token.symbol or token.address for token in pool.tokens)


class Range(View):
    tick_lower = required(fields.Integer, 0)
    tick_upper = required(fields.Integer, 1)


class PoolState(View):
    kind = required(fields.String)
    fee_bps = member(fields.Float(allow_none=True))
    reserves = member(fields.Raw(allow_none=True))
    sqrt_price_x96 = named("sqrtPriceX96", fields.String(allow_none=True))
    tick = member(fields.Integer(allow_none=True))
    liquidity = member(fields.String(allow_none=True))


class PoolQuote(Quote):
    pool_state = from_details(fields.Nested(PoolState, allow_none=True))
    dependent = from_details(fields.Nested(Leg, allow_none=True))
    liquidity_delta = from_details(fields.String(allow_none=True))
    range = from_details(fields.Nested(Range, allow_none=True))
    share_of_pool = from_details(fields.Float(allow_none=True))


class PoolEntry(View):
    id = required(fields.String)
    network = required(fields.String)
    chain_id = required(fields.Integer)
    protocol = required(fields.String)
    kind = required(fields.String)
    address = required(fields.String)
    pair = required(fields.String, _pair)
    tokens = list_of(TokenRef)
    fee_bps = nullable(fields.Float)
    tvl_usd = nullable(fields.Float)
    apr = nullable(fields.Float)
    volume_24h_usd = nullable(fields.Float)
    fees_24h_usd = nullable(fields.Float)
    hooks = nullable(AddressText)
    actions = strings()
    preview = required(fields.Boolean)
    source = required(fields.String)
    updated_at = required(TimeText)


class PoolPage(Page):
    data = list_of(PoolEntry)


class PositionEntry(View):
    position_id = required(fields.String)
    pool_id = required(fields.String)
    owner = required(AddressText)
    kind = required(fields.String, enum=["fungible", "nft"])
    liquidity = required(AmountText)
    share = nullable(fields.Float)
    amounts = list_of(Leg)
    uncollected_fees = list_of(Leg)
    range = nested_or_null(Range, "tick_range")
    in_range = nullable(fields.Boolean)
    value_usd = nullable(fields.Float)
    as_of_block = nested(BlockRef, "block")


class PositionPage(Page):
    data = list_of(PositionEntry)
