"""The health of JSON-RPC upstreams, for operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ("UpstreamHealth", "UpstreamState")

UpstreamState: TypeAlias = Literal["closed", "suspect", "limited", "open", "cordoned"]
"""``closed``: used. ``suspect``: its last call failed, so others are asked first. ``limited``: it asked for
fewer requests. ``open``: its breaker is open, it is probed and asked only when no other upstream answers.
``cordoned``: never asked, by the operator's word or because it lied."""


@dataclass(frozen=True, slots=True)
class UpstreamHealth:
    """One upstream of a network, as one worker sees it. Never its URL.

    ``label`` is the operator's name for it. ``tier`` 0 is asked before 1. ``p50_s`` and ``p95_s`` are
    latencies of its answers in seconds, ``error_rate`` the part of its calls that failed, both of the last
    seconds; None without calls. ``head`` is the newest block that it has shown, ``lag`` how many blocks it is
    behind the newest one known. ``calls`` counts them by method and outcome since the start, and
    ``latencies`` has the p50 and p95 of the answers of methods in seconds. ``limit_rps`` is the number of
    requests in a second that it takes; None: no limit is known.
    """

    chain_id: int
    label: str
    tier: int
    state: UpstreamState
    reason: str | None = None
    p50_s: float | None = None
    p95_s: float | None = None
    error_rate: float | None = None
    head: int | None = None
    lag: int | None = None
    limit_rps: float | None = None
    calls: Sequence[tuple[str, str, int]] = ()
    latencies: Sequence[tuple[str, float, float]] = ()
