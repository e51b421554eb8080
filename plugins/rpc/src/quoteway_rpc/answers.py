"""Reads the answers of an endpoint: checks every member, and reads long ones without holding up the loop."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import msgspec
import orjson
from quoteway import RawJson, RpcError

from quoteway_rpc.connection import Answer
from quoteway_rpc.outcomes import Unusable, refused, refused_by_status
from quoteway_rpc.receiving import Held

_LONG_BYTES = 64 << 10
"""From this size on an answer is not parsed at once: 30 MiB of logs would block the event loop for 155 ms."""
_STEP_BYTES = 128 << 10
"""What is parsed at once of a long list."""


async def result_of(answer: Answer, request_id: int, method: str, *, raw: bool) -> Any:
    """Returns the result; a long one as ``RawJson`` when ``raw``.

    Raises ``RpcError`` for the caller's own error, ``Unusable`` and ``ValueError`` otherwise.
    """
    status = answer.status
    if status == 200:
        if len(answer.body) >= _LONG_BYTES:
            return await _long_result(answer, request_id, method, raw=raw)
        return _result(orjson.loads(answer.body), request_id, method)
    error = None
    if status == 400 or 404 <= status < 429 or status >= 500:
        # Some nodes send JSON-RPC errors with these: an error object is used, a page is not.
        with contextlib.suppress(Unusable, ValueError):
            error = _error(orjson.loads(answer.body), request_id)
    raise refused_by_status(status, answer.retry_after, error, method) or Unusable(f"http_{status}")


def _result(answer: Any, request_id: int, method: str) -> Any:
    error = _error(answer, request_id)
    if error is not None:
        raise refused(error, method)
    if "result" not in answer:
        raise Unusable("not_json_rpc")
    return answer["result"]


def _error(answer: Any, request_id: int) -> RpcError | None:
    """Returns the error object of an answer, or None for one with a result."""
    if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0":
        raise Unusable("not_json_rpc")
    error = answer.get("error")
    # An error about an unreadable request carries no id (JSON-RPC 2.0, section 5).
    if answer.get("id") != request_id and not (error and answer.get("id") is None):
        raise Unusable("wrong_id")
    if error is None:
        return None
    if not isinstance(error, dict) or type(error.get("code")) is not int:
        raise Unusable("not_json_rpc")
    return RpcError(error["code"], str(error.get("message", "")), error.get("data"))


class _Envelope(msgspec.Struct):
    """A JSON-RPC answer whose result is found in the text and not parsed."""

    jsonrpc: Any = None
    id: Any = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Any = None


_read_envelope = msgspec.json.Decoder(_Envelope).decode
_read_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


async def _long_result(answer: Answer, request_id: int, method: str, *, raw: bool) -> Any:
    """Returns the result of a long answer: as it is when ``raw``, else parsed in steps."""
    if answer.held is None:
        return await _read_long(answer, request_id, method, raw)
    async with answer.held.budget.turn:
        await asyncio.sleep(0)
        return await _read_long(answer, request_id, method, raw)


async def _read_long(answer: Answer, request_id: int, method: str, raw: bool) -> Any:
    body = answer.body
    try:
        if not body.isascii():
            body.decode()  # the decoder below does not look inside of texts that it skips
        found = _read_envelope(body)
    except (msgspec.MsgspecError, RecursionError):
        raise Unusable("JSONDecodeError") from None
    members = {"jsonrpc": found.jsonrpc, "id": found.id, "error": found.error}
    if found.result is msgspec.UNSET:
        return _result(members, request_id, method)
    _result({**members, "result": None}, request_id, method)
    text = memoryview(found.result)
    if raw:
        return RawJson(text, answer.held)
    if text[0] != ord("["):
        return orjson.loads(text)
    return await _parsed_in_steps(text, answer.held)


async def _parsed_in_steps(text: memoryview, held: Held | None) -> list[Any]:
    """Parses a long list. Other tasks run between two steps. ``held`` lasts as long as the text."""
    parsed: list[Any] = []
    step: list[msgspec.Raw] = []
    size = 0
    for item in _read_items(text):
        step.append(item)
        size += len(memoryview(item))
        if size >= _STEP_BYTES:
            parsed += orjson.loads(b"[%b]" % b",".join(step))
            step, size = [], 0
            await asyncio.sleep(0)
    parsed += orjson.loads(b"[%b]" % b",".join(step))
    del held
    return parsed
