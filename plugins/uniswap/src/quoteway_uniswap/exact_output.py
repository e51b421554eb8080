"""Encodes a swap for an exact output through one path, or through several that buy a part of it each.

The router computes the input from the output, so a path cannot pass from one protocol to another. A price
that moves changes what the swap takes, up to the order's maximum; beyond it the router reverts. What was
wrapped, unwrapped or sent as the native coin for it and is not used goes back to the sender.

Of a token that the router pulls, each part may take its share of the maximum, in proportion to what it takes
by the quote. Of the native coin the router holds the whole maximum, and any part may take all that is left.

An integrator's fee is transferred first, from what the sender pays, in the form in which it is paid: exactly
the amount of the order. Nothing in the router could compute a share of what the pools are going to take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, Protocol, TypeVar

from quoteway import NATIVE, Address
from quoteway.evm.address import address_bytes
from quoteway.evm.calls.router_commands import ADDRESS_THIS, CONTRACT_BALANCE, MSG_SENDER, OPEN_DELTA, Dialect
from quoteway_amm import Hop, Kind
from quoteway_amm.bound import node_of
from quoteway_router.venue import Venue

from quoteway_uniswap.candidates import sorted_pair
from quoteway_uniswap.flow import SwapHop, legs_of
from quoteway_uniswap.orders import Order, Work

_WHOLE_BPS = 10_000


class _Exchange(Protocol):
    @property
    def token_in(self) -> Address: ...


_AnyHop = TypeVar("_AnyHop", bound=_Exchange)


def parts_of(hops: Sequence[_AnyHop], wrapped_native: Address) -> list[tuple[_AnyHop, ...]]:
    """Returns the parallel paths that follow each other in ``hops``: each begins at the input."""
    start = node_of(hops[0].token_in, wrapped_native)
    begins = [at for at, hop in enumerate(hops) if node_of(hop.token_in, wrapped_native) == start]
    return [tuple(hops[first:end]) for first, end in pairwise([*begins, len(hops)])]


def exact_output_legs(
    hops: Sequence[Hop], bought: Sequence[int], wrapped_native: Address
) -> tuple[SwapHop, ...]:
    """Returns the legs to encode of parallel paths, of which each buys its amount of ``bought``.

    Of several paths, the first hop has what the path takes and the last one what it buys.
    """
    legs: list[SwapHop] = []
    parts = parts_of(hops, wrapped_native)
    for part, amount_out in zip(parts, bought, strict=True):
        made = [*legs_of(part, wrapped_native)]
        if len(parts) > 1:
            made[0] = replace(made[0], amount_in=part[0].amount_in)
            made[-1] = replace(made[-1], amount_out=amount_out)
        legs += made
    return tuple(legs)


def parts_price_impact_bps(venue: Venue, hops: Sequence[Hop]) -> int:
    """Returns how far the price of parallel paths is below the mid prices of their pools, rounded."""
    ideal, got = Fraction(0), 0
    for part in parts_of(hops, venue.wrapped_native):
        mid_price = prod(Fraction(*hop.pool.mid_price(hop.zero_for_one)) for hop in part)
        ideal += part[0].amount_in * mid_price
        got += part[-1].amount_out
    return ((ideal - got) * 2 * _WHOLE_BPS + ideal) // (2 * ideal)


@dataclass(frozen=True, slots=True)
class _Part:
    """A path with what it buys, and takes at most."""

    hops: tuple[SwapHop, ...]
    amount_out: int
    maximum: int

    @property
    def kind(self) -> Kind:
        return self.hops[0].kind

    @property
    def ends(self) -> tuple[Address, Address]:
        """The tokens that its pools sell and buy."""
        return self.hops[0].token_in, self.hops[-1].token_out


def exact_output_commands(words: Dialect, order: Order, hops: Sequence[SwapHop]) -> list[tuple[Any, ...]]:
    """Returns the commands as names with arguments, of a V4_SWAP its actions.

    Raises ValueError when the hops are no paths of one protocol each from the order's input to its output.
    """
    parts = _parts(order, hops)
    as_paid = [part for part in parts if part.ends[0] == order.token_in]
    converted = [part for part in parts if part.ends[0] != order.token_in]
    made: list[tuple[Any, ...]] = [*_fee(order)]
    # The coin first: then all that is left of it is wrapped, and all of that comes back as the coin.
    made += _swaps(words, order, as_paid, by_user=order.token_in != NATIVE)
    if converted and order.token_in == NATIVE:
        amount = CONTRACT_BALANCE if as_paid else order.amount_in
        made.append(("WRAP_ETH", ADDRESS_THIS, amount))
    elif converted:
        amount = sum(part.maximum for part in converted)
        made.append(("PERMIT2_TRANSFER_FROM", order.token_in, ADDRESS_THIS, amount))
        made.append(("UNWRAP_WETH", ADDRESS_THIS, amount))
    made += _swaps(words, order, converted, by_user=False)
    made += _payments(order, parts)
    if converted or order.token_in == NATIVE:
        made.append(_refund(order, converted=bool(converted)))
    return made


def _fee(order: Order) -> Iterable[tuple[Any, ...]]:
    """Yields what pays the integrator's fee. One that is rounded down to nothing needs no transfer."""
    if order.fee is None or not order.fee_amount:
        return
    name = "TRANSFER" if order.token_in == NATIVE else "PERMIT2_TRANSFER_FROM"
    yield name, order.token_in, order.fee.recipient, order.fee_amount


def exact_output_work(words: Dialect, order: Order, hops: Sequence[SwapHop]) -> Work:
    """Returns what the transaction does, without encoding it. Raises as ``exact_output_commands``."""
    fees = len([*_fee(order)])
    commands = exact_output_commands(words, order, hops)[fees:]
    refund = commands.pop()[0] if MSG_SENDER in commands[-1] else None
    names = Counter(name for name, *_ in commands)
    by_user = [
        each
        for each in commands
        if (each[0] == "V4_SWAP" and each[-2][-1] is True) or ("EXACT_OUT" in each[0] and each[5] is True)
    ]
    v4, wraps, unwraps = (names[name] for name in ("V4_SWAP", "WRAP_ETH", "UNWRAP_WETH"))
    pulls = len(by_user) + names["PERMIT2_TRANSFER_FROM"]
    return Work(pulls, v4, v4, wraps, unwraps, names["SWEEP"], fees, exact_out=True, refund=refund)


def _parts(order: Order, hops: Sequence[SwapHop]) -> list[_Part]:
    """Returns the paths of an order. Raises ValueError for other hops."""
    if not hops:
        raise ValueError("an exact output needs a path of one protocol")
    paths = parts_of(hops, order.wrapped_native)
    pools = [(hop.kind, *sorted_pair(hop.token_in, hop.token_out), hop.fee, hop.tick_spacing) for hop in hops]
    if len(set(pools)) < len(pools):
        raise ValueError("two hops use one pool: an exact output uses each pool once")
    for path in paths:
        _check(order, path)
    if len(paths) == 1:
        return [_Part(paths[0], order.amount_out_min, order.amount_in)]
    taken = [path[0].amount_in for path in paths]
    bought = [path[-1].amount_out for path in paths]
    if min(*taken, *bought) <= 0 or sum(bought) != order.amount_out_min or sum(taken) > order.amount_in:
        raise ValueError(f"the paths of an exact output do not buy {order.amount_out_min}")
    return [
        _Part(path, amount, maximum)
        for path, amount, maximum in zip(paths, bought, shares(order.amount_in, taken), strict=True)
    ]


def shares(whole: int, weights: Sequence[int]) -> list[int]:
    """Returns ``whole`` in parts in proportion to ``weights``: to the unit, the rest to the last one."""
    total, found, used = sum(weights), list[int](), 0
    for weight in weights:
        used += weight
        found.append(whole * used // total - sum(found))
    return found


def _check(order: Order, path: Sequence[SwapHop]) -> None:
    wrapped = order.wrapped_native
    if len({hop.kind for hop in path}) != 1:
        raise ValueError("an exact output needs a path of one protocol")
    if any(hop.token_out != after.token_in for hop, after in pairwise(path)):
        raise ValueError("the hops of an exact output are no path")
    ends = node_of(path[0].token_in, wrapped), node_of(path[-1].token_out, wrapped)
    if ends != (node_of(order.token_in, wrapped), node_of(order.token_out, wrapped)):
        raise ValueError(f"the hops do not lead from {order.token_in} to {order.token_out}")


def _swaps(
    words: Dialect, order: Order, parts: Sequence[_Part], *, by_user: bool
) -> Iterable[tuple[Any, ...]]:
    """Yields the swaps of parts that sell one form of the input, those on v4 for one token as one command."""
    together: dict[Address, list[_Part]] = {}
    for part in parts:
        if part.kind == "v4":
            together.setdefault(part.ends[1], []).append(part)
            continue
        # What the router holds of the coin is for all parts.
        maximum = order.amount_in if order.token_in == NATIVE else part.maximum
        path: Any = [part.ends[0], *(hop.token_out for hop in part.hops)]
        if part.kind == "v3":
            path = address_bytes(part.ends[1]) + b"".join(
                hop.fee.to_bytes(3, "big") + address_bytes(hop.token_in) for hop in reversed(part.hops)
            )
        limits = ((),) if words.min_hop_price else ()
        name = f"{part.kind.upper()}_SWAP_EXACT_OUT"
        yield name, _recipient(order, part), part.amount_out, maximum, path, by_user, *limits
    for group in together.values():
        sold, bought = group[0].ends
        maximums = [part.maximum for part in group]
        if order.token_in == NATIVE:
            maximums = shares(order.amount_in, maximums)
        yield (
            "V4_SWAP",
            *(_v4_swap(words, part, most) for part, most in zip(group, maximums, strict=True)),
            ("SETTLE", sold, OPEN_DELTA, by_user),
            # Exactly the amount: the PoolManager reverts when the pools gave less.
            ("TAKE", bought, _recipient(order, group[0]), sum(part.amount_out for part in group)),
        )


def _v4_swap(words: Dialect, part: _Part, maximum: int) -> tuple[Any, ...]:
    hops, amount, first = part.hops, part.amount_out, part.hops[0]
    if len(hops) > 1:
        path = [(hop.token_in, hop.fee, hop.tick_spacing, hop.hooks, b"") for hop in hops]
        limits = ((),) if words.hop_limits else ()
        return "SWAP_EXACT_OUT", (hops[-1].token_out, path, *limits, amount, maximum)
    currency0, currency1 = sorted_pair(first.token_in, first.token_out)
    key = (currency0, currency1, first.fee, first.tick_spacing, first.hooks)
    limit = (0,) if words.min_hop_price else ()
    return "SWAP_EXACT_OUT_SINGLE", (key, first.token_in == currency0, amount, maximum, *limit, b"")


def _pays_directly(order: Order, part: _Part) -> bool:
    # Only the SWEEP enforces what a v2 pair pays.
    return part.ends[1] == order.token_out and part.kind != "v2"


def _recipient(order: Order, part: _Part) -> Address:
    return order.recipient if _pays_directly(order, part) else ADDRESS_THIS


def _payments(order: Order, parts: Sequence[_Part]) -> Iterable[tuple[Any, ...]]:
    """Yields what pays the output that the router holds, in the form asked for."""
    held = Counter[Address]()
    for part in parts:
        if not _pays_directly(order, part):
            held[part.ends[1]] += part.amount_out
    for bought, amount in held.items():
        if bought == order.token_out:
            yield "SWEEP", bought, order.recipient, amount
        elif order.token_out == NATIVE:
            yield "UNWRAP_WETH", order.recipient, amount
        else:
            yield "WRAP_ETH", order.recipient, amount


def _refund(order: Order, *, converted: bool) -> tuple[Any, ...]:
    """Returns what the router still holds of the input, in the form in which the sender paid it."""
    if order.token_in != NATIVE:
        return "WRAP_ETH", MSG_SENDER, CONTRACT_BALANCE
    return ("UNWRAP_WETH", MSG_SENDER, 0) if converted else ("SWEEP", NATIVE, MSG_SENDER, 0)
