"""A JSON text that is passed on without being parsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["RawJson"]


@dataclass(frozen=True, slots=True, eq=False)
class RawJson:
    """The long result of a JSON-RPC call as its JSON text, valid and in UTF-8.

    ``RpcUpstream.forward_public`` may return it: parsing 30 MiB of logs and writing them anew would block the
    event loop for 200 ms and take 300 MB. ``held`` has to last as long as the text is in use; who keeps a
    copy of the text must not keep this object.
    """

    text: memoryview | bytes
    held: object = None

    def __len__(self) -> int:
        return len(self.text)

    def __bytes__(self) -> bytes:
        return bytes(self.text)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return RawJson, (bytes(self.text),)

    def parsed(self) -> Any:
        """Returns the value."""
        import orjson

        return orjson.loads(self.text)
