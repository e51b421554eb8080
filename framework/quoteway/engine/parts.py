"""Combines the parts of several providers: warnings, inputs, outputs and required balances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from quoteway.engine.approvals import named
from quoteway.evm.units import readable_units
from quoteway.guard.outcome import balances_needed
from quoteway.models import Address, Build, Leg, Notice, Request, SwapRequest


def handover_warnings(requests: Sequence[Request]) -> tuple[Notice, ...]:
    """Returns the warnings for the signer about each transition from one part to the next."""
    warnings: list[Notice] = []
    for request in requests[1:]:
        assert isinstance(request, SwapRequest)
        name = named(request.token_in)
        amount = readable_units(request.amount_in, request.token_in.decimals)
        warnings += (
            Notice(
                "not_atomic",
                "The swap and the transfer are separate transactions. Send all as one batch "
                "(walletSendCalls), or in order. If the transfer fails after the swap, the "
                f"{name} stays in the wallet.",
            ),
            Notice(
                "surplus_kept",
                f"The transfer sends exactly {amount} {name}, the minimum output of the swap. Any additional "
                f"{name} from the swap stays in the wallet.",
            ),
        )
    return tuple(warnings)


def joined_legs(
    parts: Iterable[tuple[Sequence[Leg], Sequence[Leg]]],
) -> tuple[tuple[Leg, ...], tuple[Leg, ...]]:
    """Returns the total inputs and outputs of parts, given each part's inputs and outputs in order.

    An output that the next part spends is omitted. The unspent rest of it is an output, whose minimum is
    reduced by the spent amount.
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
    """Returns the balances that the sender must have before the first build, by token.

    The minimum outputs of earlier builds to the sender count towards the inputs of later builds.
    """
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
