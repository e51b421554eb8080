"""Levels of plugins: what is checked of a plugin before an operator trusts it.

``quoteway check PLUGIN`` runs ``CHECKS`` in order on a devnet of its own. Level 0: it loads, and its types
and settings are right. Level 1: the conformance suites. Level 2: generated requests, faults, concurrency, and
the truth of what quotes and lists say. Level 3: random executions. See docs/reference/levels.md.
"""

from quoteway.testing.levels.check import LEVELS, Check, Finding
from quoteway.testing.levels.conforming import CONFORMING
from quoteway.testing.levels.enduring import ENDURING
from quoteway.testing.levels.executing import EXECUTING
from quoteway.testing.levels.facts import FACTS
from quoteway.testing.levels.loading import LOADING
from quoteway.testing.levels.report import badge_of, html_of, json_of
from quoteway.testing.levels.running import Examination, Report, Result
from quoteway.testing.levels.trading import TRADING
from quoteway.testing.levels.transferring import TRANSFERRING
from quoteway.testing.levels.truth import TRUTH

CHECKS: tuple[Check, ...] = (
    *LOADING,
    *CONFORMING,
    *TRUTH,
    *TRADING,
    *TRANSFERRING,
    *ENDURING,
    *FACTS,
    *EXECUTING,
)
"""Every check. Names are unique among those of a capability."""

__all__ = [
    "CHECKS",
    "LEVELS",
    "Check",
    "Examination",
    "Finding",
    "Report",
    "Result",
    "badge_of",
    "html_of",
    "json_of",
]
