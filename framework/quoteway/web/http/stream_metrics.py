"""Prometheus metrics of the streams of server-sent events."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class StreamMetrics:
    """Open streams and followed topics, what was sent, why streams ended and were refused."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._open = Gauge(
            "quoteway_streams", "Open streams of events", registry=registry, multiprocess_mode="livesum"
        )
        self._topics = Gauge(
            "quoteway_stream_topics",
            "Topics that are followed, each once however many streams have it",
            ["topic"],
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._events = Counter(
            "quoteway_stream_events", "Events sent to streams, by their name", ["event"], registry=registry
        )
        self._closed = Counter("quoteway_streams_closed", "Streams that ended", ["cause"], registry=registry)
        self._refused = Counter(
            "quoteway_streams_refused", "Streams that were refused", ["cause"], registry=registry
        )

    def opened(self) -> None:
        """Counts a stream."""
        self._open.inc()

    def closed(self, cause: str) -> None:
        """Counts the end of a stream."""
        self._open.dec()
        self._closed.labels(cause).inc()

    def refused(self, cause: str) -> None:
        """Counts a refused stream."""
        self._refused.labels(cause).inc()

    def followed(self, topic: str, count: int) -> None:
        """Counts a topic that is followed, or with -1 its end."""
        self._topics.labels(topic).inc(count)

    def sent(self, event: str) -> None:
        """Counts an event that was sent to a stream."""
        self._events.labels(event).inc()
