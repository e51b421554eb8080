"""Transfers between networks.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from functools import partial
from typing import Unpack

from quoteway_client.acting import act_bridge
from quoteway_client.calls import Call, segment
from quoteway_client.comparing import swap_quoted
from quoteway_client.models.bridges import BridgeAction, BridgeQuote, BridgeQuoteBody, RoutePage
from quoteway_client.models.shared import ConsentBody
from quoteway_client.resource import AsyncListed, Awaited, Blocking, Listed, Resource, ResourceAsync


def list_bridge_routes(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    from_chain: str | None = None,
    to_chain: str | None = None,
) -> Call[RoutePage]:
    """Routes between two networks.

    Rows are served from memory and read anew in the background: `updatedAt` says how old they are, and
    `partial` names providers without an answer. Ask again while there are any.

    ``limit``: Number of rows on a page
    ``cursor``: Value of `nextCursor` of the page before
    ``from_chain``: Only routes that leave this network
    ``to_chain``: Only routes that arrive on this network.
    """
    return Call(
        "GET",
        "/v2/bridges/routes",
        RoutePage,
        query={"limit": limit, "cursor": cursor, "fromChain": from_chain, "toChain": to_chain},
    )


def create_bridge_quote(**body: Unpack[BridgeQuoteBody]) -> Call[BridgeQuote]:
    """Quote a transfer to another network.

    Asks every enabled provider that serves the request, checks the answers, and gives the best quote.
    `quoteId` is signed and holds the quote: exchange it for an action as often as needed until it
    expires. Nothing is reserved or sent.
    """
    return Call("POST", "/v2/bridges/quote", BridgeQuote, body=body, check=partial(swap_quoted, body))


def create_bridge_action(quote_id: str, **body: Unpack[ConsentBody]) -> Call[BridgeAction]:
    """Unsigned transactions for a bridge quote.

    Gives unsigned transactions, decoded again from their bytes and simulated in their order, with the
    approvals that the wallet needs now. The same request at the same block gives the same bytes. What
    simulation or checks refuse is an error, never a worse minimum. The body may be empty.

    ``quote_id``: Signed token of a quote, its `quoteId`.
    """
    return Call("POST", f"/v2/bridges/{segment(quote_id)}/action", BridgeAction, body=body)


class BridgesOperations(Resource):
    """Transfers between networks."""

    routes = Listed(list_bridge_routes)
    quote = Blocking(create_bridge_quote)
    action = Blocking(create_bridge_action)
    act = Blocking(act_bridge)


class AsyncBridgesOperations(ResourceAsync):
    """Transfers between networks."""

    routes = AsyncListed(list_bridge_routes)
    quote = Awaited(create_bridge_quote)
    action = Awaited(create_bridge_action)
    act = Awaited(act_bridge)
