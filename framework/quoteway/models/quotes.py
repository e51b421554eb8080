"""Quotes of providers, and the content of quote tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from quoteway.models.amounts import Fee, Gas, Issue, Leg, Notice, Spend
from quoteway.models.requests import Capability, Request
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
    """A share of the input (``bps``, basis points) that passes through ``hops`` in order."""

    bps: int
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """A provider's answer to a request. All data is read at ``block``.

    ``plan`` is compact JSON for ``build`` (pool ids, splits; never calldata or secrets; at most 2 KB).
    ``spends`` are the ERC-20 amounts that the transactions pull from the sender. ``net_output`` ranks
    competing quotes: the minimum output less gas, in base units of the output token (None: the minimum
    output). ``terms`` are those of the request's kind, e.g. ``PoolTerms`` for a ``PoolRequest``. ``parts`` is
    for built-in providers only: the quotes of other providers that this quote combines, in order.
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
    """One provider's quote for its part of a request that several providers execute."""

    capability: Capability
    provider: str
    request: Request
    quote: Quote


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one provider's call. ``reason`` is a value of ``errors.Reason``."""

    provider: str
    outcome: Literal["quoted", "no_route", "failed", "timeout"]
    amount_out: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SealedQuote:
    """The content of a quote token. ``build`` must honour every minimum.

    ``parts`` are the quotes of several providers that this quote combines, in order; empty for one provider.
    ``issues`` and ``warnings`` are the quote's own; its action repeats them.
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
    issues: tuple[Issue, ...] = ()
    warnings: tuple[Notice, ...] = ()
