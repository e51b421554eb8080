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
from quoteway.telemetry.traces import Look, no_look
from quoteway.web.http import fields
from quoteway.web.http.event_stream import Event, EventQueue, EventStream
from quoteway.web.http.operation import CALLER, KEY, NO_STORE, Call, get
from quoteway.web.http.schema import RequestSchema, invalid, refuse
from quoteway.web.http.stream_metrics import StreamMetrics
from quoteway.web.resources.live_sources import LiveSources
from quoteway.web.resources.live_topics import Key, Source, Topic, Topics
from quoteway.web.resources.live_transactions import (
    IndexSources,
    SentField,
    SentTransaction,
    TransactionSources,
)
from quoteway.web.wire.live import Head, QuoteChange, StreamEnd, StreamLost, TopicFailure
from quoteway.web.wire.view import View

Wanted: TypeAlias = Mapping[Key, Source]
"""The topics of one stream, each with the source that a new one gets."""

TOPICS: Final = ("heads", "quotes", "transactions", "transfers", "index")
LIMITED: Final[Mapping[str, str]] = {
    "quotes": "quotes",
    "transactions": "transactions",
    "transfers": "transactions",
}
"""The topics of which a caller may follow so many, by the setting that says how many."""
COMPLETE_ID: Final = "complete"
"""The id of the end of a stream whose topics have all ended. A client that comes back with it gets 204, after
which an ``EventSource`` does not connect again (HTML standard, 9.2.3)."""
_RETRY_S: Final = "10"


_QUOTE_ID = fields.Text("Quote id", max_length=4_096)
_NETWORK = fields.NetworkField("Network")
_SENT = SentField("Broadcast transaction")


class StreamQuery(RequestSchema):
    """The topics of a stream, at least one."""

    heads = fields.QueryList("Networks whose newest blocks are told", _NETWORK)
    quotes = fields.QueryList(
        "Quotes of swaps by `quoteId`, which are compared with the best quote at each new block", _QUOTE_ID
    )
    transactions = fields.QueryList(
        "Broadcast transactions, each `<txId>:<hash>`, which are followed into a block", _SENT
    )
    transfers = fields.QueryList(
        "Transfers to another network, each `<txId>:<hash>` of the transaction with which it left, which are "
        "followed until they have arrived or are refunded",
        _SENT,
    )
    index = fields.QueryList("Networks whose index progress is told", _NETWORK)

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

    def __init__(self, gateway: Gateway, metrics: StreamMetrics, look: Look = no_look) -> None:
        self._gateway = gateway
        self.look = look
        self.metrics = metrics
        self._config = gateway.config.stream
        self.topics = Topics(metrics)
        self.sources = LiveSources(gateway, self._config, look)
        self.transactions = TransactionSources(gateway, self._config, look)
        self.indexes = IndexSources(gateway, self._config, look)
        self._open: set[LiveStream] = set()
        self._callers: Counter[str] = Counter()
        self._followed: Counter[tuple[str, str]] = Counter()
        self.reserved: Counter[Key] = Counter()
        """The topics that webhooks follow. They have limits of their own."""
        self._is_draining = False

    def wanted(self, query: Mapping[str, Any]) -> Wanted:
        """Returns the topics of a query. Raises what a request for the state of each would raise."""
        found: dict[Key, Source] = {}
        for topic in TOPICS:
            for item in query.get(topic, ()):
                key, source = self.topic_of(topic, item)
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

    def _transactions_topic(self, topic: str, sent: SentTransaction) -> tuple[Key, Source]:
        key = topic, str(sent)
        return key, self.transactions.transaction(key, sent)

    def _transfers_topic(self, topic: str, sent: SentTransaction) -> tuple[Key, Source]:
        key = topic, str(sent)
        return key, self.transactions.transfer(key, sent)

    def _index_topic(self, topic: str, network: Network) -> tuple[Key, Source]:
        key = topic, network.slug
        return key, self.indexes.index(key, network)

    def topic_of(self, topic: str, item: Any) -> tuple[Key, Source]:
        """Returns one topic with the source that a new one gets. Raises as ``wanted``."""
        found: tuple[Key, Source] = getattr(self, f"_{topic}_topic")(topic, item)
        return found

    def check_room(self, caller: str, wanted: Wanted, most: int | None = None) -> None:
        """Raises ``RateLimited`` when the caller has too much, ``ProviderUnavailable`` when all have.

        ``most`` is how many streams the caller may have; None: as the setting says.
        """
        config, again = self._config, {"Retry-After": _RETRY_S}
        most = config.streams_per_caller if most is None else most
        if self._callers[caller] >= most:
            self.metrics.refused("caller")
            text = f"More than {most} streams. Close one first."
            raise RateLimited(text, headers=again, retryable=True)
        is_full = self._callers.total() >= config.streams
        for limit, keys in _limited(wanted).items():
            followed = getattr(config, f"{limit}_per_caller")
            if self._followed[caller, limit] + len(keys) > followed:
                self.metrics.refused(limit)
                text = f"More than {followed} followed {limit}. Follow fewer."
                raise RateLimited(text, headers=again, retryable=True)
            more = sum(key not in self.topics for key in keys)
            is_full |= bool(more) and self._count(limit) + more > getattr(config, limit)
        if is_full:
            self.metrics.refused("full")
            text = "The service has as many streams, or followed quotes or transactions, as it takes."
            raise ProviderUnavailable(text, headers=again, retryable=True)

    def _count(self, limit: str) -> int:
        """Returns how many topics count against a limit."""
        count = sum(self.topics.count(topic) for topic, its_limit in LIMITED.items() if its_limit == limit)
        return count - len(self.reserved) if limit == "transactions" else count

    @contextlib.contextmanager
    def opened(self, caller: str, wanted: Wanted, last_id: str | None) -> Iterator[EventQueue]:
        """Gives the queue of a stream, which follows its topics inside."""
        taken = {(caller, limit): len(keys) for limit, keys in _limited(wanted).items()}
        stream = LiveStream(self.topics)
        self._open.add(stream)
        self._callers[caller] += 1
        self._followed.update(taken)
        try:
            if self._is_draining:
                stream.queue.end("draining", end_of("draining"))
            else:
                stream.begin(wanted, last_id)
            yield stream.queue
        finally:
            stream.leave()
            self._open.discard(stream)
            self._callers[caller] -= 1
            if not self._callers[caller]:
                del self._callers[caller]
            for key, count in taken.items():
                self._followed[key] -= count
                if not self._followed[key]:
                    del self._followed[key]

    def drain(self) -> None:
        """Ends all streams, and each that is opened from now on, with an event that says so."""
        self._is_draining = True
        for stream in tuple(self._open):
            stream.queue.end("draining", end_of("draining"))

    async def stop(self, app: web.Application | None = None) -> None:
        """Ends all streams and topics."""
        self.drain()
        await self.topics.close()


def _limited(wanted: Wanted) -> Mapping[str, Sequence[Key]]:
    """Returns the topics of which a caller may follow so many, by their limit."""
    found: dict[str, list[Key]] = {}
    for key in wanted:
        if key[0] in LIMITED:
            found.setdefault(LIMITED[key[0]], []).append(key)
    return found


STREAMS: web.AppKey[Streams] = web.AppKey("streams", Streams)

_NEW_NOUNS: Final[Sequence[type[View]]] = (Head, QuoteChange, TopicFailure, StreamLost, StreamEnd)
_NOUNS: Final = (
    *("Head", "QuoteChange", "HashReport", "Tracked", "IndexStatus", "TopicFailure", "StreamLost"),
    "StreamEnd",
)
_SHAPES: Final[Mapping[str, Any]] = {kind.__name__: kind for kind in _NEW_NOUNS} | {
    "StreamEvent": {
        "description": "Data of one event, by its name: `head`, `quote`, `transaction`, `transfer`, `index`, "
        "`failure`, `lost` and `end`, in the order of the schemas.",
        "anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in _NOUNS],
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
