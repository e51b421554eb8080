"""The answer of the JSON-RPC proxy."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire.view import View, constant, member, required


class RpcErrorObject(View):
    code = required(fields.Integer)
    message = required(fields.String)
    data = member(fields.Raw(allow_none=True))


class RpcAnswer(View):
    jsonrpc = required(fields.String, constant("2.0"))
    id = required(fields.Raw)
    result = member(fields.Raw(allow_none=True))
    error = member(fields.Nested(RpcErrorObject))
