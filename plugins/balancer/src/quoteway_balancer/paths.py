"""The legs of a flow as paths that share no token but their ends: what Balancer's contracts execute."""

from __future__ import annotations

from collections.abc import Sequence

from quoteway import NATIVE, Address, FlowLeg, FlowOrder, InvalidRequest


def paths_of(order: FlowOrder, wrapped: Address) -> list[tuple[FlowLeg, ...]]:
    """Returns the legs as paths from the token sold to the token bought. Raises InvalidRequest when they are
    not that, or paths meet in between, or a pool is used twice."""
    start, end = (wrapped if token == NATIVE else token for token in (order.token_in, order.token_out))
    if len({leg.pool for leg in order.legs}) != len(order.legs):
        raise InvalidRequest("A pool of this swap is used twice.")
    onward = {leg.token_in: leg for leg in order.legs if leg.token_in != start}
    paths = []
    for leg in order.legs:
        if leg.token_in != start:
            continue
        path = [leg]
        while path[-1].token_out != end:
            following = onward.pop(path[-1].token_out, None)
            if following is None or following.amount_in:
                raise InvalidRequest("The Vault executes paths that do not meet before their end.")
            path.append(following)
        paths.append(tuple(path))
    if not paths or sum(map(len, paths)) != len(order.legs):
        raise InvalidRequest("The Vault executes paths that do not meet before their end.")
    return paths


def amounts_of(order: FlowOrder, paths: Sequence[tuple[FlowLeg, ...]]) -> list[int]:
    """Returns what each path begins with: of the last one, what the others leave."""
    given = [path[0].amount_in for path in paths]
    rest = order.amount_in - sum(given)
    amounts = [amount or rest for amount in given]
    if given.count(0) != 1 or min(amounts) <= 0:
        raise InvalidRequest("The amounts of this swap's paths are not its input.")
    return amounts
