"""Prometheus metrics of webhooks."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class WebhookMetrics:
    """Registrations that are followed, and attempts to send events."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._followed = Gauge(
            "quoteway_webhooks",
            "Registrations of webhooks that a process follows: one process of a deployment has all",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._attempts = Counter(
            "quoteway_webhook_attempts",
            "Attempts to send an event, by outcome: taken, failed, or dropped after the last one",
            ["outcome"],
            registry=registry,
        )

    def followed(self, count: int) -> None:
        """Sets how many registrations this process follows."""
        self._followed.set(count)

    def attempted(self, outcome: str) -> None:
        """Counts an attempt."""
        self._attempts.labels(outcome).inc()
