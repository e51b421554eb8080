"""The plan in a sealed quote: the legs of its flow, in the few characters that a quote token has for it.

``{"protocol": ..., "router": ..., "tokens": [address, ...], "legs": [leg, ...]}``.

A leg is ``[kind, in, out, fee, spacing, amount]``: 2, 3 or 4 for v2, v3 or v4; the indexes of its tokens; the
fee and tick spacing of the pool's key; the amount in base units, 0 for the last leg out of each node. Without
legs the plan is to wrap or unwrap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quoteway import InvalidRequest, Reason
from quoteway.evm.address import parse_address

from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.families import BY_NUMBER, family_of
from quoteway_uniswap.flow import SwapHop

PLAN_VERSION = 2

_LIMITS = (1 << 24, 1 << 15, 1 << 160)
"""Fee, tick spacing and amount are below these."""


def plan_of(deployment: Deployment, hops: Sequence[SwapHop]) -> dict[str, Any]:
    """Returns the plan of a flow through a deployment's router."""
    tokens = [*dict.fromkeys(token for hop in hops for token in (hop.token_in, hop.token_out))]
    index = {token: at for at, token in enumerate(tokens)}
    return {
        "protocol": deployment.protocol,
        "router": deployment.router,
        "tokens": tokens,
        "legs": [
            [
                family_of(hop.kind).number,
                index[hop.token_in],
                index[hop.token_out],
                hop.fee,
                hop.tick_spacing,
                hop.amount_in,
            ]
            for hop in hops
        ],
    }


def hops_of_plan(plan: Mapping[str, Any]) -> tuple[SwapHop, ...]:
    """Returns the legs of a plan made by ``plan_of``. Raises InvalidRequest for any other value."""
    try:
        tokens = [parse_address(token) for token in plan["tokens"]]
        return tuple(_hop(tokens, leg) for leg in plan["legs"])
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise InvalidRequest(
            f"The plan of this quote cannot be read ({error}): request a new quote.",
            reason=Reason.QUOTE_INVALID,
        ) from None


def _hop(tokens: Sequence[str], leg: Sequence[Any]) -> SwapHop:
    kind, sold, bought, fee, tick_spacing, amount_in = leg
    for number, limit in zip(leg[1:], (len(tokens), len(tokens), *_LIMITS), strict=True):
        if type(number) is not int or not 0 <= number < limit:
            raise ValueError(f"{number!r} is not a whole number from 0 to below {limit}")
    return SwapHop(BY_NUMBER[kind].kind, tokens[sold], tokens[bought], fee, tick_spacing, amount_in)
