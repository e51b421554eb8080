"""Allowances: what the wallet has granted, what a build needs, and the exact approval steps between the two.

Approvals are the core's and never a provider's: exact amounts, only as the live allowance requires, reset to
zero only for a token that wants it (as USDT does).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from cachetools import LRUCache

from quoteway.errors import RpcError
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import Function
from quoteway.evm.chain import Call, NativeBalance, RpcChain
from quoteway.evm.units import readable_units
from quoteway.models import NATIVE, Address, Approval, Block, Issue, Spend, Step, Token

_Item = tuple[Literal["balance", "allowance", "permit2"], Address, Address]

GrantKey = tuple[Address, Address, Address | None]
"""token, spender, and who pulls through Permit2 when ``spender`` is Permit2 (else None)."""


@dataclass(frozen=True, slots=True)
class Permit2Grant:
    """A Permit2 AllowanceTransfer allowance: amount in base units, expiry in Unix seconds, next nonce."""

    amount: int
    expiration: int
    nonce: int


@dataclass(frozen=True, slots=True)
class Wallet:
    """What a wallet holds and has granted at one block. Absent key: not readable."""

    owner: Address
    block: Block
    balances: Mapping[Address, int] = field(default_factory=dict)
    allowances: Mapping[tuple[Address, Address], int] = field(default_factory=dict)
    permit2: Mapping[tuple[Address, Address], Permit2Grant] = field(default_factory=dict)


class WalletReader:
    """Reads wallets, in one round trip for all that is not yet known at a block, so that a warm quote reads
    nothing."""

    def __init__(self, size: int = 4096) -> None:
        self._known: LRUCache[tuple[int, Block, Address], dict[_Item, bytes]] = LRUCache(size)

    async def read(
        self,
        chain: RpcChain,
        block: Block,
        owner: Address,
        tokens: Iterable[Address],
        grants: Iterable[GrantKey],
    ) -> Wallet:
        """Balances of ``tokens`` and the allowances named by ``grants``. Raises ``UpstreamError``."""
        items = list(dict.fromkeys(_items(tokens, grants)))
        # The whole block: a provider that gives one block's hash with another's number, to a node that reads
        # by number, must not answer for that block.
        known = self._known.setdefault((chain.network.chain_id, block, owner), {})
        missing = [item for item in items if item not in known]
        if missing:
            answers = await chain.call_many([_read(owner, item) for item in missing], block=block)
            for item, answer in zip(missing, answers, strict=True):
                known[item] = answer if isinstance(answer, bytes) else b""
        return _wallet(owner, block, {item: known[item] for item in items})


def _items(tokens: Iterable[Address], grants: Iterable[GrantKey]) -> Iterable[_Item]:
    for token in tokens:
        yield "balance", token, ""
    for token, spender, puller in grants:
        yield "allowance", token, spender
        if puller is not None:
            yield "permit2", token, puller


def _read(owner: Address, item: _Item) -> Call | NativeBalance:
    kind, token, spender = item
    if kind == "permit2":
        return Call(permit2.ADDRESS, permit2.ALLOWANCE.encode([owner, token, spender]))
    if kind == "allowance":
        return Call(token, erc20.ALLOWANCE.encode([owner, spender]))
    if token == NATIVE:
        return NativeBalance(owner)
    return Call(token, erc20.BALANCE_OF.encode([owner]))


def _wallet(owner: Address, block: Block, answers: Mapping[_Item, bytes]) -> Wallet:
    balances: dict[Address, int] = {}
    allowances: dict[tuple[Address, Address], int] = {}
    grants: dict[tuple[Address, Address], Permit2Grant] = {}
    for (kind, token, spender), answer in answers.items():
        words = [int.from_bytes(answer[i : i + 32]) for i in range(0, len(answer) - 31, 32)]
        if kind == "permit2" and len(words) >= 3:
            grants[token, spender] = Permit2Grant(words[0], words[1], words[2])
        elif kind == "allowance" and words:
            allowances[token, spender] = words[0]
        elif kind == "balance" and words:
            balances[token] = words[0]
    return Wallet(owner, block, balances, allowances, grants)


def grants_of(spends: Iterable[Spend]) -> list[GrantKey]:
    """The allowances that a list of spends is about."""
    return [(spend.token, spend.spender, spend.permit2_spender) for spend in spends]


def outlook(spends: Sequence[Spend], wallet: Wallet | None) -> tuple[Approval, ...]:
    """The ``approvals`` members of a quote: one per ERC-20 allowance the action will use, with what is
    granted now."""
    answers = []
    for token, spender, required in _required(spends):
        current = wallet.allowances.get((token, spender)) if wallet else None
        needed = None if current is None else current < required
        answers.append(Approval(token, spender, required, current, needed))
    return tuple(answers)


def shortfalls(
    needs: Mapping[Address, int], approvals: Sequence[Approval], wallet: Wallet | None
) -> tuple[Issue, ...]:
    """What the wallet lacks: balances below ``needs``, allowances below what the approvals require."""
    issues: list[Issue] = []
    for token, required in needs.items():
        balance = wallet.balances.get(token) if wallet else None
        if balance is not None and balance < required:
            issues.append(Issue("insufficient_balance", token, balance, required))
    for approval in approvals:
        if approval.needed:
            issues.append(
                Issue("insufficient_allowance", approval.token, approval.current, approval.required)
            )
        if approval.needs_reset:
            issues.append(Issue("allowance_reset_needed", approval.token, approval.current, 0))
    return tuple(issues)


async def approval_steps(
    chain: RpcChain, wallet: Wallet, spends: Sequence[Spend], tokens: Mapping[Address, Token], deadline: int
) -> list[Step]:
    """The approval transactions that ``spends`` still need, in order, for exact amounts.

    Permit2 grants expire at ``deadline`` (Unix seconds) and are left out where the build carries a signed
    permit.
    """
    steps: list[Step] = []
    for token, spender, required in _required(spends):
        current = wallet.allowances.get((token, spender), 0)
        if current >= required:
            continue
        needs_reset = current > 0 and await _refuses_change(chain, wallet, token, spender, required)
        approval = Approval(token, spender, required, current, True, needs_reset)
        if needs_reset:
            steps.append(_approve(chain, tokens[token], spender, 0, approval))
        steps.append(_approve(chain, tokens[token], spender, required, approval))
    for token, puller, required in _pulled(spends):
        grant = wallet.permit2.get((token, puller), Permit2Grant(0, 0, 0))
        if grant.amount < required or grant.expiration < deadline:
            approval = Approval(token, puller, required, grant.amount, True, False)
            steps.append(_permit2_approve(chain, tokens[token], approval, deadline))
    return steps


def _required(spends: Iterable[Spend]) -> list[tuple[Address, Address, int]]:
    totals: dict[tuple[Address, Address], int] = {}
    for spend in spends:
        key = (spend.token, spend.spender)
        totals[key] = totals.get(key, 0) + spend.amount
    return [(token, spender, amount) for (token, spender), amount in totals.items()]


def _pulled(spends: Iterable[Spend]) -> list[tuple[Address, Address, int]]:
    """What is pulled through Permit2 by whom, where no signed permit grants it. ``approve`` sets, it does not
    add."""
    totals: dict[tuple[Address, Address], int] = {}
    for spend in spends:
        if spend.permit2_spender is not None and not spend.permit2_signed:
            key = (spend.token, spend.permit2_spender)
            totals[key] = totals.get(key, 0) + spend.amount
    return [(token, puller, amount) for (token, puller), amount in totals.items()]


async def _refuses_change(
    chain: RpcChain, wallet: Wallet, token: Address, spender: Address, amount: int
) -> bool:
    """Whether the token refuses to change a non-zero allowance (USDT ``approve``): asked of itself."""
    data = erc20.APPROVE.encode([spender, amount])
    try:
        output = await chain.call(token, data, block=wallet.block, sender=wallet.owner)
    except RpcError:
        return True
    return len(output) == 32 and not any(output)  # it answers false


def named(token: Token) -> str:
    """The symbol, unless it could reverse or hide what stands beside it in the sentence; then the address."""
    symbol = token.symbol
    return symbol if symbol and symbol.isprintable() and len(symbol) <= 32 else token.address


def _amount(token: Token, amount: int) -> str:
    return f"{readable_units(amount, token.decimals)} {named(token)}"


def _step(
    chain: RpcChain,
    kind: str,
    to: Address,
    function: Function,
    args: Sequence[object],
    intent: str,
    approval: Approval,
) -> Step:
    return Step(
        kind=kind,
        to=to,
        data=function.encode(args),
        value=0,
        chain_id=chain.network.chain_id,
        decoded=function.describe(args),
        description=intent,
        intent=intent,
        approval=approval,
    )


def _approve(chain: RpcChain, token: Token, spender: Address, amount: int, approval: Approval) -> Step:
    if amount == 0:
        kind, intent = "approval_reset", f"Reset the allowance of {spender} over your {named(token)} to zero"
    else:
        kind, intent = "approval", f"Allow {spender} to take exactly {_amount(token, amount)}"
    return _step(chain, kind, token.address, erc20.APPROVE, [spender, amount], intent, approval)


def _permit2_approve(chain: RpcChain, token: Token, approval: Approval, deadline: int) -> Step:
    until = datetime.fromtimestamp(deadline, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    exactly = _amount(token, approval.required)
    intent = f"Allow {approval.spender} to take exactly {exactly} through Permit2 until {until}"
    args = [token.address, approval.spender, approval.required, deadline]
    return _step(chain, "permit2_approval", permit2.ADDRESS, permit2.APPROVE, args, intent, approval)
