"""The two movements every capability shares: quote -> seal, and open -> build -> guard -> simulate.

Swaps, bridges, pools and vaults differ in their request and in what their provider does, never in this file.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, cast

from cachetools import LRUCache

from quoteway.config.model import Config
from quoteway.engine import approvals
from quoteway.engine.approvals import GrantKey, Wallet, WalletReader
from quoteway.engine.joining import JoinedQuote, SwapThenBridge, handover_warnings, joined_legs, needs_of
from quoteway.engine.quote_tokens import Sealer, same_request
from quoteway.engine.ranking import attempts_of, best
from quoteway.engine.transaction_ids import TransactionCommitment, action_id, commitment_of
from quoteway.errors import (
    GatewayError,
    InvalidRequest,
    ProviderUnavailable,
    Reason,
    UpstreamError,
)
from quoteway.evm import permit2
from quoteway.evm.address import keccak256
from quoteway.evm.chain import RpcChain
from quoteway.evm.head import on_arrival
from quoteway.guard.amounts import check_units, is_address, parties
from quoteway.guard.calldata import check_build
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.outcome import check_run, watched
from quoteway.guard.quotes import check_quote
from quoteway.host.provider_calls import Outcome
from quoteway.host.registry import Registry, networks_of
from quoteway.host.runtime import Runtime
from quoteway.models import (
    NATIVE,
    Action,
    ActionPart,
    ActionStep,
    Address,
    Approval,
    Attempt,
    Block,
    Build,
    Capability,
    Issue,
    Quote,
    Request,
    SealedQuote,
    SignatureRequest,
    Step,
    SwapRequest,
    Token,
)
from quoteway.providers import Provider, SwapProvider
from quoteway.simulation.run import Run, Segment, simulate

log = logging.getLogger("quoteway.engine.building")


class Builder(Protocol):
    """What swap, bridge, pool and vault providers have in common."""

    id: str

    async def quote(self, request: Any) -> Quote | None: ...

    async def build(self, sealed: SealedQuote) -> Build: ...


@dataclass(frozen=True, slots=True)
class QuoteAnswer:
    """A sealed quote with all that the answer shows beyond what the token holds."""

    sealed: SealedQuote
    quote: Quote
    approvals: tuple[Approval, ...]
    issues: tuple[Issue, ...]
    attempts: tuple[Attempt, ...]


@dataclass(slots=True)
class _Part:
    """One provider's part of an action in the making, and the approvals that go before its transactions."""

    provider: Provider
    quote: SealedQuote
    build: Build
    allow: list[Step] = field(default_factory=list)

    @property
    def steps(self) -> tuple[Step, ...]:
        return (*self.allow, *self.build.steps)


class Spine:
    """Quotes and actions of every capability, over the enabled providers of one gateway."""

    def __init__(self, config: Config, runtime: Runtime, registry: Registry, sealer: Sealer) -> None:
        self._config = config
        self._runtime = runtime
        self._registry = registry
        self._sealer = sealer
        self._joiner = SwapThenBridge(config, runtime, registry, self._compete)
        self._wallets = WalletReader()
        self._code_hashes: LRUCache[tuple[int, Address], bytes] = LRUCache(4096)

    async def close(self) -> None:
        """Ends what goes on in the background."""
        await self._joiner.close()

    # --- quote -> seal ------------------------------------------------------------------------------------

    @on_arrival
    async def quote(
        self,
        capability: Capability,
        request: Request,
        *,
        provider: str | None = None,
        in_parts: bool = True,
    ) -> QuoteAnswer:
        """The best quote of the enabled providers, sealed; at a head that is read after this call.

        ``in_parts`` False leaves out what takes the transactions of several providers.

        Raises ``ProviderUnavailable`` when no enabled provider serves the capability on the request's
        network(s), and ``UpstreamError`` (or ``InvalidRequest``, when all refuse the parameters) when none of
        them quotes.
        """
        to_chain_id = request.to_chain_id if isinstance(request, SwapRequest) else request.chain_id
        candidates = self.candidates(
            capability, request.chain_id, to_chain_id, provider=provider, in_parts=in_parts
        )
        chain = self._chain(request.chain_id)
        sender, _ = parties(request)
        outcomes, _ = await asyncio.gather(
            self._ask(candidates, request, self._config.quotes.competition_timeout_s),
            self._look_at_wallet_ahead(chain, request, candidates),
        )
        winner, quote = best(outcomes)
        wallet = await self._wallet(chain, quote.block, sender, quote)
        now = self._now()
        lifetime_s = min(self._config.quotes.lifetime_s, quote.lifetime_s or self._config.quotes.lifetime_s)
        sealed = _consent(capability, winner.id, request, quote, now, now + lifetime_s)
        if winner is self._joiner and isinstance(quote, JoinedQuote):
            parts = (
                _consent(part.capability, part.provider, part.request, part.quote, now, now + lifetime_s)
                for part in quote.parts
            )
            sealed = replace(sealed, parts=tuple(parts))
        sealed = self._sealer.seal(sealed)
        grants = approvals.outlook(quote.spends, wallet)
        needs = {leg.token.address: leg.amount for leg in quote.inputs}
        issues = (*quote.issues, *approvals.shortfalls(needs, grants, wallet))
        return QuoteAnswer(sealed, quote, grants, issues, attempts_of(outcomes))

    def candidates(
        self,
        capability: Capability,
        chain_id: int,
        to_chain_id: int,
        *,
        provider: str | None = None,
        in_parts: bool = True,
    ) -> list[Provider]:
        """Who is asked for a quote. Raises ``ProviderUnavailable`` when nobody could answer."""
        found = self._registry.enabled(capability, chain_id)
        if to_chain_id != chain_id:
            found = [
                candidate
                for candidate in found
                if to_chain_id in networks_of(candidate)
                and (not isinstance(candidate, SwapProvider) or candidate.cross_chain)
            ]
            if capability is Capability.SWAP and in_parts and self._joiner.serves(chain_id, to_chain_id):
                found.append(self._joiner)
        if provider is not None:
            found = [candidate for candidate in found if candidate.id == provider]
        if not found:
            raise ProviderUnavailable(
                f"No enabled provider serves this {capability.value} request on the network(s) asked for.",
                reason=Reason.CAPABILITY_DISABLED,
            )
        return found

    async def _ask(
        self, candidates: Sequence[Provider], request: Request, timeout_s: float
    ) -> list[Outcome[Provider, Quote]]:
        async def ask(candidate: Provider) -> Quote | None:
            quote = await cast(Builder, candidate).quote(request)
            if quote is not None and candidate is not self._joiner:  # whose parts have been checked
                check_quote(candidate, request, quote)
                if not isinstance(request, SwapRequest):
                    legs = (*quote.inputs, *quote.outputs)
                    known = await self._facts(request.chain_id, (leg.token for leg in legs))
                    check_units(candidate, legs, known)
            return quote

        competition = self._registry.calls
        return await competition.ask_all(candidates, ask, verb="quote", timeout_s=timeout_s)

    async def _compete(
        self, candidates: Sequence[Provider], request: SwapRequest, timeout_s: float
    ) -> tuple[Provider, Quote]:
        return best(await self._ask(candidates, request, timeout_s))

    async def _look_at_wallet_ahead(
        self, chain: RpcChain, request: Request, candidates: Sequence[Provider]
    ) -> None:
        """Reads what quotes will show of the wallet while providers work, so that it costs no round of its
        own."""
        if not isinstance(request, SwapRequest):
            return
        token = request.token_in.address
        grants: list[GrantKey] = []
        if any(candidate is self._joiner for candidate in candidates):
            candidates = [*candidates, *self._joiner.swappers(request.chain_id)]
        for candidate in candidates if token != NATIVE else ():
            try:
                spenders = [s for s in candidate.spenders(request.chain_id) if is_address(s)]
            except Exception:
                log.exception("provider %r raised", candidate.id)
                continue
            pullers = [s for s in spenders if s != permit2.ADDRESS] if permit2.ADDRESS in spenders else []
            grants += [(token, s, None) for s in spenders if s not in pullers]
            grants += [(token, permit2.ADDRESS, puller) for puller in pullers]
        try:
            async with asyncio.timeout(self._config.quotes.competition_timeout_s):
                await self._wallets.read(chain, await chain.head(), request.sender, [token], grants)
        except (GatewayError, TimeoutError):
            log.warning("the wallet of a quote could not be read on %s", chain.network.slug)

    async def _wallet(self, chain: RpcChain, block: Block, sender: Address, quote: Quote) -> Wallet | None:
        tokens = [leg.token.address for leg in quote.inputs if leg.token.chain_id == chain.network.chain_id]
        try:
            async with asyncio.timeout(self._config.quotes.competition_timeout_s):
                return await self._wallets.read(
                    chain, block, sender, tokens, approvals.grants_of(quote.spends)
                )
        except (GatewayError, TimeoutError):
            return None

    # --- open -> build -> guard ---------------------------------------------------------------------------

    def open(self, capability: Capability, token: str, *, allow_expired: bool = False) -> SealedQuote:
        """The quote in a token. Raises ``NotFound`` (``quote_expired``, ``quote_invalid``)."""
        return self._sealer.open(capability, token, allow_expired=allow_expired)

    async def direct(
        self,
        capability: Capability,
        request: Request,
        *,
        provider: str | None = None,
        pin: SealedQuote | None = None,
    ) -> Action:
        """Quote and action in one, for the routes whose action body stands alone.

        With ``pin`` the pinned quote is exchanged instead; it must be for the same request.
        """
        if pin is None:
            pin = (await self.quote(capability, request, provider=provider)).sealed
        elif pin.capability is not capability or not same_request(pin.request, request):
            raise InvalidRequest("quoteId is a quote for another request.", reason=Reason.CONFLICT)
        return await self.action(pin)

    @on_arrival
    async def action(self, sealed: SealedQuote) -> Action:
        """The transactions of a sealed quote: built by its provider, preceded by exact approvals, guarded,
        simulated. Of a quote in parts, every part so, and all of it in one run. All of it at a head that is
        read after this call.

        The same token at the same block gives the same bytes. Raises ``ProviderUnavailable``,
        ``UpstreamError`` (``price_moved``, ``unsafe_answer``, ``provider_error``, ``provider_timeout``).
        """
        chain = self._chain(sealed.request.chain_id)
        parts = await asyncio.gather(*map(self._part, sealed.parts or (sealed,)))
        block, _ = await asyncio.gather(chain.head(), self._require_code(chain, parts))
        sender, _ = parties(sealed.request)
        needs = needs_of([part.build for part in parts], sender)
        grants = approvals.grants_of(spend for part in parts for spend in part.build.spends)
        wallet = await self._wallets.read(chain, block, sender, needs, grants)
        created_at = max(block.timestamp, sealed.created_at)
        for part in parts:
            deadline = part.build.deadline or created_at + self._config.quotes.action_deadline_s
            sold = [leg.token for leg in part.quote.inputs]
            tokens = {token.address: token for token in sold}
            if not isinstance(part.quote.request, SwapRequest):
                # The provider's own word, which people will read.
                tokens |= await self._facts(chain.network.chain_id, sold)
            part.allow = await approvals.approval_steps(chain, wallet, part.build.spends, tokens, deadline)
        run = await self._run(chain, block, sender, parts, wallet, needs)
        for part, ran in zip(parts, run.segments, strict=True):
            check_run(part.provider, part.quote, part.build, sender, ran.simulation, ran.trace)
        steps = [step for part in parts for step in part.steps]
        inputs, outputs = joined_legs((part.build.inputs, part.build.outputs) for part in parts)
        granted = [step.approval for step in steps if step.approval and step.kind == "approval"]
        builds = [part.build for part in parts]
        signatures = _signatures(parts)
        made = _action_parts(parts)
        chain_id = sealed.request.chain_id
        identity = action_id(chain_id, sender, steps)
        commit = partial(
            commitment_of, action_id=identity, sender=sender, signatures=signatures, created_at=created_at
        )
        return Action(
            action_id=identity,
            capability=sealed.capability,
            provider=sealed.provider,
            chain_id=chain_id,
            sender=sender,
            steps=tuple(
                ActionStep.of(
                    step,
                    index=index,
                    tx_id=self._sealer.seal_transaction(commit(step, index, part=own), issued_at=created_at),
                    target_label=_target_label(part, step),
                    code_hash=self._code_hash(step),
                    gas_limit=run.gas_limits[index],
                )
                for part, own in zip(parts, made, strict=True)
                for index, step in zip(own.indices, part.steps, strict=True)
            ),
            signatures=signatures,
            inputs=inputs,
            outputs=outputs,
            parts=made,
            simulation=run.whole,
            created_at=created_at,
            expires_at=sealed.expires_at,
            block=block,
            deadline=min((build.deadline for build in builds if build.deadline is not None), default=None),
            quote_token=sealed.token or None,
            issues=(
                *(issue for build in builds for issue in build.issues),
                *approvals.shortfalls(needs, granted, wallet),
            ),
            warnings=(
                *dict.fromkeys(warning for build in builds for warning in build.warnings),
                *handover_warnings([part.quote.request for part in parts]),
            ),
            details=builds[-1].details,
        )

    async def _part(self, quote: SealedQuote) -> _Part:
        provider = self._registry.get(quote.capability, quote.provider)
        if provider is None:
            raise ProviderUnavailable(
                "The quote's provider is not enabled.", reason=Reason.CAPABILITY_DISABLED
            )
        return _Part(provider, quote, await self._build(provider, quote))

    async def _build(self, provider: Provider, sealed: SealedQuote) -> Build:
        request = sealed.request
        paid_on = request.to_chain_id if isinstance(request, SwapRequest) else request.chain_id
        network = self._runtime.networks.by_chain_id(paid_on)
        wrapped = network.wrapped_native if network else None

        async def build(candidate: Provider) -> Build:
            answer = await cast(Builder, candidate).build(sealed)
            head = self._chain(request.chain_id).known_head
            check_build(
                candidate,
                sealed,
                answer,
                now=self._now(),
                chain_now=0 if head is None else head.timestamp,
                wrapped_native_out=wrapped,
            )
            return answer

        (outcome,) = await self._registry.calls.ask_all([provider], build, verb="build")
        if outcome.value is not None:
            return outcome.value
        if outcome.error is not None:
            raise outcome.error
        raise UpstreamError(
            "The quote's provider could not build its transactions.", reason=outcome.reason, retryable=True
        )

    async def _require_code(self, chain: RpcChain, parts: Iterable[_Part]) -> None:
        """A transaction to an address without code succeeds and does nothing with the caller's money: refuse
        it."""
        targets = {step.to: part.provider for part in parts for step in part.build.steps}
        missing = [to for to in targets if (chain.network.chain_id, to) not in self._code_hashes]
        codes = await asyncio.gather(*(chain.request("eth_getCode", [to, "latest"]) for to in missing))
        for to, code in zip(missing, codes, strict=True):
            if not isinstance(code, str) or len(code) <= 2:
                raise UnsafeAnswer(targets[to].id, f"a transaction goes to {to}, which has no code")
            self._code_hashes[chain.network.chain_id, to] = keccak256(bytes.fromhex(code[2:]))

    def _code_hash(self, step: Step) -> str | None:
        """keccak-256 of the code at a target that passed the guard, as 0x hex; None when not looked at."""
        found = self._code_hashes.get((step.chain_id, step.to))
        return "0x" + found.hex() if found else None

    async def _run(
        self,
        chain: RpcChain,
        block: Block,
        sender: Address,
        parts: Sequence[_Part],
        wallet: Wallet,
        needs: Mapping[Address, int],
    ) -> Run:
        spends = [spend for part in parts for spend in part.build.spends]
        return await simulate(
            chain,
            block,
            sender,
            [Segment(part.steps, part.build.previews) for part in parts],
            watch=[pair for part in parts for pair in watched(part.quote, sender)],
            allowances=[(spend.token, sender, spend.spender) for spend in spends],
            needs={token: n for token, n in needs.items() if wallet.balances.get(token, 0) < n},
            signatures_assumed=any(part.build.signatures for part in parts),
        )

    async def _facts(self, chain_id: int, tokens: Iterable[Token]) -> dict[Address, Token]:
        """What the catalogs or the chain say of tokens, by address; absent where nobody does, as of a
        position, which is no ERC-20 token."""
        find = self._runtime.tokens.find
        addresses = {token.address for token in tokens}
        found = await asyncio.gather(*(find(chain_id, one) for one in addresses), return_exceptions=True)
        return {fact.address: fact for fact in found if isinstance(fact, Token)}

    # --- transaction ids ----------------------------------------------------------------------------------

    def open_transaction(self, tx_id: str) -> TransactionCommitment:
        """What a ``txId`` commits to. Raises ``NotFound``."""
        return self._sealer.open_transaction(tx_id)

    # --- small things -------------------------------------------------------------------------------------

    def _chain(self, chain_id: int) -> RpcChain:
        chain = self._runtime.chains.get(chain_id)
        if chain is None:
            raise ProviderUnavailable(
                f"No RPC upstream is configured for chain {chain_id}.", reason=Reason.CAPABILITY_DISABLED
            )
        return chain

    def _now(self) -> int:
        return int(self._runtime.clock())


def _consent(
    capability: Capability, provider: str, request: Request, quote: Quote, now: int, until: int
) -> SealedQuote:
    """What of a quote its token is to hold; the account of a refund that it promises as one that was asked
    for."""
    if isinstance(request, SwapRequest) and quote.details.get("refund") is not None:
        request = replace(request, refund_to=request.refund_account)
    return SealedQuote(
        capability,
        provider,
        request,
        quote.inputs,
        quote.outputs,
        quote.slippage_bps,
        quote.plan,
        quote.block,
        now,
        until,
    )


def _signatures(parts: Iterable[_Part]) -> tuple[SignatureRequest, ...]:
    """The builds' own, each moved to where its step is among all."""
    moved, at = [], 0
    for part in parts:
        at += len(part.allow)
        moved += [replace(signature, step=signature.step + at) for signature in part.build.signatures]
        at += len(part.build.steps)
    return tuple(moved)


def _action_parts(parts: Iterable[_Part]) -> tuple[ActionPart, ...]:
    """What each part has of the action, in order."""
    made: list[ActionPart] = []
    first = 0
    for part in parts:
        build, steps = part.build, len(part.steps)
        made.append(
            ActionPart(part.quote.capability, part.provider.id, build.inputs, build.outputs, steps, first)
        )
        first += steps
    return tuple(made)


def _target_label(part: _Part, step: Step) -> str | None:
    """The name of a step's target: the provider's own label, Permit2, or the token's symbol."""
    if step.target_label:
        return step.target_label
    label: object = None
    try:
        label = part.provider.contracts(step.chain_id).get(step.to)
    except Exception:
        log.exception("provider %r raised", part.provider.id)
    if label is None and step.to == permit2.ADDRESS:
        label = "Permit2"
    symbols = {leg.token.address: leg.token.symbol for leg in part.build.inputs}
    return label if isinstance(label, str) and label.isprintable() else symbols.get(step.to)
