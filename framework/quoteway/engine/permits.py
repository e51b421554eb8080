"""Puts signed EIP-2612 permits in the place of approvals, and offers the permits that can be signed.

A permit sets the same allowance as the approval whose place it takes (``engine.approvals``), and anybody may
send it. What a provider spends is declared, so every provider has permits without knowing of them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from quoteway.engine.approvals import GrantKey
from quoteway.errors import Reason
from quoteway.evm.chain import RpcChain
from quoteway.evm.erc2612 import PERMIT, PermitToken, read_permit_tokens
from quoteway.evm.signatures import recover
from quoteway.guard.permits import APPROVE_INSTEAD, SIGN_ANEW, check_signed, check_signer, refused
from quoteway.guard.recipients import has_key
from quoteway.models import (
    Address,
    Approval,
    Block,
    DescribedStep,
    Issue,
    Notice,
    Permit,
    PermitOffer,
    SealedQuote,
    SignedPermit,
)

_SENT_BY_OTHERS = Notice(
    "permit_can_be_sent_by_others",
    "Anybody who sees a signed permit may send it first. Its transaction then fails, but the allowance is "
    "there: request the action again, and it has neither a permit nor an approval.",
)


@dataclass(frozen=True, slots=True)
class PermitChoice:
    """What the caller of an action asks for: permits to be ``offered``, and those ``signed`` to be used."""

    offered: bool = False
    signed: tuple[SignedPermit, ...] = ()


NO_PERMITS = PermitChoice()


@dataclass(frozen=True, slots=True)
class Permits:
    """The approvals of each part, permits in the place of some, and what the signer is offered and told."""

    approvals: Sequence[Sequence[DescribedStep]]
    offers: tuple[PermitOffer, ...] = ()
    issues: tuple[Issue, ...] = ()
    warnings: tuple[Notice, ...] = ()


async def with_permits(
    chain: RpcChain,
    block: Block,
    sealed: SealedQuote,
    approvals: Sequence[Sequence[DescribedStep]],
    grants: Iterable[GrantKey],
    choice: PermitChoice,
) -> Permits:
    """Returns the approvals of each part with the signed permits in their places, and offers for the others.

    ``grants`` are the allowances that the action uses. Raises ``InvalidRequest`` for a permit that is not for
    one of them, not for exactly the approval, or not signed by the sender; ``UpstreamError`` when no node
    answers.
    """
    owner, pairs = sealed.request.sender, {(token, spender) for token, spender, _ in grants}
    for at, signed in enumerate(choice.signed):
        token, spender = signed.permit.token, signed.permit.spender
        if (token, spender) not in pairs:
            text = f"spender {spender} takes nothing of token {token} in this action: {SIGN_ANEW}"
            raise refused(at, Reason.CONFLICT, text)
    named = {signed.permit.token for signed in choice.signed}
    needed = [step.to for own in approvals for step in own if step.kind == "approval"]
    wanted = dict.fromkeys(token for token in needed if choice.offered or token in named)
    if not wanted:
        return Permits(approvals, warnings=_left_out(choice.signed))
    tokens, code = await asyncio.gather(
        read_permit_tokens(chain, owner, wanted, block), chain.code(owner, block=block)
    )
    offered = choice.offered and has_key("0x" + code.hex())
    placing = _Placing(owner, block.timestamp, _latest(sealed, block), tokens, offered, choice.signed)
    placed = [placing.place_all(own) for own in approvals]
    signers = await asyncio.gather(
        *(recover(chain, each, block=block) for each in placing.to_recover.values())
    )
    for at, signer in zip(placing.to_recover, signers, strict=True):
        check_signer(at, owner, signer)
    unused = [signed for at, signed in enumerate(choice.signed) if at not in placing.to_recover]
    told = (*placing.warnings, *_left_out(unused), *([_SENT_BY_OTHERS] if placing.to_recover else []))
    issues = (Issue("smart_account"),) if choice.offered and not offered else ()
    return Permits(placed, tuple(placing.offers), issues, told)


@dataclass(slots=True)
class _Placing:
    """Goes through the approvals of an action in their order, which is that of the nonces of their permits.

    ``to_recover`` are what ``recover`` takes, by the index of each permit that is used.
    """

    owner: Address
    chain_now: int
    latest: int
    tokens: Mapping[Address, PermitToken | str]
    offered: bool
    signed: Sequence[SignedPermit]
    to_recover: dict[int, bytes] = field(default_factory=dict)
    offers: list[PermitOffer] = field(default_factory=list)
    warnings: list[Notice] = field(default_factory=list)
    made: Counter[Address] = field(default_factory=Counter)

    def place_all(self, approvals: Iterable[DescribedStep]) -> list[DescribedStep]:
        """Returns approvals with permits in the place of some. Raises ``InvalidRequest``."""
        steps: list[DescribedStep] = []
        for step in approvals:
            token = self.tokens.get(step.to) if step.kind == "approval" else None
            permitted = token and step.approval and self._place(step, step.approval, token)
            steps.append(permitted or step)
        return steps

    def _place(
        self, step: DescribedStep, approval: Approval, token: PermitToken | str
    ) -> DescribedStep | None:
        """Returns the step of the permit that is signed for an approval; None: the approval stays."""
        at = self._signed_for(approval)
        if isinstance(token, str):
            if at is not None:
                text = f"token {step.to} takes no permit, since {token}: {APPROVE_INSTEAD}"
                raise refused(at, Reason.UNSUPPORTED_TOKEN, text)
            if self.offered:
                message = f"{step.target_label} is approved by a transaction, since {token}."
                self.warnings.append(Notice("permit_unsupported", message))
            return None
        nonce = token.nonce + self.made[step.to]
        expected = Permit(step.to, approval.spender, approval.required, nonce, self.latest)
        if at is None and not self.offered:
            return None
        self.made[step.to] += 1
        if at is None:
            self.offers.append(PermitOffer(expected, token.typed_data(self.owner, expected)))
            return None
        signature = check_signed(at, self.signed[at], expected, self.chain_now)
        permit = self.signed[at].permit
        self.to_recover[at] = signature.of(token.digest(self.owner, permit))
        words = (signature.v, signature.r, signature.s)
        args = [self.owner, permit.spender, permit.value, permit.deadline, *words]
        intent = f"{step.intent}, by the permit that you signed"
        return replace(
            step,
            data=PERMIT.encode(args),
            kind="permit",
            decoded=PERMIT.describe(args),
            description=intent,
            intent=intent,
        )

    def _signed_for(self, approval: Approval) -> int | None:
        """Returns the index of the first permit for an approval that is not used yet."""
        for at, signed in enumerate(self.signed):
            same = (signed.permit.token, signed.permit.spender) == (approval.token, approval.spender)
            if same and at not in self.to_recover:
                return at
        return None


def _latest(sealed: SealedQuote, block: Block) -> int:
    """Returns when the quote expires by the chain's clock, Unix seconds: a test chain may be ahead.

    The provider names the quote's block, so that its time counts up to that of ``block`` only.
    """
    ahead = min(sealed.block.timestamp, block.timestamp) - sealed.created_at
    return sealed.expires_at + max(ahead, 0)


def _left_out(unused: Iterable[SignedPermit]) -> tuple[Notice, ...]:
    """Returns a warning for each permit that no approval needs."""
    return tuple(
        Notice(
            "permit_not_needed",
            f"The allowance of {signed.permit.spender} over {signed.permit.token} is enough: the permit for "
            "it is left out.",
        )
        for signed in unused
    )
