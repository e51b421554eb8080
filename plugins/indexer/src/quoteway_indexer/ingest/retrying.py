"""Waits after failures of nodes, longer each time, and says what the problem is."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

FIRST_S: Final = 0.25
LONGEST_S: Final = 30.0
_TOLD_AT: Final = 4
"""A problem is logged when it has come so many times in succession."""


@dataclass(slots=True, eq=False)
class Patience:
    """Waits between attempts. ``problem`` is the last failure while no attempt has succeeded since."""

    log: logging.Logger
    subject: str
    problem: str | None = None
    failures: int = field(default=0)

    async def failed(self, error: BaseException) -> None:
        """Notes a failure and waits."""
        self.failures += 1
        self.problem = str(error) or type(error).__name__
        if self.failures == _TOLD_AT:
            self.log.warning("%s waits: %s It goes on by itself.", self.subject, self.problem)
        await asyncio.sleep(min(LONGEST_S, FIRST_S * 2 ** min(self.failures - 1, 20)))

    def succeeded(self) -> None:
        """Notes a success."""
        if self.failures >= _TOLD_AT:
            self.log.info("%s goes on", self.subject)
        self.failures, self.problem = 0, None
