"""Bridges: routes, quote and action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web
from marshmallow import validates_schema

from quoteway.errors import Reason
from quoteway.host.lists import ListKind
from quoteway.models import BridgeRoute, Capability, SwapRequest
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
        return catalog.Listing(rows, key=_route_key, updated_at=merged.read_at, missing=merged.partial)

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


async def _read_request(call: Call) -> tuple[SwapRequest, str | None]:
    origin, target = call.body["from_chain"], call.body["to_chain"]
    call.require(Capability.BRIDGE, origin.chain_id, target.chain_id)
    return await transfer_request(call, origin, target), call.body.get("provider")


OPERATIONS = (
    Operation(
        "GET",
        "/v2/bridges/routes",
        "listBridgeRoutes",
        "Routes between two networks",
        list_routes,
        RoutePage,
        query=RoutesQuery,
    ),
    quote_action.quote_operation(
        "/v2/bridges/quote",
        "createBridgeQuote",
        "Quote a transfer to another network",
        quote_action.quote_of(Capability.BRIDGE, _read_request),
        BridgeQuote,
        body=BridgeQuoteBody,
        failures=(502,),
    ),
    quote_action.action_operation(
        "/v2/bridges/{quoteId}/action",
        "createBridgeAction",
        "Unsigned transactions for a bridge quote",
        quote_action.action_of_quote(Capability.BRIDGE),
        BridgeAction,
    ),
)
