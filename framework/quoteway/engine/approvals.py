"""Reads the sender's wallet and computes the approvals of quotes and actions.

The core makes every approval from live allowances and declared spends; providers make none. An approval is
for the exact amount and is made only when the live allowance is too low. It is preceded by a reset to zero
only for tokens that require it (USDT).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cachetools import LRUCache

from quoteway.errors import RpcError
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import Function
from quoteway.evm.chain import RpcChain
from quoteway.evm.units import readable_units
from quoteway.guard.findings import totals
from quoteway.models import NATIVE, Address, Approval, Block, Build, Call, Issue, Read, Spend, Step, Token

GrantKey = tuple[Address, Address, Address | None]
"""Token, spender, and the Permit2 spender when ``spender`` is Permit2 (else None)."""


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
    """Reads wallets with a cache per block. Values not in the cache are read in one round trip."""

    def __init__(self, size: int = 4096) -> None:
        self._known: LRUCache[tuple[int, Block, Address], dict[Read, Sequence[int]]] = LRUCache(size)

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
            (token, puller): Call(permit2.ADDRESS, permit2.ALLOWANCE.encode([owner, token, puller]))
            for token, _, puller in grants
            if puller is not None
        }
        # Keyed by the whole block, not its hash: a provider may combine the hash of one block with the
        # number of another, and some nodes read by number.
        known = self._known.setdefault((chain.network.chain_id, block, owner), {})
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
) -> list[Step]:
    """Returns the approval transactions that ``spends`` still need, in order, for exact amounts.

    Permit2 allowances expire at ``deadline`` (Unix seconds). None is made for a build that carries a signed
    permit.
    """
    steps: list[Step] = []
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


def named(token: Token) -> str:
    """Returns the symbol, or the address for a symbol that is missing, unprintable or too long.

    Control characters in a symbol could hide or reorder the text around it.
    """
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
    value, data, decoded = 0, function.encode(args), function.describe(args)
    return Step(kind, to, data, value, chain.network.chain_id, decoded, intent, intent, approval=approval)


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
