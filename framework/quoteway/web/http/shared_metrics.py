"""Prometheus metrics of what replicas share: who follows a chain for the others, and answers by result."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from quoteway.host.shared_tier import SharedTier
from quoteway.networks import Networks
from quoteway.web.http.totals import Totals


class SharedMetrics:
    """Leases of heads and what became of them, and lookups of answers. Labels are networks and plugins."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._holders = Gauge(
            "quoteway_shared_head_holders",
            "Processes here that follow the chain for all replicas: 1 in the whole deployment",
            ["network"],
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._followers = Gauge(
            "quoteway_shared_head_followers",
            "Processes here that take the heads of another replica",
            ["network"],
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._events = Totals(
            Counter(
                "quoteway_shared_heads",
                "Heads taken from another replica (heads), leases (leases, lost_leases), and why they ended: "
                "fallbacks, distrusted, damaged_heads",
                ["network", "event"],
                registry=registry,
            )
        )
        self._answers = Totals(
            Counter(
                "quoteway_shared_answers",
                "Lookups of reads that replicas share: hits, waited_hits, misses, waited_in_vain, damaged",
                ["plugin", "result"],
                registry=registry,
            )
        )

    def show(self, tier: SharedTier, networks: Networks) -> None:
        """Sets what the tier counts; nothing without one."""
        if tier.server is None:
            return
        for chain_id, heads in tier.heads_of.items():
            network = networks.by_chain_id(chain_id)
            if network is not None:
                self._holders.labels(network.slug).set(heads.holds)
                self._followers.labels(network.slug).set(heads.follows)
        for labels, total in tier.server.head_events.items():
            self._events.show(labels, total)
        for labels, total in tier.server.answer_results.items():
            self._answers.show(labels, total)
