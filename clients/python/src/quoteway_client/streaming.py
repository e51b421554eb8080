"""Live answers: the events of ``GET /v2/stream``, without I/O. Both clients read and reconnect with this."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlencode

import msgspec

from quoteway_client.errors import ConnectionFailed, QuotewayError, UnexpectedAnswer
from quoteway_client.exchange import Gateway, Reply, Request, refusal

PATH = "/v2/stream"
SILENCE_S = 60.0
"""A connection without a byte for longer is dead: the gateway sends a comment every 15 seconds by default."""
MAX_EVENT_BYTES = 4 * 1024 * 1024
DEFAULT_RETRY_S = 2.0
LONGEST_RETRY_S = 60.0


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event: its ``name``, its ``data`` as JSON, and the ``id`` after which a later stream goes on.

    ``head``, ``quote``, ``transaction``, ``transfer`` and ``index`` are whole states; ``failure`` says that a
    state is not known at the moment, ``lost`` that events were missed and present states follow.
    """

    name: str
    data: Mapping[str, Any]
    id: str | None


class SentLike(Protocol):
    """A transaction that was sent, such as what ``send`` returns."""

    @property
    def tx_id(self) -> str: ...
    @property
    def hash(self) -> str: ...


Item: TypeAlias = "str | SentLike"
"""A transaction or transfer to follow: what ``send`` returned, or ``<txId>:<hash>``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """What a stream follows, as the query of ``GET /v2/stream`` has it."""

    heads: Iterable[str] = ()
    quotes: Iterable[str] = ()
    transactions: Iterable[Item] = ()
    transfers: Iterable[Item] = ()
    index: Iterable[str] = ()

    def query(self) -> str:
        """Returns the query. Raises ``ValueError`` without a topic."""
        named = {
            "heads": list(self.heads),
            "quotes": list(self.quotes),
            "transactions": [_item(each) for each in self.transactions],
            "transfers": [_item(each) for each in self.transfers],
            "index": list(self.index),
        }
        given = {name: ",".join(items) for name, items in named.items() if items}
        if not given:
            raise ValueError(f"name at least one of {', '.join(named)}")
        return urlencode(given)


def _item(item: Item) -> str:
    return item if isinstance(item, str) else f"{item.tx_id}:{item.hash}"


class EventReader:
    """Reads events from the bytes of a stream."""

    def __init__(self) -> None:
        self.retry_s: float | None = None
        self._waiting = b""
        self._lines: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[StreamEvent]:
        """Yields the events that are complete. Raises ``UnexpectedAnswer`` for what is no stream."""
        *lines, self._waiting = (self._waiting + chunk).split(b"\n")
        if len(self._waiting) > MAX_EVENT_BYTES:
            raise UnexpectedAnswer("an event of the stream is too long", 200)
        for line in lines:
            if line.strip():
                self._lines.append(line.decode("utf-8", "replace").removesuffix("\r"))
                continue
            lines_of_event, self._lines = self._lines, []
            if (event := self._event(lines_of_event)) is not None:
                yield event

    def _event(self, lines: Iterable[str]) -> StreamEvent | None:
        members: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data" and name in members:
                value = f"{members[name]}\n{value}"
            members[name] = value
        retry = members.get("retry", "")
        if retry.isascii() and retry.isdigit():
            self.retry_s = min(int(retry[:9]) / 1_000, LONGEST_RETRY_S)
        if "data" not in members:
            return None
        try:
            data = msgspec.json.decode(members["data"], type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError) as error:
            raise UnexpectedAnswer(f"an event of the stream cannot be read: {error}", 200) from None
        return StreamEvent(members.get("event", "message"), data, members.get("id"))


class Streaming:
    """One stream over all its connections: what is asked for, and whether and when to connect again.

    Before the first event a failure is tried again as that of any request. Afterwards it is passed over until
    nothing has come for ``deadline_s`` of the client's ``Retrying``.
    """

    def __init__(self, gateway: Gateway, topics: Topics, last_id: str | None) -> None:
        self._gateway = gateway
        self._query = topics.query()
        self._last_id = last_id
        self._retrying = gateway.retrying
        self._reader = EventReader()
        self._retry_s = DEFAULT_RETRY_S
        self._alive_at = self._retrying.clock()
        self._error: QuotewayError | None = None
        self._attempt = 0
        self._has_begun = False
        self.is_over = False
        """Whether every topic has had its last event."""

    def request(self) -> Request:
        """Returns the request of the next connection."""
        self._reader, self._error = EventReader(), None
        headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Cache-Control": "no-store"}
        if self._gateway.api_key is not None:
            headers["Authorization"] = f"Bearer {self._gateway.api_key}"
        if self._last_id is not None:
            headers["Last-Event-ID"] = self._last_id
        return Request("GET", f"{self._gateway.base_url}{PATH}?{self._query}", headers, b"", SILENCE_S)

    def answered(self, reply: Reply) -> None:
        """Takes an answer that is no stream: its end, or a refusal. Raises what will not pass."""
        if reply.status == 204:
            self.is_over = True
            return
        self._error = refusal(reply)
        if not self._error.retryable:
            raise self._error

    def feed(self, chunk: bytes) -> Iterator[StreamEvent]:
        """Yields the events of a part of a stream."""
        self._alive_at, self._attempt, self._has_begun = self._retrying.clock(), 0, True
        for event in self._reader.feed(chunk):
            self._last_id = event.id or self._last_id
            if event.name != "end":
                yield event
            elif event.data.get("reconnect") is False:
                self.is_over = True
        self._retry_s = self._reader.retry_s or self._retry_s

    def failed(self, cause: str) -> None:
        """Takes the failure of a connection."""
        self._error = ConnectionFailed(f"no stream from {PATH}: {cause}")

    def pause_s(self) -> float:
        """Returns the seconds before the next connection. Raises the last error when it lasts too long."""
        error, ends_at = self._error, self._alive_at + self._retrying.deadline_s
        if error is not None and not self._has_begun:
            pause_s = self._retrying.pause_s(error, self._attempt)
            self._attempt += 1
            if self._retrying.clock() + pause_s >= ends_at:
                raise error
            return pause_s
        if error is not None and self._retrying.clock() >= ends_at:
            raise error
        self._attempt += 1
        pause_s = min(self._retry_s * 2.0 ** min(self._attempt - 1, 6), LONGEST_RETRY_S)
        asked_s = 0.0 if error is None or error.retry_after_s is None else error.retry_after_s
        return max(pause_s, asked_s) * random.uniform(0.75, 1.25)  # noqa: S311 - spreads clients in time
