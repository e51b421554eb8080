"""Runs the checks of the levels, in order, on each provider of a plugin."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from quoteway import Capability
from quoteway.host.states import told
from quoteway.testing.levels.check import MOST_LEVEL, Check, Failed, Finding, NotApplicable
from quoteway.testing.levels.requests import cases_of
from quoteway.testing.levels.subject import OpenGateway, Subject, restored, secrets_of

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway
    from quoteway.testing.execution import LocalChains

_MOST_S = 120.0
"""The time that a check may take, and what each execution of level 3 adds to it."""
_EXECUTION_S = 3.0
_ABANDON_S = 2.0

_LOADS = "loads"


@dataclass(frozen=True, slots=True)
class Result:
    """What one check said of one provider. ``finding`` None: it holds, or it does not concern the provider,
    for the reason in ``not_applicable``."""

    check: str
    level: int
    provider: str
    capability: str
    took_s: float
    finding: Finding | None = None
    not_applicable: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a plugin. ``level`` is the highest one that holds with all below it; None: none does."""

    plugin: str
    distribution: str
    version: str
    level: int | None
    results: tuple[Result, ...]
    level_s: dict[int, float] = field(default_factory=dict)
    executions: int = 0

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(result.finding for result in self.results if result.finding is not None)


@dataclass(slots=True)
class Examination:
    """Examines one plugin on the devnet. ``open_gateway`` starts a new gateway with it for each check.

    ``tell`` gets each result when it is known, ``begin`` gets each level
    with the number of its checks. ``secrets`` are more texts that nobody may see than those of its settings.
    """

    devnet: LocalChains
    open_gateway: OpenGateway
    plugin: str
    checks: Sequence[Check]
    executions: int = 1_000
    tell: Callable[[Result], None] = lambda result: None
    begin: Callable[[int, int], None] = lambda level, planned: None
    secrets: tuple[str, ...] = ()
    _cases: dict[tuple[Capability, str], Sequence[Any]] = field(default_factory=dict)

    async def report(self, most_level: int = MOST_LEVEL) -> Report:
        """Runs the levels up to ``most_level``. A level with a finding is the last that runs, and so is one
        without a check that concerns the plugin: neither counts.
        """
        results: list[Result] = []
        level_s: dict[int, float] = {}
        began = time.perf_counter()
        distribution, version, refused, providers = await self._loaded()
        if refused is not None:
            text = "Correct what the message names, then run the check again."
            finding = Finding(_LOADS, 0, "", "", refused, text)
            results.append(Result(_LOADS, 0, "", "", time.perf_counter() - began, finding))
            self.tell(results[-1])
            return Report(self.plugin, distribution, version, None, tuple(results))
        level: int | None = None
        for number in range(most_level + 1):
            began = time.perf_counter()
            planned = [
                (check, key)
                for key in providers
                for check in self.checks
                if check.level == number and key[0] in check.capabilities
            ]
            self.begin(number, len(planned))
            ran = []
            for check, key in planned:
                ran.append(await self.run(check, *key))
                self.tell(ran[-1])
            results += ran
            level_s[number] = time.perf_counter() - began
            found = any(result.finding is not None for result in ran)
            # A level of which nothing concerns the plugin would say what nobody has seen.
            if found or all(result.not_applicable is not None for result in ran):
                break
            level = number
        return Report(self.plugin, distribution, version, level, tuple(results), level_s, self.executions)

    async def _loaded(self) -> tuple[str, str, str | None, list[tuple[Capability, str]]]:
        async with self.open_gateway() as gateway:
            entry = next((each for each in gateway.registry.plugins if each.name == self.plugin), None)
            if entry is None:
                return "", "", "no installed plugin has this entry point", []
            reasons = [entry.detail] if entry.reason is not None else []
            own = [each for each in gateway.registry.providers if each.plugin is entry]
            reasons += [each.detail for each in own if each.reason is not None]
            if not own and not reasons:
                reasons = ["it has no provider, so there is nothing to check"]
            providers = [(each.provider.capability, each.provider.id) for each in own if each.enabled]
            refused = next((reason or "it is not enabled" for reason in reasons), None)
            return entry.distribution, entry.version, refused, providers

    async def run(self, check: Check, capability: Capability, provider_id: str) -> Result:
        """Runs one check of one provider in a new gateway, on chains that are restored afterwards."""
        result = Result(check.name, check.level, provider_id, capability.value, 0.0)
        began, finding, why = time.perf_counter(), None, None
        try:
            async with restored(self.devnet), self.open_gateway() as gateway:
                subject = await self._subject(gateway, capability, provider_id)
                await self._within(check, subject)
        except NotApplicable as error:
            why = str(error)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a plugin can raise SystemExit and classes of its own
            text = str(error) if isinstance(error, Failed) else told(error)
            finding = Finding(check.name, check.level, provider_id, capability.value, text, check.remedy)
        took_s = time.perf_counter() - began
        return replace(result, took_s=took_s, finding=finding, not_applicable=why)

    async def _within(self, check: Check, subject: Subject) -> None:
        most_s = _MOST_S + (_EXECUTION_S * self.executions if check.level == MOST_LEVEL else 0)
        task = asyncio.ensure_future(check.run(subject))
        try:
            # Not asyncio.wait_for: it waits for a task that swallows its cancellation.
            await asyncio.wait([task], timeout=most_s)
            if not task.done():
                raise Failed(f"the check did not end within {most_s:g} s")
            await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=_ABANDON_S)

    async def _subject(self, gateway: Gateway, capability: Capability, provider_id: str) -> Subject:
        provider = gateway.registry.get(capability, provider_id)
        if provider is None:
            raise Failed("it is enabled in one start and not in the next")
        key = capability, provider_id
        if key not in self._cases:
            async with self.open_gateway() as other:  # so that this provider was never asked
                asked = other.registry.get(capability, provider_id)
                self._cases[key] = [] if asked is None else await cases_of(self.devnet, other, asked)
        return Subject(
            self.devnet,
            gateway,
            self.plugin,
            provider,
            capability,
            self._cases[key],
            self.open_gateway,
            (*secrets_of(gateway, self.plugin), *self.secrets),
            self.executions,
        )
