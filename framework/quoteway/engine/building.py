"""Builds actions: rehearses a sealed quote, and completes what was rehearsed.

The same code serves swaps, bridges, pools and vaults.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from quoteway import models
from quoteway.engine.approvals import (
    GrantKey,
    WalletReader,
    check_readable,
    revocation_steps,
)
from quoteway.engine.custody import Custody
from quoteway.engine.fills import Fills
from quoteway.engine.gas_costs import l1_fee_of
from quoteway.engine.parts import total_legs, warnings_between
from quoteway.engine.permits import NO_PERMITS, PermitChoice
from quoteway.engine.provider_sets import check_usable
from quoteway.engine.quote_tokens import action_id, commitment_of, same_request
from quoteway.engine.quoting import Quoting
from quoteway.engine.rehearsing import Part, Rehearsal
from quoteway.errors import InvalidRequest, Reason
from quoteway.evm.arrivals import on_arrival
from quoteway.evm.l1_fee import L1Price
from quoteway.guard import acknowledgements
from quoteway.guard.outcome import check_revocation
from quoteway.guard.recipients import all_payees
from quoteway.simulation.run import Run, Segment, simulate

log = logging.getLogger("quoteway.engine.building")

OWN_ID = "quoteway"
"""The provider of the actions that the gateway makes itself."""


class Building:
    """Builds the actions of one gateway."""

    def __init__(self, quoting: Quoting, fills: Fills, custody: Custody) -> None:
        self._quoting = quoting
        self._fills = fills
        self.custody = custody

    async def direct(
        self,
        capability: models.Capability,
        request: models.Request,
        *,
        provider: str | None = None,
        pin: models.SealedQuote | None = None,
        acknowledged: Collection[str] = (),
        deadline: int | None = None,
        permits: PermitChoice = NO_PERMITS,
    ) -> models.Action:
        """Returns the action of the best quote for a request.

        With ``pin``, an earlier quote for the same request is used. Raises as ``action`` does, and
        ``InvalidRequest`` (``conflict``) when ``pin`` is a quote for another request or deadline.
        """
        if pin is None:
            answer = await self._quoting.quote(
                capability, request, provider=provider, acknowledged=acknowledged, deadline=deadline
            )
            pin = answer.sealed
        elif pin.capability is not capability or not same_request(pin.request, request):
            raise InvalidRequest("quoteId is a quote for another request.", reason=Reason.CONFLICT)
        elif deadline not in (None, pin.deadline):
            raise InvalidRequest("quoteId is a quote with another deadline.", reason=Reason.CONFLICT)
        return await self.action(pin, acknowledged=acknowledged, permits=permits)

    @on_arrival
    async def action(
        self,
        sealed: models.SealedQuote,
        *,
        acknowledged: Collection[str] = (),
        permits: PermitChoice = NO_PERMITS,
    ) -> models.Action:
        """Returns the transactions of a sealed quote, built at a head read after this call.

        Each provider builds its part. The core checks it and adds exact approvals. All parts are simulated in
        one run, then the outcome of each part is checked. The same token at the same block gives the same
        bytes. ``acknowledged`` codes (``guard.acknowledgements``) count like those in the quote.

        Raises ``InvalidRequest`` (``acknowledgement_required``, or for one of the signed ``permits``),
        ``PolicyRefused``, ``ProviderNotAllowed``, ``ProviderUnavailable``, ``UpstreamError``
        (``price_moved``, ``unsafe_answer``, ``provider_error``, ``provider_timeout``, ``contract_missing``).
        """
        check_usable(part.provider for part in sealed.parts or (sealed,))
        acknowledged = {*sealed.acknowledged, *acknowledged}
        acknowledgements.require(sealed.unacknowledged, acknowledged)
        block = await self._quoting.runtime.chain(sealed.request.chain_id).head()
        request, account_issues = await self._quoting.suit_account(sealed.request, block)
        sealed = replace(sealed, request=request, issues=(*sealed.issues, *account_issues))
        registry, own = self._quoting.registry, sealed.parts or (sealed,)
        makers = [p for part in own if (p := registry.get(part.capability, part.provider)) is not None]
        async with self._quoting.missing.explaining(makers, sealed.request.chain_id):
            parts = await self._quoting.rehearsing.build(sealed)
            opaque = any(part.opaque for part in parts)
            acknowledgements.require(acknowledgements.needed_for_calldata(opaque=opaque), acknowledged)
            rehearsing = self._quoting.rehearsing
            price, rehearsal = await asyncio.gather(
                rehearsing.l1_prices.at(self._quoting.runtime.chain(sealed.request.chain_id), block),
                rehearsing.run(sealed, parts, block, permits),
            )
        action = await self.custody.admit(self._complete(sealed, rehearsal, price))
        self._fills.issued(sealed, action)
        return action

    def _complete(
        self, sealed: models.SealedQuote, rehearsal: Rehearsal, price: L1Price | None
    ) -> models.Action:
        """Returns the action with its ids, labels, code hashes, gas limits and the fee for its data."""
        parts, run, created_at = rehearsal.parts, rehearsal.run, rehearsal.created_at
        sender = sealed.request.sender
        steps = [step for part in parts for step in part.steps]
        builds = [part.build for part in parts]
        handovers = warnings_between([part.quote.request for part in parts])
        built = (warning for build in builds for warning in build.warnings)
        unbound = [_unbound_deadline(part) for part in parts if part.outlives_deadline]
        warnings = tuple(dict.fromkeys((*sealed.warnings, *built, *handovers, *unbound, *rehearsal.warnings)))
        inputs, outputs = total_legs((build.inputs, build.outputs) for build in builds)
        firsts = accumulate((len(part.steps) for part in parts), initial=0)
        own = tuple(part.begun_at(first) for part, first in zip(parts, firsts, strict=False))
        # A provider counts the steps from its first one; the action's include the approvals.
        signatures = tuple(
            replace(signature, step=mine.first_step + len(part.approvals) + signature.step)
            for part, mine in zip(parts, own, strict=True)
            for signature in part.build.signatures
        )
        identity = action_id(sealed.request.chain_id, sender, steps)
        placed = [(mine, step) for part, mine in zip(parts, own, strict=True) for step in part.steps]
        return models.Action(
            action_id=identity,
            capability=sealed.capability,
            provider=sealed.provider,
            chain_id=sealed.request.chain_id,
            sender=sender,
            steps=self._with_ids(placed, run, identity, sender, signatures, created_at),
            signatures=signatures,
            inputs=inputs,
            outputs=outputs,
            parts=own,
            simulation=run.whole,
            created_at=created_at,
            expires_at=sealed.expires_at,
            block=rehearsal.block,
            deadline=min((build.deadline for build in builds if build.deadline is not None), default=None),
            quote_token=sealed.token or None,
            issues=rehearsal.issues,
            warnings=warnings,
            terms=builds[-1].terms,
            l1_fee_wei=l1_fee_of(price, steps),
            permit_offers=rehearsal.offers,
            payees=tuple(
                dict.fromkeys(
                    payee for part in parts for payee in all_payees(part.quote.request, part.build.outputs)
                )
            ),
            price_impact_bps=sealed.price_impact_bps,
        )

    def _with_ids(
        self,
        steps: Iterable[tuple[models.ActionPart | None, models.DescribedStep]],
        run: Run,
        action_id: str,
        sender: models.Address,
        signatures: Sequence[models.SignatureRequest],
        created_at: int,
    ) -> tuple[models.ActionStep, ...]:
        """Returns all steps of an action in order, with what the gateway adds, given each with its part."""
        return tuple(
            models.ActionStep.of(
                step,
                index=index,
                tx_id=self._quoting.sealer.seal_transaction(
                    commitment_of(step, index, part, action_id, sender, signatures, created_at)
                ),
                code_hash=self._quoting.rehearsing.code_hashes.get((step.chain_id, step.to)),
                gas_limit=run.gas_limits[index],
            )
            for index, (part, step) in enumerate(steps)
        )

    # --- revocations --------------------------------------------------------------------------------------

    @on_arrival
    async def revoke(self, chain_id: int, owner: models.Address, grants: Sequence[GrantKey]) -> models.Action:
        """Returns the transactions that set allowances of a wallet to zero, simulated at the newest block.

        Raises ``InvalidRequest`` when a token cannot be read or all are zero already, and ``UpstreamError``
        when the run reverts (``reverted``) or does anything else (``unsafe_answer``), and ``PolicyRefused``.
        """
        chain = self._quoting.runtime.chain(chain_id)
        addresses = {token for token, _, _ in grants}
        block, tokens = await asyncio.gather(
            chain.head(), self._quoting.tokens.find_each(chain_id, addresses)
        )
        wallet = await WalletReader(most_owners=1).read(chain, block, owner, (), grants)
        check_readable(grants, wallet, tokens)
        steps = revocation_steps(chain, wallet, grants, tokens)
        await self._quoting.rehearsing.require_code(
            chain, block, dict.fromkeys((step.to for step in steps), OWN_ID)
        )
        run = await simulate(
            chain,
            block,
            owner,
            [Segment(steps)],
            watch=[(owner, models.NATIVE)],
            allowances=[(token, owner, spender) for token, spender, puller in grants if puller is None],
        )
        (ran,) = run.segments
        check_revocation(owner, ran.simulation, ran.trace)
        identity, now = action_id(chain_id, owner, steps), self._quoting.runtime.now()
        action = models.Action(
            action_id=identity,
            capability=None,
            provider=OWN_ID,
            chain_id=chain_id,
            sender=owner,
            steps=self._with_ids([(None, step) for step in steps], run, identity, owner, (), now),
            signatures=(),
            inputs=(),
            outputs=(),
            parts=(),
            simulation=run.whole,
            created_at=now,
            expires_at=now + self._quoting.config.lifetime_s,
            block=block,
            l1_fee_wei=l1_fee_of(await self._quoting.rehearsing.l1_prices.at(chain, block), steps),
        )
        return await self.custody.admit(action)


def _unbound_deadline(part: Part) -> models.Notice:
    message = f"The transactions of {part.provider.id} may execute after the deadline asked for."
    return models.Notice("deadline_not_enforced", message)
