"""Reads the answers of an endpoint: checks every member, and reads long ones without holding up the loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec
import orjson
from quoteway import RawJson, RpcError

from quoteway_rpc.connection import Answer
from quoteway_rpc.nesting import MAX_CONTAINERS, Nesting, UnreadableError, check
from quoteway_rpc.outcomes import Unusable, refused, refused_by_status

_LONG_BYTES = 64 << 10
"""From this size on an answer is not parsed at once: 30 MiB of logs would block the event loop for 155 ms."""
_STEP_BYTES = 128 << 10
"""What is parsed at once of a long list, at least."""
_MOST_STEP_BYTES = 1 << 20
_MOST_TRIES = 16
_RESULT = b'"result":['
_BETWEEN = b"},{"
_LONGEST_START = 256
_LONGEST_END = 64
"""The bytes of an answer before and after a list, where it is read in steps."""


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
    await _scan(answer)
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
_read_value = msgspec.json.Decoder(msgspec.Raw).decode
"""Raises for what is no JSON, and makes nothing of it."""


async def _long_result(answer: Answer, request_id: int, method: str, *, raw: bool) -> Any:
    """Returns the result of a long answer: as it is when ``raw``, else parsed in steps."""
    try:
        listed = await _long_list(answer, request_id, method, raw=raw)
        if listed is not None:
            text, parsed = listed
            return RawJson(text, answer.held) if raw else parsed
        await _scan(answer)
        if answer.held is None:
            return _read_at_once(answer, request_id, method, raw)
        async with answer.held.budget.turn:
            await asyncio.sleep(0)
            return _read_at_once(answer, request_id, method, raw)
    except (msgspec.MsgspecError, RecursionError):
        raise Unusable("JSONDecodeError") from None


def _read_at_once(answer: Answer, request_id: int, method: str, raw: bool) -> Any:
    body = answer.body
    _check_text(body)
    found = _read_envelope(body)
    members = {"jsonrpc": found.jsonrpc, "id": found.id, "error": found.error}
    if found.result is msgspec.UNSET:
        return _result(members, request_id, method)
    _result({**members, "result": None}, request_id, method)
    text = memoryview(found.result)
    return RawJson(text, answer.held) if raw else orjson.loads(text)


async def _long_list(
    answer: Answer, request_id: int, method: str, *, raw: bool
) -> tuple[memoryview, list[Any]] | None:
    """Reads a result that is a list of objects in steps, between which other tasks run.

    Returns the text of the list and its items (none when ``raw``), or None when it has another form: then
    nothing is known of it yet. A list is valid JSON when each of the parts between its commas is.
    """
    body = answer.body
    start = body.find(_RESULT, 0, _LONGEST_START)
    end = body.rfind(b"]", max(len(body) - _LONGEST_END, 0))
    if start < 0 or end < 0:
        return None
    start += len(_RESULT)
    envelope = bytes(body[:start]) + bytes(body[end:])
    _check_text(envelope)
    try:
        found = _read_envelope(envelope)
    except msgspec.MsgspecError:
        return None
    if found.result is msgspec.UNSET or bytes(found.result) != b"[]":
        return None
    members = {"jsonrpc": found.jsonrpc, "id": found.id, "error": found.error, "result": None}
    _result(members, request_id, method)
    items: list[Any] = []
    at, containers = start, 0
    while at < end:
        part = _part(body, at, end, _read_value if raw else orjson.loads)
        if part is None:
            return None
        found_items, after = part
        containers += body.count(b"[", at, after) + body.count(b"{", at, after)
        if containers > MAX_CONTAINERS:
            raise Unusable("too_many_members")
        if not raw:
            items += found_items
        at = after
        await asyncio.sleep(0)
    return memoryview(body)[start - 1 : end + 1], items


def _part(
    body: bytes | bytearray, start: int, end: int, read: Callable[[bytes], Any]
) -> tuple[Any, int] | None:
    """Reads a list of the next items. Returns it, and where the items after it begin; None if it cannot.

    The items end where a brace is closed before a comma. Where that is inside of an item, what was taken is
    no JSON, and more is.
    """
    comma = start + _STEP_BYTES
    for _ in range(_MOST_TRIES):
        comma = body.find(_BETWEEN, comma, end)
        stop = end if comma < 0 else comma + 1
        if stop - start > _MOST_STEP_BYTES:
            return None
        part = b"[" + body[start:stop] + b"]"
        try:
            check(part)
            _check_text(part)
            return read(part), stop + 1
        except UnreadableError as error:
            raise Unusable(error.kind) from None
        except (msgspec.MsgspecError, ValueError):
            if stop == end:
                return None
            comma += 1
    return None


async def _scan(answer: Answer) -> None:
    """Measures the nesting of a body before it is parsed. Raises ``Unusable``."""
    if answer.is_scanned:
        return
    nesting = Nesting()
    try:
        for at in range(0, len(answer.body), _STEP_BYTES):
            nesting.add(bytes(answer.body[at : at + _STEP_BYTES]))
            await asyncio.sleep(0)
    except UnreadableError as error:
        raise Unusable(error.kind) from None


def _check_text(text: bytes | bytearray) -> None:
    """Raises ``UnicodeDecodeError`` for what is no UTF-8: the decoder does not look inside of texts."""
    if not text.isascii():
        text.decode()
