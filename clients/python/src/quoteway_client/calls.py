"""One request of the API as data: built without I/O, sent by a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

from quoteway_client.wire import body, text

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """A request and the model of its answer.

    ``check`` compares the answer with what was asked, and raises ``QuoteMismatch`` or ``ActionMismatch``.
    """

    method: str
    path: str
    returns: type[T_co]
    query: Mapping[str, Any] | None = None
    body: Mapping[str, Any] | None = None
    check: Callable[[Any], None] | None = None

    def target(self) -> str:
        """Returns path and query, without parameters of None; a list is written with commas."""
        pairs = [
            (name, _parameter(name, value)) for name, value in (self.query or {}).items() if value is not None
        ]
        return f"{self.path}?{urlencode(pairs)}" if pairs else self.path

    def content(self) -> bytes:
        """Returns the body as JSON; empty for a request without one."""
        return b"" if self.body is None else body(self.body)


def segment(value: str) -> str:
    """Returns a value as one segment of a path. Raises ``ValueError`` for one that cannot be a segment."""
    if value in ("", ".", ".."):
        raise ValueError(f"{value!r} is no id")
    return quote(value, safe=":")


def _parameter(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    # A limit in USD is the only parameter that may have a fraction.
    return str(value if name == "minTvlUsd" else text(name, value))
