"""How the swap providers did lately in the rehearsals of their quotes, at the quotes' own blocks."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import TTLCache

from quoteway.errors import GatewayError
from quoteway.models import Side, SwapRequest
from quoteway.providers import Provider

WINDOW = 100
"""The most rehearsals of one provider that count: the newest ones."""
WINDOW_S = 600
"""How long a rehearsal counts, in seconds."""
ENOUGH = 10
"""Fewer rehearsals than these say nothing."""
REVERT_S = 10.0
"""How long a revert counts, in seconds, and for requests alike only: a pool can be its cause."""
MOST_REVERTS = 4_096


@dataclass(frozen=True, slots=True)
class Score:
    """The rehearsals of a provider that count, and how many of them failed."""

    rehearsed: int
    failed: int

    @property
    def is_poor(self) -> bool:
        """Returns whether more than half of enough rehearsals failed."""
        return self.rehearsed >= ENOUGH and self.failed * 2 > self.rehearsed


_Like = tuple[int, str, str, Side, int]


def _like(request: SwapRequest) -> _Like:
    """Returns what requests alike share: the tokens, and the amount up to a factor of two."""
    tokens = request.token_in.address, request.token_out.address
    return request.chain_id, *tokens, request.side, request.amount.bit_length()


class Scores:
    """The scores of one gateway's swap providers. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rehearsals: defaultdict[str, deque[tuple[float, bool]]] = defaultdict(
            lambda: deque(maxlen=WINDOW)
        )
        self._failed_last: set[str] = set()
        self._reverts: TTLCache[tuple[str, _Like], GatewayError] = TTLCache(MOST_REVERTS, REVERT_S, clock)

    def tried(self, provider: Provider, *, failed: bool) -> None:
        """Notes how a provider's newest rehearsal ended, whoever is the cause."""
        (self._failed_last.add if failed else self._failed_last.discard)(provider.id)

    def failed_last(self, provider: Provider) -> bool:
        """Returns whether the provider's newest rehearsal failed. It says nothing of who is the cause."""
        return provider.id in self._failed_last

    def count(self, provider: Provider, *, failed: bool) -> None:
        """Counts a rehearsal that shows how the provider did, whatever the caller chose."""
        self._rehearsals[provider.id].append((self._clock(), failed))

    def count_revert(self, provider: Provider, request: SwapRequest, error: GatewayError) -> None:
        """Counts a revert that neither tokens nor accounts of the request are the cause of."""
        self._reverts[provider.id, _like(request)] = error.with_traceback(None)

    def revert(self, provider: Provider, request: SwapRequest) -> GatewayError | None:
        """Returns how the provider lately reverted for a request like this one, or None."""
        error: GatewayError | None = self._reverts.get((provider.id, _like(request)))
        return error

    def of(self, provider: Provider) -> Score:
        """Returns the provider's score at present."""
        since = self._clock() - WINDOW_S
        lately = [failed for at, failed in self._rehearsals.get(provider.id, ()) if at > since]
        return Score(len(lately), sum(lately))
