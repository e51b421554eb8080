"""Pools and positions in them."""

from __future__ import annotations

from marshmallow import fields

from quoteway.models import Pool
from quoteway.web.wire.amounts import BlockRef, Leg
from quoteway.web.wire.pages import Page
from quoteway.web.wire.quotes import Quote
from quoteway.web.wire.terms import PoolTerms, Range
from quoteway.web.wire.text import AddressText, AmountText, TimeText
from quoteway.web.wire.tokens import TokenRef
from quoteway.web.wire.view import (
    View,
    list_of,
    nested,
    nested_or_null,
    nullable,
    required,
    strings,
)


def _pair(pool: Pool) -> str:
    return "/".join(token.symbol or token.address for token in pool.tokens)


class PoolQuote(PoolTerms, Quote):
    pass


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
