"""Asks screening plugins about the actions that the rules of a custody policy allow."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from quoteway.guard.policy_facts import Facts
from quoteway.guard.policy_file import Policy
from quoteway.guard.screening import is_verdict, request_of
from quoteway.host.outcomes import Outcome
from quoteway.host.registry import Registry
from quoteway.models import Capability, ScreeningVerdict, Violation
from quoteway.providers import Provider
from quoteway.screener import Screener

log = logging.getLogger("quoteway.engine.screening")


@dataclass(frozen=True, slots=True)
class Screening:
    """The screening plugins of one gateway."""

    registry: Registry

    async def violations(
        self, policy: Policy, action_id: str, facts: Facts
    ) -> tuple[tuple[Violation, ...], bool]:
        """Asks all enabled screeners at once, within the time of a competition.

        Returns what is not allowed, and whether that is known: one refusal decides, and without one every
        screener must have answered, those of the plugins that the policy names too.
        """
        screeners = self.registry.enabled(Capability.SCREENING)
        missing = tuple(self._missing(policy))
        if missing or not screeners:
            return missing, not missing
        request = request_of(action_id, facts)
        outcomes = await self.registry.calls.ask_all(
            screeners, lambda screener: cast(Screener, screener).screen(request), verb="screen"
        )
        refused: list[Violation] = []
        silent: list[Violation] = []
        for outcome in outcomes:
            name, verdict = outcome.provider.id, _verdict_of(outcome)
            if verdict is None:
                silent.append(Violation("screening", f"screener {name} gave no verdict", name))
            elif not verdict.allowed:
                refused.append(Violation("screening", f"screener {name} refuses it: {verdict.code}", name))
        return tuple(refused or silent), bool(refused) or not silent

    def _missing(self, policy: Policy) -> Iterator[Violation]:
        """Yields what the policy requires and is not enabled."""
        plugins = {*self.registry.plugins_of(Capability.SCREENING).values()}
        for name in policy.screening.plugins:
            if name not in plugins:
                yield Violation("screening", f"screening plugin {name} is not enabled", name)
        if policy.screening.required and not plugins:
            yield Violation("screening", "no screening plugin is enabled, and one is required")


def _verdict_of(outcome: Outcome[Provider, ScreeningVerdict]) -> ScreeningVerdict | None:
    """Returns the verdict of a screener; None when it gave none, or none that counts."""
    if outcome.value is not None and not is_verdict(outcome.value):
        log.error("screener %r gave no verdict as ScreeningVerdict describes it", outcome.provider.id)
        return None
    return outcome.value
