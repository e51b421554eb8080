"""Prometheus metrics of the WebSocket connections."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class SocketMetrics:
    """Open connections and subscriptions, what was sent to subscribers, why connections ended."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._open = Gauge(
            "quoteway_sockets",
            "Open WebSocket connections",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._subscriptions = Gauge(
            "quoteway_socket_subscriptions",
            "Subscriptions of the open connections",
            ["kind"],
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._notifications = Counter(
            "quoteway_socket_notifications", "Notifications for subscribers", registry=registry
        )
        self._closed = Counter(
            "quoteway_sockets_closed", "WebSocket connections that ended", ["cause"], registry=registry
        )
        self._refused = Counter(
            "quoteway_sockets_refused",
            "Upgrades to WebSocket that were refused",
            ["cause"],
            registry=registry,
        )

    def opened(self) -> None:
        """Counts a connection."""
        self._open.inc()

    def closed(self, cause: str) -> None:
        """Counts the end of a connection."""
        self._open.dec()
        self._closed.labels(cause).inc()

    def refused(self, cause: str) -> None:
        """Counts a refused upgrade."""
        self._refused.labels(cause).inc()

    def subscribed(self, kind: str, count: int) -> None:
        """Counts a subscription, or with -1 its end."""
        self._subscriptions.labels(kind).inc(count)

    def notified(self) -> None:
        """Counts a notification."""
        self._notifications.inc()
