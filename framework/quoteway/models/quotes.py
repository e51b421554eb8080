"""What providers answer to a request, and what its quote token holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from quoteway.models.allowances import Spend
from quoteway.models.capability import Capability
from quoteway.models.legs import Fee, Gas, Leg
from quoteway.models.notices import Issue, Notice
from quoteway.models.requests import Request
from quoteway.models.terms import QuoteTerms
from quoteway.models.tokens import Address, Block, Json


@dataclass(frozen=True, slots=True)
class Hop:
    """One pool on a path: pool id or address, amounts in base units."""

    provider: str
    protocol: str
    pool: str
    token_in: Address
    token_out: Address
    amount_in: int
    amount_out: int
    fee_bps: float | None = None


@dataclass(frozen=True, slots=True)
class RoutePath:
    """A share (basis points of the input) that takes these hops one after the other."""

    bps: int
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """What a provider answers to a request, all of it read at ``block``.

    ``plan`` is compact JSON (pool ids, splits; never calldata, never secrets; at most 2 KB) that ``build``
    gets back. ``spends`` is what the transactions will take from the sender and through whom. ``net_output``
    ranks competing quotes: the minimum output less gas in base units of the output token (None: the minimum
    itself). ``terms`` are those of the request's kind: ``PoolTerms`` for a ``PoolRequest`` and so on.
    ``parts`` is for the core's own providers: the quotes of other providers that make up this one, in their
    order.
    """

    inputs: tuple[Leg, ...]
    outputs: tuple[Leg, ...]
    block: Block
    plan: Mapping[str, Json]
    spends: tuple[Spend, ...] = ()
    slippage_bps: int = 0
    fees: tuple[Fee, ...] = ()
    gas: Gas | None = None
    route: tuple[RoutePath, ...] | None = None
    price_impact_bps: int | None = None
    issues: tuple[Issue, ...] = ()
    warnings: tuple[Notice, ...] = ()
    net_output: int | None = None
    lifetime_s: int | None = None
    terms: QuoteTerms | None = None
    parts: tuple[QuotePart, ...] = ()


@dataclass(frozen=True, slots=True)
class QuotePart:
    """One provider's quote for its part of a request that several providers carry out together."""

    capability: Capability
    provider: str
    request: Request
    quote: Quote


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one provider's call. ``reason`` is an ``errors.Reason``, never its own text."""

    provider: str
    outcome: Literal["quoted", "no_route", "failed", "timeout"]
    amount_out: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SealedQuote:
    """The content of a quote token: what the caller agreed to. ``build`` must honour every minimum.

    ``parts`` are the quotes of several providers that make up this one, in their order; empty for a quote of
    one provider.
    """

    capability: Capability
    provider: str
    request: Request
    inputs: tuple[Leg, ...]
    outputs: tuple[Leg, ...]
    slippage_bps: int
    plan: Mapping[str, Json]
    block: Block
    created_at: int
    expires_at: int
    token: str = ""
    parts: tuple[SealedQuote, ...] = ()
