"""Pools: the catalog, liquidity operations, series and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from aiohttp import web
from marshmallow import ValidationError, validates_schema

from quoteway.errors import Reason
from quoteway.host.lists import ListKind
from quoteway.models import NATIVE, Capability, Pool, PoolPosition, PoolRequest
from quoteway.pricing.valuation import tokens_of_positions
from quoteway.providers import PoolProvider
from quoteway.web.http.fields import (
    MAX,
    AddressField,
    AmountOrMax,
    Choice,
    NetworkField,
    QueryNumber,
    SlippageField,
    StrictBoolean,
    StrictInteger,
    Text,
    described,
)
from quoteway.web.http.operation import Call, Handler, Operation
from quoteway.web.http.schema import Refusal, RequestSchema
from quoteway.web.resources import catalog
from quoteway.web.resources import quote_action as movements
from quoteway.web.resources.ids import PoolIdField, ResourceId, owner_of
from quoteway.web.resources.series import SeriesQuery, series_of
from quoteway.web.wire.actions import Action
from quoteway.web.wire.pools import PoolEntry, PoolPage, PoolQuote, PositionEntry, PositionPage
from quoteway.web.wire.series import Series

ACTIONS = ("add", "remove", "collect")
TICK_LIMIT = 887_272
"""Uniswap v3 TickMath.MAX_TICK; v4 has the same."""


class PoolPath(RequestSchema):
    pool_id = described(PoolIdField(required=True), "{chainId}:{address}, or {chainId}:{32-byte id} on v4")


class PoolBody(RequestSchema):
    """``amount`` is base units of ``asset``; ``collect`` needs neither. ``useNative`` gives and takes the
    native coin where the pool holds its wrapped form; an ``asset`` that is the native coin says so too."""

    action = described(
        Choice(*ACTIONS, reason=Reason.UNSUPPORTED_ACTION, required=True), "What to do with liquidity"
    )
    address = described(AddressField(required=True), "Who signs, pays and holds the position")
    amount = described(AmountOrMax(minimum=1), "Base units of asset; max takes everything out")
    asset = described(
        AddressField(native=True), "The token that amount counts: one of the pool, or its shares"
    )
    slippage_bps = described(
        SlippageField(), "How far the amounts may move against the caller, in basis points"
    )
    recipient = described(AddressField(), "Who is paid, or owns the new position; address when left out")
    tick_lower = described(StrictInteger(-TICK_LIMIT, TICK_LIMIT), "Where a v3 or v4 position begins")
    tick_upper = described(StrictInteger(-TICK_LIMIT, TICK_LIMIT), "Where a v3 or v4 position ends")
    position_id = described(
        Text(max_length=100, pattern=r"[0-9A-Za-z:._-]{1,100}"),
        "The position to add to, remove from or collect",
    )
    use_native = described(
        StrictBoolean(load_default=False),
        "Pay and be paid in the native coin where the pool holds its wrapped form",
    )

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_members(self, data: Mapping[str, Any], original: Mapping[str, Any], **kwargs: Any) -> None:
        refused: dict[str, list[str]] = {}
        if data.get("action") in ("add", "remove"):
            for name in ("amount", "asset"):
                if original.get(name, "") == "":
                    refused[name] = [Refusal(Reason.MISSING, f"is required for {data['action']}")]
        if data.get("action") == "add" and data.get("amount") == MAX:
            refused["amount"] = [Refusal(Reason.INVALID_FORMAT, '"max" is for remove only')]
        lower, upper = data.get("tick_lower"), data.get("tick_upper")
        if lower is not None and upper is not None and lower >= upper:
            refused["tickUpper"] = [Refusal(Reason.CONFLICT, "must be above tickLower")]
        if refused:
            raise ValidationError(refused)


class PoolActionBody(PoolBody):
    """``quoteId`` keeps the minimums of an earlier quote for the same request."""

    quote_id = described(Text(max_length=4_096), "A quote whose minimums the action keeps")


class PoolsQuery(catalog.PageQuery):
    network = described(NetworkField(), "Pools of this network")
    protocol = described(Text(max_length=64), "Pools of this protocol")
    token = described(Text(max_length=64), "Pools of this token, by symbol or address")
    query = described(Text(max_length=100), "Text in the id, the protocol or the symbols")
    min_tvl_usd = described(QueryNumber(), "Pools worth at least this, in US dollars")
    sort = described(
        Choice(*catalog.sort_choices("tvlUsd", "apr", "volume24hUsd", "fees24hUsd")),
        "The member to sort by; - before it for descending",
    )


class PositionsQuery(catalog.PageQuery):
    wallet = described(AddressField(required=True), "Whose positions")


POOLS = ListKind(Capability.POOL, Pool, lambda provider, chain_id: provider.pools(chain_id), by_chain=True)


async def list_pools(call: Call) -> web.Response:
    async def render(pools: Sequence[Pool]) -> list[dict[str, Any]]:
        tokens = {(token.chain_id, token.address) for pool in pools for token in pool.tokens}
        valuation = await call.gateway.valuation(tokens)
        return PoolEntry.render_all(map(valuation.pool, pools), call.networks)

    return await catalog.list_of_network(call, POOLS, _selected, render)


def _selected(pool: Pool, query: Mapping[str, Any]) -> bool:
    if "protocol" in query and pool.protocol != query["protocol"]:
        return False
    if "min_tvl_usd" in query and (pool.tvl_usd is None or pool.tvl_usd < query["min_tvl_usd"]):
        return False
    if "token" in query and not any(catalog.names_token(query["token"], token) for token in pool.tokens):
        return False
    if "query" not in query:
        return True
    symbols = "/".join(token.symbol or "" for token in pool.tokens)
    return catalog.mentions(query["query"], pool.id, pool.protocol, symbols)


async def create_quote(call: Call) -> dict[str, Any]:
    request, provider = await _request(call)
    return await movements.quote(call, Capability.POOL, request, provider=provider.id)


async def create_action(call: Call) -> web.Response:
    request, provider = await _request(call)
    pin = movements.pinned(call, Capability.POOL)
    return await movements.direct(call, Capability.POOL, request, provider=provider.id, pin=pin)


async def _request(call: Call) -> tuple[PoolRequest, PoolProvider]:
    pool: ResourceId = call.path["pool_id"]
    provider = await _provider(call, pool)
    body = call.body
    amount = body.get("amount")
    request = PoolRequest(
        pool_id=pool.id,
        chain_id=pool.chain_id,
        action=body["action"],
        asset=body.get("asset", NATIVE),
        amount=None if amount == MAX else amount,
        sender=body["address"],
        recipient=body.get("recipient", body["address"]),
        slippage_bps=body["slippage_bps"],
        tick_lower=body.get("tick_lower"),
        tick_upper=body.get("tick_upper"),
        position_id=body.get("position_id"),
        use_native=body["use_native"],
    )
    return request, provider


async def _provider(call: Call, pool: ResourceId) -> PoolProvider:
    owner = await owner_of(
        call, Capability.POOL, pool, lambda provider: cast(PoolProvider, provider).pool(pool.id), "pool"
    )
    return cast(PoolProvider, owner)


async def list_positions(call: Call) -> web.Response:
    pool: ResourceId = call.path["pool_id"]
    provider = await _provider(call, pool)

    async def collect() -> catalog.Listing:
        found: list[PoolPosition] = list(
            await catalog.one_source(
                call, provider, PoolPosition, lambda p: p.positions(call.query["wallet"], pool.id)
            )
        )
        valuation = await call.gateway.valuation(tokens_of_positions(found))
        rows = PositionEntry.render_all(map(valuation.position, found), call.networks)
        return catalog.Listing(rows, key=lambda row: str(row["positionId"]))

    return await catalog.answer(call, collect, keep_it=False)


def _metric(metric: str) -> Handler:
    async def show(call: Call) -> dict[str, Any]:
        return await series_of(call, Capability.POOL, call.path["pool_id"], metric, _provider)

    return show


OPERATIONS = (
    Operation(
        "GET",
        "/v2/pools",
        "listPools",
        "pools",
        "Pools",
        list_pools,
        PoolPage,
        query=PoolsQuery,
    ),
    Operation(
        "POST",
        "/v2/pools/{poolId}/quote",
        "createPoolQuote",
        "pools",
        "Quote adding, removing or collecting",
        create_quote,
        PoolQuote,
        group="quotes",
        path_schema=PoolPath,
        body=PoolBody,
        errors=(400, 404, 422, 429, 502, 503),
    ),
    Operation(
        "POST",
        "/v2/pools/{poolId}/action",
        "createPoolAction",
        "pools",
        "Unsigned transactions for a liquidity operation",
        create_action,
        Action,
        status=201,
        group="quotes",
        path_schema=PoolPath,
        body=PoolActionBody,
        errors=(400, 404, 422, 429, 502, 503),
    ),
    *(
        Operation(
            "GET",
            f"/v2/pools/{{poolId}}/{metric}",
            f"getPool{metric.capitalize()}",
            "pools",
            f"{title} of a pool over time",
            _metric(metric),
            Series,
            path_schema=PoolPath,
            query=SeriesQuery,
            errors=(404, 422, 429, 502, 503),
        )
        for metric, title in (("tvl", "TVL"), ("volume", "Volume"), ("fees", "Fees"), ("apr", "APR"))
    ),
    Operation(
        "GET",
        "/v2/pools/{poolId}/positions",
        "listPoolPositions",
        "pools",
        "A wallet's positions in a pool",
        list_positions,
        PositionPage,
        path_schema=PoolPath,
        query=PositionsQuery,
        errors=(404, 422, 429, 502, 503),
    ),
)
