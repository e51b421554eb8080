"""Thousands of changed quotes and builds, each given to the core in the place of an honest one.

``python -m bench corruptions`` runs them and prints a table.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from quoteway import Build, GatewayError
from quoteway.engine.ranking import best
from quoteway.models import Action, SealedQuote

from corrupting.chains import CHAIN_ID, FAR_CHAIN_ID, FRIEND, OWNER, THIEF, USER, World
from corrupting.changes import Change, changed_build, changed_quote, everywhere
from corrupting.material import Material, Part
from corrupting.oracle import Oracle, Verdict
from corrupting.values import Values, leaves

CONTROL_EVERY = 50
"""Every so many cases, an honest answer is asked for in the same way."""
LAYERS = {
    "quoting.py": "quote",
    "competition.py": "quote",
    "ranking.py": "quote",
    "calldata.py": "form of the build",
    "calls.py": "meaning of the calldata",
    "outcome.py": "run",
    "acknowledgements.py": "acknowledgement",
}
"""What refuses, by the file that raises; the provider itself in others."""
FRESH_SHARE = 0.4
"""How often a build is for a quote at the newest block, where the run must be exact."""


@dataclass
class Report:
    """What became of the cases. ``harmful`` and ``crashed`` have enough to repeat each."""

    cases: int = 0
    well_formed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    harmless: Counter[str] = field(default_factory=Counter)
    overstated: Counter[str] = field(default_factory=Counter)
    harmful: list[str] = field(default_factory=list)
    crashed: list[str] = field(default_factory=list)
    controls: int = 0
    refused_controls: list[str] = field(default_factory=list)
    providers: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def accepted(self) -> int:
        return self.harmless.total() + self.overstated.total() + len(self.harmful)


class Cases:
    """Runs cases over the material of a world."""

    def __init__(self, world: World, material: list[Material], seed: int) -> None:
        self.world, self.material = world, material
        self.chance, self.seed = Random(seed), seed
        self.oracle = Oracle(world)
        self.report = Report()
        self._judged: dict[Any, Verdict] = {}
        self._values = {each.name: _values(world, each) for each in material}
        self._core_logs = _Crashes()

    async def run(self, count: int, progress: Callable[[int], None] = lambda done: None) -> Report:
        """Runs ``count`` cases."""
        began = time.perf_counter()
        head = await self.world.gateway.runtime.chain(CHAIN_ID).head(fresh=True)
        logging.getLogger("quoteway").addHandler(self._core_logs)
        logging.getLogger("quoteway").propagate = False
        try:
            for number in range(count):
                material = self.chance.choice(self.material)
                if number % CONTROL_EVERY == 0:
                    await self._control(self.material[number // CONTROL_EVERY % len(self.material)], head)
                await self._one(material, head)
                progress(number + 1)
        finally:
            logging.getLogger("quoteway").removeHandler(self._core_logs)
            logging.getLogger("quoteway").propagate = True
        self.report.seconds = time.perf_counter() - began
        return self.report

    async def _one(self, material: Material, head: Any) -> None:
        chance, values = self.chance, self._values[material.name]
        part = chance.choice(material.parts)
        of_quote = chance.random() < 0.35
        change = None
        while change is None:
            if of_quote:
                change = changed_quote(chance, replace(part.quote, block=head), values)
            else:
                change = changed_build(chance, part.build, values)
        self.report.cases += 1
        self.report.well_formed += change.well_formed
        self.report.providers[part.sealed.provider] += 1
        what = f"{'quote' if of_quote else 'build'}: {change.what}"
        self._core_logs.texts.clear()
        try:
            if of_quote:
                action = await self._of_quote(material, part, change)
            else:
                sealed = at_block(material.sealed, head) if chance.random() < FRESH_SHARE else material.sealed
                action = await self.build(material, part, sealed, change.answer)
        except GatewayError as refusal:
            crash = next(iter(self._core_logs.texts), "")
            if crash:
                self.report.crashed.append(f"{material.name}: {what}: {crash}")
            self.report.refused[_layer(refusal)] += 1
        except Exception as error:
            self.report.crashed.append(f"{material.name}: {what}: {error!r} {_place(error)}")
        else:
            self._judge(material, part, what, action, change)
        finally:
            for each in material.parts:
                each.stand_in.quotes = each.stand_in.builds = None

    async def build(self, material: Material, part: Part, sealed: SealedQuote, build: Any) -> Action:
        """Returns the action for ``build`` in the place of a part's honest one."""
        for each in material.parts:
            given = build if each is part else each.build
            each.stand_in.builds = lambda sealed, given=given: given
        return await self._action(sealed)

    async def _action(self, sealed: SealedQuote) -> Action:
        """Returns the action. What the guard refuses by its bytes needs no node: this is found out first."""
        await self.world.gateway.quoting.rehearsing.build(sealed)
        return await self.world.gateway.building.action(sealed)

    async def _of_quote(self, material: Material, part: Part, change: Change) -> Action:
        """Gives a changed quote, then a build that fits it as well as the change allows."""
        gateway, chance = self.world.gateway, self.chance
        manner = chance.random()
        for each in material.parts:
            each.stand_in.quotes = (lambda request: change.answer) if each is part else None
            if each is part and not change.what.startswith("plan"):
                each.stand_in.builds = lambda sealed: _fitting(part, sealed, change, manner)
        quoting, capability, request = gateway.quoting, material.capability, material.request
        if not material.is_joined:  # what the guard refuses needs no node either
            asked = quoting.candidates(
                capability, CHAIN_ID, getattr(request, "to_chain_id", CHAIN_ID), provider=material.provider
            )
            best(await quoting.ask(asked, request, 30.0))
        answer = await quoting.quote(capability, request, provider=material.provider)
        known = self.oracle.machine.known
        for approval in answer.approvals:
            if approval.spender not in known:
                self.report.harmful.append(f"{material.name}: quote asks to approve {approval.spender}")
        sealed = gateway.quote_tokens.open(material.capability, answer.sealed.token)
        return await self._action(sealed)

    async def _control(self, material: Material, head: Any) -> None:
        """Asks for the honest answer in both ways. It must be accepted, and do what it says."""
        self.report.controls += 1
        try:
            sealed = at_block(material.sealed, head) if self.chance.random() < 0.5 else material.sealed
            action = await self.build(material, material.parts[0], sealed, material.parts[0].build)
            verdict = self._verdict(material, action)
            if verdict.harm or verdict.overstated:
                self.report.refused_controls.append(f"{material.name}: {verdict}")
        except Exception as error:
            self.report.refused_controls.append(f"{material.name}: {error!r}")
        finally:
            for each in material.parts:
                each.stand_in.builds = None

    def _judge(self, material: Material, part: Part, what: str, action: Action, change: Change) -> None:
        verdict = self._verdict(material, action)
        if verdict.harm:
            said = f"{material.name}: {what} -> {'; '.join(verdict.harm)}"
            detail = {
                "seed": self.seed,
                "case": self.report.cases,
                "intent": action.steps[-1].intent,
                "honest": _differences(part, change.answer),
            }
            self.report.harmful.append(f"{said} {detail}")
        elif verdict.overstated:
            self.report.overstated[what] += 1
        else:
            self.report.harmless[what] += 1

    def _verdict(self, material: Material, action: Action) -> Verdict:
        """Judges an action; each that is the same to its signer once."""
        steps = tuple((step.to, step.data, step.value, step.intent) for step in action.steps)
        signed = repr([each.typed_data for each in action.signatures])
        key = (material.name, steps, signed, repr(action.inputs), repr(action.outputs), action.deadline)
        key += (repr(action.terms),)
        if key not in self._judged:
            self._judged[key] = self.oracle.judge(material, action)
        return self._judged[key]


class _Crashes(logging.Handler):
    """Keeps the exceptions that the core logs of itself while it judges an answer."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not any("/plugins/" in place for place in _places(error)):
            self.texts.append(f"{error!r} {_place(error)}")


def _fitting(part: Part, sealed: SealedQuote, change: Change, manner: float) -> Build:
    """Returns a build for a changed quote: the honest one, with the quote's legs, or with the same swap."""
    build = part.build
    if change.swapped is not None and manner < 0.6:
        build = everywhere(build, *change.swapped)
    if manner > 0.8:
        return build
    quote = change.answer
    return replace(build, inputs=sealed.inputs, outputs=sealed.outputs, spends=tuple(quote.spends))


def at_block(sealed: SealedQuote, head: Any) -> SealedQuote:
    """Returns a sealed quote as one made at another block."""
    return replace(sealed, block=head, parts=tuple(replace(each, block=head) for each in sealed.parts))


def _values(world: World, material: Material) -> Values:
    """Returns what may take the place of something: the chain's contracts and the numbers of the material."""
    contracts = [*world.manifest.contracts.values(), *world.copies.values()]
    contracts += [vault.address for vault in world.manifest.vaults]
    contracts += [pool.id for pool in world.manifest.pools if len(pool.id) == 42]
    people = [OWNER, USER, FRIEND]
    numbers = {CHAIN_ID, FAR_CHAIN_ID}
    for part in material.parts:
        for leg in (*part.build.inputs, *part.build.outputs):
            numbers |= {each for each in (leg.amount, leg.amount_min, leg.amount_max) if each}
        if part.build.deadline:
            numbers |= {part.build.deadline, part.build.deadline + 3600}
    tokens = tuple(world.tokens.values())
    addresses = [*contracts, *(token.address for token in tokens), *people]
    return Values(THIEF, tuple(dict.fromkeys(addresses)), tokens, tuple(sorted(numbers)))


def _layer(error: GatewayError) -> str:
    """Names the part of the core that refused, and its reason."""
    name = _place(error).rpartition("/")[2].partition(":")[0]
    return f"{LAYERS.get(name, 'provider')} ({error.reason or error.code})"


def _place(error: BaseException) -> str:
    """Returns the file and line where an error was raised, without the guard's shared comparison."""
    places = [place for place in _places(error) if "guard/findings.py" not in place]
    return places[-1] if places else ""


def _places(error: BaseException) -> list[str]:
    frames = traceback.walk_tb(error.__traceback__)
    return [f"{frame.f_code.co_filename}:{line}" for frame, line in frames]


def _differences(part: Part, answer: Any) -> list[str]:
    honest = part.build if isinstance(answer, Build) else part.quote
    was = dict(leaves(honest))
    found = []
    for path, value in leaves(answer):
        if was.get(path, "") != value and path[0] != "block":
            old = was.get(path, "nothing")
            found.append(f"{path}: {_short(old)} -> {_short(value)}")
    return found


def _short(value: Any) -> str:
    return f"0x{value.hex()}" if isinstance(value, bytes) else str(value)
