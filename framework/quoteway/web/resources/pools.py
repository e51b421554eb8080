"""Pools: the catalog, liquidity operations, series and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, cast

import orjson
from aiohttp import web
from marshmallow import validates_schema

from quoteway.errors import Reason, disabled
from quoteway.guard.findings import Expect, check_form
from quoteway.host.lists import ListKind
from quoteway.models import NATIVE, Capability, Pool, PoolLiquidity, PoolPosition, PoolRequest
from quoteway.pricing.valuation import tokens_of_positions
from quoteway.providers import PoolProvider, Provider
from quoteway.web.http import fields
from quoteway.web.http.envelope import json_response
from quoteway.web.http.freshness import FreshQuery, at_least
from quoteway.web.http.name_fields import AccountField, TokenField
from quoteway.web.http.operation import NO_STORE, Call, get
from quoteway.web.http.schema import Case, refuse_all
from quoteway.web.resources import catalog
from quoteway.web.resources.ids import PoolPath, owner_of, show
from quoteway.web.resources.permits import PermitsBody
from quoteway.web.resources.quote_action import DeadlineBody, Quotable
from quoteway.web.resources.series import series_of, series_operations
from quoteway.web.wire.actions import Action
from quoteway.web.wire.liquidity import PoolLiquidity as PoolLiquidityView
from quoteway.web.wire.quotes import PoolQuote
from quoteway.web.wire.rows import PoolEntry, PoolPage, PositionEntry, PositionPage

TICK_LIMIT = 887_272
"""Uniswap v3 TickMath.MAX_TICK; v4 has the same."""


class PoolBody(DeadlineBody):
    """``amount`` is base units of ``asset``; ``collect`` needs neither. ``useNative`` gives and takes the
    native coin where the pool holds its wrapped form; an ``asset`` that is the native coin says so too."""

    cases = {
        "Add": Case(
            ("add",),
            "Adds liquidity: `amount` is exact, of one of the pool's tokens.",
            ("amount", "asset"),
            {"amount": fields.Amount.patterns[1]},
        ),
        "Remove": Case(("remove",), "Removes liquidity.", ("amount", "asset")),
        "Collect": Case(("collect",), "Collects fees; needs neither `amount` nor `asset`."),
    }

    action = fields.Action(
        "Whether to add or remove liquidity, or to collect fees", ("add", "remove", "collect"), required=True
    )
    address = AccountField("Account that signs the transactions, pays, and owns the position", required=True)
    amount = fields.AmountOrMax(
        "Amount in base units of `asset`; `max` removes the whole position", minimum=1
    )
    asset = TokenField(
        "Token that `amount` counts, one of the pool's tokens or the token of its shares", native=True
    )
    slippage_bps = fields.SlippageField(
        "How far the amounts may change to the caller's disadvantage, in basis points"
    )
    recipient = AccountField("Account that receives the outputs, or owns a new position. Left out: `address`")
    tick_lower = fields.StrictInteger(
        "Lower tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the lowest",
        -TICK_LIMIT,
        TICK_LIMIT,
    )
    tick_upper = fields.StrictInteger(
        "Upper tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the highest",
        -TICK_LIMIT,
        TICK_LIMIT,
    )
    position_id = fields.Text(
        "Id of the position to add to, remove from or collect. Left out: a new position for "
        "`add`, else the only one of the wallet in the pool",
        max_length=100,
        pattern=r"[0-9A-Za-z:._-]{1,100}",
    )
    use_native = fields.StrictBoolean(
        "Whether to pay and receive the native coin where the pool holds its wrapped form", load_default=False
    )

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_members(self, data: Mapping[str, Any], original: Mapping[str, Any], **kwargs: Any) -> None:
        refused: dict[str, tuple[Reason, str]] = {}
        if data.get("action") in ("add", "remove"):
            for name in ("amount", "asset"):
                if original.get(name, "") == "":
                    refused[name] = (Reason.MISSING, f"is required for {data['action']}")
        if data.get("action") == "add" and data.get("amount", 0) is None:
            refused["amount"] = (Reason.INVALID_FORMAT, '"max" is for remove only')
        lower, upper = data.get("tick_lower"), data.get("tick_upper")
        if lower is not None and upper is not None and lower >= upper:
            refused["tickUpper"] = (Reason.CONFLICT, "must be above tickLower")
        if refused:
            raise refuse_all(refused)


class PoolActionBody(PermitsBody, PoolBody):
    """``quoteId`` keeps the minimums of an earlier quote for the same request."""

    quote_id = fields.Text("Quote of the same request, whose minimums the action keeps", max_length=4_096)


class PoolsQuery(catalog.PageQuery):
    network = fields.NetworkField("Only pools of this network")
    protocol = fields.Text("Only pools of this protocol", max_length=64)
    token = fields.Text(
        "Only pools of this token, by symbol, address, `native` or CAIP-19 id", max_length=100
    )
    query = fields.Text("Only pools with this text in the id, the protocol or the symbols", max_length=100)
    min_tvl_usd = fields.QueryNumber("Only pools with at least this `tvlUsd`, in US dollars")
    sort = catalog.sort_field("tvlUsd", "apr", "volume24hUsd", "fees24hUsd")


class PositionsQuery(FreshQuery, catalog.PageQuery):
    wallet = AccountField("Account whose positions are listed", required=True)


POOLS = ListKind(Capability.POOL, Pool, lambda provider, chain_id: provider.pools(chain_id), by_chain=True)


@get("/v2/pools", "Pools", PoolPage, query=PoolsQuery, cached=True, description=catalog.FROM_MEMORY)
async def list_pools(call: Call) -> web.Response:
    return await catalog.list_of_network(call, POOLS, _selected, partial(_render, call))


@get(
    "/v2/pools/{poolId}",
    "One pool, as it is listed",
    PoolEntry,
    path_schema=PoolPath,
    cached=True,
    failures=(404, 502),
    description=catalog.ONE_ROW,
)
async def get_pool(call: Call) -> web.Response:
    return await show(call, POOLS, partial(_render, call))


async def _render(call: Call, pools: Sequence[Pool]) -> list[dict[str, Any]]:
    tokens = {(token.chain_id, token.address) for pool in pools for token in pool.tokens}
    valuation = await call.gateway.valuation(tokens)
    return PoolEntry.render_all(map(valuation.pool, pools), call.networks)


def _selected(pool: Pool, query: Mapping[str, Any]) -> bool:
    if "min_tvl_usd" in query and (pool.tvl_usd is None or pool.tvl_usd < query["min_tvl_usd"]):
        return False
    if "token" in query and not any(catalog.names_token(query["token"], token) for token in pool.tokens):
        return False
    pair = "/".join(token.symbol or "" for token in pool.tokens)
    return catalog.matches(pool, query, "protocol") and catalog.mentions(query, pool.id, pool.protocol, pair)


async def _read_request(call: Call) -> tuple[PoolRequest, str]:
    pool, provider = await owner_of(call, Capability.POOL)
    body = call.body
    request = PoolRequest(
        pool_id=pool.id,
        chain_id=pool.chain_id,
        action=body["action"],
        asset=body.get("asset", NATIVE),
        amount=body.get("amount"),
        sender=body["address"],
        recipient=body.get("recipient", body["address"]),
        slippage_bps=body["slippage_bps"],
        tick_lower=body.get("tick_lower"),
        tick_upper=body.get("tick_upper"),
        position_id=body.get("position_id"),
        use_native=body["use_native"],
    )
    return request, provider.id


@get(
    "/v2/pools/{poolId}/positions",
    "A wallet's positions in a pool",
    PositionPage,
    description="Read from the chain at one block. `partial` names a provider that could not look for all.",
    path_schema=PoolPath,
    query=PositionsQuery,
    failures=(404, 502),
)
async def list_pool_positions(call: Call) -> web.Response:
    async with at_least(call.gateway, call.path["resource"].chain_id, call.query):
        pool, provider = await owner_of(call, Capability.POOL)

        unsearched: list[Reason] = []

        async def ask(source: Provider) -> Sequence[PoolPosition]:
            answer = await cast(PoolProvider, source).positions(call.query["wallet"], pool.id) or ()
            if (reason := catalog.unsearched_reason(answer)) is not None:
                unsearched.append(reason)
            return tuple(answer)

        (outcome,) = await call.ask([provider], tuple[PoolPosition, ...], ask, verb="list")
    if outcome.value is None:
        raise outcome.failure()
    valuation = await call.gateway.valuation(tokens_of_positions(outcome.value))
    rows = PositionEntry.render_all(map(valuation.position, outcome.value), call.networks)
    missing = [(provider.id, reason) for reason in unsearched]
    return catalog.fresh(call, catalog.Listing(rows, key=lambda row: str(row["positionId"]), missing=missing))


@get(
    "/v2/pools/{poolId}/liquidity",
    "Liquidity of a pool around its price",
    PoolLiquidityView,
    description="Read from the chain at one block. 503 for a pool without ticks, such as one of Uniswap v2, "
    "and where no provider can tell.",
    path_schema=PoolPath,
    query=FreshQuery,
    failures=(404, 502),
)
async def get_pool_liquidity(call: Call) -> web.Response:
    async with at_least(call.gateway, call.path["resource"].chain_id, call.query):
        pool, provider = await owner_of(call, Capability.POOL)

        async def ask(source: Provider) -> PoolLiquidity | None:
            answer = await cast(PoolProvider, source).liquidity(pool.id)
            check_form(source, answer, PoolLiquidity | None)
            if answer is not None:
                _check_liquidity(source, pool.id, answer)
            return answer

        (outcome,) = await call.ask([provider], PoolLiquidity | None, ask, verb="liquidity")
    if outcome.value is not None:
        wire = PoolLiquidityView.render(outcome.value, call.networks)
        return json_response(orjson.dumps(wire), 200, NO_STORE)
    if outcome.failed:
        raise outcome.failure()
    raise disabled("No enabled provider can tell how the liquidity of this pool lies over its price.")


def _check_liquidity(provider: Provider, pool_id: str, found: PoolLiquidity) -> None:
    expect = Expect(provider)
    expect(found.pool_id == pool_id, "it tells the liquidity of another pool than the one asked for")
    ticks = [each.tick for each in found.ticks]
    expect(found.tick_spacing > 0, "the tick spacing is not positive")
    expect(all(one < other for one, other in pairwise(ticks)), "the ticks are not in ascending order")
    expect(
        all(found.known[0] <= tick <= found.known[1] for tick in (found.tick, *ticks)),
        "a tick is outside of the known ones",
    )


_POOL = Quotable(Capability.POOL, "Pool", "/v2/pools/{poolId}", _read_request, PoolPath)
_SERIES = {"tvl": "TVL", "volume": "Volume", "fees": "Fees", "apr": "APR"}

OPERATIONS = (
    list_pools,
    get_pool,
    _POOL.quote("Quote adding, removing or collecting", PoolQuote, PoolBody),
    _POOL.action("Unsigned transactions for a liquidity operation", Action, PoolActionBody),
    *series_operations(Capability.POOL, _SERIES, series_of, PoolPath),
    list_pool_positions,
    get_pool_liquidity,
)
