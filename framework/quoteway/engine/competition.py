"""Chooses among the quotes of a swap by what their transactions pay in a simulation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quoteway import models
from quoteway.config.model import QuotesConfig
from quoteway.engine.quote_tokens import plain_quote
from quoteway.engine.ranking import Bid, QuoteOutcome, attempts_of, best, bids_of, refusal
from quoteway.engine.rehearsing import Part, Rehearsal, Rehearsing
from quoteway.errors import GatewayError, Reason
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.quotes import check_grants
from quoteway.guard.recipients import RESERVED
from quoteway.guard.routes import check_shown
from quoteway.host.outcomes import Outcome
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime

_NOT_SIMULATED = models.Notice(
    "not_simulated", "The transaction was not simulated. Its contracts enforce the minimum only."
)
_FAILURES_OF_NODES = (Reason.RPC_ERROR, Reason.PROVIDER_TIMEOUT, Reason.CAPABILITY_DISABLED)
"""Reasons why a run could not be made. They say nothing of the provider."""
_FAULTS = (Reason.QUOTE_MISMATCH, Reason.UNSAFE_ANSWER, Reason.PROVIDER_ERROR)
"""Reasons that a provider is at fault. A revert may be that of a recipient, a token or a pool."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A quote with what its quote token says. ``rehearsal`` None: it was not run, or no node could run it.

    ``score`` is what it is worth in base units of the token that ranks: what it paid in the run less gas, or
    what it guarantees less gas. ``opaque``: the core cannot read its calldata. ``warnings`` are the gateway's
    own.
    """

    bid: Bid
    sealed: models.SealedQuote
    score: int
    rehearsal: Rehearsal | None = None
    opaque: bool = False
    warnings: tuple[models.Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Competition:
    """Chooses the best quote of a request. ``deadline`` is the one asked for, Unix seconds."""

    config: QuotesConfig
    runtime: Runtime
    rehearsing: Rehearsing

    async def winner(
        self,
        capability: models.Capability,
        request: models.Request,
        outcomes: Sequence[QuoteOutcome],
        deadline: int | None,
    ) -> tuple[Contender, Sequence[QuoteOutcome]]:
        """Returns the best quote, and the outcomes with the failures of builds and simulations.

        A swap on one network is judged by its simulation, one to another network by the minimum that its
        calldata enforces, all else by the minimum that it states, less gas. Raises the error of the quote
        that promised most when all have failed, else as ``refusal``.
        """
        if not isinstance(request, models.SwapRequest):
            bid = best(outcomes)
            return Contender(bid, self._content(capability, request, bid, deadline), bid.guaranteed), outcomes
        if request.is_cross_chain:
            return await self._built(capability, request, outcomes, deadline)
        return await self._rehearsed(capability, request, outcomes, deadline)

    async def _built(
        self,
        capability: models.Capability,
        request: models.Request,
        outcomes: Sequence[QuoteOutcome],
        deadline: int | None,
    ) -> tuple[Contender, Sequence[QuoteOutcome]]:
        """Builds the quotes, the one that guarantees most first, until the guard accepts one's calldata."""
        ended, waiting = list(outcomes), sorted(bids_of(outcomes), key=lambda bid: -bid.guaranteed)
        if not waiting:
            raise refusal(outcomes)
        for bid in waiting:
            try:
                spared = len(waiting) > 1
                sealed, parts = await self._build(capability, request, bid, deadline, spared=spared)
            except GatewayError as error:
                ended[bid.order] = Outcome(bid.provider, "failed", error=error)
                continue
            bid = await self._with_l1_fee(request, bid, parts)
            return Contender(bid, sealed, bid.guaranteed, opaque=any(part.opaque for part in parts)), ended
        raise _failure(waiting[0], ended)

    async def _rehearsed(
        self,
        capability: models.Capability,
        request: models.SwapRequest,
        outcomes: Sequence[QuoteOutcome],
        deadline: int | None,
    ) -> tuple[Contender, Sequence[QuoteOutcome]]:
        """Simulates the quote that promises most, with the next one when it is close.

        Goes on while a quote that is not simulated yet promises more than all others paid. A quote whose
        build, guard or simulation fails has failed. Quotes that no node could run come after all others, by
        what they guarantee. A provider with a poor score, or that lately reverted for a request like this
        one, is tried only while no other quote is proven.
        """
        scores = self.rehearsing.registry.scores
        bids = bids_of(outcomes, request.side)
        reverts = {bid.order: scores.revert(bid.provider, request) for bid in bids}
        poor = {bid.order for bid in bids if reverts[bid.order] or scores.of(bid.provider).is_poor}
        waiting = sorted(bids, key=lambda bid: (bid.order in poor, -bid.promised))
        if not waiting:
            raise refusal(outcomes)
        ended, proven, unproven = list(outcomes), list[Contender](), list[Contender]()
        at_fault, reverted = list[Bid](), list[tuple[Bid, GatewayError]]()
        first, at_once = waiting[0], 1
        while waiting:
            best_yet = max((each.score for each in proven), default=None)
            needless = waiting[0].has_quota or waiting[0].order in poor
            if best_yet is not None and (needless or waiting[0].promised <= best_yet):
                break
            alike = [bid for bid in waiting if (bid.order in poor) == (waiting[0].order in poor)]
            batch = alike[:at_once]
            # The next one is simulated beside it when it is close, or when this one may well fail again.
            doubtful = scores.failed_last(alike[0].provider)
            if len(alike) > 1 and not alike[1].has_quota and (doubtful or alike[1].is_close_to(alike[0])):
                batch = alike[: max(at_once, 2)]
            waiting = waiting[len(batch) :]
            # Of providers that lie, each costs one simulation: ask more at once when some have failed.
            at_once *= 2
            tried = await asyncio.gather(
                *(self.rehearse(capability, request, bid, deadline, spared=len(bids) > 1) for bid in batch)
            )
            for bid, result in zip(batch, tried, strict=True):
                scores.tried(bid.provider, failed=isinstance(result, GatewayError))
                if isinstance(result, GatewayError):
                    ended[bid.order] = Outcome(bid.provider, "failed", error=result)
                    at_fault += [bid] if result.reason in _FAULTS else []
                    reverted += [(bid, result)] if result.reason is Reason.REVERTED else []
                else:
                    (unproven if result.rehearsal is None else proven).append(result)
        for bid in waiting:  # a revert that was not tried again is told as the one before
            if (before := reverts[bid.order]) is not None:
                ended[bid.order] = Outcome(bid.provider, "failed", error=before)
        await self._count(request, proven, at_fault, reverted)
        found = proven or unproven
        if not found:
            raise _failure(first, ended)
        return max(found, key=lambda each: (each.score, -each.bid.order)), ended

    async def _count(
        self,
        request: models.SwapRequest,
        proven: Sequence[Contender],
        at_fault: Sequence[Bid],
        reverted: Sequence[tuple[Bid, GatewayError]],
    ) -> None:
        """Counts the rehearsals that show how the providers did, whatever the caller chose.

        Another quote of the same request has proven itself, so a node runs it, and tokens and accounts allow
        it. Unlisted tokens and accounts with code may still treat two providers differently, and accounts
        below ``RESERVED`` have a meaning of their own to some routers.
        """
        if not proven or not (request.token_in.listed and request.token_out.listed):
            return
        scores = self.rehearsing.registry.scores
        for each in proven:
            scores.count(each.bid.provider, failed=False)
        accounts = {request.sender, request.recipient}
        if request.fee is not None:
            accounts.add(request.fee.recipient)
        if not (at_fault or reverted) or min(int(each, 16) for each in accounts) < RESERVED:
            return
        chain, block = self.runtime.chain(request.chain_id), proven[0].bid.quote.block
        try:
            codes = await asyncio.gather(*(chain.code(account, block=block) for account in accounts))
        except GatewayError:
            return
        if any(codes):
            return
        for bid in at_fault:
            scores.count(bid.provider, failed=True)
        for bid, error in reverted:
            scores.count_revert(bid.provider, request, error)

    async def rehearse(
        self,
        capability: models.Capability,
        request: models.SwapRequest,
        bid: Bid,
        deadline: int | None,
        *,
        spared: bool,
    ) -> Contender | GatewayError:
        """Builds and simulates a quote at its block. Returns the error of a quote that failed."""
        try:
            if not self.runtime.chain(request.chain_id).was_head(bid.quote.block):
                raise UnsafeAnswer(bid.provider.id, "its block was not the newest one during the request")
            sealed, parts = await self._build(capability, request, bid, deadline, spared=spared)
        except GatewayError as error:
            return error
        bid, opaque = await self._with_l1_fee(request, bid, parts), any(part.opaque for part in parts)
        try:
            rehearsal = await self.rehearsing.run(sealed, parts, bid.quote.block)
            for ran in rehearsal.run.segments:
                check_shown(bid.provider, request, bid.quote, ran.trace)
            paid = rehearsal.paid(bid.judged)
        except GatewayError as error:
            if error.reason not in _FAILURES_OF_NODES:
                return error
            paid = None
        if paid is None:
            return Contender(bid, sealed, bid.guaranteed, opaque=opaque, warnings=(_NOT_SIMULATED,))
        return Contender(bid, sealed, bid.paid(paid, rehearsal.gas_used), rehearsal, opaque)

    async def _with_l1_fee(self, request: models.Request, bid: Bid, parts: Sequence[Part]) -> Bid:
        """Returns a bid with the fee for the data of its own transactions, where the network charges one."""
        chain = self.runtime.chain(request.chain_id)
        price = await self.rehearsing.l1_prices.at(chain, bid.quote.block)
        steps = [step for part in parts for step in part.own]
        return bid if price is None else bid.with_l1_fee(price.of(steps))

    async def _build(
        self,
        capability: models.Capability,
        request: models.Request,
        bid: Bid,
        deadline: int | None,
        *,
        spared: bool,
    ) -> tuple[models.SealedQuote, list[Part]]:
        """Returns what a quote token would say, and its checked builds. Raises what a failed quote did."""
        sealed = plain_quote(self._content(capability, request, bid, deadline))
        parts = await self.rehearsing.build(sealed, spared=spared)
        check_grants(bid.provider, bid.quote, [part.build for part in parts])
        return sealed, parts

    def _content(
        self, capability: models.Capability, request: models.Request, bid: Bid, deadline: int | None
    ) -> models.SealedQuote:
        """Returns what the quote token of a bid says, without its token."""
        now, lifetime_s = self.runtime.now(), self.config.lifetime_s
        until = now + min(lifetime_s, bid.quote.lifetime_s or lifetime_s)
        until = until if deadline is None else min(until, deadline)
        part = models.QuotePart(capability, bid.provider.id, request, bid.quote)
        return _content_of(self.rehearsing.registry, part, now, until, deadline)


def _failure(first: Bid, ended: Sequence[QuoteOutcome]) -> GatewayError:
    """Returns the error when every quote has failed: that of the one that promised most."""
    error = ended[first.order].error or refusal(ended)
    error.attempts = attempts_of(ended)
    return error


def _content_of(
    registry: Registry, part: models.QuotePart, now: int, until: int, deadline: int | None
) -> models.SealedQuote:
    """Returns the content of a quote token, including the quotes of its parts."""
    quote, request = part.quote, part.request
    refund = quote.terms.refund if isinstance(quote.terms, models.TransferTerms) else None
    if isinstance(request, models.SwapRequest) and refund is not None:
        # The guard compares the refund account in the calldata with this one.
        request = replace(request, refund_to=request.refund_account)
    ticks = quote.terms.tick_range if isinstance(quote.terms, models.PoolTerms) else None
    if isinstance(request, models.PoolRequest) and request.tick_lower is request.tick_upper is None and ticks:
        request = replace(request, tick_lower=ticks[0], tick_upper=ticks[1])  # likewise
    plugin, plan_version = registry.maker(part.capability, part.provider) or ("", 1)
    return models.SealedQuote(
        part.capability,
        part.provider,
        request,
        quote.inputs,
        quote.outputs,
        quote.slippage_bps,
        quote.plan,
        quote.block,
        now,
        until,
        parts=tuple(_content_of(registry, own, now, until, deadline) for own in quote.parts),
        deadline=deadline,
        is_estimate=quote.is_estimate,
        plugin=plugin,
        plan_version=plan_version,
        fee_amount=quote.fee_amount,
        price_impact_bps=quote.price_impact_bps,
    )
