"""Quotes requests: asks the providers, checks their quotes, selects the best one and seals it.

The same code serves swaps, bridges, pools and vaults.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

from quoteway import models
from quoteway.config.model import QuotesConfig
from quoteway.engine import approvals
from quoteway.engine.quote_tokens import Sealer
from quoteway.errors import GatewayError, InvalidRequest, NotFound, Reason, UpstreamError, disabled
from quoteway.evm import permit2
from quoteway.evm.chain import RpcChain
from quoteway.evm.head import on_arrival
from quoteway.guard.findings import check_units, is_address
from quoteway.guard.quotes import check_quote, check_recipient
from quoteway.host.provider_calls import Outcome
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.host.states import serves
from quoteway.host.token_directory import TokenDirectory
from quoteway.providers import Provider, SwapProvider

log = logging.getLogger("quoteway.engine.quoting")


HIGH_SLIPPAGE_BPS = 300


class Quoter(Protocol):
    """The common interface of swap, bridge, pool and vault providers."""

    id: str

    async def quote(self, request: Any) -> models.Quote | None: ...

    async def build(self, sealed: models.SealedQuote) -> models.Build: ...


@dataclass(frozen=True, slots=True)
class QuoteAnswer:
    """A sealed quote and the other members of its response."""

    sealed: models.SealedQuote
    quote: models.Quote
    approvals: tuple[models.Approval, ...]
    issues: tuple[models.Issue, ...]
    attempts: tuple[models.Attempt, ...]


@dataclass(frozen=True, slots=True)
class Quoting:
    """Makes the quotes of one gateway, with what quotes and actions share."""

    config: QuotesConfig
    runtime: Runtime
    registry: Registry
    tokens: TokenDirectory
    sealer: Sealer
    wallets: approvals.WalletReader = field(default_factory=approvals.WalletReader)

    @on_arrival
    async def quote(
        self,
        capability: models.Capability,
        request: models.Request,
        *,
        provider: str | None = None,
        atomic_batch: bool = True,
    ) -> QuoteAnswer:
        """Returns the best quote of the enabled providers, sealed, at a head read after this call.

        ``provider`` restricts the request to one provider. ``atomic_batch=False`` excludes quotes that need
        the transactions of several providers. Raises ``ProviderUnavailable`` when no enabled provider serves
        the request. Raises the error of ``best`` when none quotes.
        """
        to_chain_id = request.to_chain_id if isinstance(request, models.SwapRequest) else request.chain_id
        candidates = self.candidates(
            capability, request.chain_id, to_chain_id, provider=provider, atomic_batch=atomic_batch
        )
        check_recipient(request, _contracts(candidates, {request.chain_id, to_chain_id}))
        chain = self.runtime.chain(request.chain_id)
        outcomes, _ = await asyncio.gather(
            self.ask(candidates, request, self.config.competition_timeout_s),
            self._read_wallet_ahead(chain, request, candidates),
        )
        winner, quote = best(outcomes)
        wallet = await self._wallet(chain, request, quote)
        now, lifetime_s = self.runtime.now(), self.config.lifetime_s
        until = now + min(lifetime_s, quote.lifetime_s or lifetime_s)
        consent = _consent(models.QuotePart(capability, winner.id, request, quote), now, until)
        sealed = self.sealer.seal(replace(consent, issues=quote.issues, warnings=_warnings(quote)))
        needed = approvals.outlook(quote.spends, wallet)
        needs = {leg.token.address: leg.amount for leg in quote.inputs}
        issues = (*quote.issues, *approvals.shortfalls(needs, needed, wallet))
        return QuoteAnswer(sealed, quote, needed, issues, attempts_of(outcomes))

    def candidates(
        self,
        capability: models.Capability,
        chain_id: int,
        to_chain_id: int,
        *,
        provider: str | None = None,
        atomic_batch: bool = True,
    ) -> list[Provider]:
        """Returns the providers to ask for a quote. Raises ``ProviderUnavailable`` when there is none."""
        found = [
            candidate
            for candidate in self.registry.enabled(capability)
            if provider in (None, candidate.id)
            and serves(candidate, chain_id, to_chain_id)
            and (atomic_batch or not (isinstance(candidate, SwapProvider) and candidate.joins_providers))
        ]
        if not found:
            text = f"No enabled provider serves this {capability.value} request on the network(s) asked for."
            raise disabled(text)
        return found

    async def ask(
        self, candidates: Sequence[Provider], request: models.Request, timeout_s: float
    ) -> list[Outcome[Provider, models.Quote]]:
        """Returns each provider's outcome within ``timeout_s`` seconds. All quotes have passed the guard."""

        async def ask(candidate: Provider) -> models.Quote | None:
            quote = await cast(Quoter, candidate).quote(request)
            # The parts of a built-in provider's quote were checked when their own providers quoted them.
            if quote is not None and not self.registry.is_builtin(candidate):
                check_quote(candidate, request, quote)
                if not isinstance(request, models.SwapRequest):
                    legs = (*quote.inputs, *quote.outputs)
                    known = await self.tokens.find_each(request.chain_id, (leg.token.address for leg in legs))
                    check_units(candidate, legs, known)
            return quote

        return await self.registry.calls.ask_all(candidates, ask, verb="quote", timeout_s=timeout_s)

    async def _read_wallet_ahead(
        self, chain: RpcChain, request: models.Request, candidates: Sequence[Provider]
    ) -> None:
        """Reads the sender's balance and allowances while the providers quote, to save a round trip."""
        if not isinstance(request, models.SwapRequest):
            return
        token = request.token_in.address
        grants: list[approvals.GrantKey] = []
        for candidate in candidates if token != models.NATIVE else ():
            try:
                spenders = [s for s in candidate.spenders(request.chain_id) if is_address(s)]
            except Exception:
                log.exception("provider %r raised", candidate.id)
                continue
            pullers = [s for s in spenders if s != permit2.ADDRESS] if permit2.ADDRESS in spenders else []
            grants += [(token, s, None) for s in spenders if s not in pullers]
            grants += [(token, permit2.ADDRESS, puller) for puller in pullers]
        try:
            async with asyncio.timeout(self.config.competition_timeout_s):
                await self.wallets.read(chain, await chain.head(), request.sender, [token], grants)
        except (GatewayError, TimeoutError):
            log.warning("the wallet of a quote could not be read on %s", chain.network.slug)

    async def _wallet(
        self, chain: RpcChain, request: models.Request, quote: models.Quote
    ) -> approvals.Wallet | None:
        """Returns the sender's wallet at the quote's block; None when it cannot be read in time."""
        tokens = [leg.token.address for leg in quote.inputs if leg.token.chain_id == request.chain_id]
        grants = approvals.grants_of(quote.spends)
        try:
            async with asyncio.timeout(self.config.competition_timeout_s):
                return await self.wallets.read(chain, quote.block, request.sender, tokens, grants)
        except (GatewayError, TimeoutError):
            return None


def _contracts(candidates: Iterable[Provider], chain_ids: Iterable[int]) -> set[models.Address]:
    """Returns the contracts that the providers' transactions call or approve."""
    found: set[models.Address] = set()
    for candidate, chain_id in itertools.product(candidates, chain_ids):
        try:
            found |= {*candidate.contracts(chain_id), *candidate.spenders(chain_id)}
        except Exception:  # isolation border
            log.exception("provider %r raised", candidate.id)
    return found


def _warnings(quote: models.Quote) -> tuple[models.Notice, ...]:
    """Returns the provider's warnings and the gateway's own."""
    if quote.slippage_bps <= HIGH_SLIPPAGE_BPS:
        return quote.warnings
    return (*quote.warnings, models.Notice("high_slippage", "The allowed slippage is above 3 %."))


def _consent(part: models.QuotePart, now: int, until: int) -> models.SealedQuote:
    """Returns the content of the quote token, including the quotes of its parts."""
    quote, request = part.quote, part.request
    refund = quote.terms.refund if isinstance(quote.terms, models.TransferTerms) else None
    if isinstance(request, models.SwapRequest) and refund is not None:
        # The guard compares the refund account in the calldata with this one.
        request = replace(request, refund_to=request.refund_account)
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
        parts=tuple(_consent(own, now, until) for own in quote.parts),
    )


# --- ranking -----------------------------------------------------------------------------------------------


def best(outcomes: Sequence[Outcome[Provider, models.Quote]]) -> tuple[Provider, models.Quote]:
    """Returns the quote with the highest minimum output after fees and gas, and its provider.

    Ties go to the provider asked first. Without a quote, raises ``InvalidRequest`` or ``NotFound`` when a
    provider rejected the parameters and all others had no route. Otherwise raises ``UpstreamError``, whose
    ``attempts`` list every outcome.
    """
    quoted = [(o.provider, o.value) for o in outcomes if o.kind == "quoted" and o.value is not None]
    if quoted:
        return max(quoted, key=lambda pair: rank(pair[1]))
    attempts = attempts_of(outcomes)
    refusals = [o.error for o in outcomes if isinstance(o.error, (InvalidRequest, NotFound))]
    silent = [o for o in outcomes if o.kind == "no_route" and o.error is None]
    if refusals and len(refusals) + len(silent) == len(outcomes):
        raise refusals[0]
    failed = next((o for o in outcomes if o.failed), None)
    spoken = next((o.error for o in outcomes if o.error is not None and not o.failed), None)
    message, reason = "No provider could quote this request.", failed.reason if failed else Reason.NO_ROUTE
    if spoken is not None:
        message, reason = spoken.message, spoken.reason
    elif failed is None:
        message = "No provider has a route for this pair."
    retryable = spoken is None and failed is not None
    raise UpstreamError(message, reason=reason, attempts=attempts, retryable=retryable)


def rank(quote: models.Quote) -> int:
    """Returns the minimum output of a quote after fees and gas, in base units of the output."""
    if quote.net_output is not None:
        return quote.net_output
    if not quote.outputs:
        return 0
    first = quote.outputs[0]
    return first.amount_min if first.amount_min is not None else first.amount


def attempts_of(outcomes: Sequence[Outcome[Provider, models.Quote]]) -> tuple[models.Attempt, ...]:
    """Returns the outcomes as the ``attempts`` members of a response."""
    return tuple(_attempt(outcome) for outcome in outcomes)


def _attempt(outcome: Outcome[Provider, models.Quote]) -> models.Attempt:
    quote, reason = outcome.value, outcome.reason
    amount_out = quote.outputs[0].amount if quote is not None and quote.outputs else None
    return models.Attempt(outcome.provider.id, outcome.kind, amount_out, reason.value if reason else None)
