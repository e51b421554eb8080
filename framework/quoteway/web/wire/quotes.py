"""Quotes, fresh or read from their token, and the quotes and actions with terms of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Protocol

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire import parts
from quoteway.web.wire.actions import Action, Simulation
from quoteway.web.wire.errors import Attempt, ErrorMembers
from quoteway.web.wire.text import (
    AddressText,
    AmountTable,
    AmountText,
    CodeText,
    DigestText,
    NetworkText,
    PrivateSubmissionText,
    TimeText,
)
from quoteway.web.wire.view import ABSENT, View, Wire, itself, nullable, optional, required

_PRICE = Context(prec=18)


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

    paths = required([parts.RoutePath], "route")
    legs = optional([parts.RouteLeg], lambda quote: ABSENT if quote.route_legs is None else quote.route_legs)


class CertifiedPool(View):
    """A pool whose state the bound counts."""

    pool = required(fields.String, description="Contract address, or 32-byte id")
    protocol = required(fields.String)
    tokens = required([AddressText])
    parameters = required(
        [fields.Integer], description="By which the provider reads the same part of the pool's state again"
    )
    digest = required(DigestText, description="keccak-256 of the pool's state in the provider's encoding")


class Certificate(View):
    """What proves the bound. `quoteway verify-quote` checks it against the chain."""

    prices = required(AmountTable, description="An integer per base unit of each token, all at one scale")
    pools = required([CertifiedPool])


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
    families = required([fields.String])
    block = required(parts.BlockRef)
    method = required(fields.String, enum=["single_path", "split"])
    certificate = optional(
        Certificate, lambda found: ABSENT if found.certificate is None else found.certificate
    )


class Mev(View):
    """What others could take from the swap while it waits to be mined, and how to keep it from them."""

    at_risk = required(
        AmountText,
        at_risk,
        description="Base units of toToken: the quoted output less the minimum that the chain enforces. No "
        "sandwich costs more than this; it is no estimate of what one would take",
    )
    at_risk_usd = nullable(fields.Float, at_risk_usd)
    private_submission = nullable(
        PrivateSubmissionText,
        "sealed.request.chain_id",
        description="URL of a JSON-RPC endpoint of the operator's choice, to send the signed transaction to "
        "instead of the public mempool",
    )


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
    request = required(parts.RequestEcho, "sealed.request", description="The request as it was understood")
    inputs = required([parts.Leg])
    outputs = required([parts.Leg])
    slippage_bps = required(fields.Integer, "sealed.slippage_bps")
    deadline = nullable(fields.Integer, description="Unix seconds")
    price_impact_bps = nullable(fields.Integer, _fresh("price_impact_bps"))
    fees = nullable([parts.Fee], _fresh("fees"))
    gas = nullable(parts.Gas, _fresh("gas"))
    approvals = nullable([parts.Approval])
    issues = nullable([parts.Issue])
    route = nullable(Route, routed)
    block = required(parts.BlockRef, "sealed.block")
    simulation = nullable(Simulation)
    warnings = nullable([parts.Notice])
    acknowledgement_needed = required(
        [parts.Notice],
        "sealed.unacknowledged",
        description="What `acknowledge` must name before there is an action",
    )
    acknowledged = required([fields.String], "sealed.acknowledged")
    attempts = nullable([Attempt])
    taxes = nullable([parts.TradeTax], description="Of the unlisted tokens that could be measured")

    @classmethod
    def render(cls, model: ShownQuote, networks: Networks) -> Wire:
        of_kind = None if model.quote is None else model.quote.terms
        return super().render(model, networks) | parts.terms_wire(of_kind, networks)


class SwapQuote(Quote):
    from_token = required(parts.TokenRef, lambda shown: shown.inputs[0].token)
    to_token = required(parts.TokenRef, lambda shown: shown.outputs[0].token)
    side = required(
        fields.String, "sealed.request.side", enum=list(models.SIDES), description="Which amount is exact"
    )
    from_amount = required(AmountText, lambda shown: shown.inputs[0].amount)
    from_amount_max = required(
        AmountText,
        lambda shown: shown.inputs[0].most,
        description="The most that is taken: of `exactOut` above `fromAmount` by the slippage",
    )
    to_amount = required(AmountText, lambda shown: shown.outputs[0].amount)
    to_amount_min = nullable(AmountText, lambda shown: shown.outputs[0].amount_min)
    from_amount_usd = nullable(fields.Float, lambda shown: shown.inputs[0].amount_usd)
    to_amount_usd = nullable(fields.Float, lambda shown: shown.outputs[0].amount_usd)
    execution_price = nullable(
        fields.String, execution_price, description="Whole output coins per whole input coin"
    )
    optimality = nullable(
        Optimality,
        _fresh("optimality"),
        description="As the provider computed it; null where it did not",
    )
    mev = required(Mev, itself)
    parts = nullable([parts.QuotePart], lambda shown: shown.sealed.parts or None)


class QuoteResult(View):
    """A quote, or the error that its request would have had alone."""

    quote = optional(SwapQuote)
    error = optional(ErrorMembers)


class SwapQuotes(View):
    results = required([QuoteResult], description="In the order of the requests")


class PoolQuote(parts.PoolTerms, Quote):
    """Of adding, removing or collecting liquidity."""


class VaultQuote(parts.VaultTerms, Quote):
    """Of a deposit or withdrawal."""


class ManageAction(parts.ManagementTerms, Action):
    """Of managing a vault."""


class DeployQuote(parts.DeploymentTerms, Quote):
    """Of deploying a vault."""


class DeployAction(parts.DeploymentTerms, Action):
    """Of deploying a vault."""


class BridgeQuote(parts.TransferTerms, Quote):
    """Of a transfer to another network."""


class BridgeAction(parts.TransferTracking, Action):
    """Of a transfer to another network."""
