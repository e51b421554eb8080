"""Liquidity pools: lists, quotes, actions, series and positions.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, Unpack

from quoteway_client.acting import act_pool
from quoteway_client.calls import Call, segment
from quoteway_client.comparing_places import place_quoted
from quoteway_client.models.pools import (
    PoolActionBody,
    PoolBody,
    PoolEntry,
    PoolLiquidity,
    PoolPage,
    PoolQuote,
    PositionPage,
)
from quoteway_client.models.shared import Action, Series
from quoteway_client.resource import AsyncListed, Awaited, Blocking, Listed, Resource, ResourceAsync


def list_pools(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    network: str | None = None,
    protocol: str | None = None,
    token: str | None = None,
    query: str | None = None,
    min_tvl_usd: float | None = None,
    sort: Literal[
        "tvlUsd", "-tvlUsd", "apr", "-apr", "volume24hUsd", "-volume24hUsd", "fees24hUsd", "-fees24hUsd"
    ]
    | None = None,
) -> Call[PoolPage]:
    """Pools.

    Rows are served from memory and read anew in the background: `updatedAt` says how old they are, and
    `partial` names providers without an answer. Ask again while there are any.

    ``limit``: Number of rows on a page
    ``cursor``: Value of `nextCursor` of the page before
    ``network``: Only pools of this network
    ``protocol``: Only pools of this protocol
    ``token``: Only pools of this token, by symbol, address, `native` or CAIP-19 id
    ``query``: Only pools with this text in the id, the protocol or the symbols
    ``min_tvl_usd``: Only pools with at least this `tvlUsd`, in US dollars
    ``sort``: Member to sort by, ascending; with `-` before it descending. Rows without it come last.
    """
    return Call(
        "GET",
        "/v2/pools",
        PoolPage,
        query={
            "limit": limit,
            "cursor": cursor,
            "network": network,
            "protocol": protocol,
            "token": token,
            "query": query,
            "minTvlUsd": min_tvl_usd,
            "sort": sort,
        },
    )


def get_pool(pool_id: str) -> Call[PoolEntry]:
    """One pool, as it is listed.

    The row of the list, from memory; where no list has it, what its provider reads from the chain by
    the id. A malformed id is 404, as one that no provider knows.

    ``pool_id``: Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4.
    """
    return Call("GET", f"/v2/pools/{segment(pool_id)}", PoolEntry)


def create_pool_quote(pool_id: str, **body: Unpack[PoolBody]) -> Call[PoolQuote]:
    """Quote adding, removing or collecting.

    Asks every enabled provider that serves the request, checks the answers, and gives the best quote.
    `quoteId` is signed and holds the quote: exchange it for an action as often as needed until it
    expires. Nothing is reserved or sent.

    ``pool_id``: Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4.
    """
    return Call(
        "POST",
        f"/v2/pools/{segment(pool_id)}/quote",
        PoolQuote,
        body=body,
        check=partial(place_quoted, pool_id, body),
    )


def create_pool_action(pool_id: str, **body: Unpack[PoolActionBody]) -> Call[Action]:
    """Unsigned transactions for a liquidity operation.

    Gives unsigned transactions, decoded again from their bytes and simulated in their order, with the
    approvals that the wallet needs now. The same request at the same block gives the same bytes. What
    simulation or checks refuse is an error, never a worse minimum.

    ``pool_id``: Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4.
    """
    return Call("POST", f"/v2/pools/{segment(pool_id)}/action", Action, body=body)


def get_pool_tvl(
    pool_id: str,
    *,
    from_: int | None = None,
    to: int | None = None,
    interval: Literal["1h", "1d", "1w"] | None = None,
) -> Call[Series]:
    """TVL of a pool over time.

    From an index where there is one, else from the node's state and logs: `method` says which. A value
    that is not known is null. A series is read in the background: before the first read has ended every
    value is null with the reason `provider_timeout`; ask again in some seconds.

    ``pool_id``: Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4
    ``from_``: Start of the series, in Unix seconds. Left out: 30 days before `to`
    ``to``: End of the series, in Unix seconds. Left out: now
    ``interval``: Time between points: an hour, a day or a week.
    """
    return Call(
        "GET",
        f"/v2/pools/{segment(pool_id)}/tvl",
        Series,
        query={"from": from_, "to": to, "interval": interval},
    )


def get_pool_volume(
    pool_id: str,
    *,
    from_: int | None = None,
    to: int | None = None,
    interval: Literal["1h", "1d", "1w"] | None = None,
) -> Call[Series]:
    """Volume of a pool over time.

    From an index where there is one, else from the node's state and logs: `method` says which. A value
    that is not known is null. A series is read in the background: before the first read has ended every
    value is null with the reason `provider_timeout`; ask again in some seconds.

    ``pool_id``: Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4
    ``from_``: Start of the series, in Unix seconds. Left out: 30 days before `to`
    ``to``: End of the series, in Unix seconds. Left out: now
    ``interval``: Time between points: an hour, a day or a week.
    """
    return Call(
        "GET",
        f"/v2/pools/{segment(pool_id)}/volume",
        Series,
        query={"from": from_, "to": to, "interval": interval},
    )


def get_pool_fees(
    pool_id: str,
    *,
    from_: int | None = None,
    to: int | None = None,
    interval: Literal["1h", "1d", "1w"] | None = None,
) -> Call[Series]:
    """Fees of a pool over time.

    From an index where there is one, else from the node's state and logs: `method` says which. A value
    that is not known is null. A series is read in the background: before the first read has ended every
    value is null with the reason `provider_timeout`; ask again in some seconds.

    ``pool_id``: Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4
    ``from_``: Start of the series, in Unix seconds. Left out: 30 days before `to`
    ``to``: End of the series, in Unix seconds. Left out: now
    ``interval``: Time between points: an hour, a day or a week.
    """
    return Call(
        "GET",
        f"/v2/pools/{segment(pool_id)}/fees",
        Series,
        query={"from": from_, "to": to, "interval": interval},
    )


def get_pool_apr(
    pool_id: str,
    *,
    from_: int | None = None,
    to: int | None = None,
    interval: Literal["1h", "1d", "1w"] | None = None,
) -> Call[Series]:
    """APR of a pool over time.

    From an index where there is one, else from the node's state and logs: `method` says which. A value
    that is not known is null. A series is read in the background: before the first read has ended every
    value is null with the reason `provider_timeout`; ask again in some seconds.

    ``pool_id``: Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4
    ``from_``: Start of the series, in Unix seconds. Left out: 30 days before `to`
    ``to``: End of the series, in Unix seconds. Left out: now
    ``interval``: Time between points: an hour, a day or a week.
    """
    return Call(
        "GET",
        f"/v2/pools/{segment(pool_id)}/apr",
        Series,
        query={"from": from_, "to": to, "interval": interval},
    )


def list_pool_positions(
    pool_id: str,
    *,
    wallet: str,
    limit: int | None = None,
    cursor: str | None = None,
    min_block: int | None = None,
    after_transaction: str | None = None,
) -> Call[PositionPage]:
    """A wallet's positions in a pool.

    Read from the chain at one block. `partial` names a provider that could not look for all.

    ``pool_id``: Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4
    ``limit``: Number of rows on a page
    ``cursor``: Value of `nextCursor` of the page before
    ``min_block``: Number of a block, such as the newest of the caller's own node: the answer is of this
    block or a later one
    ``after_transaction``: Hash of a transaction: the answer is of its block or a later one
    ``wallet``: Account whose positions are listed. Address or ENS name.
    """
    return Call(
        "GET",
        f"/v2/pools/{segment(pool_id)}/positions",
        PositionPage,
        query={
            "limit": limit,
            "cursor": cursor,
            "minBlock": min_block,
            "afterTransaction": after_transaction,
            "wallet": wallet,
        },
    )


def get_pool_liquidity(
    pool_id: str, *, min_block: int | None = None, after_transaction: str | None = None
) -> Call[PoolLiquidity]:
    """Liquidity of a pool around its price.

    Read from the chain at one block. 503 for a pool without ticks, such as one of Uniswap v2, and where
    no provider can tell.

    ``pool_id``: Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4
    ``min_block``: Number of a block, such as the newest of the caller's own node: the answer is of this
    block or a later one
    ``after_transaction``: Hash of a transaction: the answer is of its block or a later one.
    """
    return Call(
        "GET",
        f"/v2/pools/{segment(pool_id)}/liquidity",
        PoolLiquidity,
        query={"minBlock": min_block, "afterTransaction": after_transaction},
    )


class PoolsOperations(Resource):
    """Liquidity pools: lists, quotes, actions, series and positions."""

    list = Listed(list_pools)
    get = Blocking(get_pool)
    quote = Blocking(create_pool_quote)
    action = Blocking(create_pool_action)
    tvl = Blocking(get_pool_tvl)
    volume = Blocking(get_pool_volume)
    fees = Blocking(get_pool_fees)
    apr = Blocking(get_pool_apr)
    positions = Listed(list_pool_positions)
    liquidity = Blocking(get_pool_liquidity)
    act = Blocking(act_pool)


class AsyncPoolsOperations(ResourceAsync):
    """Liquidity pools: lists, quotes, actions, series and positions."""

    list = AsyncListed(list_pools)
    get = Awaited(get_pool)
    quote = Awaited(create_pool_quote)
    action = Awaited(create_pool_action)
    tvl = Awaited(get_pool_tvl)
    volume = Awaited(get_pool_volume)
    fees = Awaited(get_pool_fees)
    apr = Awaited(get_pool_apr)
    positions = AsyncListed(list_pool_positions)
    liquidity = Awaited(get_pool_liquidity)
    act = Awaited(act_pool)
