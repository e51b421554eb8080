"""Indicative prices: what a swap would pay, for nobody's wallet."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire import parts
from quoteway.web.wire.errors import Attempt
from quoteway.web.wire.quotes import Optimality, Route, execution_price, routed
from quoteway.web.wire.text import (
    AmountText,
    ChainIdNumber,
    CodeText,
    NetworkText,
    PriceImpact,
    ProviderId,
    SideText,
)
from quoteway.web.wire.view import View, constant, nullable, required

_INDICATIVE = "Always true: not simulated, and not exchangeable for an action"


class SwapPrice(View):
    """What a swap would pay at ``block``."""

    network = required(NetworkText, "request.chain_id")
    chain_id = required(ChainIdNumber, "request.chain_id")
    block = required(parts.BlockRef, "quote.block", description="Block at which the price was computed")
    indicative = required(fields.Boolean, constant(True), description=_INDICATIVE)
    provider = required(ProviderId)
    from_token = required(parts.TokenRef, lambda found: found.inputs[0].token, description="Token sold")
    to_token = required(parts.TokenRef, lambda found: found.outputs[0].token, description="Token bought")
    side = required(SideText, "request.side")
    from_amount = required(AmountText, lambda found: found.inputs[0].amount, description="What is sold")
    to_amount = required(AmountText, lambda found: found.outputs[0].amount, description="What is bought")
    execution_price = nullable(
        fields.String, execution_price, description="Whole output coins per whole input coin"
    )
    price_impact_bps = nullable(PriceImpact, "quote.price_impact_bps")
    fees = required(
        [parts.Fee], "quote.fees", description="Fees of the swap, with whether the amounts are after them"
    )
    gas = nullable(parts.Gas, "quote.gas", description="What the transaction would cost")
    route = nullable(
        Route, routed, description="Pools that the swap goes through. Null where the provider does not tell"
    )
    optimality = nullable(Optimality, "quote.optimality", description="As the provider computed it")
    attempts = required([Attempt], description="How each provider did that was asked")


class RungPrice(View):
    """What an amount of a ladder would pay or take."""

    provider = required(ProviderId)
    from_amount = required(AmountText, lambda found: found.inputs[0].amount)
    to_amount = required(AmountText, lambda found: found.outputs[0].amount, description="What is bought")
    execution_price = nullable(
        fields.String, execution_price, description="Whole output coins per whole input coin"
    )
    price_impact_bps = nullable(PriceImpact, "quote.price_impact_bps")


class DepthRung(View):
    """An amount with its price, or the reason why there is none."""

    amount = required(AmountText, description="Of `fromToken`; with `exactOut` of `toToken`")
    from_amount = nullable(
        AmountText, "amount_in", description="What is sold; null for an `exactOut` that nobody quotes"
    )
    price = nullable(RungPrice, "found", description="Best price of this amount. Null without one")
    reason = nullable(
        CodeText,
        lambda rung: None if rung.error is None else rung.error.reason,
        description="Why there is no price, a `details.reason`. Null with one",
    )


class SwapDepth(View):
    """What swaps of growing amounts would pay or take at one block."""

    network = required(NetworkText, "request.chain_id")
    chain_id = required(ChainIdNumber, "request.chain_id")
    block = required(parts.BlockRef, description="Block at which all prices were computed")
    indicative = required(fields.Boolean, constant(True), description=_INDICATIVE)
    from_token = required(parts.TokenRef, "request.token_in", description="Token sold")
    to_token = required(parts.TokenRef, "request.token_out", description="Token bought")
    side = required(SideText, "request.side")
    rungs = required(
        [DepthRung], description="Amounts from the smallest to the largest, each ten times the one before"
    )
