"""Reads the sender's wallet and computes the approvals of quotes and actions.

The core makes every approval from live allowances and declared spends; providers make none. An approval is
for the exact amount and is made only when the live allowance is too low. It is preceded by a reset to zero
only for tokens that require it (USDT).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from cachetools import LRUCache

from quoteway.engine.sentences import amount_text, until_text
from quoteway.errors import FieldError, InvalidRequest, Reason, RpcError
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import Function
from quoteway.evm.chain import RpcChain
from quoteway.evm.token_text import display_name
from quoteway.guard.findings import totals
from quoteway.models import (
    NATIVE,
    Address,
    Approval,
    Block,
    Build,
    DescribedStep,
    Issue,
    Read,
    Spend,
    Token,
)

GrantKey = tuple[Address, Address, Address | None]
"""Token, spender, and the Permit2 spender when ``spender`` is Permit2 (else None)."""

BLOCKS_KEPT: Final = 4
"""The blocks of each network whose reads are kept: of those before the head, nobody asks again."""
MOST_OWNERS: Final = 1_024

_PERMIT2 = (permit2.ADDRESS, "Permit2")


@dataclass(frozen=True, slots=True)
class Wallet:
    """The balances and allowances of a wallet at one block. A value that could not be read has no key.

    ``permit2`` has Permit2 AllowanceTransfer allowances: amount in base units, expiry in Unix seconds.
    """

    owner: Address
    block: Block
    balances: Mapping[Address, int] = field(default_factory=dict)
    allowances: Mapping[tuple[Address, Address], int] = field(default_factory=dict)
    permit2: Mapping[tuple[Address, Address], tuple[int, int]] = field(default_factory=dict)


class WalletReader:
    """Reads wallets, and keeps what it read at the last blocks of each network, of ``most_owners`` each.

    Values that are not kept are read in one round trip.
    """

    def __init__(self, most_owners: int = MOST_OWNERS) -> None:
        self._most_owners = most_owners
        self._blocks = defaultdict[int, LRUCache[Block, LRUCache[Address, dict[Read, Sequence[int]]]]](
            lambda: LRUCache(BLOCKS_KEPT)
        )

    async def read(
        self,
        chain: RpcChain,
        block: Block,
        owner: Address,
        tokens: Iterable[Address],
        grants: Sequence[GrantKey],
    ) -> Wallet:
        """Returns the balances of ``tokens`` and the allowances of ``grants``. Raises ``UpstreamError``."""
        balances = {token: erc20.balance_read(owner, token) for token in tokens}
        allowances = {(token, to): erc20.allowance_read(token, owner, to) for token, to, _ in grants}
        pulled: dict[tuple[Address, Address], Read] = {
            (token, puller): permit2.allowance_read(owner, token, puller)
            for token, _, puller in grants
            if puller is not None
        }
        # Keyed by the whole block, not its hash: a provider may combine the hash of one block with the
        # number of another, and some nodes read by number.
        owners = self._blocks[chain.network.chain_id].setdefault(block, LRUCache(self._most_owners))
        known = owners.setdefault(owner, {})
        reads = dict.fromkeys((*balances.values(), *allowances.values(), *pulled.values()))
        missing = [read for read in reads if read not in known]
        if missing:
            answers = await chain.call_many(missing, block=block)
            known.update(zip(missing, map(_words, answers), strict=True))
        return Wallet(
            owner,
            block,
            {token: known[read][0] for token, read in balances.items() if known[read]},
            {pair: known[read][0] for pair, read in allowances.items() if known[read]},
            {pair: (known[read][0], known[read][1]) for pair, read in pulled.items() if len(known[read]) > 2},
        )


def _words(answer: object) -> Sequence[int]:
    """The words of a read's output; none when it failed."""
    data = answer if isinstance(answer, bytes) else b""
    return [int.from_bytes(data[at : at + 32]) for at in range(0, len(data) - 31, 32)]


def grants_to(token: Address, spenders: Collection[Address]) -> list[GrantKey]:
    """Returns the allowances of a token that a provider with these spenders can need.

    Where it declares Permit2, its other spenders pull through Permit2.
    """
    if permit2.ADDRESS not in spenders:
        return [(token, spender, None) for spender in spenders]
    pullers = [spender for spender in spenders if spender != permit2.ADDRESS]
    return [(token, permit2.ADDRESS, None), *((token, permit2.ADDRESS, puller) for puller in pullers)]


# --- needs ------------------------------------------------------------------------------------------------


def grants_of(spends: Iterable[Spend]) -> list[GrantKey]:
    """Returns the allowances that ``spends`` use."""
    return [(spend.token, spend.spender, spend.permit2_spender) for spend in spends]


def balances_needed(build: Build) -> dict[Address, int]:
    """The balances a build takes from the sender: its ERC-20 inputs and its transactions' native value."""
    needs = totals((leg.token.address, leg.amount) for leg in build.inputs if not leg.token.is_native)
    value = sum(step.value for step in build.steps)
    if value:
        needs[NATIVE] = value
    return needs


def needs_of(builds: Iterable[Build], sender: Address) -> dict[Address, int]:
    """Returns the balances that the sender must have before the first build, by token.

    The minimum outputs of earlier builds to the sender count towards the inputs of later builds.
    """
    needs: Counter[Address] = Counter()
    given: Counter[Address] = Counter()
    for build in builds:
        for token, amount in balances_needed(build).items():
            covered = min(amount, given[token])
            given[token] -= covered
            if amount > covered:
                needs[token] += amount - covered
        for leg in build.outputs:
            if leg.account == sender and leg.token.chain_id == build.steps[0].chain_id:
                given[leg.token.address] += leg.amount_min or 0
    return needs


def most_of(needs: Mapping[Address, int], builds: Iterable[Build]) -> dict[Address, int]:
    """Returns needs with what the builds may take beyond the quoted amounts of their ERC-20 inputs."""
    legs = [leg for build in builds for leg in build.inputs]
    more = totals((leg.token.address, leg.most - leg.amount) for leg in legs if not leg.token.is_native)
    return {token: amount + more[token] for token, amount in needs.items()}


# --- approvals --------------------------------------------------------------------------------------------


def outlook(spends: Sequence[Spend], wallet: Wallet | None) -> tuple[Approval, ...]:
    """Returns the ``approvals`` members of a quote: each ERC-20 allowance the action uses, with its live
    value."""
    answers = []
    for (token, spender), required in _required(spends).items():
        current = wallet.allowances.get((token, spender)) if wallet else None
        needed = None if current is None else current < required
        answers.append(Approval(token, spender, required, current, needed))
    return tuple(answers)


def shortfalls(
    needs: Mapping[Address, int], approvals: Sequence[Approval], wallet: Wallet | None
) -> tuple[Issue, ...]:
    """Returns issues for balances below ``needs`` and allowances below what the approvals require."""
    issues: list[Issue] = []
    for token, required in needs.items():
        balance = wallet.balances.get(token) if wallet else None
        if balance is not None and balance < required:
            issues.append(Issue("insufficient_balance", token, balance, required))
    for grant in approvals:
        if grant.needed:
            issues.append(Issue("insufficient_allowance", grant.token, grant.current, grant.required))
        if grant.needs_reset:
            issues.append(Issue("allowance_reset_needed", grant.token, grant.current, 0))
    return tuple(issues)


async def approval_steps(
    chain: RpcChain, wallet: Wallet, spends: Sequence[Spend], tokens: Mapping[Address, Token], deadline: int
) -> list[DescribedStep]:
    """Returns the approval transactions that ``spends`` still need, in order, for exact amounts.

    Permit2 allowances expire at ``deadline`` (Unix seconds). None is made for a build that carries a signed
    permit.
    """
    steps: list[DescribedStep] = []
    for (token, spender), required in _required(spends).items():
        current = wallet.allowances.get((token, spender), 0)
        if current >= required:
            continue
        needs_reset = current > 0 and await _refuses_change(chain, wallet, token, spender, required)
        approval = Approval(token, spender, required, current, True, needs_reset)
        if needs_reset:
            steps.append(_approve(chain, tokens[token], spender, 0, approval))
        steps.append(_approve(chain, tokens[token], spender, required, approval))
    # A signed permit needs no transaction. Added up, because Permit2 ``approve`` replaces the allowance.
    pulled = totals(
        ((spend.token, spend.permit2_spender), spend.amount)
        for spend in spends
        if spend.permit2_spender is not None and not spend.permit2_signed
    )
    for (token, puller), required in pulled.items():
        current, expiration = wallet.permit2.get((token, puller), (0, 0))
        if current < required or expiration < deadline:
            approval = Approval(token, puller, required, current, True, False)
            steps.append(_permit2_approve(chain, tokens[token], approval, deadline))
    return steps


def after(wallet: Wallet, spends: Sequence[Spend]) -> Wallet:
    """Returns the wallet after a build with these spends and the approvals that it needed.

    An allowance without a limit may stay as it is: it is enough either way.
    """
    allowances, pulled = dict(wallet.allowances), dict(wallet.permit2)
    for grant, required in _required(spends).items():
        allowances[grant] = max(allowances.get(grant, 0) - required, 0)
    for spend in spends:
        if spend.permit2_spender is not None:
            grant = spend.token, spend.permit2_spender
            amount, expiration = pulled.get(grant, (0, 0))
            # A signed permit replaces the allowance by what the build uses.
            left = 0 if spend.permit2_signed else max(amount - spend.amount, 0)
            pulled[grant] = left, expiration
    return replace(wallet, allowances=allowances, permit2=pulled)


def check_readable(grants: Sequence[GrantKey], wallet: Wallet, tokens: Mapping[Address, Token]) -> None:
    """Raises ``InvalidRequest`` for a token without facts or allowances, or when every allowance is zero."""
    for token, spender, _ in grants:
        if token not in tokens or (token, spender) not in wallet.allowances:
            message = f"names {token}, which is no ERC-20 token on this network"
            raise _refused(Reason.UNSUPPORTED_TOKEN, message)
    plain = (wallet.allowances[token, spender] for token, spender, puller in grants if puller is None)
    pulled = (amount for amount, _ in wallet.permit2.values())
    if not any((*plain, *pulled)):
        raise _refused(Reason.CONFLICT, "are all zero already: there is nothing to revoke")


def _refused(reason: Reason, message: str) -> InvalidRequest:
    field = FieldError("approvals", reason, message)
    return InvalidRequest(field.sentence, reason=reason, fields=(field,))


def revocation_steps(
    chain: RpcChain, wallet: Wallet, grants: Iterable[GrantKey], tokens: Mapping[Address, Token]
) -> list[DescribedStep]:
    """Returns the transactions that set these allowances to zero: one for all that go through Permit2.

    What is zero already needs none.
    """
    steps: list[DescribedStep] = []
    pulled: list[tuple[Address, Address]] = []
    for token, spender, puller in dict.fromkeys(grants):
        if puller is not None:
            if wallet.permit2.get((token, puller), (0, 0))[0]:
                pulled.append((token, puller))
        elif current := wallet.allowances.get((token, spender), 0):
            approval = Approval(token, spender, 0, current, True, False)
            steps.append(_approve(chain, tokens[token], spender, 0, approval))
    if pulled:
        ended = (f"{_reset(tokens[token], puller)} through Permit2 to zero" for token, puller in pulled)
        intent = ". ".join(ended)
        steps.append(_step(chain, "permit2_revocation", _PERMIT2, permit2.LOCKDOWN, [pulled], intent, None))
    return steps


def _required(spends: Iterable[Spend]) -> Mapping[tuple[Address, Address], int]:
    """Returns the total per token and spender."""
    return totals(((spend.token, spend.spender), spend.amount) for spend in spends)


async def _refuses_change(
    chain: RpcChain, wallet: Wallet, token: Address, spender: Address, amount: int
) -> bool:
    """Returns whether the token rejects a change of a non-zero allowance (USDT ``approve``)."""
    data = erc20.APPROVE.encode([spender, amount])
    try:
        output = await chain.call(token, data, block=wallet.block, sender=wallet.owner)
    except RpcError:
        return True
    return len(output) == 32 and not any(output)  # `approve` returned false


def _step(
    chain: RpcChain,
    kind: str,
    target: tuple[Address, str],
    function: Function,
    args: Sequence[object],
    intent: str,
    approval: Approval | None,
) -> DescribedStep:
    """Returns the step that calls ``target``, an address and its name."""
    return DescribedStep(
        target[0],
        function.encode(args),
        0,
        chain.network.chain_id,
        kind=kind,
        decoded=function.describe(args),
        description=intent,
        intent=intent,
        target_label=target[1],
        approval=approval,
    )


def _approve(
    chain: RpcChain, token: Token, spender: Address, amount: int, approval: Approval
) -> DescribedStep:
    if amount == 0:
        kind, intent = "approval_reset", f"{_reset(token, spender)} to zero"
    else:
        kind, intent = "approval", f"Allow {spender} to take exactly {amount_text(token, amount)}"
    target = token.address, display_name(token)
    return _step(chain, kind, target, erc20.APPROVE, [spender, amount], intent, approval)


def _reset(token: Token, spender: Address) -> str:
    return f"Reset the allowance of {spender} over your {display_name(token)}"


def _permit2_approve(chain: RpcChain, token: Token, approval: Approval, deadline: int) -> DescribedStep:
    exactly = amount_text(token, approval.required)
    intent = (
        f"Allow {approval.spender} to take exactly {exactly} through Permit2 until {until_text(deadline)}"
    )
    args = [token.address, approval.spender, approval.required, deadline]
    return _step(chain, "permit2_approval", _PERMIT2, permit2.APPROVE, args, intent, approval)
