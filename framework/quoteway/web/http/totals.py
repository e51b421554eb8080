"""A Prometheus counter that follows totals which other code counts."""

from __future__ import annotations

from prometheus_client import Counter


class Totals:
    """Counts up ``counter`` to given totals. Of at most ``most`` label values, and not of others.

    A total that has become smaller begins anew: what counted it was started again.
    """

    def __init__(self, counter: Counter, most: int = 1_024) -> None:
        self._counter = counter
        self._most = most
        self._totals: dict[tuple[str, ...], float] = {}

    def show(self, labels: tuple[str, ...], total: float) -> None:
        """Sets the total of these labels."""
        before = self._totals.get(labels)
        if before is None and len(self._totals) >= self._most:
            return
        more = total if before is None or total < before else total - before
        (self._counter.labels(*labels) if labels else self._counter).inc(more)
        self._totals[labels] = total
