"""Quotes requests: asks the providers, checks their quotes, selects the best one and seals it.

The same code serves swaps, bridges, pools and vaults.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from cachetools import TTLCache

from quoteway import models
from quoteway.config.model import QuotesConfig
from quoteway.engine import approvals, auto_slippage, refresh_terms
from quoteway.engine.competition import Competition, Contender
from quoteway.engine.dividing import Dividing
from quoteway.engine.gas_costs import repriced, with_estimated_l1_fees
from quoteway.engine.integrator_fees import check_fee, with_fee
from quoteway.engine.limits import able, check_impact, nobody_able
from quoteway.engine.provider_sets import allowed
from quoteway.engine.quote_tokens import Sealer
from quoteway.engine.quote_warnings import quote_warnings
from quoteway.engine.ranking import QuoteOutcome, attempts_of, rank
from quoteway.engine.rehearsing import Quoter, Rehearsing, networks_asked
from quoteway.engine.request_times import check_deadline, check_refreshable_until
from quoteway.engine.token_labels import labelled_quote, labels_of, token_warnings
from quoteway.engine.trade_taxes import TradeTaxes, tax_warnings
from quoteway.errors import GatewayError, UpstreamError, disabled
from quoteway.evm.arrivals import on_arrival
from quoteway.evm.chain import RpcChain
from quoteway.guard.acknowledgements import needed_for_quote
from quoteway.guard.findings import check_units, is_address
from quoteway.guard.optimality import optimality_flaw
from quoteway.guard.quotes import check_quote, check_spenders
from quoteway.guard.recipients import check_recipient, payees, recipient_warning
from quoteway.guard.routes import check_route
from quoteway.host.checked_provider import contracts_of, spenders_of
from quoteway.host.missing_contracts import MissingContracts
from quoteway.host.outcomes import Outcome
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.host.token_directory import TokenDirectory
from quoteway.providers import Provider, SwapProvider
from quoteway.spans import span

log = logging.getLogger("quoteway.engine.quoting")

RECIPIENT_CODE_S = 600
"""How long the code of a recipient is remembered."""
TOLD_S = 60
"""The ``optimality`` that a provider's quotes lose is logged once in this time."""


@dataclass(frozen=True, slots=True)
class QuoteAnswer:
    """A sealed quote and the other members of its response."""

    sealed: models.SealedQuote
    quote: models.Quote
    approvals: tuple[models.Approval, ...]
    issues: tuple[models.Issue, ...]
    attempts: tuple[models.Attempt, ...]
    taxes: tuple[models.TradeTax, ...] = ()
    simulation: models.Simulation | None = None


@dataclass(frozen=True, slots=True)
class Quoting:
    """Makes the quotes of one gateway, with what quotes and actions share."""

    config: QuotesConfig
    runtime: Runtime
    registry: Registry
    tokens: TokenDirectory
    sealer: Sealer
    rehearsing: Rehearsing
    competition: Competition
    taxes: TradeTaxes
    missing: MissingContracts
    recipient_code: TTLCache[tuple[int, models.Address], str] = field(
        default_factory=lambda: TTLCache(4096, RECIPIENT_CODE_S)
    )
    told_of: TTLCache[str, str] = field(default_factory=lambda: TTLCache(256, TOLD_S))

    @on_arrival
    async def quote(
        self,
        capability: models.Capability,
        request: models.Request,
        *,
        provider: str | None = None,
        atomic_batch: bool = True,
        acknowledged: Collection[str] = (),
        deadline: int | None = None,
        chooses_slippage: bool = False,
        divides: bool = False,
        refreshable_until: int | None = None,
        within: models.RefreshTerms | None = None,
    ) -> QuoteAnswer:
        """Returns the best quote of the enabled providers, sealed, at a head read after this call.

        ``provider`` restricts the request to one provider. ``atomic_batch=False`` excludes quotes that need
        the transactions of several providers. ``divides``: two providers may share a swap on one network
        (``dividing``), if that pays more. ``acknowledged`` codes and ``deadline`` (Unix seconds) are sealed
        with the quote. ``chooses_slippage``: the gateway chooses that of a swap on one network
        (``auto_slippage``); the request's does not count. ``refreshable_until`` (Unix seconds) seals refresh
        terms with a swap on one network, ``within`` those of its first quote, which the quote keeps (else
        ``OutsideTerms``). Raises ``InvalidRequest`` for a refused member, ``ProviderUnavailable`` when no
        enabled provider serves the request and can keep its limits, and the error of ``best`` when none
        quotes; ``contract_missing`` when their contracts are not there.
        """
        ends_at = time.monotonic() + self.config.competition_timeout_s
        candidates = self.candidates(
            capability, *networks_asked(request), provider=provider, atomic_batch=atomic_batch
        )
        candidates, not_asked = self.fit(request, candidates)
        chain = self.runtime.chain(request.chain_id)
        head, now = chain.known_head, self.runtime.now()
        check_deadline(deadline, now if head is None else max(now, head.timestamp))  # a test chain's is ahead
        check_refreshable_until(refreshable_until, now, self.config.refreshable_s)
        request, account_issues = await self.suit_account(request)
        asked = auto_slippage.measured(request) if chooses_slippage else request
        outcomes, of_recipients, _ = await asyncio.gather(
            self.ask(candidates, asked, self.config.competition_timeout_s),
            self._recipient_warnings(request),
            self._read_wallet_ahead(chain, request, candidates),
        )
        outcomes = refresh_terms.held(outcomes, None if chooses_slippage else within, request)
        if (behind := chain.behind) is not None and not any(outcome.value for outcome in outcomes):
            raise behind  # no provider is at fault
        try:
            async with self.missing.explaining(candidates, *networks_asked(asked)):
                winner, ended = await self.competition.winner(capability, asked, outcomes, deadline)
        except UpstreamError as error:
            error.attempts = (*error.attempts, *not_asked)
            raise
        self.registry.calls.decided(outcomes, winner.bid.provider, verb="quote", scope=networks_asked(asked))
        if chooses_slippage:
            winner = await self._with_chosen_slippage(request, winner, deadline, within)
        if refreshable_until is not None:
            within = refresh_terms.terms_of(
                winner.sealed, refreshable_until, provider, chooses_slippage=chooses_slippage
            )
        if within is not None:
            winner = replace(winner, sealed=refresh_terms.refreshable(winner.sealed, within))
        answer = partial(
            self._answer,
            request,
            issues=account_issues,
            warnings=of_recipients,
            acknowledged=acknowledged,
            not_asked=not_asked,
        )
        if divides and isinstance(winner.sealed.request, models.SwapRequest):
            asked = replace(winner.sealed.request, certificate=False)
            dividing = Dividing(
                self.competition, self.taxes, self.ask, asked, winner, ended, deadline, ends_at
            )
            division, tried = await dividing.better()
            ended = ended if tried is None else [*ended, tried]
            if division is not None:
                try:
                    return await answer(division, ended)
                except UpstreamError as error:  # both plans do not fit one quote token
                    ended = [*ended[:-1], Outcome(division.bid.provider, "failed", error=error)]
        return await answer(winner, ended)

    async def _answer(
        self,
        request: models.Request,
        winner: Contender,
        ended: Sequence[QuoteOutcome],
        *,
        issues: Sequence[models.Issue],
        warnings: Sequence[models.Notice],
        acknowledged: Collection[str],
        not_asked: Sequence[models.Attempt],
    ) -> QuoteAnswer:
        """Returns the sealed quote of a winner, with the ``issues`` and ``warnings`` about the accounts.

        Raises ``UpstreamError`` when the quote does not fit a token.
        """
        chain = self.runtime.chain(request.chain_id)
        quote, ran = winner.bid.quote, winner.rehearsal
        wallet, taxes = await asyncio.gather(self._wallet(chain, request, quote), self.taxes.of(quote))
        told = (*quote.issues, *issues)
        of_tokens = await token_warnings(self.tokens, request, quote)
        own = (*quote_warnings(request, quote), *winner.warnings)
        consent = replace(
            winner.sealed,
            issues=told,
            warnings=(*own, *of_tokens, *tax_warnings(quote, taxes), *warnings),
            needs=needed_for_quote(quote, self.config.acknowledge_price_impact_bps, opaque=winner.opaque),
            acknowledged=tuple(acknowledged),
        )
        sealed = self.sealer.seal(consent)
        needed = approvals.outlook(quote.spends, wallet)
        # The native coin is sent as its maximum; what is not used comes back.
        needs = {leg.token.address: leg.most if leg.token.is_native else leg.amount for leg in quote.inputs}
        told = (*told, *approvals.shortfalls(needs, needed, wallet))
        simulation = None if ran is None else ran.run.whole
        side = request.side if isinstance(request, models.SwapRequest) else "exactIn"
        attempts = (*attempts_of(ended, side), *not_asked)
        return QuoteAnswer(sealed, quote, needed, told, attempts, taxes, simulation)

    async def _with_chosen_slippage(
        self,
        request: models.Request,
        winner: Contender,
        deadline: int | None,
        within: models.RefreshTerms | None,
    ) -> Contender:
        """Returns the winner's quote made again, with the slippage that its transactions call for."""
        timeout_s = self.config.competition_timeout_s
        slippage_bps = await auto_slippage.choose(self.rehearsing, winner, timeout_s)
        request = replace(cast(models.SwapRequest, request), slippage_bps=slippage_bps)
        outcomes = await self.ask([winner.bid.provider], request, timeout_s)
        outcomes = refresh_terms.held(outcomes, within, request)
        winner, _ = await self.competition.winner(models.Capability.SWAP, request, outcomes, deadline)
        return replace(winner, warnings=(*winner.warnings, auto_slippage.notice(slippage_bps)))

    async def suit_account(
        self, request: models.Request, block: models.Block | None = None
    ) -> tuple[models.Request, tuple[models.Issue, ...]]:
        """Returns the request without a signature where the sender has code, and the issue that tells it.

        Permit2 asks the code whether a signature is valid (ERC-1271), also the code of an EIP-7702
        delegation. What that code accepts is not known, so such an account gets transactions. The code is
        that at ``block``; None: at the node's newest block, together with the head, which is read anyway.
        """
        if not isinstance(request, models.SwapRequest) or not request.permit2_signature:
            return request, ()
        chain = self.runtime.chain(request.chain_id)
        code = chain.pinned("eth_getCode", [request.sender], block or "latest")
        if (await asyncio.gather(chain.head(), code))[1] == "0x":
            return request, ()
        return replace(request, permit2_signature=False), (models.Issue("smart_account"),)

    def candidates(
        self,
        capability: models.Capability,
        chain_id: int,
        to_chain_id: int,
        *,
        provider: str | None = None,
        atomic_batch: bool = True,
    ) -> list[Provider]:
        """Returns the providers to ask. Raises ``ProviderUnavailable``, and ``ProviderNotAllowed``."""
        found = [
            candidate
            for candidate in self.registry.enabled(capability)
            if provider in (None, candidate.id)
            and candidate.serves(chain_id, to_chain_id)
            and (atomic_batch or not (isinstance(candidate, SwapProvider) and candidate.joins_providers))
        ]
        if not found:
            text = f"No enabled provider serves this {capability.value} request on the network(s) asked for."
            raise disabled(text)
        return allowed(found, provider, self.registry.is_builtin)

    def fit(
        self, request: models.Request, candidates: Sequence[Provider]
    ) -> tuple[list[Provider], tuple[models.Attempt, ...]]:
        """Returns the providers that can serve all of a request, and the attempts that tell of the others.

        Raises ``InvalidRequest`` for accounts and fees that are refused, and the error of ``nobody_able``.
        """
        check_fee(request, self.runtime.calls.wrapped_native(request.chain_id), self.config.max_fee_bps)
        check_recipient(request, _contracts(candidates, set(networks_asked(request))))
        asked, not_asked = able(candidates, request)
        if not asked:
            raise nobody_able(not_asked)
        return asked, not_asked

    async def ask(
        self, candidates: Sequence[Provider], request: models.Request, timeout_s: float
    ) -> list[QuoteOutcome]:
        """Returns each provider's outcome within ``timeout_s`` seconds. All quotes have passed the guard."""

        async def ask(candidate: Provider) -> models.Quote | None:
            quote = await cast(Quoter, candidate).quote(request)
            # The parts of a built-in provider's quote were checked when their own providers quoted them.
            if quote is not None and not self.registry.is_builtin(candidate):
                with span("guard", "quote", "passed"):
                    quote = self._without_wrong_optimality(candidate, request, quote)
                    check_quote(candidate, request, quote)
                    check_spenders(candidate, request, quote, self.runtime.calls)
                    quote = replace(quote, warnings=models.own_warnings(candidate.id, quote.warnings))
                    if isinstance(request, models.SwapRequest):
                        network = self.runtime.chain(request.chain_id).network
                        check_route(candidate, request, quote, network.wrapped_native)
                        check_impact(candidate, request, quote)
                        quote = repriced(with_fee(request, quote), request.routing.gas_price_wei)
            return quote

        def worth(quote: models.Quote) -> int:
            return rank(quote, request.side if isinstance(request, models.SwapRequest) else "exactIn")

        chain = self.runtime.chain(request.chain_id)
        outcomes, price = await asyncio.gather(
            self.registry.calls.ask_all(
                candidates, ask, verb="quote", timeout_s=timeout_s, scope=networks_asked(request), worth=worth
            ),
            self.rehearsing.l1_prices.at_head(chain),
        )
        outcomes = with_estimated_l1_fees(outcomes, price)
        return list(await asyncio.gather(*(self._labelled(request, outcome) for outcome in outcomes)))

    def _without_wrong_optimality(
        self, candidate: Provider, request: models.Request, quote: models.Quote
    ) -> models.Quote:
        """Returns the quote without a wrong ``optimality``, which is counted, and logged once in a minute."""
        wrong = optimality_flaw(request, quote) if type(quote) is models.Quote else None
        if wrong is None:
            return quote
        self.registry.calls.report(candidate, "optimality", "wrong", 0.0)
        if candidate.id not in self.told_of:
            self.told_of[candidate.id] = wrong
            log.warning("a quote of provider %s is passed on without optimality: %s", candidate.id, wrong)
        return replace(quote, optimality=None)

    async def _labelled(self, request: models.Request, outcome: QuoteOutcome) -> QuoteOutcome:
        """Returns an outcome with the core's labels in its quote, or failed when its decimals are wrong.

        Looking tokens up waits for catalogs and nodes, so it is no part of the provider's call.
        """
        quote, candidate = outcome.value, outcome.provider
        if quote is None or self.registry.is_builtin(candidate):
            return outcome
        if isinstance(request, models.SwapRequest):
            known = [request.token_in, request.token_out]
        else:
            legs = (*quote.inputs, *quote.outputs)
            found = await self.tokens.find_each(request.chain_id, (leg.token.address for leg in legs))
            known = list(found.values())
            try:
                check_units(candidate, legs, found)
            except GatewayError as error:
                return replace(outcome, kind="failed", value=None, error=error)
        return replace(outcome, value=labelled_quote(quote, labels_of(known)))

    async def _read_wallet_ahead(
        self, chain: RpcChain, request: models.Request, candidates: Sequence[Provider]
    ) -> None:
        """Reads the sender's balance and allowances while the providers quote, to save a round trip."""
        if not isinstance(request, models.SwapRequest):
            return
        token = request.token_in.address
        grants: list[approvals.GrantKey] = []
        for candidate in candidates if token != models.NATIVE else ():
            spenders = filter(is_address, spenders_of(candidate, request.chain_id))
            grants += approvals.grants_to(token, list(spenders))
        try:
            async with asyncio.timeout(self.config.competition_timeout_s):
                await self.rehearsing.wallets.read(chain, await chain.head(), request.sender, [token], grants)
        except (GatewayError, TimeoutError):
            log.warning("the wallet of a quote could not be read on %s", chain.network.slug)

    async def _recipient_warnings(self, request: models.Request) -> list[models.Notice]:
        """Returns the warnings about recipients, by their code on the chain that pays them."""

        async def warning(chain_id: int, account: models.Address) -> models.Notice | None:
            chain, key = self.runtime.chain(chain_id), (chain_id, account)
            code = self.recipient_code.get(key)
            if code is None:
                with contextlib.suppress(GatewayError, TimeoutError):
                    async with asyncio.timeout(self.config.competition_timeout_s):
                        code = str(await chain.request("eth_getCode", [account, "latest"]))
                        self.recipient_code[key] = code
            return recipient_warning(account, chain.network.name, code)

        found = await asyncio.gather(*(warning(*payee) for payee in set(payees(request).values())))
        return [notice for notice in found if notice is not None]

    async def _wallet(
        self, chain: RpcChain, request: models.Request, quote: models.Quote
    ) -> approvals.Wallet | None:
        """Returns the sender's wallet at the quote's block; None when it cannot be read in time."""
        tokens = [leg.token.address for leg in quote.inputs if leg.token.chain_id == request.chain_id]
        grants = approvals.grants_of(quote.spends)
        try:
            async with asyncio.timeout(self.config.competition_timeout_s):
                return await self.rehearsing.wallets.read(chain, quote.block, request.sender, tokens, grants)
        except (GatewayError, TimeoutError):
            return None


def _contracts(candidates: Iterable[Provider], chain_ids: Iterable[int]) -> set[models.Address]:
    """Returns the contracts that the providers' transactions call or approve."""
    found: set[models.Address] = set()
    for candidate, chain_id in itertools.product(candidates, chain_ids):
        found |= {*contracts_of(candidate, chain_id), *spenders_of(candidate, chain_id)}
    return found
