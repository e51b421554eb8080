"""Topics of live answers: one source for all streams that follow it, with the newest events of each.

Every event tells a whole state, so that a newer one of its topic stands for those before it. The id of an
event names the process that made it and the event's number there, over all topics of the process. After a
reconnection the events that a stream has missed come from memory; where they are not there any more, as in
another process, the newest state is enough.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import re
import secrets
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from quoteway.errors import GatewayError
from quoteway.networks import Networks
from quoteway.web.http.event_stream import Event
from quoteway.web.http.middleware import new_request_id
from quoteway.web.http.stream_metrics import StreamMetrics
from quoteway.web.wire.errors import error_wire
from quoteway.web.wire.live import TopicFailure
from quoteway.web.wire.view import Wire

log = logging.getLogger("quoteway.web.stream")

RING_EVENTS: Final = 64
RING_BYTES: Final = 131_072
"""The newest events of a topic that are kept for streams that come back."""
LINGER_S: Final = 10.0
"""How long a topic goes on without a stream, so that one that comes back has missed nothing."""
_RESTART_S: Final = 5.0
_ID: Final = re.compile(r"([0-9a-f]{16})-([0-9]{1,15})")

Key: TypeAlias = tuple[str, str]
"""The query member of a topic, and its item in the form that all callers share."""
Publish: TypeAlias = Callable[[str, Wire], None]
"""Takes the name of an event and its data."""
Source: TypeAlias = Callable[[Publish], Awaitable[None]]
"""Publishes the states of one topic, the present one first. It returns after the last one."""


class Telling:
    """Publishes the states of one topic, of equal ones in a row the first."""

    def __init__(self, key: Key, publish: Publish) -> None:
        self._key = key
        self._publish = publish
        self._told: Any = None

    def tell(self, name: str, state: Any, data: Wire) -> bool:
        """Publishes a state, of which ``data`` is the rendering. Returns whether it is a new one."""
        is_new = bool(state != self._told)
        if is_new:
            self._told = state
            self._publish(name, data)
        return is_new

    def fail(self, error: GatewayError) -> None:
        """Publishes that the state is not known."""
        topic, item = self._key
        data = TopicFailure.of(Networks(), topic=topic, item=item) | error_wire(error, new_request_id())
        self.tell("failure", cause_of(error), data)


def cause_of(error: GatewayError) -> tuple[str, str | None, str]:
    """Returns what makes two errors the same one for a reader."""
    return error.code, error.reason, error.message


class Listener(Protocol):
    """What follows a topic. The methods return at once and raise nothing."""

    def told(self, key: Key, event: Event) -> None:
        """The topic has a newer state."""

    def ended(self, key: Key) -> None:
        """The last state of the topic was told."""


@dataclass(slots=True)
class Numbers:
    """Numbers the events of one process."""

    process: str = field(default_factory=lambda: secrets.token_hex(8))
    last: int = 0

    def next(self) -> int:
        """Returns the number of a new event."""
        self.last += 1
        return self.last

    def id_of(self, number: int) -> str:
        """Returns the id of an event of this process."""
        return f"{self.process}-{number}"

    def number_of(self, event_id: str) -> int | None:
        """Returns the number of an event of this process; None for any other text."""
        found = _ID.fullmatch(event_id)
        if found is None or found[1] != self.process or int(found[2]) > self.last:
            return None
        return int(found[2])


class Topic:
    """One topic and its streams. Its source runs from the first of them until ``stop``."""

    def __init__(self, key: Key, source: Source, numbers: Numbers) -> None:
        self.key = key
        self.listeners: dict[Listener, None] = {}
        self.is_over = False
        self.complete_since = numbers.next()  # no event has it: ids of before know nothing of this topic
        """The number after which no event is missing in the ring."""
        self.ending: asyncio.TimerHandle | None = None
        self._numbers = numbers
        self._ring: deque[tuple[int, Event]] = deque()
        self._bytes = 0
        # A context of its own: it outlives the request that happens to start it.
        self.task = asyncio.create_task(
            self._run(source), name=f"stream: {key[0]}", context=contextvars.Context()
        )

    def since(self, number: int) -> list[tuple[int, Event]]:
        """Returns the kept events after a number, in their order."""
        return [each for each in self._ring if each[0] > number]

    @property
    def newest(self) -> list[tuple[int, Event]]:
        """The newest event; empty before the first."""
        return [self._ring[-1]] if self._ring else []

    def _publish(self, name: str, data: Wire) -> None:
        number = self._numbers.next()
        event = Event.of(name, data, self._numbers.id_of(number))
        self._ring.append((number, event))
        self._bytes += len(event.block)
        while len(self._ring) > 1 and (len(self._ring) > RING_EVENTS or self._bytes > RING_BYTES):
            self.complete_since, gone = self._ring.popleft()
            self._bytes -= len(gone.block)
        for listener in tuple(self.listeners):
            listener.told(self.key, event)

    async def _run(self, source: Source) -> None:
        while True:
            try:
                await source(self._publish)
                break
            except Exception:  # isolation border: a bug must not end what others follow for good
                log.exception("the source of a topic failed: %s", self.key[0])
            await asyncio.sleep(_RESTART_S)
        self.is_over = True
        for listener in tuple(self.listeners):
            listener.ended(self.key)


class Topics:
    """All topics that are followed in this process."""

    def __init__(self, metrics: StreamMetrics) -> None:
        self.numbers = Numbers()
        self._metrics = metrics
        self._topics: dict[Key, Topic] = {}
        self._kinds: Counter[str] = Counter()

    def count(self, kind: str) -> int:
        """Returns how many topics of a kind run."""
        return self._kinds[kind]

    def __contains__(self, key: Key) -> bool:
        return key in self._topics

    def join(self, key: Key, source: Source, listener: Listener) -> Topic:
        """Returns the topic of a key with a listener more; ``source`` is for a new one."""
        topic = self._topics.get(key)
        if topic is None:
            topic = self._topics[key] = Topic(key, source, self.numbers)
            self._kinds[key[0]] += 1
            self._metrics.followed(key[0], 1)
        if topic.ending is not None:
            topic.ending.cancel()
            topic.ending = None
        topic.listeners[listener] = None
        return topic

    def leave(self, topic: Topic, listener: Listener) -> None:
        """Takes a listener off a topic, which ends ``LINGER_S`` seconds after its last one."""
        topic.listeners.pop(listener, None)
        if not topic.listeners and topic.ending is None:
            topic.ending = asyncio.get_running_loop().call_later(LINGER_S, self._end, topic)

    def _end(self, topic: Topic) -> None:
        topic.task.cancel()
        if self._topics.pop(topic.key, None) is not None:
            self._kinds[topic.key[0]] -= 1
            self._metrics.followed(topic.key[0], -1)

    async def close(self) -> None:
        """Ends all topics."""
        topics = tuple(self._topics.values())
        for topic in topics:
            if topic.ending is not None:
                topic.ending.cancel()
            self._end(topic)
        if topics:
            await asyncio.wait([topic.task for topic in topics], timeout=1.0)
