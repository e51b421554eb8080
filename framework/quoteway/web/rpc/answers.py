"""The response objects of JSON-RPC 2.0, and the error objects for what this service refuses by itself.

Codes: JSON-RPC 2.0 section 5.1 (-32600 to -32603), EIP-1474 (-32005 limit exceeded, -32000 invalid input),
and -32003 for a batch whose answers are too large, as geth has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from quoteway.errors import GatewayError, InvalidRequest, RateLimited, Reason, RpcError, UpstreamError
from quoteway.telemetry.logs import Redactor
from quoteway.web.rpc.parsing import RpcId

INVALID_REQUEST: Final = -32600
METHOD_MISSING: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
LIMIT_EXCEEDED: Final = -32005
TOO_LARGE: Final = -32003
INVALID_INPUT: Final = -32000

MAX_CLIENT_VERSION_CHARS: Final = 128

RpcResponse = dict[str, Any]

_URL = re.compile(r"[a-z]{2,5}://[^\s\"'<>]+", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_]{1,64}", re.ASCII)


class FilterNotFound(InvalidRequest):
    """A filter id that is forged, of another chain, uninstalled, or was not polled for too long."""


def result_of(call_id: RpcId, result: Any) -> RpcResponse:
    return {"jsonrpc": "2.0", "id": call_id, "result": result}


def error_of(call_id: RpcId, code: int, message: str, reason: str, request_id: str) -> RpcResponse:
    """The response with an error of this service, whose ``data`` has ``reason`` and ``requestId``."""
    data = {"reason": reason, "requestId": request_id}
    return {"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": message, "data": data}}


def refusal_of(call_id: RpcId, method: str, error: GatewayError, request_id: str) -> RpcResponse:
    """The response to a call that failed here or found no node that answers it."""
    code, message = _code_of(error), error.message
    if error.reason is Reason.METHOD_NOT_ALLOWED:
        # Clients recognise a missing method by these words of geth. A name that is none is not repeated.
        name = method if _PLAIN_NAME.fullmatch(method) else "asked for"
        message = f"the method {name} does not exist/is not available"
    return error_of(call_id, code, message, error.reason or error.code, request_id)


def _code_of(error: GatewayError) -> int:
    if isinstance(error, FilterNotFound):
        return INVALID_INPUT
    if isinstance(error, InvalidRequest):
        return METHOD_MISSING if error.reason is Reason.METHOD_NOT_ALLOWED else INVALID_PARAMS
    return LIMIT_EXCEEDED if isinstance(error, RateLimited) else INTERNAL


def node_error_of(call_id: RpcId, error: RpcError, redact: Redactor) -> RpcResponse:
    """The response with a node's own error, scrubbed."""
    found = {"code": error.rpc_code, "message": scrubbed(error.rpc_message, redact)}
    if error.data is not None:
        found["data"] = scrubbed(error.data, redact)
    return {"jsonrpc": "2.0", "id": call_id, "error": found}


def scrubbed(value: Any, redact: Redactor) -> Any:
    """A node's text or data without URLs and credentials, which may name the upstream."""
    if isinstance(value, str):
        return _URL.sub("[url]", redact(value))
    if isinstance(value, Mapping):
        return {str(name): scrubbed(member, redact) for name, member in value.items()}
    if isinstance(value, list):
        return [scrubbed(member, redact) for member in value]
    return value


def client_version(value: Any, redact: Redactor) -> str:
    """The node's ``web3_clientVersion``, scrubbed, printable and short.

    Raises ``UpstreamError`` for what is no text: there is no version then, and none is made up.
    """
    if not isinstance(value, str):
        raise UpstreamError("The node's answer is no text.", reason=Reason.RPC_ERROR)
    text = "".join(char if char.isprintable() else " " for char in value[:MAX_CLIENT_VERSION_CHARS])
    return str(scrubbed(text, redact))
