"""OpenAPI 3.1, made from the operations and their schemas."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterable
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin

from quoteway.networks import Networks
from quoteway.web.http import openapi_parts as parts
from quoteway.web.http.openapi_cases import divide, reword_defaults
from quoteway.web.http.openapi_examples import add_examples
from quoteway.web.http.operation import Operation
from quoteway.web.wire.errors import Error

_INFO: dict[str, Any] = {
    "summary": "Self-hosted gateway for on-chain finance: quotes in, unsigned transactions out.",
    "description": """Quotes in, unsigned transactions out. The service holds no keys, and broadcasts only
what is submitted to it where a relay is enabled.

Amounts are base units in decimal strings. Addresses are EIP-55 on output and any case on input. `...Bps` is
a number of basis points (1/10,000), `...Pct` one of percent; bare `apr` and `apy` are fractions. Members that
are not known are null. Members may be added within v2; none is removed.

Answers from 1,024 bytes on are compressed where `Accept-Encoding` takes gzip or deflate, but for `/v2/rpc`.

`/v2/rpc/{chainId}` takes WebSocket connections too (GET with `Upgrade`): JSON-RPC 2.0 in text messages, with
`eth_subscribe` to `newHeads` and `logs`.""",
    "contact": {"name": "The operator of this deployment"},
    "license": {"name": "MIT", "identifier": "MIT"},
}


_SHAPED_BODY = "JSON in UTF-8."
_BODY = f"{_SHAPED_BODY} Members that the schema does not have are refused."


def document(operations: Iterable[Operation], *, version: str) -> dict[str, Any]:
    """The OpenAPI document as plain data."""
    operations = tuple(operations)
    plugin = MarshmallowPlugin()
    spec = APISpec(
        title="Quoteway",
        version=version,
        openapi_version="3.1.0",
        plugins=[plugin],
        info=_INFO,
        servers=[{"url": "/", "description": "The deployment that serves this document."}],
        security=list(parts.SECURITY),
        tags=[{"name": name, "description": text} for name, text in parts.TAGS.items()],
    )
    for name, scheme in parts.SECURITY_SCHEMES.items():
        spec.components.security_scheme(name, dict(scheme))
    for name, header in parts.HEADERS.items():
        spec.components.header(name, dict(header))
    spec.components.schema("Error", schema=Error)
    for name, response in parts.ERRORS.items():
        spec.components.response(name, copy.deepcopy(dict(response)))
    for operation in operations:
        for name, shape in operation.shapes.items():
            declared = {"schema": shape} if isinstance(shape, type) else {"component": dict(shape)}
            spec.components.schema(name, **declared)
        spec.path(path=operation.path, operations={operation.method.lower(): _operation(operation)})
    made = spec.to_dict()
    schemas = made["components"]["schemas"]
    assert plugin.converter is not None
    for (kind, *_), name in plugin.converter.refs.items():
        if about := vars(kind).get("__doc__"):
            schemas[name]["description"] = _markdown(about)
    bodies = {operation.body for operation in operations if operation.body is not None}
    for body in bodies:
        reword_defaults(schemas[body.__name__])
    _name_formats(made)
    divide(sorted(bodies, key=lambda body: body.__name__), schemas)
    add_examples(made)
    return made


def _name_formats(node: Any) -> None:
    """Says of integers that they have 64 bits: generators take 32 otherwise, which chain ids exceed."""
    if isinstance(node, dict):
        if "integer" in (node.get("type"), *(node["type"] if isinstance(node.get("type"), list) else ())):
            node.setdefault("format", "int64")
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            _name_formats(each)


def _markdown(docstring: str) -> str:
    """A docstring as Markdown: single backticks, and a line for each paragraph."""
    text = re.sub(r"``(.+?)``", r"`\1`", inspect.cleandoc(docstring))
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _operation(operation: Operation) -> dict[str, Any]:
    kept = ("ETag",) if operation.cached else ()
    media_type = "text/event-stream" if operation.streams else "application/json"
    responses: dict[str, Any] = {
        str(operation.status): {
            "description": f"{operation.summary}.",
            "headers": parts.headers(*kept),
            "content": {media_type: {"schema": operation.response_shape or operation.response}},
        }
    }
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag or operation.path.split("/")[2]],
        "summary": operation.summary,
        "description": operation.description,
        "parameters": _path_parameters(operation),
        "responses": responses,
    }
    if operation.query is not None:
        described["parameters"] += [{"in": "query", "schema": operation.query(Networks)}]
    if operation.cached:
        described["parameters"].append(dict(parts.IF_NONE_MATCH))
        responses["304"] = dict(parts.NOT_MODIFIED)
    if operation.streams:
        described["parameters"].append(dict(parts.LAST_EVENT_ID))
    if operation.may_be_empty:
        responses["204"] = dict(parts.STREAM_OVER if operation.streams else parts.NOTHING)
    body = operation.body(Networks) if operation.body is not None else operation.body_shape
    if body is not None:
        described["requestBody"] = {
            "required": operation.body_required,
            "description": _BODY if operation.body_shape is None else _SHAPED_BODY,
            "content": {"application/json": {"schema": body}},
        }
    responses |= {str(status): parts.name_of(status, operation.path) for status in operation.errors}
    responses["default"] = "OtherError"
    return described


_IDS = {
    "id": "Id of the token in its catalog, or {chainId}:{address}",
    "quoteId": "Signed token of a quote, its `quoteId`",
    "txId": "Signed commitment to a transaction, the `txId` of a step of an action",
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
