"""Several providers' parts of one quote or action: what they take, give and need together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from quoteway.engine.approvals import named
from quoteway.evm.units import readable_units
from quoteway.guard.outcome import balances_needed
from quoteway.models import Address, Build, Leg, Notice, Request, SwapRequest


def handover_warnings(requests: Sequence[Request]) -> tuple[Notice, ...]:
    """What whoever signs must know of the passage from each part to the next, given the parts' requests."""
    warnings: list[Notice] = []
    for request in requests[1:]:
        assert isinstance(request, SwapRequest)
        name = named(request.token_in)
        amount = readable_units(request.amount_in, request.token_in.decimals)
        warnings += (
            Notice(
                "not_atomic",
                "The swap and the transfer are transactions of their own: send all as one batch "
                "(walletSendCalls), or in order. Should the transfer fail after the swap, the "
                f"{name} stays in the wallet.",
            ),
            Notice(
                "surplus_kept",
                f"The transfer is of exactly {amount} {name}, the swap's minimum: what the swap gives beyond "
                "stays in the wallet.",
            ),
        )
    return tuple(warnings)


def joined_legs(
    parts: Iterable[tuple[Sequence[Leg], Sequence[Leg]]],
) -> tuple[tuple[Leg, ...], tuple[Leg, ...]]:
    """Inputs and outputs of the whole, of those of the parts in order.

    What a part gives and the next one takes is neither; what is left of it is an output, without a minimum
    where the next one takes the minimum.
    """
    (inputs, outputs), *rest = parts
    left: list[Leg] = []
    for taken, given in rest:
        takes = {leg.token.address: leg.amount for leg in taken}
        for leg in outputs:
            passed_on = takes.get(leg.token.address, 0)
            if leg.amount > passed_on:
                bound = max((leg.amount_min or 0) - passed_on, 0)
                left.append(replace(leg, amount=leg.amount - passed_on, amount_min=bound))
        outputs = given
    return tuple(inputs), (*outputs, *left)


def needs_of(builds: Iterable[Build], sender: Address) -> dict[Address, int]:
    """The balances that the sender must have before the first build: of what an earlier one surely pays to
    the sender, a later one's part need not be there."""
    needs: dict[Address, int] = {}
    given: dict[Address, int] = {}
    for build in builds:
        for token, amount in balances_needed(build).items():
            covered = min(amount, given.get(token, 0))
            given[token] = given.get(token, 0) - covered
            if amount > covered:
                needs[token] = needs.get(token, 0) + amount - covered
        for leg in build.outputs:
            if leg.account == sender and leg.token.chain_id == build.steps[0].chain_id:
                given[leg.token.address] = given.get(leg.token.address, 0) + (leg.amount_min or 0)
    return needs
