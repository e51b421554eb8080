"""Bridges: routes, quote and action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web
from marshmallow import ValidationError, fields, validates_schema

from quoteway.errors import Reason
from quoteway.lists import ListKind
from quoteway.models import BridgeRoute, Capability
from quoteway.networks import Network
from quoteway.web import catalog, entries, movements, shapes
from quoteway.web.fields import NetworkField, described
from quoteway.web.operation import Call, Operation
from quoteway.web.schema import Refusal, ResponseSchema
from quoteway.web.swaps import Transfer, transfer_request


class BridgeQuoteBody(Transfer):
    from_chain = described(NetworkField(required=True), "The network of fromToken")
    to_chain = described(NetworkField(required=True), "The network of toToken, another one")

    @validates_schema
    def check_ends(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        if data["from_chain"] == data["to_chain"]:
            raise ValidationError(
                {"toChain": [Refusal(Reason.CONFLICT, "must be another network than fromChain")]}
            )


class RoutesQuery(catalog.PageQuery):
    from_chain = described(NetworkField(), "Routes that begin here")
    to_chain = described(NetworkField(), "Routes that end here")


class Refund(ResponseSchema):
    chain_id = shapes.sure(fields.Integer)
    token = shapes.sure(shapes.AddressText)
    address = shapes.sure(shapes.AddressText)
    on_expiry = fields.Raw(required=True, allow_none=True)


class BridgeQuote(shapes.Quote):
    estimated_seconds = fields.Integer(allow_none=True)
    fill_deadline = fields.Integer(allow_none=True)
    refund = fields.Nested(Refund, allow_none=True)


class Tracking(ResponseSchema):
    bridge = shapes.sure(fields.String)
    origin_chain_id = shapes.sure(fields.Integer)
    destination_chain_id = shapes.sure(fields.Integer)
    expected_seconds = shapes.maybe(fields.Integer)
    refund_address = shapes.maybe(shapes.AddressText)


class BridgeAction(shapes.Action):
    tracking = fields.Nested(Tracking)


class BridgeRouteEntry(ResponseSchema):
    from_chain = shapes.sure(fields.String)
    to_chain = shapes.sure(fields.String)
    from_token = shapes.one(shapes.TokenRef)
    to_token = shapes.one(shapes.TokenRef)
    bridge = shapes.sure(fields.String)
    min_amount = shapes.maybe(shapes.AmountText)
    max_amount = shapes.maybe(shapes.AmountText)
    estimated_seconds = shapes.maybe(fields.Integer)
    enabled = shapes.sure(fields.Boolean)


class RoutePage(shapes.PageMembers):
    data = shapes.some(BridgeRouteEntry)


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
        rows = [entries.bridge_route(route, call.networks) for route in merged.rows]
        left_out = catalog.partial_rows(merged)
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
    return await movements.quote(call, Capability.BRIDGE, request, provider=call.body.get("provider"))


async def create_action(call: Call) -> web.Response:
    return await movements.exchange(call, Capability.BRIDGE, call.path["quoteId"])


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
