"""Level 3: random executions on the devnet, to the base unit."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from quoteway import Capability, GatewayError, SwapRequest
from quoteway.guard.acknowledgements import CODES
from quoteway.testing.conformance.provider import STRANGER
from quoteway.testing.execution import execute
from quoteway.testing.levels.check import Check, NotApplicable, require
from quoteway.testing.levels.subject import HOLDER, Subject

_TRIES = 4
"""How many requests may come to nothing for each execution."""


async def random_executions_pay_their_quotes(subject: Subject) -> None:
    """Swaps random amounts of random cases, in either direction, also for others and of exact outputs.

    Each quote must be built, read by the guard, simulated and executed. What leaves the sender and what
    arrives at the recipient is the quote's, to the base unit; the simulation's asset changes are the same.
    """
    if not subject.cases:
        raise NotApplicable("no requests are generated for it")
    done = tried = 0
    while done < subject.executions and tried < _TRIES * subject.executions:
        tried += 1
        request = await _request(subject)
        if request is None:
            continue
        await _execute(subject, request)
        done += 1
    require(done == subject.executions, f"{done} of {tried} random requests are quoted")


async def _request(subject: Subject) -> SwapRequest | None:
    """Returns a random request that the provider quotes and the sender can pay; None without one."""
    pick = subject.random
    case = pick.choice(subject.cases)
    ends = (case.token_in, case.token_out)
    sold, bought = ends if pick.random() < 0.5 else ends[::-1]
    request: SwapRequest = replace(
        case,
        token_in=sold,
        token_out=bought,
        amount_in=int(10**sold.decimals * 10 ** pick.uniform(-3, 1)) or 1,
        recipient=STRANGER if pick.random() < 0.25 else HOLDER,
        slippage_bps=pick.choice((1, 50, 300)),
    )
    quote = await _quoted(subject, request)
    if quote is None or quote.outputs[0].amount < 10:
        return None
    if subject.provider.exact_out and pick.random() < 0.25:
        bought_exactly = replace(request, amount_in=0, amount_out=quote.outputs[0].amount)
        if await _quoted(subject, bought_exactly) is not None:
            return bought_exactly
    return request


async def _quoted(subject: Subject, request: SwapRequest) -> Any:
    try:
        return await subject.provider.quote(request)
    except GatewayError:
        return None


async def _execute(subject: Subject, request: SwapRequest) -> None:
    what = (
        f"{request.amount_in or request.amount_out} {request.token_in.symbol} to {request.token_out.symbol}"
    )
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


def _fund(subject: Subject, request: SwapRequest) -> None:
    """Gives the sender the native coin for gas and value, which executions use up."""
    slug = next(s for s, chain in subject.devnet.chains.items() if chain.chain_id == request.chain_id)
    with subject.devnet.rpc(slug) as rpc:
        rpc("anvil_setBalance", HOLDER, hex(10**24))


EXECUTING: tuple[Check, ...] = (
    Check(
        "random_executions_pay_their_quotes",
        3,
        "Quote what the contract pays at the block, to the unit, for every amount that is quoted at all.",
        random_executions_pay_their_quotes,
        frozenset({Capability.SWAP}),
    ),
)
