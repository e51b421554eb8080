"""Follows heads and quotes for ``quoteway follow``, and ends in time."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from quoteway_client.client import Quoteway
from quoteway_client.commands.asking import WrongUse, asking
from quoteway_client.commands.live_lines import live_lines
from quoteway_client.commands.text import show
from quoteway_client.errors import UnexpectedAnswer
from quoteway_client.streaming import StreamEvent
from quoteway_client.wire import Model, read

MAX_FILE_BYTES = 4_194_304
MOST_WAITING = 1_000


class SavedQuote(Model, frozen=True, kw_only=True):
    """What is needed of a saved quote."""

    quote_id: str


@dataclass(frozen=True, slots=True)
class Ends:
    """When live answers end: after ``timeout_s`` seconds, or ``count`` events."""

    timeout_s: float
    count: int | None


def follow_live(
    url: str, heads: tuple[str, ...], quotes: tuple[str, ...], ends: Ends, *, as_json: bool
) -> None:
    """Prints the events of heads and quotes. Raises ``QuotewayError``, and ``WrongUse`` for a wrong file."""
    ids = tuple(map(_quote_id, quotes))
    with asking(url) as gateway:
        shown = 0
        for event in _until(gateway.client, heads, ids, ends.timeout_s):
            if as_json:
                line = {"event": event.name, "id": event.id, "data": event.data}
                click.echo(msgspec.json.encode(line))
            else:
                try:
                    show(live_lines(event))
                except msgspec.ValidationError as error:
                    text = f"an event of the stream cannot be read: {error}"
                    raise UnexpectedAnswer(text, 200) from None
            shown += event.name in ("head", "quote")
            if ends.count is not None and shown >= ends.count:
                return


def _until(
    client: Quoteway, heads: tuple[str, ...], quotes: tuple[str, ...], timeout_s: float
) -> Iterator[StreamEvent]:
    """Yields events for so long. A stream blocks between events, so that a thread of its own reads it."""
    waiting: queue.Queue[StreamEvent | BaseException | None] = queue.Queue(MOST_WAITING)
    ends_at = time.monotonic() + timeout_s

    def read_all() -> None:
        try:
            for event in client.stream(heads=heads, quotes=quotes):
                waiting.put(event)
            waiting.put(None)
        except BaseException as error:
            waiting.put(error)

    # A daemon: it may wait for an event when the command ends.
    threading.Thread(target=read_all, daemon=True, name="stream").start()
    while True:
        try:
            event = waiting.get(timeout=max(ends_at - time.monotonic(), 0.001))
        except queue.Empty:
            return
        if event is None:
            return
        if isinstance(event, BaseException):
            raise event
        yield event


def _quote_id(text: str) -> str:
    """Returns the id of a quote: that in a file of this name, or the text itself."""
    path = Path(text)
    try:
        if not path.is_file():
            return text
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        return read(content[:MAX_FILE_BYTES], SavedQuote).quote_id
    except (msgspec.DecodeError, RecursionError):
        raise WrongUse(
            f"{path} holds no quote: name a file with an answer of the API, or a quoteId"
        ) from None
    except (OSError, ValueError):
        return text  # too long for the name of a file
