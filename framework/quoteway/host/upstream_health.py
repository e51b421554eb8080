"""Collects what RPC providers say of their upstreams. Rows that cannot be shown are left out."""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, get_args

from quoteway.evm.methods import METHODS
from quoteway.host.states import networks_of
from quoteway.models import UpstreamHealth, UpstreamState
from quoteway.providers import Provider, RpcUpstream

log = logging.getLogger("quoteway.host.upstream_health")

TIMEOUT_S: Final = 0.2
"""``RpcUpstream.upstreams`` must answer from memory: one that takes longer is left out."""
MOST_UPSTREAMS: Final = 256
"""The most rows of a provider."""
OTHER: Final = "other"
_MOST_CALLS: Final = 1_024
_MOST_CHARS: Final = 200
_OUTCOME: Final = re.compile(r"[a-z][a-z_]{0,31}", re.ASCII)


async def upstream_health(providers: Iterable[Provider]) -> list[tuple[RpcUpstream, UpstreamHealth]]:
    """Returns the rows of all RPC upstreams among ``providers``, in their order.

    It is no call of a provider that the metrics count: they are what asks.
    """
    asked = [each for each in providers if isinstance(each, RpcUpstream)]
    answers = await asyncio.gather(*(_answer(each) for each in asked))
    return [(each, row) for each, rows in zip(asked, answers, strict=True) for row in _shown(each, rows)]


async def _answer(provider: RpcUpstream) -> Any:
    task = asyncio.create_task(_ask(provider), name=f"upstreams of {provider.id}")
    # Not asyncio.timeout: it would hang on a plugin that swallows cancellation.
    done, _ = await asyncio.wait([task], timeout=TIMEOUT_S)
    if not done:
        task.cancel()
        return None
    return task.result()


async def _ask(provider: RpcUpstream) -> Any:
    try:
        return await provider.upstreams()
    except Exception as error:  # isolation border; the text may be of any size, or raise itself
        log.warning("RPC upstream %r does not say how it is: %s", provider.id, type(error).__name__)
        return None


def _shown(provider: RpcUpstream, rows: Any) -> Iterator[UpstreamHealth]:
    if not isinstance(rows, Sequence):
        return
    networks = networks_of(provider)
    for row in rows[:MOST_UPSTREAMS]:
        if isinstance(row, UpstreamHealth) and row.chain_id in networks and _is_well_formed(row):
            yield replace(row, calls=_counted(row.calls), latencies=_of_methods(row.latencies))


def _is_well_formed(row: UpstreamHealth) -> bool:
    numbers = (row.p50_s, row.p95_s, row.error_rate, row.limit_rps)
    integers = (row.head, row.lag)
    return (
        _is_line(row.label)
        and (row.reason is None or _is_line(row.reason))
        and row.state in get_args(UpstreamState)
        and type(row.tier) is int
        and all(each is None or (type(each) in (int, float) and math.isfinite(each)) for each in numbers)
        and all(each is None or (type(each) is int and 0 <= each < 1 << 64) for each in integers)
        and isinstance(row.calls, Sequence)
        and isinstance(row.latencies, Sequence)
    )


def _is_line(text: Any) -> bool:
    return type(text) is str and 0 < len(text) <= _MOST_CHARS and text.isprintable()


def _counted(calls: Sequence[Any]) -> list[tuple[str, str, int]]:
    """Returns the counts under names that cannot grow without bound: they become labels of metrics."""
    counts: dict[tuple[str, str], int] = {}
    for each in calls[:_MOST_CALLS]:
        match each:
            case (str() as method, str() as outcome, int() as count) if _OUTCOME.fullmatch(outcome):
                name = (method if method in METHODS else OTHER), outcome
                counts[name] = counts.get(name, 0) + max(count, 0)
    return [(*name, count) for name, count in counts.items()]


def _of_methods(latencies: Sequence[Any]) -> list[tuple[str, float, float]]:
    """Returns the latencies of known methods: their names become labels of metrics."""
    found: dict[str, tuple[str, float, float]] = {}
    for each in latencies[:_MOST_CALLS]:
        match each:
            case (str() as method, float() as p50_s, float() as p95_s):
                if method in (*METHODS, OTHER) and math.isfinite(p50_s) and math.isfinite(p95_s):
                    found[method] = (method, p50_s, p95_s)
    return list(found.values())
