"""Metrics over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from quoteway.models.tokens import Block


@dataclass(frozen=True, slots=True)
class Series:
    """A metric over time. A point without a known value is None."""

    id: str
    metric: str
    unit: str
    interval: Literal["1h", "1d", "1w"]
    start: int
    end: int
    points: tuple[tuple[int, float | None], ...]
    source: str
    method: str
    updated_at: int
    current: float | None = None
    block: Block | None = None
    preview: bool = False
    gaps: tuple[tuple[int, int], ...] = ()
    components: Mapping[str, float | None] | None = None
    windows: Mapping[str, float | None] | None = None
