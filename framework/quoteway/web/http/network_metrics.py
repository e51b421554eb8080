"""Prometheus metrics of the states of networks and capabilities: what ``/readyz?verbose`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from quoteway.host.network_states import Level, NetworkState

_LEVELS: Final = {level: number for number, level in enumerate(Level)}
_SHOWN: Final = ", ".join(f"{number} {level.value}" for level, number in _LEVELS.items())


class NetworkMetrics:
    """Levels of networks and of capabilities on them, the reasons why they are not ready, and heads.

    Labels are configured networks, capabilities, and the reasons of ``Why``.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._networks = Gauge(
            "quoteway_network_state",
            f"The network on the worst worker: {_SHOWN}",
            ["network"],
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._capabilities = Gauge(
            "quoteway_capability_state",
            f"The capability on the worst worker: {_SHOWN}",
            ["network", "capability"],
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._reasons = Gauge(
            "quoteway_capability_not_ready",
            "1 while a capability is not ready for this reason",
            ["network", "capability", "reason"],
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._heads = Gauge(
            "quoteway_head_timestamp_seconds",
            "The time of the newest block that was read, in Unix seconds",
            ["network"],
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._told: set[tuple[str, str, str]] = set()
        self._served: set[tuple[str, str]] = set()

    def show(self, states: Sequence[NetworkState]) -> None:
        """Sets the states. What does not hold any more becomes 0: a reason, and the state of a capability
        that no plugin offers any more on the network.
        """
        now: set[tuple[str, str, str]] = set()
        served: set[tuple[str, str]] = set()
        for state in states:
            slug = state.network.slug
            self._networks.labels(slug).set(_LEVELS[state.condition.level])
            if state.head_at is not None:
                self._heads.labels(slug).set(state.head_at)
            for capability, condition in state.capabilities.items():
                self._capabilities.labels(slug, capability.value).set(_LEVELS[condition.level])
                served.add((slug, capability.value))
                now.update((slug, capability.value, why.value) for why in condition.why)
        for gone in self._served - served:
            self._capabilities.labels(*gone).set(_LEVELS[Level.READY])
        self._served |= served
        self._told |= now
        for labels in self._told:
            self._reasons.labels(*labels).set(labels in now)
