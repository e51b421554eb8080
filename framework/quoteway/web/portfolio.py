"""A wallet across networks. No provider of this capability exists yet: input is checked, then 503."""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from quoteway.errors import ProviderUnavailable, Reason
from quoteway.evm.address import is_native_alias, parse_address
from quoteway.models import NATIVE
from quoteway.web import shapes
from quoteway.web.fields import AddressField, NetworkField, QueryBoolean
from quoteway.web.operation import Call, Operation
from quoteway.web.schema import RequestSchema, ResponseSchema, refuse


class TokensField(fields.Field[tuple[str, ...]]):
    """Comma-separated token addresses, at most 100; the zero address is the native coin."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(metadata={"type": "string", "maxLength": 4_400}, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> tuple[str, ...]:
        parts = str(value).split(",")
        if len(parts) > 100:
            raise refuse(Reason.OUT_OF_RANGE, "must name at most 100 tokens")
        try:
            return tuple(NATIVE if is_native_alias(part) else parse_address(part) for part in parts)
        except ValueError as error:
            raise refuse(Reason.INVALID_FORMAT, f"must be addresses separated by commas: {error}") from None


class BalancesQuery(RequestSchema):
    wallet = AddressField(required=True)
    network = NetworkField()
    tokens = TokensField()
    include_native = QueryBoolean(load_default=True)


class PositionsQuery(RequestSchema):
    wallet = AddressField(required=True)
    network = NetworkField()


class Balance(ResponseSchema):
    network = shapes.sure(fields.String)
    chain_id = shapes.sure(fields.Integer)
    token = shapes.one(shapes.TokenRef)
    amount = shapes.sure(shapes.AmountText)
    amount_formatted = shapes.sure(fields.String)
    value_usd = shapes.maybe(fields.Float)


class AsOf(ResponseSchema):
    chain_id = shapes.sure(fields.Integer)
    block = shapes.sure(fields.Integer)


class Partial(ResponseSchema):
    chain_id = shapes.sure(fields.Integer)
    reason = shapes.sure(fields.String)


class Balances(ResponseSchema):
    wallet = shapes.sure(shapes.AddressText)
    data = shapes.some(Balance)
    total_usd = shapes.maybe(fields.Float)
    as_of = shapes.some(AsOf)
    left_out = fields.List(fields.Nested(Partial), required=True, data_key="partial")


class Positions(shapes.PageMembers):
    data = fields.List(fields.Dict(), required=True)


async def unavailable(call: Call) -> dict[str, Any]:
    raise ProviderUnavailable(
        "Portfolios are not enabled in this deployment.", reason=Reason.CAPABILITY_DISABLED, retryable=False
    )


OPERATIONS = (
    Operation(
        "GET",
        "/v2/portfolio/balances",
        "getPortfolioBalances",
        "portfolio",
        "A wallet's balances",
        unavailable,
        Balances,
        query=BalancesQuery,
        errors=(422, 429, 502, 503),
    ),
    Operation(
        "GET",
        "/v2/portfolio/positions",
        "getPortfolioPositions",
        "portfolio",
        "A wallet's positions",
        unavailable,
        Positions,
        query=PositionsQuery,
        errors=(422, 429, 502, 503),
    ),
)
