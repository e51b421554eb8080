"""Encodes a path as calls of a SwapRouter: those that ``quoteway.evm.calls.swap_routers`` reads.

Where the native coin is sold, the router refunds what a pool has not taken. Where it is bought, the router
holds the wrapped coin and unwraps it in the same transaction. The swap itself enforces the minimum.
"""

from __future__ import annotations

from collections.abc import Sequence

from quoteway import NATIVE, Address, FlowOrder
from quoteway.evm.abi import function
from quoteway.evm.address import address_bytes
from quoteway.evm.calls.swap_routers import MULTICALL, RouterForm

_ROUTER_ITSELF = NATIVE
"""As the recipient of a swap: the router holds what it buys."""


def swap_calldata(
    form: RouterForm, order: FlowOrder, tokens: Sequence[Address], keys: Sequence[int]
) -> bytes:
    """Returns the call for a path of ``tokens``, with the native coin by its wrapped form.

    ``keys`` are what the router looks for the pools between them by: fees, or deployers as numbers.
    """
    unwraps = order.token_out == NATIVE
    recipient = _ROUTER_ITSELF if unwraps else order.recipient
    ends = order.deadline, order.amount_in, order.amount_out_min
    if len(keys) == 1:
        key = form.single_key(keys[0])
        swap = function(form.single).encode([(*tokens, key, recipient, *ends, 0)])
    else:
        hops = zip(keys, tokens[1:], strict=True)
        rest = b"".join(key.to_bytes(form.key_bytes, "big") + address_bytes(token) for key, token in hops)
        swap = function(form.path).encode([(address_bytes(tokens[0]) + rest, recipient, *ends)])
    calls = [swap]
    if unwraps:
        calls.append(function(form.unwrap).encode([order.amount_out_min, order.recipient]))
    if order.token_in == NATIVE:
        calls.append(function(form.refund).encode([]))
    return swap if len(calls) == 1 else function(MULTICALL).encode([calls])
