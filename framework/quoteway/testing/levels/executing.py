"""Level 3: random executions on the devnet, to the base unit."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from quoteway import Capability, SwapRequest, VaultRequest
from quoteway.evm.erc20 import BALANCE_OF
from quoteway.guard.acknowledgements import CODES
from quoteway.testing.conformance.provider import HOLDER, STRANGER
from quoteway.testing.execution import execute
from quoteway.testing.levels.check import Check, NotApplicable, require
from quoteway.testing.levels.requests import quoted
from quoteway.testing.levels.subject import Subject

_SLIPPAGES_BPS = (1, 50, 300)
_VAULT_ACTIONS = ("deposit", "mint", "withdraw", "redeem")
_TRIES = 4
"""How many requests may come to nothing for each execution."""


async def random_executions_pay_their_quotes(subject: Subject) -> None:
    """Executes random requests: swaps in either direction, also for others and of exact outputs; deposits,
    mints, withdrawals and redemptions of random amounts.

    Each quote must be built, read by the guard, simulated and executed. What leaves the sender and what
    arrives at the recipient is the quote's, to the base unit; the simulation's asset changes are the same.
    """
    cases = [case for case in subject.cases if not getattr(case, "is_cross_chain", False)]
    if not cases:
        raise NotApplicable("it quotes nothing within a chain")
    done = tried = 0
    while done < subject.executions and tried < _TRIES * subject.executions:
        tried += 1
        case = subject.random.choice(cases)
        swaps = isinstance(case, SwapRequest)
        request = await (_swap(subject, case) if swaps else _vault_order(subject, case))
        if request is None:
            continue
        await _execute(subject, request)
        done += 1
    require(done == subject.executions, f"{done} of {tried} random requests are quoted")


async def _swap(subject: Subject, case: SwapRequest) -> SwapRequest | None:
    """Returns a random request that the provider quotes and the sender can pay; None without one."""
    pick = subject.random
    ends = (case.token_in, case.token_out)
    sold, bought = ends if pick.random() < 0.5 else ends[::-1]
    request: SwapRequest = replace(
        case,
        token_in=sold,
        token_out=bought,
        amount_in=int(10**sold.decimals * 10 ** pick.uniform(-3, 1)) or 1,
        recipient=_recipient(subject),
        slippage_bps=pick.choice(_SLIPPAGES_BPS),
    )
    quote = await quoted(subject.provider, request)
    if quote is None or quote.outputs[0].amount < 10:
        return None
    if subject.provider.exact_out and pick.random() < 0.25:
        bought_exactly = replace(request, amount_in=0, amount_out=quote.outputs[0].amount)
        if await quoted(subject.provider, bought_exactly) is not None:
            return bought_exactly
    return request


async def _vault_order(subject: Subject, case: VaultRequest) -> VaultRequest | None:
    """Returns a random request for the vault of a case, which the provider quotes; None without one.

    An exit is for a random part of the shares that the sender has, or all of them.
    """
    pick, provider = subject.random, subject.provider
    chain = subject.gateway.runtime.chains[case.chain_id]
    vault = await provider.vault(case.vault_id)
    require(vault is not None, f"vault() does not find {case.vault_id}, of which it quotes deposits")
    action = pick.choice([action for action in _VAULT_ACTIONS if action in vault.actions])
    random_order = replace(
        case, action=action, recipient=_recipient(subject), slippage_bps=pick.choice(_SLIPPAGES_BPS)
    )
    if action in ("deposit", "mint"):
        unit = vault.share if action == "mint" else vault.asset
        amount = int(10**unit.decimals * 10 ** pick.uniform(-3, 3)) or 1
        request = replace(random_order, asset=unit.address, amount=amount)
    else:
        head = await chain.head(fresh=True)
        held = int.from_bytes(await chain.call(vault.share.address, BALANCE_OF.encode([HOLDER]), block=head))
        if held == 0:
            return None
        part = int(held * pick.random())
        request = replace(random_order, asset=vault.share.address, amount=part or 1)
        if pick.random() < 0.1:
            request = replace(request, amount=None)
        elif action == "withdraw":
            redeemed = await quoted(provider, replace(request, action="redeem"))
            if redeemed is None:
                return None
            request = replace(request, asset=vault.asset.address, amount=redeemed.outputs[0].amount)
    return request if await quoted(provider, request) is not None else None


def _recipient(subject: Subject) -> str:
    return STRANGER if subject.random.random() < 0.25 else HOLDER


async def _execute(subject: Subject, request: SwapRequest | VaultRequest) -> None:
    what = _described(request)
    gateway = subject.gateway
    await asyncio.to_thread(_fund, subject, request)
    answer = await gateway.quoting.quote(subject.capability, request, provider=subject.provider.id)
    sealed = gateway.quote_tokens.open(subject.capability, answer.sealed.token)
    action = await gateway.building.action(sealed, acknowledged=CODES)
    (given,), (got,) = answer.quote.inputs, answer.quote.outputs
    require(action.simulation.status == "success", f"{what}: the simulation is {action.simulation.status}")
    simulated = {(c.account, c.token): c.delta for c in action.simulation.asset_changes}
    executed = await execute(subject.devnet, action)
    require(not executed.reverted, f"{what}: reverted")
    for account, token, change, name in (
        (given.account, given.token.address, -given.amount, "takes"),
        (got.account, got.token.address, got.amount, "pays"),
    ):
        actual = executed.deltas[account, token]
        require(actual == change, f"{what}: it {name} {abs(actual)}, quoted {abs(change)}")
        seen = simulated.get((account, token), change)
        require(seen == change, f"{what}: the simulation {name} {abs(seen)}, quoted {abs(change)}")
    require(
        all(step.decoded is not None and step.intent for step in action.steps),
        f"{what}: the guard cannot say what a transaction does",
    )


def _described(request: SwapRequest | VaultRequest) -> str:
    if isinstance(request, SwapRequest):
        return f"{request.amount} {request.token_in.symbol} to {request.token_out.symbol}"
    amount = "everything" if request.amount is None else request.amount
    return f"{request.action} of {amount} at {request.vault_id}"


def _fund(subject: Subject, request: SwapRequest | VaultRequest) -> None:
    """Gives the sender the native coin for gas and value, which executions use up."""
    with subject.devnet.rpc(subject.slug(request.chain_id)) as rpc:
        rpc("anvil_setBalance", HOLDER, hex(10**24))


EXECUTING: tuple[Check, ...] = (
    Check(
        "random_executions_pay_their_quotes",
        3,
        "Quote what the contract pays at the block, to the unit, for every amount that is quoted at all.",
        random_executions_pay_their_quotes,
        frozenset({Capability.SWAP, Capability.VAULT}),
    ),
)
