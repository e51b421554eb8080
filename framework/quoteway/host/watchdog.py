"""Names the code that blocks the event loop: a thread samples the loop's stack while the loop is late.

The stack is the truth. The task's name is not: a callback or an observer of one plugin may run while
another one is asked.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType

from cachetools import LRUCache

from quoteway.host.checked_provider import plugins_own
from quoteway.host.registry import Registry
from quoteway.host.states import CORE, NotEnabled
from quoteway.providers import Provider

log = logging.getLogger("quoteway.host.watchdog")

BEAT_S = 0.025
"""Time between two heartbeats of the loop, and between two looks of the thread at a loop on time."""
SAMPLE_S = 0.01
"""Time between two looks at a loop that is late."""
STALL_S = 0.05
"""A loop that is late by more than this is blocked."""
ONGOING_S = 1.0
"""A stall that lasts longer than this is logged before it ends, since it may never end."""
LOG_EVERY_S = 60.0
"""One function's stalls are logged once in this time, unless ``Watchdog.log_every_s`` says another."""
MEMORY_MINUTES = 60
"""How long a plugin's worst stall is shown."""
MOST_CHARS = 200
_WAITING = frozenset({"selectors", "asyncio.runners", "asyncio.base_events", "uvloop"})
"""The modules of the innermost frame of a loop that waits for events."""


@dataclass(frozen=True, slots=True)
class Blame:
    """The plugin and the function, with its module, that a stack shows at work."""

    plugin: str
    function: str


@dataclass(frozen=True, slots=True)
class Stall:
    """A time in which the event loop ran code of one plugin only, longest in ``blame.function``."""

    blame: Blame
    duration_s: float

    @property
    def milliseconds(self) -> int:
        return round(self.duration_s * 1_000)


class Watchdog:
    """Watches the event loop of one gateway.

    ``listeners`` are called with each stall, in its thread. ``lag_listeners`` are called in the loop with the
    seconds by which each heartbeat was late.
    """

    def __init__(self, registry: Registry) -> None:
        self.listeners: list[Callable[[Stall], None]] = []
        self.lag_listeners: list[Callable[[float], None]] = []
        self.log_every_s = LOG_EVERY_S
        self._registry = registry
        self._worst: dict[tuple[str, int], Stall] = {}
        """By plugin and minute of the monotonic clock."""
        self._logged_at: LRUCache[Blame, float] = LRUCache(256)
        self._beat_due_at = 0.0
        self._next_beat: asyncio.TimerHandle | None = None
        self._loop_thread = 0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts to watch the running loop. Does nothing when it is watched already."""
        if self._thread is not None:
            return
        self._loop_thread = threading.get_ident()
        self._stopping.clear()
        self._beat_due_at = time.monotonic()
        self._beat()
        self._thread = threading.Thread(target=self._watch, name="quoteway-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and the heartbeat. Does nothing when nothing is watched."""
        if self._thread is None:
            return
        self._stopping.set()
        self._thread.join(timeout=1.0)
        self._thread = None
        if self._next_beat is not None:
            self._next_beat.cancel()

    def worst(self, plugin: str) -> Stall | None:
        """Returns the longest stall of a plugin in the last hour; None without one."""
        since = _minute() - MEMORY_MINUTES
        kept = tuple(self._worst.items())
        stalls = (stall for (name, minute), stall in kept if name == plugin and minute > since)
        return max(stalls, key=lambda stall: stall.duration_s, default=None)

    def _beat(self) -> None:
        now = time.monotonic()
        for listener in self.lag_listeners:
            listener(max(now - self._beat_due_at, 0.0))
        self._beat_due_at = now + BEAT_S
        self._next_beat = asyncio.get_running_loop().call_later(BEAT_S, self._beat)

    def _watch(self) -> None:
        while not self._stopping.is_set():
            try:
                self._watch_beats()
            except Exception:  # classes of plugins and listeners are looked at here
                log.exception("the watchdog failed and goes on")

    def _watch_beats(self) -> None:
        due_at, looked_at, cpu_s = self._beat_due_at, time.monotonic(), time.process_time()
        busy_s: defaultdict[Blame, float] = defaultdict(float)
        told: set[Blame] = set()
        while not self._stopping.wait(SAMPLE_S if busy_s else BEAT_S):
            now, cpu_before_s = time.monotonic(), cpu_s
            cpu_s = time.process_time()
            since, looked_at = max(looked_at, due_at), now
            if self._beat_due_at != due_at:  # the loop runs again
                ended, due_at = _stalls(busy_s), self._beat_due_at
                busy_s.clear()
                for stall in ended:
                    self._end(stall, told=stall.blame in told)
                told.clear()
            if now - due_at < SAMPLE_S:
                continue
            blame = self._blame()
            if blame is None:
                continue
            passed_s = now - since
            if blame not in busy_s and passed_s > 3 * BEAT_S:
                # What keeps this thread from running holds the interpreter's lock and uses the processor.
                # Otherwise the machine was busy with other processes: no plugin is to blame for that.
                passed_s = min(passed_s, max(cpu_s - cpu_before_s, SAMPLE_S))
            busy_s[blame] += passed_s
            if not told and busy_s[blame] > ONGOING_S:
                told.add(blame)
                self._tell(Stall(blame, busy_s[blame]), "has blocked the event loop for %d ms and goes on")

    def _end(self, stall: Stall, *, told: bool) -> None:
        """Reports and remembers a stall that has ended; ``told``: its beginning is in the log."""
        last = self._logged_at.get(stall.blame)
        if told or last is None or time.monotonic() - last > self.log_every_s:
            self._tell(stall, "blocked the event loop for %d ms")
        try:
            for listener in self.listeners:
                listener(stall)
        finally:  # last, so that who is shown the stall finds its line in the log and its count too
            self._remember(stall)

    def _remember(self, stall: Stall) -> None:
        key = stall.blame.plugin, _minute()
        for old in [(plugin, minute) for plugin, minute in self._worst if minute <= key[1] - MEMORY_MINUTES]:
            del self._worst[old]
        if key not in self._worst or self._worst[key].duration_s < stall.duration_s:
            self._worst[key] = stall

    def _tell(self, stall: Stall, text: str) -> None:
        self._logged_at[stall.blame] = time.monotonic()
        message = f"plugin %r {text}, longest in %s: nothing was answered in that time"
        log.error(message, stall.blame.plugin, stall.milliseconds, stall.blame.function)

    def _blame(self) -> Blame | None:
        """Returns what the loop's stack shows at work; None for a loop that waits for events.

        That is the innermost function of a plugin, else the innermost one of the core.
        """
        innermost = sys._current_frames().get(self._loop_thread)
        if innermost is None or _module(innermost) in _WAITING:
            return None
        owners = _Owners(self._registry)
        stack = list(_outwards(innermost))
        for frame in stack:
            plugin = owners.of(frame)
            if plugin is not None:
                return Blame(plugin, _name(frame))
        own = (frame for frame in stack if _module(frame).partition(".")[0] == CORE)
        return Blame(CORE, _name(next(own, innermost)))


class _Owners:
    """Whose code it is: by the package of an installed plugin, else by the class of a plugin or provider."""

    def __init__(self, registry: Registry) -> None:
        packages: defaultdict[str, set[str]] = defaultdict(set)
        self._classes: dict[tuple[str, str], str] = {}
        for entry in registry.plugins:
            if entry.reason is NotEnabled.NOT_SELECTED:
                continue
            module = entry.plugin.__name__ if isinstance(entry.plugin, ModuleType) else entry.module
            for package in {module, module.partition(".")[0]} - {""}:
                packages[package].add(entry.name)
            self._add_classes(entry.plugin, entry.name)
        for claim in tuple(registry.providers):
            if claim.plugin is not registry.plugins.core:
                self._add_classes(plugins_own(claim.provider), claim.plugin.name)
        # A package of several plugins belongs to none of them: their own modules and classes tell.
        self._packages = {package: names.pop() for package, names in packages.items() if len(names) == 1}

    def _add_classes(self, thing: object, plugin: str) -> None:
        for cls in type(thing).__mro__:
            if cls.__module__ != Provider.__module__:
                self._classes.setdefault((cls.__module__, cls.__qualname__), plugin)

    def of(self, frame: FrameType) -> str | None:
        """Returns the plugin that the function of a frame belongs to; None for all other code."""
        module = _module(frame)
        package = self._packages.get(module) or self._packages.get(module.partition(".")[0])
        return package or self._classes.get((module, frame.f_code.co_qualname.rpartition(".")[0]))


def _stalls(busy_s: Mapping[Blame, float]) -> list[Stall]:
    """Returns one stall for each plugin that worked too long, with its function that worked longest.

    Many short calls of several plugins are load, for which none of them is to blame.
    """
    found = []
    for plugin in {blame.plugin for blame in busy_s}:
        own = {blame: seconds for blame, seconds in busy_s.items() if blame.plugin == plugin}
        if sum(own.values()) > STALL_S:
            found.append(Stall(max(own, key=lambda blame: own[blame]), sum(own.values())))
    return found


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _name(frame: FrameType) -> str:
    code: CodeType = frame.f_code
    name = f"{_module(frame)}.{code.co_qualname}"[:MOST_CHARS]
    return name if name.isprintable() else ascii(name)


def _minute() -> int:
    return int(time.monotonic() // 60)
