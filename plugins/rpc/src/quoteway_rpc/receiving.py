"""The memory of long answers, bounded over all connections."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import Callable

FREE_BYTES = 256 << 10
"""What each answer may take without being counted: almost all are smaller."""


class Budget:
    """Bytes that long answers may take at once. Who finds none left waits, in the order of asking."""

    def __init__(self, total: int) -> None:
        self.total = self.left = total
        self.turn = asyncio.Lock()
        """Is held while one long answer is read, some 15 ms: two would block the event loop for 30."""
        self._waiting: deque[weakref.ref[Held]] = deque()

    def take(self, held: Held) -> bool:
        """Returns whether ``held`` has its bytes now; else ``held.grant`` is called when it has."""
        if self._waiting or held.size > self.left:
            self._waiting.append(weakref.ref(held))
            return False
        self.left -= held.size
        return True

    def give_back(self, size: int) -> None:
        """Takes bytes back, 0 from who never had them, and serves those who wait."""
        self.left += size
        while self._waiting:
            first = self._waiting[0]()
            if first is not None and first.size > self.left:
                return
            self._waiting.popleft()
            if first is not None:
                self.left -= first.size
                first.grant()


class Held:
    """The bytes that one answer takes of a budget, given back when nothing refers to this object any more.

    An answer asks once, for all that it may need: were it to ask piece by piece, many could each hold a part
    and none could end.
    """

    __slots__ = ("__weakref__", "_on_grant", "budget", "granted", "size")

    def __init__(self, budget: Budget, size: int, on_grant: Callable[[], None]) -> None:
        self.size = min(size, budget.total)
        self.budget = budget
        self._on_grant: Callable[[], None] | None = on_grant
        self.granted = False
        self.granted = budget.take(self)

    def grant(self) -> None:
        """Is called by the budget, which has counted the bytes."""
        self.granted = True
        on_grant, self._on_grant = self._on_grant, None
        if on_grant is not None:
            on_grant()

    def __del__(self) -> None:
        self._on_grant = None
        self.budget.give_back(self.size if self.granted else 0)
