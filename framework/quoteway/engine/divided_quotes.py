"""Puts the quotes of two parts of an order together, and compares the pools of their routes."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from quoteway import models
from quoteway.engine.parts import total_gas, total_legs, warnings_between

_POOL = re.compile(r"0x[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
"""The address of a pool, or its 32-byte id in another contract."""
_WHOLE_BPS = 10_000

Parts = tuple[models.QuotePart, ...]


def pools_of(quote: models.Quote) -> frozenset[str] | None:
    """Returns the pools that the route of a quote shows; None when it shows none, or one without an id."""
    hops = [hop for path in quote.route or () for hop in path.hops]
    pools = frozenset(hop.pool.lower() for hop in (*hops, *(quote.route_legs or ())))
    return pools if hops and all(map(_POOL.fullmatch, pools)) else None


def share_pools(first: Collection[str] | None, second: Collection[str] | None) -> bool:
    """Returns whether two routes on one network have a pool in common, or one of them is not known.

    A pool's 32-byte id may begin with its address (Balancer v2): then both name one pool.
    """
    if first is None or second is None:
        return True
    pairs = itertools.product(map(str.lower, first), map(str.lower, second))
    return any(one.startswith(other) or other.startswith(one) for one, other in pairs)


def divided_quote(parts: Parts, wrapped_native: models.Address | None) -> models.Quote:
    """Returns the quote of an order that two providers share, in order of execution.

    Amounts, minimums, fees and gas are the sums. The price impact is the mean by amounts sold, rounded up.
    Nothing says how near to the best the whole is.
    """
    first, second = (part.quote for part in parts)
    quotes = (first, second)
    inputs, outputs = total_legs((quote.inputs, quote.outputs) for quote in quotes)
    nets = [quote.net_output for quote in quotes if quote.net_output is not None]
    fees = [quote.fee_amount for quote in quotes if quote.fee_amount is not None]
    lifetimes = [quote.lifetime_s for quote in quotes if quote.lifetime_s is not None]
    own = (*first.warnings, *second.warnings, *warnings_between([part.request for part in parts]))
    return models.Quote(
        inputs=inputs,
        outputs=outputs,
        block=first.block,
        plan={},
        spends=(*first.spends, *second.spends),
        slippage_bps=max(first.slippage_bps, second.slippage_bps),
        fees=_total_fees((*first.fees, *second.fees)),
        gas=total_gas(first.gas, second.gas),
        route=_route(quotes),
        route_legs=_route_legs(quotes, wrapped_native),
        price_impact_bps=_price_impact_bps(quotes),
        issues=tuple(dict.fromkeys((*first.issues, *second.issues))),
        warnings=tuple(dict.fromkeys(own)),
        net_output=sum(nets) if len(nets) == len(quotes) else None,
        lifetime_s=min(lifetimes, default=None),
        parts=parts,
        fee_amount=sum(fees) if fees else None,
    )


def _total_fees(fees: Iterable[models.Fee]) -> tuple[models.Fee, ...]:
    """Returns the fees with those of one kind, token, rate and recipient added up."""
    totals: dict[models.Fee, int] = {}
    for fee in fees:
        key = replace(fee, amount=0)
        totals[key] = totals.get(key, 0) + fee.amount
    return tuple(replace(fee, amount=amount) for fee, amount in totals.items())


def _route(quotes: Sequence[models.Quote]) -> tuple[models.RoutePath, ...]:
    """Returns all paths, with the shares of the whole input that pass through them."""
    amounts = [quote.inputs[0].amount for quote in quotes]
    whole, before, used, paths = sum(amounts), 0, 0, list[models.RoutePath]()
    for quote, amount in zip(quotes, amounts, strict=True):
        for path in quote.route or ():
            used += path.bps * amount
            bps = used // whole
            paths.append(replace(path, bps=bps - before))
            before = bps
    return tuple(paths)


def _route_legs(
    quotes: Sequence[models.Quote], wrapped_native: models.Address | None
) -> tuple[models.RouteLeg, ...] | None:
    """Returns all legs in order, with their shares of what leaves each token; None when a route has none."""
    if any(quote.route_legs is None for quote in quotes):
        return None
    legs = [leg for quote in quotes for leg in quote.route_legs or ()]

    def node(leg: models.RouteLeg) -> models.Address | None:
        return wrapped_native if leg.token_in == models.NATIVE else leg.token_in

    totals, used, shared = Counter[models.Address | None](), Counter[models.Address | None](), []
    for leg in legs:
        totals[node(leg)] += leg.amount_in
    for leg in legs:
        token = node(leg)
        before = _WHOLE_BPS * used[token] // (totals[token] or 1)
        used[token] += leg.amount_in
        shared.append(replace(leg, share_bps=_WHOLE_BPS * used[token] // (totals[token] or 1) - before))
    return tuple(shared)


def _price_impact_bps(quotes: Sequence[models.Quote]) -> int | None:
    weighted = whole = 0
    for quote in quotes:
        if quote.price_impact_bps is None:
            return None
        weighted += quote.price_impact_bps * quote.inputs[0].amount
        whole += quote.inputs[0].amount
    return -(-weighted // whole)
