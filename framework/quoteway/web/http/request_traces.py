"""The newest requests of this worker with their calls of providers, for operators.

It has what the log of requests has, and when which provider was called: no address, no body, no path with
its members. Only requests that reached their operation count, so that callers who are refused by a key or a
limit push out nobody else's.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from quoteway.errors import GatewayError
from quoteway.spans import Span, Trace

MOST_CALLS: Final = 100
"""How many calls of one request are kept."""
REFUSED: Final = frozenset({401, 421, 429})
"""The statuses of requests that did not reach their operation."""


@dataclass(slots=True)
class Told:
    """What the access log says of a request beside its route and status: the provider of the quote or
    action, the caller's API key by its name, and the error. Addresses are not logged.
    """

    provider: str | None = None
    caller: str | None = None
    error: GatewayError | None = None

    def members(self) -> dict[str, str]:
        """Returns what there is to say."""
        found = {"provider": self.provider, "caller": self.caller}
        if self.error is not None:
            found["code"] = self.error.code
            found["reason"] = self.error.reason and self.error.reason.value
        return {name: text for name, text in found.items() if text}


NOTHING_TOLD = Told()


@dataclass(frozen=True, slots=True)
class RequestTrace:
    """One request that was answered.

    ``at`` is its arrival in Unix seconds, ``began_s`` the same moment of the monotonic clock, ``route`` the
    template of its path. ``caller`` is the name of its API key, ``provider`` whose quote or action it was
    answered. ``left_out`` counts its calls beyond ``MOST_CALLS``.
    """

    request_id: str
    at: float
    began_s: float
    duration_s: float
    method: str
    route: str
    status: int
    caller: str | None
    provider: str | None
    code: str | None
    reason: str | None
    calls: tuple[Span, ...]
    left_out: int

    def wire(self) -> dict[str, Any]:
        """Returns it as operators are shown it. Of a call that is under way still, the duration is null."""
        return {
            "requestId": self.request_id,
            "at": round(self.at, 3),
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "durationMs": _milliseconds(self.duration_s),
            "caller": self.caller,
            "provider": self.provider,
            "code": self.code,
            "reason": self.reason,
            "calls": [self._call(span) for span in self.calls],
            "callsLeftOut": self.left_out,
        }

    def _call(self, span: Span) -> dict[str, Any]:
        took_s = None if span.ended_s is None else span.ended_s - span.began_s
        return {
            "kind": span.kind,
            "name": span.name,
            "atMs": _milliseconds(span.began_s - self.began_s),
            "durationMs": None if took_s is None else _milliseconds(took_s),
            "outcome": span.outcome,
        }


class RequestTraces:
    """The newest ``most`` requests of this worker; with 0 none is kept."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: deque[RequestTrace] = deque(maxlen=most)

    def add(
        self,
        request_id: str,
        began_s: float,
        trace: Trace,
        method: str,
        route: str,
        status: int,
        told: Told,
    ) -> None:
        """Keeps a request that was answered now; ``began_s`` is of the monotonic clock."""
        if not self.most or status in REFUSED:
            return
        duration_s = time.monotonic() - began_s
        error = told.error
        calls = [span for span in trace.spans if span.kind in ("call", "upstream")]
        self._kept.append(
            RequestTrace(
                request_id,
                time.time() - duration_s,
                began_s,
                duration_s,
                method,
                route,
                status,
                told.caller,
                told.provider,
                None if error is None else error.code,
                None if error is None or error.reason is None else error.reason.value,
                tuple(calls[:MOST_CALLS]),
                max(len(calls) - MOST_CALLS, 0),
            )
        )

    def __iter__(self) -> Iterator[RequestTrace]:
        """Iterates over the kept requests, the newest first."""
        return reversed(tuple(self._kept))


def _milliseconds(seconds: float) -> float:
    return round(1_000 * seconds, 2)
