"""Level 2: what bridges list is quoted, and what was sent through them is tracked."""

from __future__ import annotations

import itertools

from quoteway import MAX_UINT256, Capability, InvalidRequest, SwapRequest
from quoteway.testing.conformance.provider import HOLDER, STRANGER
from quoteway.testing.levels.calls import executed_quote
from quoteway.testing.levels.check import Check, NotApplicable, require
from quoteway.testing.levels.subject import Subject

_BRIDGES = frozenset({Capability.BRIDGE})
_MOST_ROUTES = 8
"""From one network to another."""


async def listed_routes_are_quoted(subject: Subject) -> None:
    """Asks for a quote of one whole token, within the limits, over each listed route that is enabled."""
    listed_any, quotes = False, 0
    for origin, target in itertools.permutations(subject.chain_ids, 2):
        held = {token.address for token in subject.tokens(origin)}
        listed = await subject.provider.routes(origin, target)
        routes = [route for route in listed if route.enabled and route.from_token.address in held]
        for route in routes[:_MOST_ROUTES]:
            listed_any = True
            least, most = route.min_amount or 1, route.max_amount or MAX_UINT256
            amount = min(max(10**route.from_token.decimals, least), most)
            ends = (origin, target, route.from_token, route.to_token)
            name = f"{route.from_token.symbol} of {origin} to {route.to_token.symbol} of {target}"
            try:
                quote = await subject.provider.quote(SwapRequest(*ends, amount, HOLDER, STRANGER, 50))
            except InvalidRequest as error:
                # It may pay this token to contracts alone, and then says which member to change.
                require(error.fields, f"it lists {name} and refuses it: {error}")
                continue
            require(quote is not None, f"it lists {name} and does not quote {amount} units of it")
            quotes += 1
    if not listed_any:
        raise NotApplicable("it lists no route between the devnet's chains")
    require(quotes, "it lists routes and quotes none of them")


async def sent_transfers_are_tracked(subject: Subject) -> None:
    """Sends each case, and looks its transaction up."""
    for case in subject.cases:
        _, executed, _ = await executed_quote(subject, case)
        await subject.gateway.runtime.chains[case.chain_id].head(fresh=True)
        sent = executed.receipts[-1]["transactionHash"]
        state = await subject.provider.track(case.chain_id, sent)
        require(state is not None, "track() does not know a transfer that was sent with its transaction")
        require(
            state.status not in ("unknown", "origin_pending"),
            f"track() says {state.status!r} of a transfer that is in a block",
        )


TRANSFERRING: tuple[Check, ...] = (
    Check(
        "listed_routes_are_quoted",
        2,
        "List in routes() what quote() serves, with the limits of the amount.",
        listed_routes_are_quoted,
        _BRIDGES,
    ),
    Check(
        "sent_transfers_are_tracked",
        2,
        "Find the transfer in track() by the transaction on its origin chain.",
        sent_transfers_are_tracked,
        _BRIDGES,
    ),
)
