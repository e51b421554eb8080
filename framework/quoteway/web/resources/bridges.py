"""Bridges: routes, quote and action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web
from marshmallow import validates_schema

from quoteway.errors import Reason
from quoteway.host.lists import ListKind
from quoteway.models import BridgeRoute, Capability
from quoteway.networks import Network
from quoteway.web.http.fields import NetworkField
from quoteway.web.http.operation import Call, Operation
from quoteway.web.http.schema import refuse
from quoteway.web.resources import catalog, quote_action
from quoteway.web.resources.swaps import Transfer, transfer_request
from quoteway.web.wire.bridges import BridgeAction, BridgeQuote, BridgeRouteEntry, RoutePage


class BridgeQuoteBody(Transfer):
    from_chain = NetworkField("The network of fromToken", required=True)
    to_chain = NetworkField("The network of toToken, another one", required=True)

    @validates_schema
    def check_ends(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        if data["from_chain"] == data["to_chain"]:
            raise refuse(Reason.CONFLICT, "must be another network than fromChain", "toChain")


class RoutesQuery(catalog.PageQuery):
    from_chain = NetworkField("Routes that begin here")
    to_chain = NetworkField("Routes that end here")


ROUTES = ListKind(
    Capability.BRIDGE,
    BridgeRoute,
    lambda provider, from_chain_id, to_chain_id: provider.routes(from_chain_id, to_chain_id),
    everything=(None, None),
)


async def list_routes(call: Call) -> web.Response:
    origin: Network | None = call.query.get("from_chain")
    target: Network | None = call.query.get("to_chain")
    chain_ids = [network.chain_id for network in (origin, target) if network is not None]
    call.require(Capability.BRIDGE, *chain_ids)

    async def collect() -> catalog.Listing:
        ends = origin.chain_id if origin else None, target.chain_id if target else None
        merged = await catalog.merge(call, ROUTES, ends, *chain_ids)
        rows = BridgeRouteEntry.render_all(merged.rows, call.networks)
        left_out = catalog.left_out(merged)
        return catalog.Listing(rows, key=_route_key, updated_at=merged.read_at, left_out=left_out)

    return await catalog.answer(call, collect)


def _route_key(row: Mapping[str, Any]) -> str:
    ends = (
        row["fromChain"],
        row["toChain"],
        row["fromToken"]["address"],
        row["toToken"]["address"],
        row["bridge"],
    )
    return "|".join(ends)


async def create_quote(call: Call) -> dict[str, Any]:
    origin, target = call.body["from_chain"], call.body["to_chain"]
    call.require(Capability.BRIDGE, origin.chain_id, target.chain_id)
    request = await transfer_request(call, origin, target)
    return await quote_action.quote(call, Capability.BRIDGE, request, provider=call.body.get("provider"))


async def create_action(call: Call) -> web.Response:
    return await quote_action.exchange(call, Capability.BRIDGE, call.path["quoteId"])


OPERATIONS = (
    Operation(
        "GET",
        "/v2/bridges/routes",
        "listBridgeRoutes",
        "bridges",
        "Routes between two networks",
        list_routes,
        RoutePage,
        query=RoutesQuery,
    ),
    Operation(
        "POST",
        "/v2/bridges/quote",
        "createBridgeQuote",
        "bridges",
        "Quote a transfer to another network",
        create_quote,
        BridgeQuote,
        group="quotes",
        body=BridgeQuoteBody,
        errors=(400, 422, 429, 502, 503),
    ),
    Operation(
        "POST",
        "/v2/bridges/{quoteId}/action",
        "createBridgeAction",
        "bridges",
        "Unsigned transactions for a bridge quote",
        create_action,
        BridgeAction,
        status=201,
        group="quotes",
        errors=(404, 429, 502, 503),
    ),
)
