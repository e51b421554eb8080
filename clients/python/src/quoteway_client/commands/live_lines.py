"""What ``quoteway follow`` prints of live answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from quoteway_client.commands.text import amount, harmless
from quoteway_client.models.shared import TokenRef
from quoteway_client.streaming import StreamEvent
from quoteway_client.wire import Model, convert


class BlockLine(Model, frozen=True, kw_only=True):
    """What is shown of a block."""

    number: int
    hash: str
    timestamp: int


class HeadLine(Model, frozen=True, kw_only=True):
    """What is shown of a ``head``."""

    network: str
    block: BlockLine


class QuoteNow(Model, frozen=True, kw_only=True):
    """What is shown of the best quote now."""

    from_token: TokenRef
    to_token: TokenRef
    from_amount: int
    to_amount: int


class QuoteLine(Model, frozen=True, kw_only=True):
    """What is shown of a ``quote``."""

    change: str
    quote: QuoteNow | None = None


def live_lines(event: StreamEvent) -> Iterator[str]:
    """Yields what an event says. Nothing for one that this version does not know.

    Raises ``msgspec.ValidationError`` for data of another shape.
    """
    if event.name == "head":
        head = convert(event.data, HeadLine)
        block, name = head.block, harmless(head.network, 32)
        yield f"head           {name} {block.number} {harmless(block.hash, 66)} {_moment(block.timestamp)}"
    elif event.name == "quote":
        told = convert(event.data, QuoteLine)
        paid = ""
        if told.quote is not None:
            now = told.quote
            sold, bought = amount(now.from_amount, now.from_token), amount(now.to_amount, now.to_token)
            paid = f": {sold} for {bought}"
        yield f"quote          {harmless(told.change, 32)}{paid or _why(event.data)}"
    elif event.name == "failure":
        topic, item = harmless(event.data.get("topic"), 32), harmless(event.data.get("item"), 32)
        yield f"not known      {topic} {item}{_why(event.data)}"
    elif event.name == "lost":
        yield "lost           events were missed: the present states follow"


def _why(data: Mapping[str, Any]) -> str:
    error = data.get("error")
    return f": {harmless(error.get('message'))}" if isinstance(error, dict) else ""


def _moment(timestamp: int) -> str:
    try:
        return f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return harmless(timestamp, 32)
