"""A store that failed is left alone until it answers a look in the background: no request finds that out."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from quoteway.shared_store import named

log = logging.getLogger("quoteway.store_rest")

FIRST_REST_S: Final = 1.0
LONGEST_REST_S: Final = 10.0


class StoreRest:
    """Whether a store is used. ``failures`` counts calls and looks that failed.

    After a failure it ``rests``: its users do without it. ``look`` is called after ``FIRST_REST_S`` and then
    after growing pauses, up to ``LONGEST_REST_S``, until it is answered within ``answer_s``, which is well
    below what a call may take: a server that is slow is no help. The pauses grow on until a call ``worked``.

    ``what`` names the store in the log, and ``meanwhile`` says what is done without it.
    """

    def __init__(
        self, look: Callable[[], Awaitable[Any]], *, what: str, meanwhile: str, answer_s: float
    ) -> None:
        self._look = look
        self._what = what
        self._meanwhile = meanwhile
        self._answer_s = answer_s
        self._rest_s = FIRST_REST_S
        self._looking: asyncio.Task[None] | None = None
        self._is_told = self._is_closed = False
        self.failures = 0

    @property
    def rests(self) -> bool:
        """Returns whether the store is left alone now."""
        return self._looking is not None

    def failed(self, error: BaseException) -> None:
        """Notes a call that failed."""
        self.failures += 1
        if self.rests or self._is_closed:  # of those that were under way together, the first one counts
            return
        if not self._is_told:
            log.error("%s does not answer in time, %s: %s", self._what, self._meanwhile, named(error))
        self._is_told = True
        # A context of its own: it outlives the request that failed.
        self._looking = asyncio.create_task(
            self._look_again(), name=f"looks at {self._what}", context=contextvars.Context()
        )

    def worked(self) -> None:
        """Notes a call that was answered."""
        if self._is_told and not self.rests:
            log.warning("%s answers again", self._what)
            self._is_told, self._rest_s = False, FIRST_REST_S

    async def close(self) -> None:
        """Ends the looks."""
        self._is_closed = True
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking], timeout=1.0)

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(self._rest_s)
            self._rest_s = min(2 * self._rest_s, LONGEST_REST_S)
            try:
                async with asyncio.timeout(self._answer_s):
                    await self._look()
            except Exception as error:  # isolation border: the client has exceptions of its own
                self.failures += 1
                log.debug("%s still does not answer: %s", self._what, named(error))
                continue
            self._looking = None
            return
