"""How many blocks of logs the nodes of a network give at once, learned from what they refused."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final

from cachetools import LRUCache

from quoteway_rpc.log_refusals import Refusal

RELEARN_AFTER_S: Final = 600.0
"""After this time without a refusal a larger range is tried: upstreams and their plans change."""
_COMMON: Final = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500, 800, 1000, 1024, 2000, 2048, 3000, 3500, 5000, 8000, 10_000),
    *(20_000, 30_000, 50_000, 100_000, 200_000, 500_000, 1_000_000),
)
_CLOSE_ENOUGH: Final = 1.05
_SPREAD: Final = 2.5
"""Ranges leave room for so many mean deviations: a refusal costs two calls, a shorter range part of one."""
_KEPT: Final = 0.9
"""What the ranges before count, beside each new one."""
_MAX_FILTERS: Final = 1024


@dataclass(slots=True, eq=False)
class _Density:
    """How many logs a filter has in how many blocks, and by which part of that ranges differ from it."""

    blocks: float
    logs: float
    deviation: float = 0.07

    @property
    def per_block(self) -> float:
        return self.logs / self.blocks

    def gave(self, blocks: int, logs: int, usual: int | None) -> None:
        """Notes a range. ``usual`` is how many blocks ranges have: the logs of few blocks differ more."""
        expected = self.per_block * blocks
        if usual is not None and expected and 4 * blocks >= 3 * usual:
            off = abs(logs - expected) / expected
            self.deviation += (min(off, 1.0) - self.deviation) / 8
        self.blocks = _KEPT * self.blocks + blocks
        self.logs = _KEPT * self.logs + logs


@dataclass(slots=True, eq=False)
class Spans:
    """What is known of one network.

    ``passed`` and ``refused`` are the longest range that was given and the shortest one that was refused for
    its blocks. ``results`` is the greatest number of logs that is given. The density of each filter's logs
    is kept to foresee how many blocks reach that number.
    """

    clock: Callable[[], float]
    passed: int = 0
    refused: int | None = None
    results: int | None = None
    _said: int | None = None
    _refused_at: float = float("-inf")
    _densities: LRUCache[Hashable, _Density] = field(default_factory=lambda: LRUCache(_MAX_FILTERS))

    @property
    def is_known(self) -> bool:
        """Whether the limit on blocks is known closely, or there is none: parts can be asked at once."""
        most = self.most_blocks()
        return most is None or most == self._said or most <= self.passed

    def most_blocks(self) -> int | None:
        """Returns the range to ask for; None: any. It is a guess while the limit is not known closely."""
        if self.refused is None:
            return None
        if self.clock() - self._refused_at > RELEARN_AFTER_S:
            self.refused = self._said = None
            return None
        if self._said is not None:
            return self._said
        if self.refused <= max(self.passed, 1) * _CLOSE_ENOUGH:
            return max(self.passed, 1)
        between = [each for each in _COMMON if self.passed < each < self.refused]
        return between[len(between) // 2] if between else max(1, (self.passed + self.refused) // 2)

    def blocks_for(self, filter_key: Hashable) -> int | None:
        """Returns how many blocks of a filter's logs stay below the results limit; None: not known."""
        density = self._densities.get(filter_key)
        if density is None or self.results is None or density.logs <= 0:
            return None
        return max(1, int(self.results / density.per_block / (1 + _SPREAD * density.deviation)))

    def gave(self, filter_key: Hashable, blocks: int, logs: int) -> None:
        """Notes a range that was given."""
        self.passed = max(self.passed, blocks)
        if self.refused is not None and self.passed >= self.refused:
            self.refused = self._said = None
        density = self._densities.get(filter_key)
        if density is None:
            self._densities[filter_key] = _Density(blocks, logs)
        else:
            density.gave(blocks, logs, self.blocks_for(filter_key))

    def refused_range(self, blocks: int, refusal: Refusal) -> None:
        """Notes a range that was refused for its number of blocks."""
        self._refused_at = self.clock()
        self.refused = blocks if self.refused is None else min(self.refused, blocks)
        if self.passed >= blocks:  # a limit that came since, or another upstream's
            self.passed, self.refused = 0, blocks
        if refusal.blocks is not None and 0 < refusal.blocks < blocks:
            self._said = refusal.blocks
        elif self._said is not None and self._said >= blocks:
            self._said = None

    def refused_results(self, filter_key: Hashable, blocks: int, refusal: Refusal) -> None:
        """Notes a range that was refused for how much it holds."""
        if refusal.results is not None:
            self.results = refusal.results
        density = self._densities.get(filter_key)
        if density is not None and density.logs > 0:
            # Its parts will tell how many it has: they shall count more than what was expected.
            density.blocks, density.logs = density.blocks / 2, density.logs / 2
        elif self.results:
            self._densities[filter_key] = _Density(blocks, self.results + 1)  # as many at least

    def truncates_at(self, results: int) -> None:
        """Notes that answers end silently after this many logs."""
        self.results = results
