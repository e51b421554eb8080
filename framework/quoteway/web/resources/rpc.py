"""JSON-RPC 2.0 for clients that read: single calls and batches, rebuilt from parsed values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import orjson
from aiohttp import web

from quoteway.engine.gateway import Gateway
from quoteway.errors import Reason
from quoteway.evm.chain import RpcChain
from quoteway.evm.methods import COSTLY, COSTLY_CALL, MAX_PARAMS
from quoteway.web.http.body import read_json
from quoteway.web.http.envelope import json_response
from quoteway.web.http.light import Answer
from quoteway.web.http.limits import Counted
from quoteway.web.http.operation import COUNTED, NO_STORE, Call, post, require_ready
from quoteway.web.rpc.answers import INVALID_REQUEST, RpcResponse, error_of, result_of
from quoteway.web.rpc.calls import RPC, RpcCalls
from quoteway.web.rpc.long_answers import written
from quoteway.web.rpc.parsing import MAX_BATCH, MAX_ID, MAX_ID_CHARS, RpcCall, parse
from quoteway.web.rpc.paths import RpcPath
from quoteway.web.wire.errors import RpcFailure, RpcResult

_JSON_HEADERS = {**NO_STORE, "Content-Type": "application/json"}


def _plain_path(members: Mapping[str, str]) -> Mapping[str, Any] | None:
    chain_id = members["chainId"]
    plain = chain_id.isascii() and chain_id.isdecimal() and chain_id[0] != "0" and len(chain_id) <= 16
    return {"chain_id": int(chain_id)} if plain else None


_CALL = {
    "type": "object",
    "description": "Call of JSON-RPC 2.0",
    "required": ["jsonrpc", "method"],
    "properties": {
        "jsonrpc": {"type": "string", "enum": ["2.0"], "description": "Version of JSON-RPC"},
        "id": {
            "description": "Id of the call, which its answer repeats. A call without it is a notification, "
            "which is not answered",
            "oneOf": [
                {"type": "integer", "minimum": -MAX_ID, "maximum": MAX_ID},
                {"type": "string", "maxLength": MAX_ID_CHARS},
                {"type": "null"},
            ],
            "example": 1,
        },
        "method": {
            "type": "string",
            "description": "Name of a method that only reads, such as `eth_call`; another one is refused "
            "with -32601",
            "example": "eth_blockNumber",
        },
        "params": {
            "description": "Parameters of the method in their order. Null or left out: none",
            "type": ["array", "null"],
            "maxItems": MAX_PARAMS,
            "items": {},
        },
    },
}
_SHAPES: Mapping[str, Any] = {
    "RpcCall": _CALL,
    "RpcBatch": {
        "type": "array",
        "description": "Calls that are answered in one answer",
        "maxItems": MAX_BATCH,
        "items": "RpcCall",
    },
    "RpcRequest": {"description": "One call, or a batch", "oneOf": ["RpcCall", "RpcBatch"]},
    "RpcResult": RpcResult,
    "RpcFailure": RpcFailure,
    "RpcAnswer": {"description": "The answer to one call", "oneOf": ["RpcResult", "RpcFailure"]},
    "RpcAnswers": {
        "type": "array",
        "description": "The answers to a batch, in the order of its calls",
        "items": "RpcAnswer",
    },
    "RpcResponse": {
        "description": "The answer to one call, or those to a batch",
        "oneOf": ["RpcAnswer", "RpcAnswers"],
    },
}
_COSTLY = ", ".join(sorted(COSTLY))
_DESCRIPTION = f"""One call or a batch of up to {MAX_BATCH}, answered in its order. Each call counts against
the rate limit, as {COSTLY_CALL} for {_COSTLY}.
What is refused of a well-formed call is an error object with the caller's id, as clients
expect: -32601 for the method, -32602 for the parameters, -32000 for an unknown filter, each with
`data {{reason, requestId}}`. A node's own error is passed on. In a batch, a call over the rate limit is
-32005 and one that no node answered -32603; alone, they are 429 and 502. A call without `id` is a
notification, which is not answered: 204 when there is nothing else."""


@post(
    "/v2/rpc/{chainId}",
    "Read-only JSON-RPC 2.0",
    RpcResult,
    description=_DESCRIPTION,
    group="rpc",
    path_schema=RpcPath,
    body_shape="RpcRequest",
    response_shape="RpcResponse",
    shapes=_SHAPES,
    may_be_empty=True,
    failures=(502,),
    light=_plain_path,
)
async def call_rpc(call: Call) -> web.Response:
    server = call.gateway.config.server
    raw = await read_json(
        call.request, limit_bytes=server.rpc_body_limit_bytes, timeout_s=server.body_timeout_s
    )
    asked = parse(raw)
    rpc, request_id = call.request.app[RPC], call.request_id
    chain = rpc.chain(call.path["chain_id"])
    if isinstance(asked, list):
        if not asked:
            reason = Reason.MISSING.value
            empty = error_of(None, INVALID_REQUEST, "a batch must have a call", reason, request_id)
            return json_response(orjson.dumps(empty), 200, NO_STORE)
        costs = [each.cost for each in asked]
        granted, over = await call.count_granted(sum(costs) - 1, costs[0] - 1)
        within = bisect_right(list(accumulate(costs)), 1 + granted)
        answers = await rpc.answer_batch(chain, asked, request_id, within, over)
        if not answers:
            return web.Response(status=204)
        later = {} if over is None else {"Retry-After": over.headers["Retry-After"]}
        return json_response(answers, 200, {**NO_STORE, **later})
    answer = _answered(rpc, chain, asked, request_id, call.request.get(COUNTED))
    return _response(answer if isinstance(answer, bytes | web.Response) else await answer)


def answer_single(
    gateway: Gateway, rpc: RpcCalls, chain_id: int, raw: bytes, request_id: str, counted: Counted | None
) -> Answer | Awaitable[Answer]:
    """Answers a body that is no batch, at once where no node has to be asked. Raises ``GatewayError``."""
    require_ready(gateway)
    asked = parse(raw)
    assert isinstance(asked, RpcCall)
    return _answered(rpc, rpc.chain(chain_id), asked, request_id, counted)


def _answered(
    rpc: RpcCalls, chain: RpcChain, call: RpcCall, request_id: str, counted: Counted | None
) -> Answer | Awaitable[Answer]:
    if call.is_notification:
        return web.Response(status=204)
    further = call.cost - 1
    if further and counted is not None and not counted.take_here(further, taken=1):
        return _once_counted(rpc, chain, call, request_id, counted)
    return _found(rpc, chain, call, request_id)


async def _once_counted(
    rpc: RpcCalls, chain: RpcChain, call: RpcCall, request_id: str, counted: Counted
) -> Answer:
    await counted.take(call.cost - 1, taken=1)
    answer = _found(rpc, chain, call, request_id)
    return answer if isinstance(answer, bytes | web.Response) else await answer


def _found(rpc: RpcCalls, chain: RpcChain, call: RpcCall, request_id: str) -> Answer | Awaitable[Answer]:
    kept = rpc.kept_again(chain, call)
    if kept is not None:
        return _answer_of(result_of(call.id, kept))
    found = rpc.answer_here(chain, call, request_id)
    if isinstance(found, dict):
        return orjson.dumps(found)
    kept = rpc.kept(chain, call, found)
    if kept is not None:
        return _answer_of(result_of(call.id, kept))
    return _asked(rpc, chain, call, found, request_id)


async def _asked(
    rpc: RpcCalls, chain: RpcChain, call: RpcCall, checked: Sequence[Any], request_id: str
) -> Answer:
    return _answer_of(await rpc.ask(chain, call, checked, request_id, raw=True))


def _answer_of(response: RpcResponse) -> Answer:
    body = written(response)
    return body if isinstance(body, bytes) else web.Response(body=body, headers=_JSON_HEADERS)


def _response(answer: Answer) -> web.Response:
    return web.Response(body=answer, headers=_JSON_HEADERS) if isinstance(answer, bytes) else answer


OPERATIONS = (call_rpc,)
