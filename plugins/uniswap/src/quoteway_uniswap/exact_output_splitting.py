"""Reads what the solver says of an exact output: a lower bound on its input, and a route's gap to it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

import msgspec
from quoteway import Block, IntegratorFee, Optimality
from quoteway.models import MAX_UINT256
from quoteway_amm.exact_output_paths import paths_gas
from quoteway_amm.flow import Flow
from quoteway_router.solver_messages import Order

from quoteway_uniswap.exact_output import parts_of

log = logging.getLogger("quoteway.uniswap.exact_output_splitting")

_WHOLE_BPS = 10_000


@dataclass(frozen=True, slots=True)
class Proof:
    """``quoteway_amm.exact_output_flows.InputBound``, as it came from a solver process."""

    bound: int
    net_bound: int
    arbitrage: int
    pools: int
    families: tuple[str, ...]
    prices: dict[str, int]


def proof_of(told: Mapping[str, Any]) -> Proof | None:
    """Returns what the solver told; None when it is nothing, or nonsense."""
    try:
        found = msgspec.convert({**told, "families": tuple(told["families"])}, Proof)
    except (KeyError, TypeError, msgspec.ValidationError):
        log.error("the solver described its exact output in another form than expected")
        return None
    numbers = (found.bound, found.net_bound, found.arbitrage)
    return found if all(0 <= number <= MAX_UINT256 for number in numbers) else None


def optimality_of(proof: Proof, order: Order, flow: Flow, block: Block) -> Optimality:
    """Returns how near the paths of ``flow`` are to the least input that the bound leaves possible."""
    parts = parts_of(flow.legs, order.wrapped_native or "")
    units = paths_gas(parts, order.token_in, order.token_out, order.gas_model)
    with_gas = flow.amount_in + order.gas_price.cost(units)
    return Optimality(
        proof.bound,
        _gap_bps(flow.amount_in, proof.bound),
        _gap_bps(with_gas, proof.net_bound),
        proof.arbitrage,
        proof.pools,
        proof.families,
        block,
        "split" if len(parts) > 1 else "single_path",
    )


def with_input_fee(found: Optimality, fee: IntegratorFee, taken: int) -> Optimality:
    """Returns how near to the best a route is that takes ``taken`` base units, with the fee on both."""
    bound, paid = (amount + fee.of(amount) for amount in (found.bound, taken))
    gap_bps = _gap_bps(paid, bound)
    return replace(
        found,
        bound=bound,
        gap_bps=gap_bps,
        net_gap_bps=max(found.net_gap_bps + gap_bps - found.gap_bps, 0.0),
        arbitrage=found.arbitrage + fee.of(found.arbitrage),
    )


def _gap_bps(taken: int, least: int) -> float:
    """Returns what could be missing of an input, as a share of it, rounded up to 0.0001 bps."""
    return ceil(Fraction(max(taken - least, 0) * _WHOLE_BPS * 10_000, taken)) / 10_000
