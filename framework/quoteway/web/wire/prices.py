"""USD prices of tokens."""

from __future__ import annotations

from dataclasses import dataclass

from marshmallow import fields

from quoteway import models
from quoteway.web.wire import text
from quoteway.web.wire.parts import BlockRef, Notice, TokenRef
from quoteway.web.wire.rows import Partial
from quoteway.web.wire.view import View, nullable, required


@dataclass(frozen=True, slots=True)
class PricedToken:
    """A token and what its price is made of; ``price`` None: not known."""

    token: models.Token
    price: models.Price | None


class PriceEntry(View):
    network = required(text.NetworkText, "token.chain_id")
    chain_id = required(fields.Integer, "token.chain_id")
    token = required(TokenRef)
    price_usd = nullable(fields.Float, lambda row: row.price and row.price.usd)
    confidence = nullable(fields.Float, lambda row: row.price and row.price.confidence)
    liquidity_usd = nullable(fields.Float, lambda row: row.price and row.price.depth_usd)
    sources = required([fields.String], lambda row: row.price.sources if row.price else ())
    anchored = required(fields.Boolean, lambda row: row.price is not None and row.price.anchored)
    moved_1h_pct = nullable(fields.Float, lambda row: row.price and row.price.moved_1h_pct)
    warnings = required([Notice], lambda row: row.price.warnings if row.price else ())
    as_of_block = nullable(BlockRef, lambda row: row.price and row.price.block)


class Prices(View):
    """``partial`` names the tokens that could not be read."""

    data = required([PriceEntry])
    partial_ = required([Partial], "missing")
