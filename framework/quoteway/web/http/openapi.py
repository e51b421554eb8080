"""OpenAPI 3.1, made from the operations and their schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin

from quoteway.networks import Networks
from quoteway.web.http.operation import Operation
from quoteway.web.wire.errors import Error

_ERRORS: Mapping[int, str] = {
    400: "Malformed request (`invalid_request`); also 405, 408, 413, 415 and 421",
    401: "A key is required (`unauthorized`)",
    404: "Unknown, expired or forged quote; unknown pool, vault or token (`not_found`)",
    422: "A refused member (`validation_error`); `details.fields` names every one",
    429: "Too many requests (`rate_limit_exceeded`); see `Retry-After`",
    502: "A provider failed, has no route, or no longer meets the quote (`upstream_error`)",
    503: "No enabled provider serves this (`provider_unavailable`)",
}
_DESCRIPTION = """Quotes in, unsigned transactions out. The service holds no keys and broadcasts nothing.

Amounts are base units in decimal strings. Addresses are EIP-55 on output and any case on input. `...Bps` is
an integer of 1/10,000; bare `apr` and `apy` are fractions. Members that are not known are null. Members may
be added within v2; none is removed.

`/v2/rpc/{chainId}` takes WebSocket connections too (GET with `Upgrade`): JSON-RPC 2.0 in text messages, with
`eth_subscribe` to `newHeads` and `logs`."""


def document(operations: Iterable[Operation], *, version: str) -> dict[str, Any]:
    """The OpenAPI document as plain data."""
    spec = APISpec(
        title="Quoteway",
        version=version,
        openapi_version="3.1.0",
        plugins=[MarshmallowPlugin()],
        info={"description": _DESCRIPTION, "license": {"name": "MIT", "identifier": "MIT"}},
        servers=[{"url": "/"}],
    )
    spec.components.schema("Error", schema=Error)
    for operation in operations:
        spec.path(path=operation.path, operations={operation.method.lower(): _operation(operation)})
    return spec.to_dict()


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag or operation.path.split("/")[2]],
        "summary": operation.summary,
        "parameters": _path_parameters(operation),
        "responses": {
            str(operation.status): {
                "description": "Success",
                "headers": {"X-Request-ID": {"schema": {"type": "string"}}},
                "content": {"application/json": {"schema": operation.response_shape or operation.response}},
            },
            **{str(status): _error(status) for status in operation.errors},
            "default": _error(None),
        },
    }
    if operation.description:
        described["description"] = operation.description
    if operation.query is not None:
        described["parameters"] += [{"in": "query", "schema": operation.query(Networks)}]
    if operation.body is not None:
        described["requestBody"] = {
            "required": operation.body_required,
            "content": {"application/json": {"schema": operation.body(Networks)}},
        }
    elif operation.body_shape is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": operation.body_shape}},
        }
    return described


_IDS = {
    "id": "The token's id, or {chainId}:{address}",
    "quoteId": "The quoteId of a quote",
    "txId": "The txId of a step of an action",
}


def _path_parameters(operation: Operation) -> list[Any]:
    if operation.path_schema is not None:
        return [{"in": "path", "schema": operation.path_schema(Networks)}]
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    return [
        {
            "in": "path",
            "name": name,
            "required": True,
            "description": _IDS[name],
            "schema": {"type": "string", "minLength": 1},
        }
        for name in names
    ]


def _error(status: int | None) -> dict[str, Any]:
    return {
        "description": _ERRORS[status] if status is not None else "Any other error, in the same envelope",
        "content": {"application/json": {"schema": "Error"}},
    }
