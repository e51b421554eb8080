"""Rehearses the transactions of a sealed quote: provider build, guard, approvals, simulation, outcome.

Actions are made of a rehearsal. The best quotes of a competition are rehearsed before one of them is sealed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

from cachetools import LRUCache

from quoteway import models
from quoteway.config.model import QuotesConfig
from quoteway.engine import approvals
from quoteway.engine.permits import NO_PERMITS, PermitChoice, with_permits
from quoteway.engine.sentences import described
from quoteway.engine.token_labels import labelled, labels_of
from quoteway.errors import NotFound, Reason, UpstreamError, disabled
from quoteway.evm.address import keccak256
from quoteway.evm.calls.meaning import Reading
from quoteway.evm.chain import RpcChain
from quoteway.evm.l1_fee import L1Prices
from quoteway.guard.calldata import check_build
from quoteway.guard.calls import kind_of_vault
from quoteway.guard.findings import UnsafeAnswer, named_by_caller
from quoteway.guard.outcome import check_run, watched
from quoteway.guard.permits import check_permits_ran
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.host.token_directory import TokenDirectory
from quoteway.providers import Provider
from quoteway.simulation.run import Run, Segment, simulate
from quoteway.spans import span

log = logging.getLogger("quoteway.engine.rehearsing")


class Quoter(Protocol):
    """The common interface of swap, bridge, pool and vault providers."""

    id: str

    async def quote(self, request: Any) -> models.Quote | None: ...

    async def build(self, sealed: models.SealedQuote) -> models.Build: ...


@dataclass(slots=True)
class Part:
    """One provider's part of an action under construction: its ``own`` transactions after ``approvals``.

    ``clearing`` are the calls before a run (``Meaning.clearing``).
    """

    provider: Provider
    quote: models.SealedQuote
    build: models.Build
    own: tuple[models.DescribedStep, ...]
    clearing: tuple[tuple[models.Address, bytes], ...] = ()
    approvals: Sequence[models.DescribedStep] = ()

    @property
    def steps(self) -> tuple[models.DescribedStep, ...]:
        return (*self.approvals, *self.own)

    @property
    def opaque(self) -> bool:
        """Returns whether the core cannot read the calldata."""
        return any(step.decoded.opaque for step in self.own)

    @property
    def outlives_deadline(self) -> bool:
        """Returns whether the build may execute after the deadline that its quote's request names."""
        asked, own = self.quote.deadline, self.build.deadline
        return asked is not None and (own is None or own > asked)

    def begun_at(self, first_step: int) -> models.ActionPart:
        """Returns the part as it is in an action, from its step ``first_step`` on."""
        capability, build = self.quote.capability, self.build
        return models.ActionPart(
            capability, self.provider.id, build.inputs, build.outputs, len(self.steps), first_step
        )


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The checked transactions of a sealed quote, and their checked run on the state of ``block``.

    ``created_at`` is the time from which the deadlines count, Unix seconds. ``issues`` are those of the quote
    and of the wallet. ``offers`` are the EIP-2612 permits that can take the place of approvals.
    """

    parts: tuple[Part, ...]
    run: Run
    block: models.Block
    created_at: int
    issues: tuple[models.Issue, ...]
    offers: tuple[models.PermitOffer, ...] = ()
    warnings: tuple[models.Notice, ...] = ()

    @property
    def gas_used(self) -> int:
        """The gas of the providers' own transactions. What the wallet must approve is left out."""
        steps = [step for part in self.parts for step in part.steps]
        used = zip(steps, self.run.whole.gas_used, strict=False)
        return sum(gas for step, gas in used if step.kind not in models.APPROVAL_KINDS)

    def paid(self, leg: models.Leg) -> int | None:
        """Returns how much an output paid in the run; None when it did not run."""
        if self.run.whole.status != "success":
            return None
        wanted = leg.account, leg.token.address
        changes = self.run.whole.asset_changes
        return next((each.delta for each in changes if (each.account, each.token) == wanted), None)


def networks_asked(request: models.Request) -> tuple[int, int]:
    """Returns the chain ids that a request is about: origin and destination."""
    to_chain_id = request.to_chain_id if isinstance(request, models.SwapRequest) else request.chain_id
    return request.chain_id, to_chain_id


@dataclass(frozen=True, slots=True)
class Rehearsing:
    """Rehearses the quotes of one gateway."""

    config: QuotesConfig
    runtime: Runtime
    registry: Registry
    tokens: TokenDirectory
    wallets: approvals.WalletReader = field(default_factory=approvals.WalletReader)
    code_hashes: LRUCache[tuple[int, models.Address], str] = field(default_factory=lambda: LRUCache(4096))

    @property
    def l1_prices(self) -> L1Prices:
        """Returns those of the gateway, which its plugins use too."""
        return self.runtime.l1_prices

    async def build(self, sealed: models.SealedQuote, *, spared: bool = False) -> list[Part]:
        """Returns the checked builds of a quote's providers. ``spared``: another quote can be built instead.

        Raises ``NotFound`` (``quote_expired``) when another plugin or plan version made it,
        ``ProviderUnavailable``, ``UpstreamError`` (``unsafe_answer``, ``provider_error``,
        ``provider_timeout``).
        """
        parts = sealed.parts or (sealed,)
        return list(await asyncio.gather(*(self._part(part, spared=spared) for part in parts)))

    async def run(
        self,
        sealed: models.SealedQuote,
        parts: Sequence[Part],
        block: models.Block,
        permits: PermitChoice = NO_PERMITS,
    ) -> Rehearsal:
        """Adds exact approvals, simulates all parts in one run on ``block`` and checks what each part did.

        Signed ``permits`` take the place of approvals. Raises ``InvalidRequest`` for one that cannot, and
        ``UpstreamError`` (``quote_mismatch``, ``price_moved``, ``reverted``, ``unsafe_answer``).
        """
        chain = self.runtime.chain(sealed.request.chain_id)
        sender = sealed.request.sender
        needs = approvals.needs_of([part.build for part in parts], sender)
        most = approvals.most_of(needs, [part.build for part in parts])
        grants = approvals.grants_of(spend for part in parts for spend in part.build.spends)
        targets = {step.to: part.provider.id for part in parts for step in part.build.steps}
        wallet = await self.wallets.read(chain, block, sender, needs, grants)
        created_at = max(block.timestamp, sealed.created_at)
        await self.approve(chain, wallet, parts, created_at)
        own_approvals = [part.approvals for part in parts]
        permitted = await with_permits(chain, block, sealed, own_approvals, grants, permits)
        for part, placed in zip(parts, permitted.approvals, strict=True):
            part.approvals = placed
        grantings = ("approval", "permit")
        steps = [step for part in parts for step in part.approvals if step.kind in grantings]
        own = [issue for part in parts for issue in part.build.issues]
        told = {(issue.code, issue.token): issue for issue in (*sealed.issues, *own, *permitted.issues)}
        needed = [step.approval for step in steps if step.approval]
        issues = (*told.values(), *approvals.shortfalls(needs, needed, wallet))
        began = time.perf_counter()
        simulated = simulate(
            chain,
            block,
            sender,
            [Segment(part.steps, part.build.previews) for part in parts],
            watch=[pair for part in parts for pair in watched(part.quote)],
            allowances=[(token, sender, spender) for token, spender, _ in grants],
            needs={token: most[token] for token, n in needs.items() if wallet.balances.get(token, 0) < n},
            signatures_assumed=any(part.build.signatures for part in parts),
            clearing=[call for part in parts for call in part.clearing],
        )
        # The first code of a target comes in the same round trip.
        _, run = await asyncio.gather(self.require_code(chain, block, targets), simulated)
        check_permits_ran([step for part in parts for step in part.steps], run, sender, permits.signed)
        for part, ran in zip(parts, run.segments, strict=True):
            error: Reason | None = Reason.PROVIDER_ERROR
            opaque = part.opaque
            try:
                with span("guard", f"run of {part.provider.id}", "passed"):
                    check_run(part.provider, part.quote, part.build, ran.simulation, ran.trace, opaque=opaque)
                error = None
            except UpstreamError as refusal:
                error = refusal.reason or error
                raise
            finally:
                outcome = ran.simulation.status if error is None else error.value
                took_s = time.perf_counter() - began
                self.registry.calls.report(part.provider, "run", outcome, took_s, error)
        return Rehearsal(tuple(parts), run, block, created_at, issues, permitted.offers, permitted.warnings)

    async def _part(self, quote: models.SealedQuote, *, spared: bool) -> Part:
        """Returns the checked build of a quote's provider. Raises ``NotFound`` when nobody knows its plan."""
        provider = self.registry.get(quote.capability, quote.provider)
        if provider is None and any(plugin.name == quote.plugin for plugin in self.registry.plugins):
            raise disabled("The quote's provider is not enabled.")
        maker = self.registry.maker(quote.capability, quote.provider)
        if provider is None or maker != (quote.plugin, quote.plan_version):
            text = "The quote was made by another version of its provider: request a new one."
            raise NotFound(text, reason=Reason.QUOTE_EXPIRED, retryable=False)
        request = quote.request
        settings = self.runtime.config.providers.get(quote.provider)
        opaque = settings is not None and settings.opaque == "simulated"

        async def build(candidate: Provider) -> tuple[models.Build, tuple[Reading, ...]]:
            answer = await cast(Quoter, candidate).build(quote)
            head = self.runtime.chain(request.chain_id).known_head
            now, chain_now = self.runtime.now(), 0 if head is None else head.timestamp
            calls = self.runtime.calls
            with span("guard", "build", "passed"):
                readings = check_build(
                    candidate, quote, answer, calls, now=now, chain_now=chain_now, opaque=opaque
                )
            labels = labels_of(leg.token for leg in (*quote.inputs, *quote.outputs))
            inputs, outputs = labelled(answer.inputs, labels), labelled(answer.outputs, labels)
            told = models.own_warnings(candidate.id, answer.warnings)
            return replace(answer, inputs=inputs, outputs=outputs, warnings=told), readings

        (outcome,) = await self.registry.calls.ask_all(
            [provider], build, verb="build", scope=networks_asked(request), spared=spared
        )
        if outcome.value is None:
            raise outcome.failure("The quote's provider could not build its transactions.")
        answer, readings = outcome.value
        steps = tuple(
            described(step, reading, request, answer, self._label(step, request))
            for step, reading in zip(answer.steps, readings, strict=True)
        )
        clearing = tuple(call for reading in readings for call in reading.meaning.clearing)
        return Part(provider, quote, answer, steps, clearing)

    def _label(self, step: models.Step, request: models.Request) -> str | None:
        """Returns the core's name of a contract; a provider's own is never shown."""
        kind = kind_of_vault(request) if step.to in named_by_caller(request) else None
        return self.runtime.calls.title(step.chain_id, step.to, kind=kind)

    async def require_code(
        self, chain: RpcChain, block: models.Block, targets: Mapping[models.Address, str]
    ) -> None:
        """Raises ``UnsafeAnswer`` for a target without code: a call to it succeeds and loses the funds; or
        for one with other code than its description names.

        ``targets`` have the id of the provider that names them.
        """
        missing = [to for to in targets if (chain.network.chain_id, to) not in self.code_hashes]
        codes = await asyncio.gather(*(chain.code(to, block=block) for to in missing))
        for to, code in zip(missing, codes, strict=True):
            if not code:
                raise UnsafeAnswer(targets[to], f"a transaction goes to {to}, which has no code")
            code_hash = "0x" + keccak256(code).hex()
            if self.runtime.calls.code_hash(chain.network.chain_id, to) not in (None, code_hash):
                raise UnsafeAnswer(targets[to], f"{to} has other code than its description names")
            self.code_hashes[chain.network.chain_id, to] = code_hash

    async def approve(
        self, chain: RpcChain, wallet: approvals.Wallet, parts: Iterable[Part], created_at: int
    ) -> None:
        """Sets the approvals that each part still needs after the parts before it."""
        for part in parts:
            default = created_at + self.config.action_deadline_s
            deadline = part.build.deadline or part.quote.deadline or default
            tokens = {leg.token.address: leg.token for leg in part.quote.inputs}
            if not isinstance(part.quote.request, models.SwapRequest):
                # The provider supplied these tokens: show the signer amounts with the directory's decimals.
                tokens |= await self.tokens.find_each(chain.network.chain_id, tokens)
            part.approvals = await approvals.approval_steps(
                chain, wallet, part.build.spends, tokens, deadline
            )
            wallet = approvals.after(wallet, part.build.spends)
