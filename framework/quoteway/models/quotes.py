"""Quotes of providers, and the content of quote tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from quoteway.models.amounts import Fee, Gas, Issue, Leg, Spend
from quoteway.models.notices import Notice
from quoteway.models.optimality import Optimality
from quoteway.models.requests import Capability, Request, SwapRequest
from quoteway.models.terms import QuoteTerms
from quoteway.models.tokens import Address, Block, Json, Token


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteLeg(Hop):
    """One pool of a route that splits and joins, with the whole of what passes through it.

    ``share_bps`` is its share of what leaves ``token_in``. The native coin and its wrapped form are one.
    """

    share_bps: int


@dataclass(frozen=True, slots=True)
class Quote:
    """A provider's answer to a request. All data is read at ``block``, which ``Chain.head`` gave during it.

    The amounts are exact: transactions that run on the state of ``block`` take and pay them to the unit, else
    the core refuses the quote. ``is_estimate`` says that the outputs are an upstream's estimate, from which
    the transactions may deviate down to the minimum. The caller is warned of it.
    ``plan`` is compact JSON for ``build`` (pool ids, splits; never calldata or secrets; at most 2 KB).
    ``spends`` are the ERC-20 amounts that the transactions pull from the sender. ``net_output`` ranks
    competing quotes: the minimum output less gas, in base units of the output token (None: the minimum
    output). ``total_input`` ranks those of an exact output: the maximum input with gas, in base units of the
    input token (None: the maximum input). ``terms`` are those of the request's kind, e.g. ``PoolTerms`` for a
    ``PoolRequest``. ``parts`` is for built-in providers only: the quotes of other providers that this quote
    combines, in order.
    ``route_legs`` are the pools of ``route`` in the order of execution, each pool once. ``optimality`` says
    how near the route is to the best one, where the provider can prove it. ``fee_amount`` is what the
    request's integrator fee takes, in base units of the output; the output and its minimum are after it. Of
    an exact output it is in base units of the input; the input and its maximum have it in them.
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
    is_estimate: bool = False
    route_legs: tuple[RouteLeg, ...] | None = None
    optimality: Optimality | None = None
    fee_amount: int | None = None
    total_input: int | None = None

    @classmethod
    def exact_in(
        cls,
        request: SwapRequest,
        amount_out: int,
        block: Block,
        *,
        spender: Address | None = None,
        plan: Mapping[str, Json] | None = None,
        fee_amount: int | None = None,
        **more: Any,
    ) -> Self:
        """Returns the quote of a swap or transfer that sells ``request.amount_in`` for ``amount_out``.

        The minimum is ``amount_out`` less the request's slippage. ``spender`` is the contract that takes an
        ERC-20 input by allowance; the native coin needs none. ``more`` are further members of ``Quote``.
        Raises ``ValueError`` for an amount below 1: return None for a request without a route.
        """
        if request.amount_out is not None:
            raise ValueError("the request is for an exact output: use Quote.exact_out")
        _check_amounts(amount_out=amount_out)
        least = max(amount_out * (10_000 - request.slippage_bps) // 10_000, 1)
        return cls(
            inputs=(Leg(request.token_in, request.amount_in, request.sender),),
            outputs=(Leg(request.token_out, amount_out, request.recipient, least),),
            block=block,
            plan=plan or {},
            spends=_spends(request.token_in, request.amount_in, spender),
            slippage_bps=request.slippage_bps,
            fee_amount=fee_amount,
            **more,
        )

    @classmethod
    def exact_out(
        cls,
        request: SwapRequest,
        amount_in: int,
        block: Block,
        *,
        spender: Address | None = None,
        plan: Mapping[str, Json] | None = None,
        fee_amount: int | None = None,
        **more: Any,
    ) -> Self:
        """Returns the quote of a swap that buys ``request.amount_out`` for ``amount_in``.

        The maximum is ``amount_in`` and the request's slippage on what the pools take of it, which is all
        but ``fee_amount``. The rest is as in ``exact_in``.
        """
        if request.amount_out is None:
            raise ValueError("the request is for an exact input: use Quote.exact_in")
        _check_amounts(amount_in=amount_in)
        fee = fee_amount or 0
        most = -(-(amount_in - fee) * (10_000 + request.slippage_bps) // 10_000) + fee
        return cls(
            inputs=(Leg(request.token_in, amount_in, request.sender, amount_max=most),),
            outputs=(Leg(request.token_out, request.amount_out, request.recipient, request.amount_out),),
            block=block,
            plan=plan or {},
            spends=_spends(request.token_in, most, spender),
            slippage_bps=request.slippage_bps,
            fee_amount=fee_amount,
            **more,
        )


def _check_amounts(**amounts: int) -> None:
    for name, amount in amounts.items():
        if type(amount) is not int or amount < 1:
            raise ValueError(f"{name} must be an integer of base units from 1, not {amount!r}")


def _spends(token: Token, most: int, spender: Address | None) -> tuple[Spend, ...]:
    if token.is_native:
        return ()
    if spender is None:
        raise ValueError("the input is an ERC-20 token: name the spender that takes it by allowance")
    return (Spend(token.address, most, spender),)


@dataclass(frozen=True, slots=True)
class CertifiedSwap:
    """A swap as an answer stated it, with the certificate in its ``optimality``, to be checked.

    ``route_legs`` are in the order of execution. The last one out of each token takes what is left of it.
    ``amount_out`` and the bound are after ``fee_bps`` of the output, the integrator's fee. ``bought`` is the
    exact output that was asked for, None for an exact input. With it the fee is a share of what the pools
    take, and ``amount_in`` and the bound have it in them.
    """

    chain_id: int
    token_in: Address
    token_out: Address
    amount_in: int
    amount_out: int
    block: Block
    route_legs: tuple[RouteLeg, ...]
    optimality: Optimality
    fee_bps: int = 0
    bought: int | None = None

    def after_fee(self, output: int) -> int:
        """Returns what is left of an output, in base units."""
        return output if self.bought is not None else output - self._fee(output)

    def with_fee(self, taken: int) -> int:
        """Returns what the pools take for an exact output, with the fee. Both in base units."""
        return taken if self.bought is None else taken + self._fee(taken)

    @property
    def sold(self) -> int:
        """What the pools take: the most that is not above ``amount_in`` with the fee."""
        if self.bought is None:
            return self.amount_in
        return ((self.amount_in + 1) * 10_000 - 1) // (10_000 + self.fee_bps)

    def _fee(self, amount: int) -> int:
        return amount * self.fee_bps // 10_000


@dataclass(frozen=True, slots=True)
class CertificateCheck:
    """The result of one check of a ``CertifiedSwap``, in a sentence for people."""

    subject: str
    holds: bool
    text: str


@dataclass(frozen=True, slots=True)
class QuotePart:
    """One provider's quote for its part of a request that several providers execute."""

    capability: Capability
    provider: str
    request: Request
    quote: Quote


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one provider's call. ``reason`` is a value of ``errors.Reason``.

    ``not_asked``: it cannot honour a limit of the request, or quotes no exact output. ``amount_in`` is that
    of an exact output's quote.
    """

    provider: str
    outcome: Literal["quoted", "no_route", "failed", "timeout", "open", "not_asked"]
    amount_out: int | None = None
    reason: str | None = None
    amount_in: int | None = None


@dataclass(frozen=True, slots=True)
class RefreshTerms:
    """The terms within which the quote of a swap may be made again, until the time ``until`` (Unix seconds).

    ``amount_out_min`` and ``amount_in_max`` are the minimum output and the maximum input of the first quote,
    in base units: no later quote has a lower minimum or a higher maximum. ``provider`` is the only one that
    may be asked; None: all. ``chooses_slippage``: the gateway chooses the slippage of each quote.
    """

    until: int
    amount_out_min: int
    amount_in_max: int
    provider: str | None = None
    chooses_slippage: bool = False


@dataclass(frozen=True, slots=True)
class SealedQuote:
    """The content of a quote token. ``build`` must honour every minimum.

    ``parts`` are the quotes of several providers that this quote combines, in order; empty for one provider.
    ``issues`` and ``warnings`` are the quote's own; its action repeats them. ``needs`` must be acknowledged
    before the action; ``acknowledged`` are the codes that the quote's request acknowledged. ``deadline``
    (Unix seconds) is the last moment at which the transactions may execute, where the request names one.
    ``is_estimate``, ``fee_amount`` and ``price_impact_bps`` are as in ``Quote``. ``plugin`` and
    ``plan_version`` say who can build ``plan``: the plugin of the provider, and its
    ``TransactionProvider.plan_version``. ``refresh_terms``: the quote may be made again within them; None: it
    may not.
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
    needs: tuple[Notice, ...] = ()
    acknowledged: tuple[str, ...] = ()
    deadline: int | None = None
    is_estimate: bool = False
    plugin: str = ""
    plan_version: int = 1
    fee_amount: int | None = None
    price_impact_bps: int | None = None
    refresh_terms: RefreshTerms | None = None

    @property
    def unacknowledged(self) -> tuple[Notice, ...]:
        """Returns those of ``needs`` that the quote's request did not acknowledge."""
        return tuple(notice for notice in self.needs if notice.code not in self.acknowledged)
