"""Indicative prices: what a swap would pay, for nobody's wallet."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire import parts
from quoteway.web.wire.errors import Attempt
from quoteway.web.wire.quotes import execution_price, routed
from quoteway.web.wire.routes import Optimality, Route
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
    block = required(parts.BlockRef, "quote.block", description="Block whose state was quoted")
    indicative = required(fields.Boolean, constant(True), description=_INDICATIVE)
    provider = required(ProviderId)
    from_token = required(
        parts.TokenRef, lambda found: found.inputs[0].token, description="Token that is sold"
    )
    to_token = required(
        parts.TokenRef, lambda found: found.outputs[0].token, description="Token that is bought"
    )
    side = required(SideText, "request.side")
    from_amount = required(
        AmountText, lambda found: found.inputs[0].amount, description="Amount that is sold"
    )
    to_amount = required(
        AmountText, lambda found: found.outputs[0].amount, description="Amount that is bought"
    )
    execution_price = nullable(
        fields.String,
        execution_price,
        description="Whole tokens bought for a whole token sold, as a decimal number in text with up to "
        "18 significant digits. Null when nothing is sold",
    )
    price_impact_bps = nullable(PriceImpact, "quote.price_impact_bps")
    fees = required([parts.Fee], "quote.fees", description="Fees of the swap")
    gas = nullable(parts.Gas, "quote.gas", description="Estimated gas of the transaction, without approvals")
    route = nullable(
        Route, routed, description="Pools of the swap. Null where the provider does not state them"
    )
    optimality = nullable(
        Optimality,
        "quote.optimality",
        description="How near the route is to the best one. Null where the provider does not compute it",
    )
    attempts = required([Attempt], description="Outcome of each provider that was asked")


class RungPrice(View):
    """What an amount of a ladder would pay or take."""

    provider = required(ProviderId)
    from_amount = required(
        AmountText, lambda found: found.inputs[0].amount, description="Amount that is sold"
    )
    to_amount = required(
        AmountText, lambda found: found.outputs[0].amount, description="Amount that is bought"
    )
    execution_price = nullable(
        fields.String,
        execution_price,
        description="Whole tokens bought for a whole token sold, as a decimal number in text with up to "
        "18 significant digits. Null when nothing is sold",
    )
    price_impact_bps = nullable(PriceImpact, "quote.price_impact_bps")


class DepthRung(View):
    """An amount with its price, or the reason why there is none."""

    amount = required(
        AmountText, description="Exact amount of the rung: of `fromToken`, with `exactOut` of `toToken`"
    )
    from_amount = nullable(
        AmountText,
        "amount_in",
        description="Amount that is sold. Null with `exactOut` where no provider quotes the amount",
    )
    price = nullable(RungPrice, "found", description="Best price of the amount. Null without one")
    reason = nullable(
        CodeText,
        lambda rung: None if rung.error is None else rung.error.reason,
        description="Why there is no price, one of `details.reason`. Null where there is one, or when not "
        "known",
    )


class SwapDepth(View):
    """What swaps of growing amounts would pay or take at one block."""

    network = required(NetworkText, "request.chain_id")
    chain_id = required(ChainIdNumber, "request.chain_id")
    block = required(parts.BlockRef, description="Block whose state was quoted, for all amounts")
    indicative = required(fields.Boolean, constant(True), description=_INDICATIVE)
    from_token = required(parts.TokenRef, "request.token_in", description="Token that is sold")
    to_token = required(parts.TokenRef, "request.token_out", description="Token that is bought")
    side = required(SideText, "request.side")
    rungs = required([DepthRung], description="Amounts in ascending order, each ten times the one before")
