"""What a check is, and what it finds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quoteway import Capability

if TYPE_CHECKING:
    from quoteway.testing.levels.subject import Subject

TRANSACTIONS = frozenset({Capability.SWAP, Capability.BRIDGE, Capability.POOL, Capability.VAULT})
"""The capabilities whose quotes become transactions."""
EVERY = frozenset(Capability)

MOST_LEVEL = 3
LEVELS = (
    "it loads, its types and settings are right",
    "it passes the conformance suites",
    "it withstands generated requests, faults and concurrency, and what it says is true",
    "random executions pay what their quotes say",
)
"""What each level says, by number."""


class Failed(AssertionError):  # noqa: N818 - reads as what it says
    """A provider does not do what a check requires. The text says what it did."""


class NotApplicable(Exception):  # noqa: N818 - a fact about the provider, not a failure
    """A check does not concern the provider. The text says why."""


def require(condition: object, text: str) -> None:
    """Raises ``Failed`` with ``text`` unless ``condition`` holds."""
    if not condition:
        raise Failed(text)


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement of a level.

    ``run`` gets the provider in a gateway of its own and raises ``Failed`` for what it finds. Any other
    exception is a finding too. ``remedy`` tells the author what to change.
    """

    name: str
    level: int
    remedy: str
    run: Callable[[Subject], Awaitable[None]]
    capabilities: frozenset[Capability] = EVERY


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found of a provider. ``provider`` is "" where the plugin as a whole fails."""

    check: str
    level: int
    provider: str
    capability: str
    text: str
    remedy: str
