"""The plan in a sealed quote: the legs of its flow, in the few characters that a quote token has for it.

``{"protocol": ..., "router": ..., "tokens": [address, ...], "legs": [leg, ...]}``.

A leg is ``[kind, in, out, fee, spacing, amount]``: 2, 3 or 4 for v2, v3 or v4; the indexes of its tokens; the
fee and tick spacing of the pool's key; the amount in base units, 0 for the last leg out of each node. Of an
exact output through several paths the leg also has the amount that its path buys, 0 but for the last leg of
each path, and the amount before it is what the path takes, 0 but for its first leg. Of legs
through pools with hooks, ``"hooks"`` has ``[index of the leg, address]``. Without legs the plan is to wrap or
unwrap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quoteway import NATIVE, InvalidRequest, Reason
from quoteway.evm.address import parse_address
from quoteway_router.amounts import REST

from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.families import BY_NUMBER, family_of
from quoteway_uniswap.flow import SwapHop

PLAN_VERSION = 3

_LIMITS = (1 << 24, 1 << 15, 1 << 160, 1 << 160)
"""Fee, tick spacing and amounts are below these."""


def plan_of(deployment: Deployment, hops: Sequence[SwapHop]) -> dict[str, Any]:
    """Returns the plan of a flow through a deployment's router."""
    tokens = [*dict.fromkeys(token for hop in hops for token in (hop.token_in, hop.token_out))]
    index = {token: at for at, token in enumerate(tokens)}
    several = any(hop.amount_out for hop in hops)
    hooks = [[at, hop.hooks] for at, hop in enumerate(hops) if hop.hooks != NATIVE]
    plan = {
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
                *((hop.amount_out,) if several else ()),
            ]
            for hop in hops
        ],
    }
    return plan | ({"hooks": hooks} if hooks else {})


def hops_of_plan(plan: Mapping[str, Any]) -> tuple[SwapHop, ...]:
    """Returns the legs of a plan made by ``plan_of``. Raises InvalidRequest for any other value."""
    try:
        tokens = [parse_address(token) for token in plan["tokens"]]
        hooks = {at: parse_address(each) for at, each in plan.get("hooks", ())}
        legs = [_hop(tokens, leg, hooks.pop(at, NATIVE)) for at, leg in enumerate(plan["legs"])]
        if hooks:
            raise ValueError("hooks are named of legs that it does not have")
        return tuple(legs)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise InvalidRequest(
            f"The plan of this quote cannot be read ({error}): request a new quote.",
            reason=Reason.QUOTE_INVALID,
        ) from None


def _hop(tokens: Sequence[str], leg: Sequence[Any], hooks: str) -> SwapHop:
    kind, sold, bought, fee, tick_spacing, amount_in, *more = leg
    (amount_out,) = more or (REST,)
    numbers = (*leg[1:6], amount_out)
    for number, limit in zip(numbers, (len(tokens), len(tokens), *_LIMITS), strict=True):
        if type(number) is not int or not 0 <= number < limit:
            raise ValueError(f"{number!r} is not a whole number from 0 to below {limit}")
    ends = tokens[sold], tokens[bought]
    return SwapHop(BY_NUMBER[kind].kind, *ends, fee, tick_spacing, amount_in, amount_out, hooks)
