"""Computes the approvals of quotes and actions from live allowances and declared spends.

The core makes every approval; providers make none. An approval is for the exact amount and is made only when
the live allowance is too low. It is preceded by a reset to zero only for tokens that require it (USDT).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from quoteway.engine.wallet import Permit2Grant, Wallet
from quoteway.errors import RpcError
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import Function
from quoteway.evm.chain import Chain
from quoteway.evm.units import readable_units
from quoteway.models import Address, Approval, Issue, Spend, Step, Token


def outlook(spends: Sequence[Spend], wallet: Wallet | None) -> tuple[Approval, ...]:
    """Returns the ``approvals`` members of a quote: each ERC-20 allowance the action uses, with its live
    value."""
    answers = []
    for token, spender, required in _required(spends):
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
    for approval in approvals:
        if approval.needed:
            issues.append(
                Issue("insufficient_allowance", approval.token, approval.current, approval.required)
            )
        if approval.needs_reset:
            issues.append(Issue("allowance_reset_needed", approval.token, approval.current, 0))
    return tuple(issues)


async def approval_steps(
    chain: Chain, wallet: Wallet, spends: Sequence[Spend], tokens: Mapping[Address, Token], deadline: int
) -> list[Step]:
    """Returns the approval transactions that ``spends`` still need, in order, for exact amounts.

    Permit2 allowances expire at ``deadline`` (Unix seconds). None is made for a build that carries a signed
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
    """Returns the total per token and Permit2 spender, without signed permits.

    Amounts are summed because Permit2 ``approve`` replaces the allowance.
    """
    totals: dict[tuple[Address, Address], int] = {}
    for spend in spends:
        if spend.permit2_spender is not None and not spend.permit2_signed:
            key = (spend.token, spend.permit2_spender)
            totals[key] = totals.get(key, 0) + spend.amount
    return [(token, puller, amount) for (token, puller), amount in totals.items()]


async def _refuses_change(
    chain: Chain, wallet: Wallet, token: Address, spender: Address, amount: int
) -> bool:
    """Returns whether the token rejects a change of a non-zero allowance (USDT ``approve``)."""
    data = erc20.APPROVE.encode([spender, amount])
    try:
        output = await chain.call(token, data, block=wallet.block, sender=wallet.owner)
    except RpcError:
        return True
    return len(output) == 32 and not any(output)  # `approve` returned false


def named(token: Token) -> str:
    """Returns the symbol, or the address for a symbol that is missing, unprintable or too long.

    Control characters in a symbol could hide or reorder the text around it.
    """
    symbol = token.symbol
    return symbol if symbol and symbol.isprintable() and len(symbol) <= 32 else token.address


def _amount(token: Token, amount: int) -> str:
    return f"{readable_units(amount, token.decimals)} {named(token)}"


def _step(
    chain: Chain,
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


def _approve(chain: Chain, token: Token, spender: Address, amount: int, approval: Approval) -> Step:
    if amount == 0:
        kind, intent = "approval_reset", f"Reset the allowance of {spender} over your {named(token)} to zero"
    else:
        kind, intent = "approval", f"Allow {spender} to take exactly {_amount(token, amount)}"
    return _step(chain, kind, token.address, erc20.APPROVE, [spender, amount], intent, approval)


def _permit2_approve(chain: Chain, token: Token, approval: Approval, deadline: int) -> Step:
    until = datetime.fromtimestamp(deadline, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    exactly = _amount(token, approval.required)
    intent = f"Allow {approval.spender} to take exactly {exactly} through Permit2 until {until}"
    args = [token.address, approval.spender, approval.required, deadline]
    return _step(chain, "permit2_approval", permit2.ADDRESS, permit2.APPROVE, args, intent, approval)
