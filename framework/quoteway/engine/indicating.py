"""Indicative prices of swaps: the best quotes that providers state for nobody's wallet.

Nothing is built, simulated or sealed, so such a price costs little and cannot be exchanged for an action.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quoteway import models
from quoteway.engine.quoting import Quoting
from quoteway.engine.ranking import attempts_of, bids_of, refusal
from quoteway.errors import GatewayError
from quoteway.evm.address import unused_address
from quoteway.guard.findings import UnsafeAnswer
from quoteway.host.outcomes import Outcome
from quoteway.providers import Provider, TransactionProvider

SELLER = unused_address("quoteway.indicating.seller")
"""Who sells: holds nothing, so nothing about a wallet counts."""


@dataclass(frozen=True, slots=True)
class Indication:
    """The best quote that a provider states for a request, at its block."""

    provider: str
    request: models.SwapRequest
    quote: models.Quote
    attempts: tuple[models.Attempt, ...]

    @property
    def inputs(self) -> tuple[models.Leg, ...]:
        return self.quote.inputs

    @property
    def outputs(self) -> tuple[models.Leg, ...]:
        return self.quote.outputs


@dataclass(frozen=True, slots=True)
class Rung:
    """An amount of a ladder with its indication, or the error of an amount that nobody quotes.

    ``amount`` is of the token sold; with the side ``exactOut`` of the token bought.
    """

    amount: int
    found: Indication | None
    error: GatewayError | None = None
    side: models.Side = "exactIn"

    @property
    def amount_in(self) -> int | None:
        """What is sold; None where that is not known."""
        if self.side == "exactIn":
            return self.amount
        return None if self.found is None else self.found.inputs[0].amount


async def indicate(quoting: Quoting, request: models.SwapRequest) -> Indication:
    """Returns the best output less gas, or the least input with gas, that a provider states.

    Providers that pay for each request (``has_quota``) are asked only where no other serves the network.
    Those whose quotes often fail in simulations come last. Raises ``ProviderUnavailable`` when nobody serves
    the request, and the error of ``ranking.refusal`` when nobody quotes it.
    """
    capability, chain = models.Capability.SWAP, quoting.runtime.chain(request.chain_id)
    candidates, not_asked = quoting.fit(
        request,
        quoting.candidates(capability, request.chain_id, request.to_chain_id, atomic_batch=False),
    )
    cheap = [provider for provider in candidates if not _has_quota(provider)] or candidates
    outcomes = await quoting.ask(cheap, request, quoting.config.competition_timeout_s)
    for at, outcome in enumerate(outcomes):
        if outcome.value is not None and not chain.was_head(outcome.value.block):
            error = UnsafeAnswer(outcome.provider.id, "its block was not the newest one during the request")
            outcomes[at] = Outcome(outcome.provider, "failed", error=error)
    if (behind := chain.behind) is not None and not any(outcome.value for outcome in outcomes):
        raise behind
    bids, scores = bids_of(outcomes, request.side), quoting.registry.scores
    if not bids:
        raise refusal(outcomes)
    best = max(bids, key=lambda bid: (not scores.of(bid.provider).is_poor, bid.promised, -bid.order))
    attempts = (*attempts_of(outcomes, request.side), *not_asked)
    return Indication(best.provider.id, request, best.quote, attempts)


async def ladder(quoting: Quoting, request: models.SwapRequest, amounts: Sequence[int]) -> list[Rung]:
    """Returns an indication for each amount, all at one block inside ``request_arrival``.

    Raises as ``indicate`` for the first amount when there is none for any.
    """

    async def rung(amount: int) -> Rung:
        try:
            found = await indicate(quoting, _of_amount(request, amount))
        except GatewayError as error:
            return Rung(amount, None, error, request.side)
        return Rung(amount, found, side=request.side)

    rungs = await asyncio.gather(*map(rung, amounts))
    if not any(each.found for each in rungs) and rungs[0].error is not None:
        raise rungs[0].error
    return rungs


def _of_amount(request: models.SwapRequest, amount: int) -> models.SwapRequest:
    if request.side == "exactOut":
        return replace(request, amount_out=amount)
    return replace(request, amount_in=amount)


def _has_quota(provider: Provider) -> bool:
    return isinstance(provider, TransactionProvider) and provider.has_quota
