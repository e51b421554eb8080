"""Quotes, fresh or read from their token, and the quotes and actions with terms of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Protocol

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire import echoes, parts
from quoteway.web.wire.actions import Action, Simulation
from quoteway.web.wire.errors import Attempt, ErrorMembers
from quoteway.web.wire.text import (
    AddressText,
    AmountTable,
    AmountText,
    ChainIdNumber,
    CodeText,
    DigestText,
    NetworkText,
    PriceImpact,
    PrivateSubmissionText,
    ProviderId,
    TimeText,
    UnixTime,
    UsdNumber,
)
from quoteway.web.wire.view import ABSENT, Field, View, Wire, itself, nullable, optional, required

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


class Route(View):
    """The route as paths, whose amounts sum to those of its legs, and as legs, in the order of execution."""

    paths = required(
        [parts.RoutePath], "route", description="Ways through pools, whose amounts sum to those of the legs"
    )
    legs = optional(
        [parts.RouteLeg],
        lambda quote: ABSENT if quote.route_legs is None else quote.route_legs,
        description="What passes through each pool, in the order of execution",
    )


class CertifiedPool(View):
    """A pool whose state the bound counts."""

    pool = required(fields.String, description="Contract address, or 32-byte id")
    protocol = required(fields.String, description="Protocol of the pool, such as `uniswap-v3`")
    tokens = required([AddressText], description="Tokens of the pool")
    parameters = required(
        [fields.Integer], description="By which the provider reads the same part of the pool's state again"
    )
    digest = required(DigestText, description="keccak-256 of the pool's state in the provider's encoding")


class Certificate(View):
    """What proves the bound. `quoteway verify-quote` checks it against the chain."""

    prices = required(AmountTable, description="An integer per base unit of each token, all at one scale")
    pools = required([CertifiedPool], description="Pools that the bound counts, at most 1,000")


class Optimality(View):
    """How near the route is to the best one through the same pools at the quote's block, gas aside."""

    bound = required(
        AmountText,
        description="No trade through these pools pays more; of `exactOut`, none takes less of `fromToken`",
    )
    gap_bps = required(
        fields.Float,
        description="At most so much of the bound is missing; of `exactOut`, at most so much of the input is "
        "above the bound",
    )
    net_gap_bps = required(fields.Float, description="The same net of gas")
    arbitrage = required(
        AmountText,
        description="At most so much of the bound is there without any input; not subtracted from it. Of "
        "`exactOut`, in `fromToken`",
    )
    pools = required(fields.Integer, description="How many pools were searched")
    families = required([fields.String], description="Protocols whose pools were searched")
    block = required(parts.BlockRef, description="Block at which the pools were read")
    method = required(
        fields.String,
        enum=["single_path", "split"],
        description="`single_path`: the route may not divide the amount; `split`: it may",
    )
    certificate = optional(
        Certificate,
        lambda found: ABSENT if found.certificate is None else found.certificate,
        description="What proves the bound; with `certificate` in the request alone",
    )


class Mev(View):
    """What others could take from the swap while it waits to be mined, and how to keep it from them."""

    at_risk = required(
        AmountText,
        at_risk,
        description="Base units of toToken: the quoted output less the minimum that the chain enforces. No "
        "sandwich costs more than this; it is no estimate of what one would take",
    )
    at_risk_usd = nullable(UsdNumber, at_risk_usd, description="The same in money. Null without a price")
    private_submission = nullable(
        PrivateSubmissionText,
        "sealed.request.chain_id",
        description="URL of a JSON-RPC endpoint of the operator's choice, to send the signed "
        "transaction to instead of the public mempool. Null where there is none",
    )


class Quote(View):
    quote_id = required(
        fields.String,
        "sealed.token",
        description="Signed, short-lived; exchange it for an action any number of times.",
    )
    kind = required(
        CodeText,
        "sealed.capability",
        enum=["swap", "bridge", "pool", "vault"],
        description="What the quote is for",
    )
    status = required(
        fields.String,
        lambda shown: "active" if shown.now < shown.sealed.expires_at else "expired",
        enum=["active", "expired"],
        description="`expired` quotes can be read and not be exchanged for an action",
    )
    provider = required(ProviderId, "sealed.provider")
    network = required(NetworkText, "sealed.request.chain_id")
    chain_id = required(ChainIdNumber, "sealed.request.chain_id")
    created_at = required(TimeText, "sealed.created_at", description="When the quote was made")
    expires_at = required(
        TimeText, "sealed.expires_at", description="Until when it can be exchanged for an action"
    )
    expires_in = required(
        fields.Integer, lambda shown: max(0, shown.sealed.expires_at - shown.now), description="Seconds"
    )
    request = required(echoes.RequestEcho, "sealed.request", description=_UNDERSTOOD)
    inputs = required([parts.Leg], description="What the caller pays")
    outputs = required(
        [parts.Leg], description="What the recipient gets, with the minimum that the chain enforces"
    )
    slippage_bps = required(
        fields.Integer,
        "sealed.slippage_bps",
        description="How far below the quoted amount the minimum is, in basis points",
    )
    deadline = nullable(UnixTime, description="Until when the transactions may execute")
    price_impact_bps = nullable(PriceImpact, _fresh("price_impact_bps"))
    fees = nullable(
        [parts.Fee],
        _fresh("fees"),
        description="Fees, with whether the outputs are after them. Null in a quote that is read back",
    )
    gas = nullable(
        parts.Gas,
        _fresh("gas"),
        description="What the transactions cost. Null when not known, and in a quote that is read back",
    )
    approvals = nullable(
        [parts.Approval],
        description="Allowances that the transactions need. Null in a quote that is read back",
    )
    issues = nullable(
        [parts.Issue],
        description="What would keep the action from succeeding now. Null in a quote that is read back",
    )
    route = nullable(
        Route, routed, description="Pools that the swap goes through. Null where the provider does not tell"
    )
    block = required(parts.BlockRef, "sealed.block", description="Block at which the quote was computed")
    simulation = nullable(
        Simulation, description="Run of the transactions at that block. Null in a quote that is read back"
    )
    warnings = nullable(
        [parts.Notice],
        description="What to know before accepting the quote. Null in a quote that is read back",
    )
    acknowledgement_needed = required(
        [parts.Notice],
        "sealed.unacknowledged",
        description="What `acknowledge` must name before there is an action",
    )
    acknowledged = required(
        [fields.String],
        "sealed.acknowledged",
        description="Codes that the request has accepted in `acknowledge`",
    )
    attempts = nullable(
        [Attempt], description="How each provider did that was asked. Null in a quote that is read back"
    )
    taxes = nullable(
        [parts.TradeTax],
        description="Of the unlisted tokens that could be measured. Null in a quote that is read back",
    )

    @classmethod
    def render(cls, model: ShownQuote, networks: Networks) -> Wire:
        of_kind = None if model.quote is None else model.quote.terms
        return super().render(model, networks) | parts.terms_wire(of_kind, networks)


def _understood(echo: type[View]) -> Field:
    return required(echo, "sealed.request", description=_UNDERSTOOD)


class SwapQuote(Quote):
    request = _understood(echoes.SwapEcho)
    from_token = required(parts.TokenRef, lambda shown: shown.inputs[0].token, description="Token sold")
    to_token = required(parts.TokenRef, lambda shown: shown.outputs[0].token, description="Token bought")
    side = required(
        fields.String, "sealed.request.side", enum=list(models.SIDES), description="Which amount is exact"
    )
    from_amount = required(
        AmountText, lambda shown: shown.inputs[0].amount, description="What is sold, as quoted"
    )
    from_amount_max = required(
        AmountText,
        lambda shown: shown.inputs[0].most,
        description="The most that is taken: of `exactOut` above `fromAmount` by the slippage",
    )
    to_amount = required(
        AmountText, lambda shown: shown.outputs[0].amount, description="What is bought, as quoted"
    )
    to_amount_min = nullable(
        AmountText,
        lambda shown: shown.outputs[0].amount_min,
        description="Least that the chain lets the swap pay",
    )
    from_amount_usd = nullable(
        UsdNumber, lambda shown: shown.inputs[0].amount_usd, description="Worth of what is sold"
    )
    to_amount_usd = nullable(
        UsdNumber, lambda shown: shown.outputs[0].amount_usd, description="Worth of what is bought"
    )
    execution_price = nullable(
        fields.String, execution_price, description="Whole output coins per whole input coin"
    )
    optimality = nullable(
        Optimality,
        _fresh("optimality"),
        description="As the provider computed it; null where it did not",
    )
    mev = required(
        Mev, itself, description="What others could take from the swap, and how to keep it from them"
    )
    parts = nullable(
        [parts.QuotePart],
        lambda shown: shown.sealed.parts or None,
        description="Parts of a quote that several providers carry out. Null where one does it all",
    )


class QuoteResult(View):
    """A quote, or the error that its request would have had alone."""

    quote = optional(SwapQuote, description="Quote of the request; left out when there is an error")
    error = optional(
        ErrorMembers,
        description="Error that the request would have had alone; left out when there is a quote",
    )


class SwapQuotes(View):
    results = required([QuoteResult], description="In the order of the requests")


class PoolQuote(parts.PoolTerms, Quote):
    """Of adding, removing or collecting liquidity."""

    request = _understood(echoes.PoolEcho)


class VaultQuote(parts.VaultTerms, Quote):
    """Of a deposit or withdrawal."""

    request = _understood(echoes.VaultEcho)


class ManageAction(parts.ManagementTerms, Action):
    """Of managing a vault."""


class DeployQuote(parts.DeploymentTerms, Quote):
    """Of deploying a vault."""

    request = _understood(echoes.DeployEcho)


class DeployAction(parts.DeploymentTerms, Action):
    """Of deploying a vault."""


class BridgeQuote(parts.TransferTerms, Quote):
    """Of a transfer to another network."""

    request = _understood(echoes.SwapEcho)


class BridgeAction(parts.TransferTracking, Action):
    """Of a transfer to another network."""
