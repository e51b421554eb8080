"""Measures how quickly a chain is indexed."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

WINDOW_S: Final = 20.0
"""Rates are those of so many last seconds."""


@dataclass(slots=True)
class Rates:
    """Counts blocks and logs that were read, and tells how many there were in a second."""

    clock: Callable[[], float] = time.monotonic
    blocks: int = 0
    logs: int = 0
    _marks: deque[tuple[float, int, int]] = field(default_factory=deque)

    def count(self, blocks: int, logs: int) -> None:
        """Counts what was read now."""
        if not self._marks:
            self._marks.append((self.clock(), self.blocks, self.logs))
        self.blocks += blocks
        self.logs += logs

    def per_second(self) -> tuple[float, float]:
        """Returns the blocks and logs of a second, lately."""
        now = self.clock()
        if not self._marks:
            return 0.0, 0.0
        self._marks.append((now, self.blocks, self.logs))
        while len(self._marks) > 2 and self._marks[1][0] < now - WINDOW_S:
            self._marks.popleft()
        began, blocks, logs = self._marks[0]
        took_s = max(now - began, 0.001)
        return (self.blocks - blocks) / took_s, (self.logs - logs) / took_s
