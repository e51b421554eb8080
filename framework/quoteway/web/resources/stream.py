"""Live answers: a stream of the topics that a caller names."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from aiohttp import web
from marshmallow import validates_schema

from quoteway.engine.gateway import Gateway
from quoteway.engine.provider_sets import provider_set
from quoteway.errors import FieldError, ProviderUnavailable, RateLimited, Reason
from quoteway.models import Capability, SealedQuote
from quoteway.networks import Network, Networks
from quoteway.web.http import fields
from quoteway.web.http.event_stream import Event, EventQueue, EventStream
from quoteway.web.http.operation import CALLER, KEY, NO_STORE, Call, get
from quoteway.web.http.schema import RequestSchema, invalid, refuse
from quoteway.web.http.stream_metrics import StreamMetrics
from quoteway.web.resources.live_sources import LiveSources
from quoteway.web.resources.live_topics import Key, Source, Topic, Topics
from quoteway.web.wire.live import Head, QuoteChange, StreamEnd, StreamLost, TopicFailure
from quoteway.web.wire.view import View

Wanted: TypeAlias = Mapping[Key, Source]
"""The topics of one stream, each with the source that a new one gets."""

TOPICS: Final = ("heads", "quotes")
COMPLETE_ID: Final = "complete"
"""The id of the end of a stream whose topics have all ended. A client that comes back with it gets 204, after
which an ``EventSource`` does not connect again (HTML standard, 9.2.3)."""
_RETRY_S: Final = "10"


_QUOTE_ID = fields.Text("Quote id", max_length=4_096)
_NETWORK = fields.NetworkField("Network")


class StreamQuery(RequestSchema):
    """The topics of a stream, at least one."""

    heads = fields.QueryList("Networks whose newest blocks are told", _NETWORK)
    quotes = fields.QueryList(
        "Quotes of swaps by `quoteId`, which are compared with the best quote at each new block", _QUOTE_ID
    )

    @validates_schema
    def check_topics(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        if not data:
            raise refuse(Reason.MISSING, f"The query must name at least one of {', '.join(TOPICS)}")


class LiveStream:
    """The topics of one stream, and the events that wait for it."""

    def __init__(self, topics: Topics) -> None:
        self.queue = EventQueue()
        self._topics = topics
        self._joined: list[Topic] = []
        self._live: set[Key] = set()

    def begin(self, wanted: Wanted, last_id: str | None) -> None:
        """Joins the topics. Adds what was missed since an event's id; None: the present state of each."""
        self._live = set(wanted)
        self._joined = [self._topics.join(key, source, self) for key, source in wanted.items()]
        number = None if last_id is None else self._topics.numbers.number_of(last_id)
        newest = [each for topic in self._joined for each in topic.newest]
        if last_id is None:
            due = newest
        elif number is None or any(topic.complete_since > number for topic in self._joined):
            reason = "unknown_id" if number is None else "too_old"
            self.queue.replay([Event.of("lost", StreamLost.of(Networks(), reason=reason))])
            due = newest
        else:
            due = [each for topic in self._joined for each in topic.since(number)]
        self.queue.replay(event for _, event in sorted(due, key=lambda each: each[0]))
        for topic in self._joined:
            if topic.is_over:
                self.ended(topic.key)

    def leave(self) -> None:
        """Leaves the topics."""
        for topic in self._joined:
            self._topics.leave(topic, self)

    def told(self, key: Key, event: Event) -> None:
        """See ``Listener``."""
        self.queue.put(key, event)

    def ended(self, key: Key) -> None:
        """See ``Listener``. The stream ends with its last topic."""
        self._live.discard(key)
        if not self._live:
            self.queue.end("complete", end_of("complete"))


def end_of(reason: str) -> Event:
    """Returns the last event of a stream."""
    is_complete = reason == "complete"
    data = StreamEnd.of(Networks(), reason=reason, reconnect=not is_complete)
    return Event.of("end", data, COMPLETE_ID if is_complete else None)


class Streams:
    """All streams of this process, with their limits."""

    def __init__(self, gateway: Gateway, metrics: StreamMetrics) -> None:
        self._gateway = gateway
        self.metrics = metrics
        self._config = gateway.config.stream
        self.topics = Topics(metrics)
        self.sources = LiveSources(gateway, self._config)
        self._open: set[LiveStream] = set()
        self._callers: Counter[str] = Counter()
        self._quotes: Counter[str] = Counter()
        self._is_draining = False

    def wanted(self, query: Mapping[str, Any]) -> Wanted:
        """Returns the topics of a query. Raises what a request for the state of each would raise."""
        found: dict[Key, Source] = {}
        for topic in TOPICS:
            for item in query.get(topic, ()):
                key, source = getattr(self, f"_{topic}_topic")(topic, item)
                found[key] = source
        most = self._config.topics
        if len(found) > most:
            message = f"The query names {len(found)} topics: name at most {most}, and open another stream."
            raise invalid(FieldError("", Reason.OUT_OF_RANGE, message))
        return found

    def _heads_topic(self, topic: str, network: Network) -> tuple[Key, Source]:
        key = topic, network.slug
        return key, self.sources.head(key, network)

    def _quotes_topic(self, topic: str, token: str) -> tuple[Key, Source]:
        sealed: SealedQuote = self._gateway.quote_tokens.open(Capability.SWAP, token, allow_expired=True)
        ids = provider_set()
        # Callers that may use other providers get other answers.
        item = token if ids is None else f"{token} of {' '.join(sorted(ids))}"
        return (topic, item), self.sources.quote(sealed)

    def check_room(self, caller: str, wanted: Wanted, most: int | None = None) -> None:
        """Raises ``RateLimited`` when the caller has too much, ``ProviderUnavailable`` when all have.

        ``most`` is how many streams the caller may have; None: as the setting says.
        """
        config, again = self._config, {"Retry-After": _RETRY_S}
        most = config.streams_per_caller if most is None else most
        quotes = [key for key in wanted if key[0] == "quotes"]
        if self._callers[caller] >= most:
            self.metrics.refused("caller")
            text = f"More than {most} streams. Close one first."
            raise RateLimited(text, headers=again, retryable=True)
        if self._quotes[caller] + len(quotes) > config.quotes_per_caller:
            self.metrics.refused("quotes")
            text = f"More than {config.quotes_per_caller} followed quotes. Follow fewer."
            raise RateLimited(text, headers=again, retryable=True)
        more = sum(key not in self.topics for key in quotes)
        if self._callers.total() >= config.streams or (
            more and self.topics.count("quotes") + more > config.quotes
        ):
            self.metrics.refused("full")
            text = "The service has as many streams or followed quotes as it takes."
            raise ProviderUnavailable(text, headers=again, retryable=True)

    @contextlib.contextmanager
    def opened(self, caller: str, wanted: Wanted, last_id: str | None) -> Iterator[EventQueue]:
        """Gives the queue of a stream, which follows its topics inside."""
        quotes = sum(key[0] == "quotes" for key in wanted)
        stream = LiveStream(self.topics)
        self._open.add(stream)
        self._callers[caller] += 1
        self._quotes[caller] += quotes
        try:
            if self._is_draining:
                stream.queue.end("draining", end_of("draining"))
            else:
                stream.begin(wanted, last_id)
            yield stream.queue
        finally:
            stream.leave()
            self._open.discard(stream)
            for counts, taken in ((self._callers, 1), (self._quotes, quotes)):
                counts[caller] -= taken
                if not counts[caller]:
                    del counts[caller]

    def drain(self) -> None:
        """Ends all streams, and each that is opened from now on, with an event that says so."""
        self._is_draining = True
        for stream in tuple(self._open):
            stream.queue.end("draining", end_of("draining"))

    async def stop(self, app: web.Application | None = None) -> None:
        """Ends all streams and topics."""
        self.drain()
        await self.topics.close()


STREAMS: web.AppKey[Streams] = web.AppKey("streams", Streams)

_NEW_NOUNS: Final[Sequence[type[View]]] = (Head, QuoteChange, TopicFailure, StreamLost, StreamEnd)
_NOUNS: Final = ("Head", "QuoteChange", "TopicFailure", "StreamLost")
_SHAPES: Final[Mapping[str, Any]] = {kind.__name__: kind for kind in _NEW_NOUNS} | {
    "StreamEvent": {
        "description": "Data of one event, by its name: `head`, `quote`, `failure`, `lost` and `end`, in the "
        "order of the schemas.",
        "anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in (*_NOUNS, "StreamEnd")],
    }
}


@get(
    "/v2/stream",
    "Live answers as server-sent events",
    Head,
    query=StreamQuery,
    response_shape="StreamEvent",
    shapes=_SHAPES,
    streams=True,
    may_be_empty=True,
    failures=(404,),
    description="Begins with the present state of each topic. Each event tells a whole state: a newer one "
    "of the same topic stands for those before it, which a slow reader does not get. The data are those of "
    "the answers to single requests. `Last-Event-ID` continues after the event with this id, or says `lost` "
    "and tells the present states. A topic ends with its last state, and a stream with its last topic. "
    "Clients ignore events that they do not know. docs/how-to/follow-live-answers.md has more.",
)
async def open_stream(call: Call) -> web.StreamResponse:
    request = call.request
    last_id = request.headers.get("Last-Event-ID")
    if last_id == COMPLETE_ID:
        return web.Response(status=204, headers=NO_STORE)
    streams, caller = request.app[STREAMS], request[CALLER]
    wanted = streams.wanted(call.query)
    await call.count_further(len(wanted) - 1)
    key = request.get(KEY)
    streams.check_room(caller, wanted, None if key is None else key.streams)
    return EventStream(
        partial(streams.opened, caller, wanted, last_id),
        partial(end_of, "lifetime"),
        call.gateway.config.stream,
        streams.metrics,
        None if key is None else key.left_s,
    )


OPERATIONS = (open_stream,)
