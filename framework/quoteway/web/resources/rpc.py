"""The read-only JSON-RPC proxy: one call, rebuilt from its parsed values, under the caller's id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from aiohttp import web

from quoteway.errors import Reason, RpcError, disabled
from quoteway.evm.methods import MAX_PARAMS, answered_locally, check
from quoteway.models import Capability
from quoteway.networks import Network
from quoteway.telemetry.logs import Redactor
from quoteway.web.http.fields import Choice, Member, Text
from quoteway.web.http.operation import Call, post
from quoteway.web.http.schema import RequestSchema, refuse
from quoteway.web.wire.errors import RpcAnswer
from quoteway.web.wire.view import ABSENT

REDACTOR: web.AppKey[Redactor] = web.AppKey("redactor", Redactor)

_URL = re.compile(r"[a-z]{2,5}://[^\s\"'<>]+", re.IGNORECASE)


class ChainIdField(Member[int]):
    schema = {"type": "string", "pattern": r"^[1-9][0-9]{0,15}$", "example": "1"}

    def parse(self, value: Any) -> int:
        if not re.fullmatch(self.schema["pattern"], value):
            raise refuse(Reason.INVALID_FORMAT, "must be a chain id in decimal digits")
        return int(value)


class IdField(Member[int | str]):
    """A JSON-RPC id: an integer as the contract says, or a short string as the standard allows."""

    schema = {"type": "integer", "example": 1}

    def parse(self, value: Any) -> int | str:
        if type(value) is int and abs(value) <= 2**53:
            return value
        if isinstance(value, str) and len(value) <= 128:
            return value
        raise refuse(Reason.INVALID_FORMAT, "must be an integer or a string of at most 128 characters")


class ParamsField(Member[list[Any]]):
    schema = {"type": "array", "maxItems": MAX_PARAMS, "items": {}}

    def parse(self, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise refuse(Reason.INVALID_FORMAT, "must be an array")
        if len(value) > MAX_PARAMS:
            raise refuse(Reason.OUT_OF_RANGE, f"must have at most {MAX_PARAMS} members")
        return value


class RpcPath(RequestSchema):
    chain_id = ChainIdField("The numeric chain id", required=True)


class RpcBody(RequestSchema):
    jsonrpc = Choice("The version, 2.0", ("2.0",), required=True)
    id = IdField("The caller's own, given back", required=True)
    method = Text("A read-only method of the list", max_length=64, required=True)
    params = ParamsField("As the method takes them", load_default=list)


@post(
    "/v2/rpc/{chainId}",
    "One read-only JSON-RPC 2.0 call",
    RpcAnswer,
    group="rpc",
    path_schema=RpcPath,
    body=RpcBody,
    failures=(502,),
)
async def call_rpc(call: Call) -> dict[str, Any]:
    body, chain_id = call.body, call.path["chain_id"]
    method = body["method"]
    network = call.networks.by_chain_id(chain_id) or Network(
        f"chain-{chain_id}", chain_id, f"chain {chain_id}"
    )
    params = check(network, method, body["params"])
    chain = call.gateway.runtime.chains.get(chain_id)
    if chain is None or not call.gateway.registry.enabled(Capability.RPC, chain_id):
        raise disabled(f"No RPC upstream is enabled for chain {chain_id}.")
    answer = partial(RpcAnswer.of, call.networks, id=body["id"])
    local = answered_locally(network, method, params)
    if local is not None:
        return answer(result=local)
    try:
        return answer(result=await chain.request(method, params))
    except RpcError as error:
        redact = call.request.app[REDACTOR]
        data = ABSENT if error.data is None else _scrubbed(error.data, redact)
        return answer(error=(error.rpc_code, _scrubbed(error.rpc_message, redact), data))


def _scrubbed(value: Any, redact: Redactor) -> Any:
    """A node's text or data without URLs and credentials, which may name the upstream."""
    if isinstance(value, str):
        return _URL.sub("[url]", redact(value))
    if isinstance(value, Mapping):
        return {str(name): _scrubbed(member, redact) for name, member in value.items()}
    if isinstance(value, list):
        return [_scrubbed(member, redact) for member in value]
    return value


OPERATIONS = (call_rpc,)
