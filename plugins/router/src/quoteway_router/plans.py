"""The plan in a sealed quote of an executor's flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quoteway import Address, FlowLeg, InvalidRequest, Reason
from quoteway.evm.address import parse_address
from quoteway_amm import Hop

from quoteway_router.amounts import amounts_of

PLAN_VERSION = 1


def plan_of(hops: Sequence[Hop], wrapped_native: Address) -> dict[str, Any]:
    """Returns the plan of a flow: ``{"tokens": [...], "families": [...], "legs": [leg, ...]}``.

    A leg is ``[family, pool, in, out, fee, amount]``: the index of its family, the pool's id, the indexes of
    its tokens, the fee in pips, and the amount, 0 for the last leg out of each token.
    """
    tokens = [*dict.fromkeys(token for hop in hops for token in (hop.token_in, hop.token_out))]
    families = [*dict.fromkeys(hop.pool.kind for hop in hops)]
    legs = [
        [
            families.index(hop.pool.kind),
            hop.pool.id,
            tokens.index(hop.token_in),
            tokens.index(hop.token_out),
            hop.fee_pips,
            amount,
        ]
        for hop, amount in zip(hops, amounts_of(hops, wrapped_native), strict=True)
    ]
    return {"tokens": tokens, "families": families, "legs": legs}


def legs_of_plan(plan: Mapping[str, Any]) -> tuple[FlowLeg, ...]:
    """Returns the legs of a plan made by ``plan_of``. Raises InvalidRequest for any other value."""
    try:
        tokens = [parse_address(token) for token in plan["tokens"]]
        legs = tuple(
            FlowLeg(plan["families"][kind], pool, tokens[sold], tokens[bought], fee, amount)
            for kind, pool, sold, bought, fee, amount in plan["legs"]
        )
        if len({leg.pool for leg in legs}) != len(legs):
            raise ValueError("a pool is used twice")
        return legs
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise InvalidRequest(
            f"The plan of this quote cannot be read ({error}): request a new quote.",
            reason=Reason.QUOTE_INVALID,
        ) from None
