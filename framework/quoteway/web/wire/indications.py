"""Indicative prices: what a swap would pay, for nobody's wallet."""

from __future__ import annotations

from marshmallow import fields

from quoteway.models import SIDES
from quoteway.web.wire import parts
from quoteway.web.wire.errors import Attempt
from quoteway.web.wire.quotes import Optimality, Route, execution_price, routed
from quoteway.web.wire.text import AmountText, CodeText, NetworkText
from quoteway.web.wire.view import View, constant, nullable, required

_INDICATIVE = "Always true: not simulated, and not exchangeable for an action"


class SwapPrice(View):
    """What a swap would pay at ``block``."""

    network = required(NetworkText, "request.chain_id")
    chain_id = required(fields.Integer, "request.chain_id")
    block = required(parts.BlockRef, "quote.block")
    indicative = required(fields.Boolean, constant(True), description=_INDICATIVE)
    provider = required(fields.String)
    from_token = required(parts.TokenRef, lambda found: found.inputs[0].token)
    to_token = required(parts.TokenRef, lambda found: found.outputs[0].token)
    side = required(fields.String, "request.side", enum=list(SIDES))
    from_amount = required(AmountText, lambda found: found.inputs[0].amount)
    to_amount = required(AmountText, lambda found: found.outputs[0].amount)
    execution_price = nullable(
        fields.String, execution_price, description="Whole output coins per whole input coin"
    )
    price_impact_bps = nullable(fields.Integer, "quote.price_impact_bps")
    fees = required([parts.Fee], "quote.fees")
    gas = nullable(parts.Gas, "quote.gas")
    route = nullable(Route, routed)
    optimality = nullable(Optimality, "quote.optimality", description="As the provider computed it")
    attempts = required([Attempt])


class RungPrice(View):
    """What an amount of a ladder would pay or take."""

    provider = required(fields.String)
    from_amount = required(AmountText, lambda found: found.inputs[0].amount)
    to_amount = required(AmountText, lambda found: found.outputs[0].amount)
    execution_price = nullable(
        fields.String, execution_price, description="Whole output coins per whole input coin"
    )
    price_impact_bps = nullable(fields.Integer, "quote.price_impact_bps")


class DepthRung(View):
    """An amount with its price, or the reason why there is none."""

    amount = required(AmountText, description="Of `fromToken`; with `exactOut` of `toToken`")
    from_amount = nullable(
        AmountText, "amount_in", description="What is sold; null for an `exactOut` that nobody quotes"
    )
    price = nullable(RungPrice, "found")
    reason = nullable(CodeText, lambda rung: None if rung.error is None else rung.error.reason)


class SwapDepth(View):
    """What swaps of growing amounts would pay or take at one block."""

    network = required(NetworkText, "request.chain_id")
    chain_id = required(fields.Integer, "request.chain_id")
    block = required(parts.BlockRef)
    indicative = required(fields.Boolean, constant(True), description=_INDICATIVE)
    from_token = required(parts.TokenRef, "request.token_in")
    to_token = required(parts.TokenRef, "request.token_out")
    side = required(fields.String, "request.side", enum=list(SIDES))
    rungs = required([DepthRung])
