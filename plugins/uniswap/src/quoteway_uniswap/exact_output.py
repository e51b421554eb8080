"""Encodes a swap for an exact output through one path of one protocol.

The router computes the input from the output, so a path cannot pass from one protocol to another. A price
that moves changes what the swap takes, up to the order's maximum; beyond it the router reverts. What was
wrapped, unwrapped or sent as the native coin for it and is not used goes back to the sender.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from quoteway import NATIVE
from quoteway.evm.address import address_bytes
from quoteway.evm.calls.router_commands import ADDRESS_THIS, CONTRACT_BALANCE, MSG_SENDER, OPEN_DELTA, Dialect

from quoteway_uniswap.candidates import sorted_pair
from quoteway_uniswap.flow import SwapHop
from quoteway_uniswap.orders import Order, Work


def exact_output_commands(words: Dialect, order: Order, hops: Sequence[SwapHop]) -> list[tuple[Any, ...]]:
    """Returns the commands as names with arguments, of a V4_SWAP its actions.

    Raises ValueError when the hops are no path of one protocol from the order's input to its output.
    """
    _check(order, hops)
    sold, bought, maximum = hops[0].token_in, hops[-1].token_out, order.amount_in
    made: list[tuple[Any, ...]] = []
    by_user = sold == order.token_in != NATIVE
    if sold != order.token_in and sold == NATIVE:
        made.append(("PERMIT2_TRANSFER_FROM", order.token_in, ADDRESS_THIS, maximum))
        made.append(("UNWRAP_WETH", ADDRESS_THIS, maximum))
    elif sold != order.token_in:
        made.append(("WRAP_ETH", ADDRESS_THIS, maximum))
    # Only the SWEEP enforces what a v2 pair pays.
    direct = bought == order.token_out and hops[0].kind != "v2"
    recipient = order.recipient if direct else ADDRESS_THIS
    made.append(_swap(words, order, hops, recipient, by_user=by_user))
    if not direct:
        made.append(_payment(order, bought))
    if not by_user:
        made.append(_refund(order, sold))
    return made


def exact_output_work(words: Dialect, order: Order, hops: Sequence[SwapHop]) -> Work:
    """Returns what the transaction does, without encoding it. Raises as ``exact_output_commands``."""
    names = Counter(name for name, *_ in exact_output_commands(words, order, hops))
    v4, wraps, unwraps = (names[name] for name in ("V4_SWAP", "WRAP_ETH", "UNWRAP_WETH"))
    held = wraps + names["PERMIT2_TRANSFER_FROM"] + (hops[0].kind == "v2")
    return Work(int(order.token_in != NATIVE), v4, v4, wraps, unwraps, held)


def _check(order: Order, hops: Sequence[SwapHop]) -> None:
    wrapped = order.wrapped_native

    def node(token: str) -> str:
        return wrapped if token == NATIVE else token

    if not hops or len({hop.kind for hop in hops}) != 1:
        raise ValueError("an exact output needs a path of one protocol")
    if any(hop.token_out != after.token_in for hop, after in pairwise(hops)):
        raise ValueError("the hops of an exact output are no path")
    ends = node(hops[0].token_in), node(hops[-1].token_out)
    if ends != (node(order.token_in), node(order.token_out)):
        raise ValueError(f"the hops do not lead from {order.token_in} to {order.token_out}")


def _swap(
    words: Dialect, order: Order, hops: Sequence[SwapHop], recipient: str, *, by_user: bool
) -> tuple[Any, ...]:
    amount, maximum, kind = order.amount_out_min, order.amount_in, hops[0].kind
    if kind == "v4":
        return (
            "V4_SWAP",
            _v4_swap(words, order, hops),
            ("SETTLE", hops[0].token_in, OPEN_DELTA, by_user),
            # Exactly the amount: the PoolManager reverts when the pool gave less.
            ("TAKE", hops[-1].token_out, recipient, amount),
        )
    path: Any = [hops[0].token_in, *(hop.token_out for hop in hops)]
    if kind == "v3":
        path = address_bytes(hops[-1].token_out) + b"".join(
            hop.fee.to_bytes(3, "big") + address_bytes(hop.token_in) for hop in reversed(hops)
        )
    limits = ((),) if words.min_hop_price else ()
    return (f"{kind.upper()}_SWAP_EXACT_OUT", recipient, amount, maximum, path, by_user, *limits)


def _v4_swap(words: Dialect, order: Order, hops: Sequence[SwapHop]) -> tuple[Any, ...]:
    amount, maximum, first = order.amount_out_min, order.amount_in, hops[0]
    if len(hops) > 1:
        path = [(hop.token_in, hop.fee, hop.tick_spacing, NATIVE, b"") for hop in hops]
        limits = ((),) if words.hop_limits else ()
        return "SWAP_EXACT_OUT", (hops[-1].token_out, path, *limits, amount, maximum)
    currency0, currency1 = sorted_pair(first.token_in, first.token_out)
    key = (currency0, currency1, first.fee, first.tick_spacing, NATIVE)
    limit = (0,) if words.min_hop_price else ()
    return "SWAP_EXACT_OUT_SINGLE", (key, first.token_in == currency0, amount, maximum, *limit, b"")


def _payment(order: Order, bought: str) -> tuple[Any, ...]:
    """Pays the output that the router holds, in the form asked for."""
    recipient, amount = order.recipient, order.amount_out_min
    if bought == order.token_out:
        return "SWEEP", bought, recipient, amount
    if order.token_out == NATIVE:
        return "UNWRAP_WETH", recipient, amount
    return "WRAP_ETH", recipient, amount


def _refund(order: Order, sold: str) -> tuple[Any, ...]:
    """Returns what the router still holds of the input, in the form in which the sender paid it."""
    if order.token_in != NATIVE:
        return "WRAP_ETH", MSG_SENDER, CONTRACT_BALANCE
    return ("SWEEP", NATIVE, MSG_SENDER, 0) if sold == NATIVE else ("UNWRAP_WETH", MSG_SENDER, 0)
