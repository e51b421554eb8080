"""USD prices of tokens."""

from __future__ import annotations

from dataclasses import dataclass

from marshmallow import fields

from quoteway import models
from quoteway.web.wire import text
from quoteway.web.wire.holdings import (
    Partial,
)
from quoteway.web.wire.parts import BlockRef, Notice, TokenRef
from quoteway.web.wire.view import View, nullable, required


@dataclass(frozen=True, slots=True)
class PricedToken:
    """A token and what its price is made of; ``price`` None: not known."""

    token: models.Token
    price: models.Price | None


class PriceEntry(View):
    network = required(text.NetworkText, "token.chain_id")
    chain_id = required(text.ChainIdNumber, "token.chain_id")
    token = required(TokenRef, description="Token of the price")
    price_usd = nullable(
        text.UsdNumber,
        lambda row: row.price and row.price.usd,
        description="Price of one whole token. Null where no source knows one, or no majority agrees",
    )
    confidence = nullable(text.ConfidenceNumber, lambda row: row.price and row.price.confidence)
    liquidity_usd = nullable(
        text.UsdNumber,
        lambda row: row.price and row.price.depth_usd,
        description="Amount that can be sold near the price",
    )
    sources = required(
        [fields.String],
        lambda row: row.price.sources if row.price else (),
        description="Ids of the price sources that agree on the price; empty without a price",
    )
    anchored = required(
        fields.Boolean,
        lambda row: row.price is not None and row.price.anchored,
        description="Whether the price is confirmed: reached from dollar tokens through pools that stood "
        "for a while, or agreed on by sources of several plugins",
    )
    moved_1h_pct = nullable(
        fields.Float,
        lambda row: row.price and row.price.moved_1h_pct,
        description="Largest difference of the present price to one of the last hour, in percent: 2 is 2 %",
    )
    warnings = required(
        [Notice],
        lambda row: row.price.warnings if row.price else (),
        description="What to know about the price, such as `price_moved`",
    )
    as_of_block = nullable(
        BlockRef, lambda row: row.price and row.price.block, description="Block at which the price was read"
    )


class Prices(View):
    """Prices of tokens. ``partial`` names the addresses that are no tokens."""

    data = required(
        [PriceEntry], description="One row for each address that is a token, in the order of the request"
    )
    partial_ = required([Partial], "missing", description="Addresses that are no tokens (`no_token`)")
