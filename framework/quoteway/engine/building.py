"""Builds actions: provider build, guard, approvals, simulation, check of the outcome.

The same code serves swaps, bridges, pools and vaults.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import cast

from cachetools import LRUCache

from quoteway import models
from quoteway.engine.approvals import Wallet, approval_steps, grants_of, needs_of, shortfalls
from quoteway.engine.joining import handover_warnings, joined_legs
from quoteway.engine.quote_tokens import action_id, commitment_of, same_request
from quoteway.engine.quoting import Quoter, Quoting
from quoteway.errors import InvalidRequest, Reason, disabled
from quoteway.evm import permit2
from quoteway.evm.address import keccak256
from quoteway.evm.chain import RpcChain
from quoteway.evm.head import on_arrival
from quoteway.guard.calldata import check_build
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.outcome import check_run, watched
from quoteway.providers import Provider
from quoteway.simulation.run import Run, Segment, simulate

log = logging.getLogger("quoteway.engine.building")


@dataclass(slots=True)
class Part:
    """One provider's part of an action under construction. ``approvals`` precede its transactions."""

    provider: Provider
    quote: models.SealedQuote
    build: models.Build
    approvals: list[models.Step] = field(default_factory=list)

    @property
    def steps(self) -> tuple[models.Step, ...]:
        return (*self.approvals, *self.build.steps)

    def begun_at(self, first_step: int) -> models.ActionPart:
        """Returns the part as it is in an action, from its step ``first_step`` on."""
        capability, build = self.quote.capability, self.build
        return models.ActionPart(
            capability, self.provider.id, build.inputs, build.outputs, len(self.steps), first_step
        )


class Building:
    """Builds the actions of one gateway."""

    def __init__(self, quoting: Quoting) -> None:
        self._quoting = quoting
        self._code_hashes: LRUCache[tuple[int, models.Address], str] = LRUCache(4096)

    async def direct(
        self,
        capability: models.Capability,
        request: models.Request,
        *,
        provider: str | None = None,
        pin: models.SealedQuote | None = None,
    ) -> models.Action:
        """Returns the action of the best quote for a request.

        With ``pin``, an earlier quote for the same request is used. Raises ``InvalidRequest`` (``conflict``)
        when ``pin`` is a quote for another request.
        """
        if pin is None:
            pin = (await self._quoting.quote(capability, request, provider=provider)).sealed
        elif pin.capability is not capability or not same_request(pin.request, request):
            raise InvalidRequest("quoteId is a quote for another request.", reason=Reason.CONFLICT)
        return await self.action(pin)

    @on_arrival
    async def action(self, sealed: models.SealedQuote) -> models.Action:
        """Returns the transactions of a sealed quote, built at a head read after this call.

        Each provider builds its part. The core checks it and adds exact approvals. All parts are simulated in
        one run, then the outcome of each part is checked. The same token at the same block gives the same
        bytes. Raises ``ProviderUnavailable``, ``UpstreamError`` (``price_moved``, ``unsafe_answer``,
        ``provider_error``, ``provider_timeout``).
        """
        chain = self._quoting.runtime.chain(sealed.request.chain_id)
        parts = await asyncio.gather(*map(self._part, sealed.parts or (sealed,)))
        block, _ = await asyncio.gather(chain.head(), self._require_code(chain, parts))
        sender = sealed.request.sender
        needs = needs_of([part.build for part in parts], sender)
        grants = grants_of(spend for part in parts for spend in part.build.spends)
        wallet = await self._quoting.wallets.read(chain, block, sender, needs, grants)
        created_at = max(block.timestamp, sealed.created_at)
        await self._approve(chain, wallet, parts, created_at)
        steps = [step for part in parts for step in part.approvals if step.kind == "approval"]
        own = [issue for part in parts for issue in part.build.issues]
        told = {(issue.code, issue.token): issue for issue in (*sealed.issues, *own)}
        needed = [step.approval for step in steps if step.approval]
        issues = (*told.values(), *shortfalls(needs, needed, wallet))
        run = await simulate(
            chain,
            block,
            sender,
            [Segment(part.steps, part.build.previews) for part in parts],
            watch=[pair for part in parts for pair in watched(part.quote)],
            allowances=[(token, sender, spender) for token, spender, _ in grants],
            needs={token: n for token, n in needs.items() if wallet.balances.get(token, 0) < n},
            signatures_assumed=any(part.build.signatures for part in parts),
        )
        for part, ran in zip(parts, run.segments, strict=True):
            check_run(part.provider, part.quote, part.build, ran.simulation, ran.trace)
        return self._complete(sealed, parts, run, block, created_at, issues)

    async def _part(self, quote: models.SealedQuote) -> Part:
        """Returns the checked build of a quote's provider."""
        provider = self._quoting.registry.get(quote.capability, quote.provider)
        if provider is None:
            raise disabled("The quote's provider is not enabled.")
        request = quote.request
        paid_on = request.to_chain_id if isinstance(request, models.SwapRequest) else request.chain_id
        network = self._quoting.runtime.networks.by_chain_id(paid_on)
        wrapped = network.wrapped_native if network else None

        async def build(candidate: Provider) -> models.Build:
            answer = await cast(Quoter, candidate).build(quote)
            head = self._quoting.runtime.chain(request.chain_id).known_head
            now, chain_now = self._quoting.runtime.now(), 0 if head is None else head.timestamp
            check_build(candidate, quote, answer, now=now, chain_now=chain_now, wrapped_native_out=wrapped)
            return answer

        (outcome,) = await self._quoting.registry.calls.ask_all([provider], build, verb="build")
        if outcome.value is None:
            raise outcome.failure("The quote's provider could not build its transactions.")
        return Part(provider, quote, outcome.value)

    async def _require_code(self, chain: RpcChain, parts: Iterable[Part]) -> None:
        """Raises ``UnsafeAnswer`` for a target without code: a call to it succeeds and loses the funds."""
        targets = {step.to: part.provider for part in parts for step in part.build.steps}
        missing = [to for to in targets if (chain.network.chain_id, to) not in self._code_hashes]
        codes = await asyncio.gather(*(chain.request("eth_getCode", [to, "latest"]) for to in missing))
        for to, code in zip(missing, codes, strict=True):
            if not isinstance(code, str) or len(code) <= 2:
                raise UnsafeAnswer(targets[to].id, f"a transaction goes to {to}, which has no code")
            self._code_hashes[chain.network.chain_id, to] = "0x" + keccak256(bytes.fromhex(code[2:])).hex()

    async def _approve(self, chain: RpcChain, wallet: Wallet, parts: Iterable[Part], created_at: int) -> None:
        """Sets the approvals that each part still needs."""
        for part in parts:
            deadline = part.build.deadline or created_at + self._quoting.config.action_deadline_s
            tokens = {leg.token.address: leg.token for leg in part.quote.inputs}
            if not isinstance(part.quote.request, models.SwapRequest):
                # The provider supplied these tokens: show the signer amounts with the directory's decimals.
                tokens |= await self._quoting.tokens.find_each(chain.network.chain_id, tokens)
            part.approvals = await approval_steps(chain, wallet, part.build.spends, tokens, deadline)

    def _complete(
        self,
        sealed: models.SealedQuote,
        parts: Sequence[Part],
        run: Run,
        block: models.Block,
        created_at: int,
        issues: tuple[models.Issue, ...],
    ) -> models.Action:
        """Returns the action with its ids, labels, code hashes and gas limits."""
        sender = sealed.request.sender
        steps = [step for part in parts for step in part.steps]
        builds = [part.build for part in parts]
        handovers = handover_warnings([part.quote.request for part in parts])
        built = (warning for build in builds for warning in build.warnings)
        warnings = tuple(dict.fromkeys((*sealed.warnings, *built, *handovers)))
        inputs, outputs = joined_legs((build.inputs, build.outputs) for build in builds)
        firsts = accumulate((len(part.steps) for part in parts), initial=0)
        own = tuple(part.begun_at(first) for part, first in zip(parts, firsts, strict=False))
        # A provider counts the steps from its first one; the action's include the approvals.
        signatures = tuple(
            replace(signature, step=mine.first_step + len(part.approvals) + signature.step)
            for part, mine in zip(parts, own, strict=True)
            for signature in part.build.signatures
        )
        identity = action_id(sealed.request.chain_id, sender, steps)
        return models.Action(
            action_id=identity,
            capability=sealed.capability,
            provider=sealed.provider,
            chain_id=sealed.request.chain_id,
            sender=sender,
            steps=tuple(
                models.ActionStep.of(
                    replace(step, target_label=_target_label(part, step)),
                    index=index,
                    tx_id=self._quoting.sealer.seal_transaction(
                        commitment_of(step, index, mine, identity, sender, signatures, created_at)
                    ),
                    code_hash=self._code_hashes.get((step.chain_id, step.to)),
                    gas_limit=run.gas_limits[index],
                )
                for part, mine in zip(parts, own, strict=True)
                for index, step in zip(mine.indices, part.steps, strict=True)
            ),
            signatures=signatures,
            inputs=inputs,
            outputs=outputs,
            parts=own,
            simulation=run.whole,
            created_at=created_at,
            expires_at=sealed.expires_at,
            block=block,
            deadline=min((build.deadline for build in builds if build.deadline is not None), default=None),
            quote_token=sealed.token or None,
            issues=issues,
            warnings=warnings,
            terms=builds[-1].terms,
        )


def _target_label(part: Part, step: models.Step) -> str | None:
    """Returns the name of a step's target: the provider's label, "Permit2" or the token symbol."""
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
