"""Quotes, fresh or read from their token, and the quotes and actions with terms of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Protocol

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire import echoes, parts, terms
from quoteway.web.wire.actions import Action, Simulation
from quoteway.web.wire.errors import Attempt, ErrorMembers
from quoteway.web.wire.routes import Optimality, Route
from quoteway.web.wire.text import (
    AmountText,
    ChainIdNumber,
    CodeText,
    NetworkText,
    PriceImpact,
    PrivateSubmissionText,
    ProviderId,
    TimeText,
    UnixTime,
    UsdNumber,
)
from quoteway.web.wire.view import Field, View, Wire, itself, nullable, optional, required

_PRICE = Context(prec=18)
_UNDERSTOOD = "The request as it was understood"


@dataclass(frozen=True, slots=True)
class ShownQuote:
    """A quote as it is answered at ``now``. The members of ``quote`` and below are not in a quote's token:
    None for one read back from it.
    """

    sealed: models.SealedQuote
    now: int
    quote: models.Quote | None = None
    approvals: Sequence[models.Approval] | None = None
    issues: Sequence[models.Issue] | None = None
    attempts: Sequence[models.Attempt] | None = None
    taxes: Sequence[models.TradeTax] | None = None
    simulation: models.Simulation | None = None
    deadline: int | None = None

    @property
    def inputs(self) -> tuple[models.Leg, ...]:
        return (self.quote or self.sealed).inputs

    @property
    def outputs(self) -> tuple[models.Leg, ...]:
        return (self.quote or self.sealed).outputs

    @property
    def warnings(self) -> Sequence[models.Notice] | None:
        return None if self.quote is None else self.sealed.warnings


def _fresh(member: str) -> Callable[[ShownQuote], Any]:
    """A member that only a fresh quote has."""
    return lambda shown: None if shown.quote is None else getattr(shown.quote, member)


class Traded(Protocol):
    """What has one leg in and one leg out."""

    @property
    def inputs(self) -> Sequence[models.Leg]: ...

    @property
    def outputs(self) -> Sequence[models.Leg]: ...


def execution_price(shown: Traded) -> str | None:
    """Whole output coins per whole input coin, to 18 significant digits; a decimal string, never a float."""
    sold, bought = shown.inputs[0], shown.outputs[0]
    if sold.amount == 0:
        return None
    given = Decimal(sold.amount).scaleb(-sold.token.decimals, _PRICE)
    got = Decimal(bought.amount).scaleb(-bought.token.decimals, _PRICE)
    text = format(_PRICE.divide(got, given), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def at_risk(shown: Traded) -> int:
    """What a swap may pay less than quoted, in base units of its output."""
    got = shown.outputs[0]
    return max(got.amount - (got.amount_min or 0), 0)


def at_risk_usd(shown: Traded) -> float | None:
    got = shown.outputs[0]
    if got.amount_usd is None:
        return None
    return got.amount_usd * (at_risk(shown) / got.amount) if got.amount else 0.0


def routed(shown: Any) -> models.Quote | None:
    """The member ``quote`` of what is shown, where it has a route."""
    return None if shown.quote is None or shown.quote.route is None else shown.quote


class Mev(View):
    """What others could take from the swap while it waits to be mined, and how to keep it from them."""

    at_risk = required(
        AmountText,
        at_risk,
        description="Quoted output less the minimum output, in base units of `toToken`: an upper bound of "
        "what a sandwich can take from the output, no estimate. With `exactOut` the input is "
        "at risk instead: `fromAmountMax` less `fromAmount`",
    )
    at_risk_usd = nullable(UsdNumber, at_risk_usd, description="Value of `atRisk`. Null without a price")
    private_submission = nullable(
        PrivateSubmissionText,
        "sealed.request.chain_id",
        description="URL of the JSON-RPC endpoint that the operator names for sending signed transactions "
        "past the public mempool. Null where it names none",
    )


class Quote(View):
    quote_id = required(
        fields.String,
        "sealed.token",
        description="Signed token that holds the quote, at most 4,096 characters. It can be exchanged for "
        "an action any number of times until `expiresAt`",
    )
    kind = required(
        CodeText,
        "sealed.capability",
        enum=["swap", "bridge", "pool", "vault"],
        description="Kind of the request that was quoted",
    )
    status = required(
        fields.String,
        lambda shown: "active" if shown.now < shown.sealed.expires_at else "expired",
        enum=["active", "expired"],
        description="`active` until `expiresAt`. An `expired` quote can be read, but not exchanged for an "
        "action",
    )
    provider = required(ProviderId, "sealed.provider")
    network = required(NetworkText, "sealed.request.chain_id")
    chain_id = required(ChainIdNumber, "sealed.request.chain_id")
    created_at = required(TimeText, "sealed.created_at", description="Time at which the quote was made")
    expires_at = required(
        TimeText, "sealed.expires_at", description="Time until which the quote can be exchanged for an action"
    )
    expires_in = required(
        fields.Integer,
        lambda shown: max(0, shown.sealed.expires_at - shown.now),
        description="Seconds until `expiresAt`; 0 when the quote has expired",
    )
    request = required(echoes.RequestEcho, "sealed.request", description=_UNDERSTOOD)
    inputs = required([parts.Leg], description="Tokens and amounts that the caller pays")
    outputs = required(
        [parts.Leg], description="Tokens and amounts that the recipient receives, each with its minimum"
    )
    slippage_bps = required(
        fields.Integer,
        "sealed.slippage_bps",
        description="Slippage with which the minimum outputs, or with `exactOut` the maximum input, were "
        "computed, in basis points",
    )
    deadline = nullable(
        UnixTime,
        description="Time until which the transactions can be executed: the one of the request, else the "
        "one that an action built now gets. The action's own `deadline` is null where no "
        "contract enforces it. Null in a quote that is read back",
    )
    price_impact_bps = nullable(
        PriceImpact,
        _fresh("price_impact_bps"),
        description="How far the price of the trade is below that of the pools before it, in basis "
        "points. Null when not known, and in a quote that is read back",
    )
    fees = nullable(
        [parts.Fee],
        _fresh("fees"),
        description="Fees of the quote. Null in a quote that is read back",
    )
    gas = nullable(
        parts.Gas,
        _fresh("gas"),
        description="Estimated gas of the transactions, without approvals. Null when not known, and in a "
        "quote that is read back",
    )
    approvals = nullable(
        [parts.Approval],
        description="Allowances that the transactions need, with the present ones. Null in a quote that "
        "is read back",
    )
    issues = nullable(
        [parts.Issue],
        description="What would make the transactions fail now, or what to check. Null in a quote that is "
        "read back",
    )
    route = nullable(
        Route,
        routed,
        description="Pools of the swap. Null where the provider does not state them, and in a quote that "
        "is read back",
    )
    block = required(parts.BlockRef, "sealed.block", description="Block whose state was quoted")
    simulation = nullable(
        Simulation,
        description="Simulation of the transactions at `block`. Null where none was made, and in a quote "
        "that is read back",
    )
    warnings = nullable(
        [parts.Notice],
        description="What the caller must know before it accepts the quote. Null in a quote that is read "
        "back",
    )
    acknowledgement_needed = required(
        [parts.Notice],
        "sealed.unacknowledged",
        description="What the caller must accept by its code in `acknowledge` before it gets an action; "
        "empty when nothing is left to accept",
    )
    acknowledged = required(
        [fields.String],
        "sealed.acknowledged",
        description="Codes that the quote's request accepted in `acknowledge`",
    )
    attempts = nullable(
        [Attempt], description="Outcome of each provider that was asked. Null in a quote that is read back"
    )
    taxes = nullable(
        [parts.TradeTax],
        description="Taxes of the unlisted tokens of the request, where they could be measured. Null in a "
        "quote that is read back",
    )

    @classmethod
    def render(cls, model: ShownQuote, networks: Networks) -> Wire:
        of_kind = None if model.quote is None else model.quote.terms
        return super().render(model, networks) | terms.terms_wire(of_kind, networks)


def _understood(echo: type[View]) -> Field:
    return required(echo, "sealed.request", description=_UNDERSTOOD)


class RefreshTerms(View):
    """Terms of a quote and of all that it is refreshed to: those of the first quote."""

    until = required(UnixTime, description="Time until which the quote can be refreshed")
    to_amount_min = required(
        AmountText,
        "amount_out_min",
        description="Lowest `toAmountMin` of a refreshed quote",
    )
    from_amount_max = required(
        AmountText,
        "amount_in_max",
        description="Highest `fromAmountMax` of a refreshed quote",
    )


class SwapQuote(Quote):
    request = _understood(echoes.SwapEcho)
    from_token = required(
        parts.TokenRef, lambda shown: shown.inputs[0].token, description="Token that is sold"
    )
    to_token = required(
        parts.TokenRef, lambda shown: shown.outputs[0].token, description="Token that is bought"
    )
    side = required(
        fields.String,
        "sealed.request.side",
        enum=list(models.SIDES),
        description="Which amount is exact: `exactIn` the amount sold, `exactOut` the amount bought",
    )
    from_amount = required(
        AmountText,
        lambda shown: shown.inputs[0].amount,
        description="Amount that is sold, at the quote's block",
    )
    from_amount_max = required(
        AmountText,
        lambda shown: shown.inputs[0].most,
        description="Most that is taken. Equals `fromAmount` with `exactIn`; with `exactOut` it is higher "
        "by the slippage",
    )
    to_amount = required(
        AmountText,
        lambda shown: shown.outputs[0].amount,
        description="Amount that is bought, at the quote's block",
    )
    to_amount_min = nullable(
        AmountText,
        lambda shown: shown.outputs[0].amount_min,
        description="Least that the recipient receives, else the transactions revert. The warning "
        "`opaque_calldata` says that the gateway cannot prove this",
    )
    from_amount_usd = nullable(
        UsdNumber,
        lambda shown: shown.inputs[0].amount_usd,
        description="Value of `fromAmount`. Null when not known, and in a quote that is read back",
    )
    to_amount_usd = nullable(
        UsdNumber,
        lambda shown: shown.outputs[0].amount_usd,
        description="Value of `toAmount`. Null when not known, and in a quote that is read back",
    )
    execution_price = nullable(
        fields.String,
        execution_price,
        description="Whole tokens bought for a whole token sold, as a decimal number in text with up to "
        "18 significant digits. Null when nothing is sold",
    )
    optimality = nullable(
        Optimality,
        _fresh("optimality"),
        description="How near the route is to the best one. Null where the provider does not compute it, "
        "and in a quote that is read back",
    )
    mev = required(
        Mev,
        itself,
        description="What others can take from the swap while it waits in the mempool, and a private "
        "endpoint against it",
    )
    refresh_terms = nullable(
        RefreshTerms,
        "sealed.refresh_terms",
        description="Terms within which the quote can be refreshed. Null where it cannot be",
    )
    parts = nullable(
        [parts.QuotePart],
        lambda shown: shown.sealed.parts or None,
        description="Parts of a quote that several providers carry out, in order. Null where one provider "
        "carries out all",
    )


class QuoteResult(View):
    """A quote, or the error that its request would have had alone."""

    quote = optional(SwapQuote, description="Quote of the request; left out where there is an error")
    error = optional(
        ErrorMembers,
        description="Error that the request alone would have had; left out where there is a quote",
    )


class SwapQuotes(View):
    results = required([QuoteResult], description="One result for each request, in the order of the requests")


class PoolQuote(terms.PoolTerms, Quote):
    """Quote of adding or removing liquidity, or of collecting fees."""

    request = _understood(echoes.PoolEcho)


class VaultQuote(terms.VaultTerms, Quote):
    """Quote of a deposit or withdrawal."""

    request = _understood(echoes.VaultEcho)


class ManageAction(terms.ManagementTerms, Action):
    """Action of managing a vault."""


class DeployQuote(terms.DeploymentTerms, Quote):
    """Quote of deploying a vault."""

    request = _understood(echoes.DeployEcho)


class DeployAction(terms.DeploymentTerms, Action):
    """Action of deploying a vault."""


class BridgeQuote(terms.TransferTerms, Quote):
    """Quote of a transfer to another network."""

    request = _understood(echoes.SwapEcho)


class BridgeAction(terms.TransferTracking, Action):
    """Action of a transfer to another network."""
