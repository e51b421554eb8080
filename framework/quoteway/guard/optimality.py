"""Checks what a provider says of how near its swap is to the best one, as far as the core can."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from quoteway.guard.findings import is_address
from quoteway.guard.model_types import MAX_ITEMS, flaw
from quoteway.models import Certificate, Leg, Optimality, Quote, Request, RouteLeg, RoutePath, SwapRequest

_WHOLE_BPS = 10_000
_ROUNDED_UP_BPS = Fraction(1, 100)
"""The most that a gap may be above the exact one."""
_FLOAT_BPS = Fraction(1, 10**9)
"""What a float misses of its decimal."""
_DIGEST = re.compile(r"0x[0-9a-f]{64}", re.ASCII)


def optimality_flaw(request: Request, quote: Quote) -> str | None:
    """Says why the ``optimality`` of a quote is not passed on, None if it is. Never raises.

    A wrong one costs the quote this member only: no amount depends on it. Whether the bound holds, only the
    pools can tell: ``quoteway verify-quote`` checks it from a certificate.
    """
    found = quote.optimality
    if found is None:
        return None
    if (wrong := flaw(found, Optimality | None)) is not None:
        return f"optimality{wrong}"
    shown = quote.outputs, quote.inputs, quote.route, quote.route_legs
    kinds = tuple[Leg, ...], tuple[Leg, ...], tuple[RoutePath, ...] | None, tuple[RouteLeg, ...] | None
    if any(flaw(value, kind) is not None for value, kind in zip(shown, kinds, strict=True)):
        return "optimality of a quote that cannot be read"
    if not isinstance(request, SwapRequest) or request.is_cross_chain or len(quote.outputs) != 1:
        return "optimality is for swaps on one network"
    return next(_findings(request, quote, found), None)


def _findings(request: SwapRequest, quote: Quote, found: Optimality) -> Iterator[str]:
    if request.amount_out is None:
        yield from _bound_findings(found, quote.outputs[0].amount)
    else:
        yield from _input_bound_findings(found, quote)
    if not 0 <= found.net_gap_bps <= _WHOLE_BPS:
        yield "optimality.net_gap_bps is not from 0 to 10,000"
    if found.block != quote.block:
        yield "optimality.block is not that of the quote"
    used = {hop.pool for path in quote.route or () for hop in path.hops}
    used |= {leg.pool for leg in quote.route_legs or ()}
    if found.pools < max(len(used), 1):
        yield "optimality.pools is below the number of pools that the route uses"
    if found.certificate is not None:
        yield from _certificate_findings(request, found, found.certificate, used)


def _bound_findings(found: Optimality, amount_out: int) -> Iterator[str]:
    if not 0 < amount_out <= found.bound:
        yield "optimality.bound is below the output"
    elif not _is_gap(found.gap_bps, found.bound, amount_out):
        yield "optimality.gap_bps is not what bound and output say"
    if not 0 <= found.arbitrage <= found.bound:
        yield "optimality.arbitrage is not from 0 to bound"


def _input_bound_findings(found: Optimality, quote: Quote) -> Iterator[str]:
    amount_in = quote.inputs[0].amount if len(quote.inputs) == 1 else 0
    if not 0 <= found.bound <= amount_in:
        yield "optimality.bound is above the input"
    elif not amount_in or not _is_gap(found.gap_bps, amount_in, found.bound):
        yield "optimality.gap_bps is not what bound and input say"
    if found.arbitrage < 0:
        yield "optimality.arbitrage is negative"


def _is_gap(gap_bps: float, most: int, least: int) -> bool:
    """Returns whether a gap is what is missing from ``least`` to ``most``, as a share of that."""
    exact = Fraction((most - least) * _WHOLE_BPS, most)
    return exact - _FLOAT_BPS <= Fraction(gap_bps) <= exact + _ROUNDED_UP_BPS


def _certificate_findings(
    request: SwapRequest, found: Optimality, certificate: Certificate, used: set[str]
) -> Iterator[str]:
    if not request.certificate:
        yield "optimality.certificate was not asked for"
    prices, pools = certificate.prices, certificate.pools
    if len(prices) > 2 * MAX_ITEMS or not all(map(is_address, prices)) or min(prices.values(), default=0) < 0:
        yield "optimality.certificate.prices are not a table of amounts by token"
    ids = {pool.pool for pool in pools}
    # Pairs of a pool with more than two tokens have its id, and are pools of their own in a bound.
    pairs = {(pool.pool, frozenset(pool.tokens)) for pool in pools}
    if not len(pairs) == len(pools) == found.pools or not used <= ids:
        yield "optimality.certificate.pools are not the pools that count"
    if not all(_DIGEST.fullmatch(pool.digest) for pool in pools):
        yield "optimality.certificate.pools has a digest that is not 32 bytes as 0x hex"
