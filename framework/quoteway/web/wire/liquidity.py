"""The liquidity of a pool over its price."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire.parts import BlockRef
from quoteway.web.wire.text import IntegerText
from quoteway.web.wire.view import View, required


class Tick(View):
    tick = required(fields.Integer, description="Initialised tick, a multiple of `tickSpacing`")
    liquidity_net = required(
        IntegerText,
        description="Change of the liquidity in range where the price rises over the tick; negative where "
        "positions end",
    )


class TickSpan(View):
    """Ticks, both ends included."""

    from_ = required(fields.Integer, 0, description="Lowest tick")
    to = required(fields.Integer, 1, description="Highest tick")


class PoolLiquidity(View):
    pool_id = required(fields.String, description="Id of the pool: chain id, colon, address or 32-byte id")
    tick_spacing = required(fields.Integer, description="Ticks of a position are multiples of this number")
    sqrt_price_x96 = required(
        IntegerText,
        description="Square root of the price of token 0 in token 1, in base units, times 2^96",
    )
    tick = required(fields.Integer, description="Tick of the present price")
    liquidity = required(IntegerText, description="Liquidity in range at the present price")
    ticks = required([Tick], description="Initialised ticks of the span `known`, ascending")
    known = required(
        TickSpan, description="Ticks that were read, around the present price; others may be initialised too"
    )
    block = required(BlockRef, description="Block at which the pool was read")
