"""What the parts of a quote or an action come to, when several providers carry it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from quoteway import models
from quoteway.evm.token_text import display_name
from quoteway.evm.units import readable_units


def total_legs(
    parts: Iterable[tuple[Sequence[models.Leg], Sequence[models.Leg]]],
) -> tuple[tuple[models.Leg, ...], tuple[models.Leg, ...]]:
    """Returns the total inputs and outputs of parts, given each part's inputs and outputs in order.

    An output that the next part spends is omitted. The unspent rest of it is an output, whose minimum is
    reduced by the spent amount. What no earlier part pays is an input. Legs of one token and account are
    added up.
    """
    (inputs, outputs), *rest = parts
    for taken, given in rest:
        takes = Counter[models.Address]({leg.token.address: leg.amount for leg in taken})
        left: list[models.Leg] = []
        for leg in outputs:
            passed_on = min(leg.amount, takes[leg.token.address])
            takes[leg.token.address] -= passed_on
            if leg.amount > passed_on:
                kept = leg if not passed_on else _reduced(leg, passed_on)
                left.append(kept)
        further = [leg for leg in taken if takes[leg.token.address]]
        inputs = _added_up((*inputs, *(replace(leg, amount=takes[leg.token.address]) for leg in further)))
        outputs = _added_up((*given, *left))
    return tuple(inputs), tuple(outputs)


def _reduced(leg: models.Leg, passed_on: int) -> models.Leg:
    bound = max((leg.amount_min or 0) - passed_on, 0)
    return replace(leg, amount=leg.amount - passed_on, amount_min=bound)


def _added_up(legs: Iterable[models.Leg]) -> tuple[models.Leg, ...]:
    totals: dict[tuple[int, models.Address, models.Address], models.Leg] = {}
    for leg in legs:
        key = leg.token.chain_id, leg.token.address, leg.account
        other = totals.get(key)
        totals[key] = (
            leg
            if other is None
            else replace(
                other,
                amount=other.amount + leg.amount,
                amount_min=_sum(other.amount_min, leg.amount_min),
                amount_max=_sum(other.amount_max, leg.amount_max),
            )
        )
    return tuple(totals.values())


def total_gas(one: models.Gas | None, other: models.Gas | None) -> models.Gas | None:
    """Returns the gas of two parts; None when that of one is unknown."""
    if one is None or other is None:
        return None
    prices = [gas.max_fee_per_gas_wei for gas in (one, other) if gas.max_fee_per_gas_wei is not None]
    return models.Gas(
        one.units + other.units,
        one.limit + other.limit,
        max(prices, default=None),
        _sum(one.l1_fee_wei, other.l1_fee_wei),
        _sum(one.cost_wei, other.cost_wei),
        price_wei=one.price_wei if one.price_wei == other.price_wei else None,
    )


def warnings_between(requests: Sequence[models.Request]) -> tuple[models.Notice, ...]:
    """Returns the warnings for the signer about each transition from one part to the next."""
    warnings: list[models.Notice] = []
    for request in requests[1:]:
        assert isinstance(request, models.SwapRequest)
        name = display_name(request.token_in)
        amount = readable_units(request.amount_in, request.token_in.decimals)
        if not request.is_cross_chain:
            text = (
                "The order is divided between two providers, whose swaps are separate transactions. Send all "
                f"as one batch (walletSendCalls), or in order. If the second swap fails, its {amount} {name} "
                "stay in the wallet."
            )
            warnings.append(models.Notice("not_atomic", text))
            continue
        warnings += (
            models.Notice(
                "not_atomic",
                "The swap and the transfer are separate transactions. Send all as one batch "
                "(walletSendCalls), or in order. If the transfer fails after the swap, the "
                f"{name} stays in the wallet.",
            ),
            models.Notice(
                "surplus_kept",
                f"The transfer sends exactly {amount} {name}, the minimum output of the swap. Any additional "
                f"{name} from the swap stays in the wallet.",
            ),
        )
    return tuple(warnings)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
