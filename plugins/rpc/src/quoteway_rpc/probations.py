"""Upstreams that contradicted the others: out of use until they agree again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from quoteway import Network

from quoteway_rpc.health import Health
from quoteway_rpc.upstream import Upstream

DISAGREED: Final = "its answers differ from those of the others"
PROBES_TO_RETURN: Final = 20
"""How many shadow probes in a row must agree before a cordoned upstream is in use again."""
PROBE_EVERY_S: Final = 1.0


@dataclass(slots=True)
class _Probation:
    agreed: int = 0
    next_at: float = 0.0


@dataclass(slots=True, eq=False)
class Probations:
    """Takes the odd one out of use, and lets it come back.

    While upstreams are out, at most one agreed read a second is sent to each of them as well: a shadow
    probe, whose answer nobody gets. One that differs starts the count anew. ``count`` is told the event.
    A cordon by an operator stays when one of these ends.
    """

    healths: Mapping[int, Health]
    log: logging.LoggerAdapter[logging.Logger] | logging.Logger
    clock: Callable[[], float]
    count: Callable[[str, Network], None]
    _out: dict[Upstream, _Probation] = field(default_factory=dict)

    def exclude(self, network: Network, upstream: Upstream, method: str) -> None:
        """Cordons an upstream whose answer to ``method`` at one block differs from what others agree on."""
        self.count("odd_answers", network)
        probation = self._out.get(upstream)
        if probation is None:
            told = (upstream.label, network.slug, method)
            self.log.warning("%s of %s contradicts the others on %s: it is out of use", *told)
            self.count("cordoned", network)
            self.healths[network.chain_id].cordon(upstream, DISAGREED)
            probation = self._out[upstream] = _Probation(next_at=self.clock() + PROBE_EVERY_S)
        probation.agreed = 0

    def forgive(self) -> None:
        """Lets all of them back into use."""
        for upstream in self._out:
            self._let_back(upstream)
        self._out.clear()

    def due(self, upstreams: Sequence[Upstream]) -> list[Upstream]:
        """Returns those of ``upstreams`` that a shadow probe is due for, and takes it as sent."""
        now = self.clock()
        due = [each for each in upstreams if each in self._out and now >= self._out[each].next_at]
        for upstream in due:
            self._out[upstream].next_at = now + PROBE_EVERY_S
        return due

    def agreed(self, network: Network, upstream: Upstream) -> None:
        """Notes a shadow probe whose answer was that of the others."""
        probation = self._out.get(upstream)
        if probation is None:
            return
        probation.agreed += 1
        if probation.agreed >= PROBES_TO_RETURN:
            del self._out[upstream]
            self._let_back(upstream)
            self.log.warning(
                "%s of %s agrees with the others again: it is in use", upstream.label, network.slug
            )

    def _let_back(self, upstream: Upstream) -> None:
        for health in self.healths.values():
            if upstream in health.upstreams:
                health.uncordon(upstream)
