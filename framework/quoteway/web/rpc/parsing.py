"""Reads the JSON-RPC 2.0 calls of a body: one, or a batch.

``parse`` is the only reader of clients' bytes. What it returns is rebuilt for a node from the four known
members; no byte of a client is passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

import orjson

from quoteway.errors import MalformedRequest, Reason
from quoteway.evm.methods import cost_of
from quoteway.web.http.envelope import BodyTooLarge

MAX_BATCH: Final = 100
"""Calls of a batch. It is the number that ethers v6 puts in one."""
MAX_ID_CHARS: Final = 128
MAX_ID: Final = 2**53
"""Beyond it, clients in JavaScript cannot tell ids apart."""

_MEMBERS: Final = frozenset(("jsonrpc", "id", "method", "params"))

RpcId: TypeAlias = int | float | str | None


@dataclass(frozen=True, slots=True)
class RpcCall:
    """A request object of JSON-RPC 2.0 (section 4).

    ``params`` is as the client gave it, and an empty list when absent or null. A notification has no ``id``
    member; nobody reads its answer.
    """

    method: str
    params: Any
    id: RpcId = None
    is_notification: bool = False

    @property
    def cost(self) -> int:
        """What it counts as against a rate limit. A notification is not asked."""
        return 1 if self.is_notification else cost_of(self.method)


@dataclass(frozen=True, slots=True)
class NoCall:
    """A member of a batch that is no request object, with the reason. Its answer has the id null."""

    message: str
    cost: ClassVar[int] = 1


class InvalidJson(MalformedRequest, status=400, code="invalid_request"):
    """What is no JSON in UTF-8."""


def parse(raw: bytes) -> RpcCall | list[RpcCall | NoCall]:
    """The call of a body, or the members of its batch, which may be empty.

    Of a member given twice the last value counts. Raises ``MalformedRequest`` (400) for what is no JSON-RPC,
    of which ``InvalidJson`` is one, and ``BodyTooLarge`` (413) for a batch of more than ``MAX_BATCH`` calls.
    """
    try:
        value = orjson.loads(raw)
    except ValueError:  # orjson limits the depth, so a deep document fails too
        raise InvalidJson("The body is not valid JSON in UTF-8.", reason=Reason.INVALID_FORMAT) from None
    if isinstance(value, list):
        if len(value) > MAX_BATCH:
            text = f"A batch has at most {MAX_BATCH} calls: send the others in further requests."
            raise BodyTooLarge(text, reason=Reason.OUT_OF_RANGE)
        return [read_call(member) for member in value]
    call = read_call(value)
    if isinstance(call, NoCall):
        raise MalformedRequest(f"The body is no JSON-RPC 2.0: {call.message}.", reason=Reason.INVALID_FORMAT)
    return call


def read_call(value: Any) -> RpcCall | NoCall:
    """A request object of parsed JSON.

    Members beside the four are ignored, as nodes do. One that is a known name in another spelling is
    refused: a node in Go would read ``METHOD`` as ``method``, so nobody can say what the client means.
    """
    if not isinstance(value, dict):
        return NoCall("a call must be an object")
    if value.get("jsonrpc") != "2.0":
        return NoCall('jsonrpc must be "2.0"')
    method = value.get("method")
    if not isinstance(method, str):
        return NoCall("method must be a string")
    call_id = value.get("id")
    if not _is_id(call_id):
        return NoCall(
            f"id must be a whole number up to 2^53, a string of at most {MAX_ID_CHARS} characters, or null"
        )
    if not value.keys() <= _MEMBERS and (name := _misspelt(value.keys() - _MEMBERS)):
        return NoCall(f"{name} must be spelled as it is")
    params = value.get("params")
    return RpcCall(method, [] if params is None else params, call_id, "id" not in value)


def _is_id(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        return len(value) <= MAX_ID_CHARS
    # A float that is a whole number is an id of a client that knows floats alone. A bool is an int in Python.
    return type(value) in (int, float) and abs(value) <= MAX_ID and value == int(value)


def _misspelt(names: Sequence[str] | set[str]) -> str:
    """The known member that one of these differs from in case or signs alone; empty when none does."""
    for name in names:
        letters = "".join(filter(str.isalpha, name[:64])).casefold()
        if letters in _MEMBERS:
            return letters
    return ""
