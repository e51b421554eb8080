"""Quotes: fresh, or read from their token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from operator import attrgetter
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire.actions import Simulation
from quoteway.web.wire.amounts import (
    Approval,
    BlockRef,
    Fee,
    Gas,
    Issue,
    Leg,
    Notice,
    QuotePart,
    RoutePath,
)
from quoteway.web.wire.errors import Attempt
from quoteway.web.wire.requests import RequestEcho
from quoteway.web.wire.terms import terms_wire
from quoteway.web.wire.text import AmountText, CodeText, NetworkText, TimeText
from quoteway.web.wire.tokens import TokenRef
from quoteway.web.wire.view import (
    View,
    Wire,
    constant,
    itself,
    list_of,
    list_or_null,
    nested,
    nested_or_null,
    nullable,
    required,
)

_PRICE = Context(prec=18)
_HIGH_SLIPPAGE_BPS = 300


@dataclass(frozen=True, slots=True)
class Measured:
    """The members of a fresh quote that its token does not hold."""

    quote: models.Quote
    approvals: Sequence[models.Approval]
    issues: Sequence[models.Issue]
    attempts: Sequence[models.Attempt]
    deadline: int

    @property
    def warnings(self) -> Sequence[models.Notice]:
        if self.quote.slippage_bps <= _HIGH_SLIPPAGE_BPS:
            return self.quote.warnings
        notice = models.Notice("high_slippage", "The allowed slippage is above 3 %.")
        return [*self.quote.warnings, notice]


@dataclass(frozen=True, slots=True)
class ShownQuote:
    """A quote as it is answered at ``now``. ``measured`` is None for a quote read back from its token."""

    sealed: models.SealedQuote
    now: int
    measured: Measured | None = None

    @property
    def inputs(self) -> tuple[models.Leg, ...]:
        return self.sealed.inputs if self.measured is None else self.measured.quote.inputs

    @property
    def outputs(self) -> tuple[models.Leg, ...]:
        return self.sealed.outputs if self.measured is None else self.measured.quote.outputs


def _measured(path: str) -> Callable[[ShownQuote], Any]:
    read = attrgetter(path)
    return lambda shown: None if shown.measured is None else read(shown.measured)


def _execution_price(shown: ShownQuote) -> str | None:
    """Whole output coins per whole input coin, to 18 significant digits; a decimal string, never a float."""
    sold, bought = shown.inputs[0], shown.outputs[0]
    if sold.amount == 0:
        return None
    given = Decimal(sold.amount).scaleb(-sold.token.decimals, _PRICE)
    got = Decimal(bought.amount).scaleb(-bought.token.decimals, _PRICE)
    text = format(_PRICE.divide(got, given), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


class Route(View):
    paths = list_of(RoutePath, itself)


class Quote(View):
    quote_id = required(
        fields.String,
        "sealed.token",
        description="Signed, short-lived; exchange it for an action any number of times.",
    )
    kind = required(CodeText, "sealed.capability", enum=["swap", "bridge", "pool", "vault"])
    status = required(
        fields.String,
        lambda shown: "active" if shown.now < shown.sealed.expires_at else "expired",
        enum=["active", "expired"],
    )
    provider = required(fields.String, "sealed.provider")
    network = required(NetworkText, "sealed.request.chain_id")
    chain_id = required(fields.Integer, "sealed.request.chain_id")
    created_at = required(TimeText, "sealed.created_at")
    expires_at = required(TimeText, "sealed.expires_at")
    expires_in = required(
        fields.Integer, lambda shown: max(0, shown.sealed.expires_at - shown.now), description="Seconds"
    )
    request = required(RequestEcho, "sealed.request", description="The request as it was understood")
    inputs = list_of(Leg)
    outputs = list_of(Leg)
    slippage_bps = required(fields.Integer, "sealed.slippage_bps")
    deadline = nullable(fields.Integer, _measured("deadline"), description="Unix seconds")
    price_impact_bps = nullable(fields.Integer, _measured("quote.price_impact_bps"))
    fees = list_or_null(Fee, _measured("quote.fees"))
    gas = nested_or_null(Gas, _measured("quote.gas"))
    approvals = list_or_null(Approval, _measured("approvals"))
    issues = list_or_null(Issue, _measured("issues"))
    route = nested_or_null(Route, _measured("quote.route"))
    block = nested(BlockRef, "sealed.block")
    simulation = nested_or_null(Simulation, constant(None))
    warnings = list_or_null(Notice, _measured("warnings"))
    attempts = list_or_null(Attempt, _measured("attempts"))

    @classmethod
    def render(cls, model: ShownQuote, networks: Networks) -> Wire:
        terms = None if model.measured is None else model.measured.quote.terms
        return super().render(model, networks) | terms_wire(terms, networks)


class SwapQuote(Quote):
    from_token = nested(TokenRef, lambda shown: shown.inputs[0].token)
    to_token = nested(TokenRef, lambda shown: shown.outputs[0].token)
    from_amount = required(AmountText, lambda shown: shown.inputs[0].amount)
    to_amount = required(AmountText, lambda shown: shown.outputs[0].amount)
    to_amount_min = nullable(AmountText, lambda shown: shown.outputs[0].amount_min)
    from_amount_usd = nullable(fields.Float, lambda shown: shown.inputs[0].amount_usd)
    to_amount_usd = nullable(fields.Float, lambda shown: shown.outputs[0].amount_usd)
    execution_price = nullable(
        fields.String, _execution_price, description="Whole output coins per whole input coin"
    )
    parts = list_or_null(QuotePart, lambda shown: shown.sealed.parts or None)
