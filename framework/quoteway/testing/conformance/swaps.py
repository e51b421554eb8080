"""The suite for swap providers."""

from __future__ import annotations

from typing import ClassVar

from quoteway import Capability
from quoteway.testing.conformance.movement import MovementConformance


class SwapConformance(MovementConformance):
    """Fixtures: ``gateway``, ``cases`` (``SwapRequest``), ``unknown`` (a pair without a route)."""

    capability: ClassVar[Capability] = Capability.SWAP
