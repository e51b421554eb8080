"""Listed tokens.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from typing import Literal

from quoteway_client.calls import Call, segment
from quoteway_client.models.tokens import Profile, TokenPage
from quoteway_client.resource import AsyncListed, Awaited, Blocking, Listed, Resource, ResourceAsync


def list_tokens(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    network: str | None = None,
    query: str | None = None,
    sort: Literal["rank", "-rank", "symbol", "-symbol", "priceUsd", "-priceUsd"] | None = None,
) -> Call[TokenPage]:
    """Tokens, the best match first.

    With `query`: whole symbols, names and ids first, then beginnings, then typing errors. Without: by
    market rank, then in the order of the catalogs.

    ``limit``: Number of rows on a page
    ``cursor``: Value of `nextCursor` of the page before
    ``network``: Only tokens of this network
    ``query``: Id, symbol, name or address to look for, or a part of one; typing errors are forgiven
    ``sort``: Member to sort by, ascending; with `-` before it descending. Rows without it come last.
    """
    return Call(
        "GET",
        "/v2/tokens",
        TokenPage,
        query={"limit": limit, "cursor": cursor, "network": network, "query": query, "sort": sort},
    )


def get_token(token_id: str) -> Call[Profile]:
    """One token, by its id, {chainId}:{address} or CAIP-19 id.

    What the catalogs say of the token, each member from the first that has it; `sources` names the
    others. Decimals are those of the chain.

    ``token_id``: Id of the token in its catalog, or {chainId}:{address}.
    """
    return Call("GET", f"/v2/tokens/{segment(token_id)}", Profile)


class TokensOperations(Resource):
    """Listed tokens."""

    list = Listed(list_tokens)
    get = Blocking(get_token)


class AsyncTokensOperations(ResourceAsync):
    """Listed tokens."""

    list = AsyncListed(list_tokens)
    get = Awaited(get_token)
