"""The plugin object that stands for an isolated plugin: hooks and providers that call its process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

from marshmallow import Schema

from quoteway.deadlines import seconds_left
from quoteway.errors import GatewayError, UpstreamError
from quoteway.hookspecs import hookimpl
from quoteway.host.isolation.codec import Uncodable
from quoteway.host.isolation.descriptions import Description, proxy, renew
from quoteway.host.isolation.link import Link, gone
from quoteway.host.isolation.process import Process
from quoteway.host.plugin_lock import PluginLock
from quoteway.host.registry import CAPABILITY_HOOKS
from quoteway.host.runtime import Runtime
from quoteway.host.states import NotEnabled, PluginEntry, State
from quoteway.models import Capability
from quoteway.plugin_store import STORE_METHODS, PluginStore
from quoteway.providers import Provider
from quoteway.spans import current_place

log = logging.getLogger("quoteway.host.isolation")

PING_EVERY_S = 1.0
MAX_BACKOFF_S = 30.0
FIRST_BACKOFF_S = 0.2
STEADY_S = 10.0
"""A process that ran this long starts again after ``FIRST_BACKOFF_S``."""
STOP_S = 3.0
"""Time that the plugin's lifespan has to end."""
_MAX_READ_S = 60.0
MAX_RECORDS_PER_S = 200
"""Most log records of a plugin in a second. Further ones are dropped."""
_NOT_CROSSING = tuple(
    f"quoteway_{hook}" for hook in ("routes", "site", "commands", "observe", "event_sources")
)


NOT_ISOLATED = frozenset({Capability.LIQUIDITY, Capability.EXECUTION})
"""The capabilities whose objects are used synchronously, thousands of times in a request."""


class _AnySettings(Schema):
    """The plugin checks its settings in its own process."""

    def load(self, data: Any, **options: Any) -> dict[str, Any]:
        return dict(data)


@dataclass(eq=False)
class IsolatedPlugin:
    """Starts the plugin's process when it is made, and again, with increasing delays, whenever it ends.

    While it is down the plugin is not enabled, with the reason ``process_ended``. ``changed`` is called when
    that changes. To ``closes`` is added what ends the process.
    """

    entry: PluginEntry
    runtime: Runtime
    changed: Callable[[], None]
    closes: InitVar[list[Callable[[], None]]]
    hooks: frozenset[str] = frozenset()
    _process: Process | None = None
    _link: Link | None = None
    _up: asyncio.Event = field(default_factory=asyncio.Event)
    _lost: asyncio.Event = field(default_factory=asyncio.Event)
    _lost_because: str = ""
    _proxies: dict[tuple[str, str], Provider] = field(default_factory=dict)
    _stopping: bool = False
    _second: int = 0
    _records: int = 0

    def __post_init__(self, closes: list[Callable[[], None]]) -> None:
        closes.append(self.close)
        try:
            answer = self._boot()
        except BaseException:
            self.close()
            raise
        if isinstance(answer, tuple):
            self._refuse(answer)
            return
        self.hooks = frozenset(answer)
        used_at_once = [CAPABILITY_HOOKS[each][0] for each in NOT_ISOLATED]
        lost = ", ".join(hook for hook in (*_NOT_CROSSING, *sorted(used_at_once)) if hook in self.hooks)
        if lost:
            log.warning("plugin %r runs in a process of its own: %s are not called", self.entry.name, lost)

    def __repr__(self) -> str:
        return f"IsolatedPlugin({self.entry.name!r})"

    # --- start-up -------------------------------------------------------------------------------------------

    def _boot(self) -> Any:
        """Starts a process and loads the plugin in it. Returns its hooks, or why it is refused."""
        settings = self.runtime.config.plugins
        self._process = Process(settings.isolated_memory_mb, settings.isolated_cpu_percent, self._told)
        return self._ask("load", self._setup())

    def _setup(self) -> Mapping[str, Any]:
        config, entry = self.runtime.config, self.entry
        return {
            "plugin": entry.name,
            "distribution": entry.distribution,
            "version": entry.version,
            "target": entry.target,
            "section": config.plugin_sections.get(entry.name, {}),
            "log_level": logging.getLogger(f"quoteway.plugin.{entry.name}").getEffectiveLevel(),
            "now": self.runtime.clock(),
            "workers": config.server.workers,
            "action_deadline_s": config.quotes.action_deadline_s,
            "pinned": config.calls.pinned,
            "providers": {name: replace(each, isolation="none") for name, each in config.providers.items()},
            "embedded": config.embedded,
            "path": None if config.path is None else str(config.path),
            "worker": config.worker,
            "timed": config.traces.url is not None,
            "pycache_prefix": sys.pycache_prefix,
        }

    def _ask(self, verb: str, *arguments: Any) -> Any:
        process, timeout_s = self._process, self.runtime.config.plugins.startup_timeout_s
        if process is None:
            raise RuntimeError("its process is not running")
        try:
            return process.ask(verb, *arguments, until=time.monotonic() + timeout_s)
        except TimeoutError:
            process.kill()
            raise RuntimeError(f"its process did not answer {verb} within {timeout_s:g} s") from None
        except (OSError, Uncodable) as error:
            raise RuntimeError(f"its process failed in {verb}: {error}; {process.kill()}") from None

    def _hook(self, hook: str) -> Any:
        """Returns the answer of the plugin's hook; None when it has none or was refused."""
        if hook not in self.hooks:
            return None
        answer = self._ask("hook", hook, *self._networks())
        if isinstance(answer, tuple):
            self._refuse(answer)
            return None
        return answer

    def _networks(self) -> tuple[list[Any], list[int]]:
        """Returns the networks, and the ids of those that can be read. RPC upstreams alone get endpoints."""
        whole = "quoteway_rpc_upstreams" in self.hooks
        networks = list(self.runtime.networks)
        shown = networks if whole else [replace(network, endpoints=()) for network in networks]
        return shown, list(self.runtime.chains)

    def _refuse(self, answer: tuple[Any, ...]) -> None:
        reason, detail = answer
        self.entry.refuse(NotEnabled(reason), str(detail))
        self.close()

    def close(self) -> None:
        """Ends the process."""
        self._stopping = True
        if self._process is not None:
            self._process.kill()

    # --- hooks ----------------------------------------------------------------------------------------------

    @hookimpl
    def quoteway_settings(self) -> type[Schema]:
        return _AnySettings

    @hookimpl
    def quoteway_networks(self) -> Any:
        return next(iter(self._hook("quoteway_networks") or ()), None)

    @hookimpl
    def quoteway_call_descriptions(self) -> Any:
        return next(iter(self._hook("quoteway_call_descriptions") or ()), None)

    def providers(self, hook: str) -> Sequence[Provider] | None:
        """Returns providers that call the plugin's."""
        found: Sequence[Description] | None = self._hook(hook)
        if found is None:
            return None
        made = [proxy(self, each) for each in found]
        self._proxies |= {(each.capability.value, each.id): each for each in made}
        return made

    @hookimpl
    @contextlib.asynccontextmanager
    async def quoteway_lifespan(self) -> AsyncIterator[None]:
        keeping: asyncio.Task[None] | None = None
        try:
            await self._start()
            keeping = asyncio.create_task(self._keep(), name=f"plugin:{self.entry.name}.process")
            yield
        finally:
            self._stopping = True
            if keeping is not None:
                keeping.cancel()
            link, self._link = self._link, None
            if link is not None:
                with contextlib.suppress(Exception):
                    async with asyncio.timeout(STOP_S):
                        await link.ask("stop")
                link.close()
            self.close()

    # --- while it runs --------------------------------------------------------------------------------------

    async def _start(self) -> None:
        """Takes over the process's socket and starts the plugin."""
        assert self._process is not None
        self._lost.clear()
        link = Link(self._serve, self._on_lost, told=self._told, failed=self._failed)
        await link.attach(self._process.end)
        try:
            refused = await link.ask("start")
        except BaseException:
            link.close()
            raise
        if refused is not None:
            link.close()
            raise RuntimeError(str(refused[1]))
        self._link = link
        self._up.set()

    async def _keep(self) -> None:
        """Watches the process and starts it again whenever it ends."""
        failures = 0
        while True:
            since = time.monotonic()
            because = await self._end_of_process()
            failures = 0 if time.monotonic() - since >= STEADY_S else failures + 1
            while True:
                delay_s = min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2**failures)
                self._is_down(f"{because}; starting again in {delay_s:.1f} s")
                await asyncio.sleep(delay_s)
                try:
                    await self._again()
                    break
                except Exception as error:  # isolation border: whatever the plugin does at its start
                    because, failures = f"it could not be started: {error}", failures + 1
            self._is_up()

    async def _end_of_process(self) -> str:
        """Returns why the process has ended, or had to be."""
        silence_s = self.runtime.config.plugins.isolated_silence_s
        link, process = self._link, self._process
        assert link is not None
        assert process is not None
        because = ""
        while not self._lost.is_set():
            try:
                async with asyncio.timeout(silence_s):
                    for each in await link.ask("ping"):
                        renew(self._proxies[each[0], each[1]], each)
            except TimeoutError:
                because = f"it did not answer for {silence_s:g} s"
                break
            except UpstreamError:
                break
            except Exception as error:
                log.warning("plugin %r cannot be described: %s", self.entry.name, error)
            if because := process.overuse():
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PING_EVERY_S):
                    await self._lost.wait()
        self._link = None
        link.close()
        if not because:  # a moment to end with a status that says why
            await asyncio.to_thread(process.wait, 1.0)
        return f"{because or self._lost_because}: {process.kill()}"

    async def _again(self) -> None:
        """Starts a new process with the providers that the server knows. Raises when it cannot."""
        try:
            found = await asyncio.to_thread(self._boot_whole)
            missing = self._proxies.keys() - {(each[0], each[1]) for each in found}
            if missing:
                raise RuntimeError(f"it has no provider {sorted(missing)[0]} any more")
            for each in found:
                if (each[0], each[1]) in self._proxies:
                    renew(self._proxies[each[0], each[1]], each)
            async with asyncio.timeout(self.runtime.config.plugins.startup_timeout_s):
                await self._start()
        except BaseException:
            if self._process is not None:
                self._process.kill()
            raise

    def _boot_whole(self) -> list[Description]:
        lock = self.runtime.config.plugin_lock
        difference = None if lock is None else PluginLock.read(lock).difference(self.entry)
        if difference is not None:  # it may have changed while the server ran
            raise RuntimeError(f"{NotEnabled.LOCK_MISMATCH}: {difference}: {lock}")
        answer = self._boot()
        found: list[Description] = []
        crossing = [hook for each, (hook, _) in CAPABILITY_HOOKS.items() if each not in NOT_ISOLATED]
        for hook in [*crossing, "quoteway_call_descriptions"]:
            if isinstance(answer, tuple):
                raise RuntimeError(str(answer[1]))
            if hook in self.hooks:
                answer = self._ask("hook", hook, *self._networks())
                if hook != "quoteway_call_descriptions" and isinstance(answer, list):
                    found += answer
        if self._stopping:
            self.close()
        return found

    def _is_down(self, because: str) -> None:
        log.error("plugin %r is not enabled: its process is down: %s", self.entry.name, because)
        if self.entry.reason in (None, NotEnabled.PROCESS_ENDED):
            self.entry.reason, self.entry.detail = NotEnabled.PROCESS_ENDED, because
            self.changed()

    def _is_up(self) -> None:
        log.info("plugin %r is up again", self.entry.name)
        if self.entry.reason is NotEnabled.PROCESS_ENDED:
            self.entry.reason = self.entry.detail = None
            self.entry.state = State.ENABLED
            self.changed()

    def _on_lost(self, because: str) -> None:
        self._lost_because = because
        self._lost.set()

    async def call(
        self, provider: Provider, method: str, arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        """Calls a method of a provider in the plugin's process.

        Raises what it raised, and ``UpstreamError`` while the process is down.
        """
        await self._up.wait()  # other plugins may call it while they start
        if self._link is None:
            raise gone()
        called = provider.capability.value, provider.id, method, arguments, named
        return await self._link.ask("call", *called, seconds_left(), current_place() is not None)

    async def _serve(self, verb: str, arguments: tuple[Any, ...]) -> Any:
        """Answers the plugin: what its context gives it of the server."""
        runtime = self.runtime
        if verb == "stored" and arguments[0] in STORE_METHODS:
            return await getattr(PluginStore(self.entry.name, runtime.rows), arguments[0])(*arguments[1:])
        chain_id, *rest = arguments
        if verb == "head":
            return await runtime.chain(chain_id).head(fresh=bool(rest[0]))
        if verb == "request":
            method, params, timeout_s, shared = rest
            limit_s = None if timeout_s is None else min(timeout_s, _MAX_READ_S)
            return await runtime.chain(chain_id).request(method, params, timeout_s=limit_s, shared=shared)
        if verb == "token":
            return await runtime.tokens.find(chain_id, *rest)
        if verb == "listed":
            return await runtime.tokens.listed(chain_id)
        if verb == "prices":
            addresses, wait_s = rest
            return await runtime.prices.get(chain_id, addresses, wait_s=min(wait_s, _MAX_READ_S))
        raise Uncodable(f"request {verb!r} does not exist")

    def _told(self, name: str, level: int, text: str) -> None:
        """Logs a record of the plugin under its own name, whatever name it gave."""
        own = f"quoteway.plugin.{self.entry.name}"
        if self._may_log():
            logging.getLogger(own).log(level, "%s", text if name == own else f"{name}: {text}")

    def _failed(self, error: BaseException) -> Exception | str:
        if isinstance(error, GatewayError):
            return error
        if self._may_log():
            log.error("a read of plugin %r failed", self.entry.name, exc_info=error)
        return "the server could not answer"

    def _may_log(self) -> bool:
        """Returns whether another record may be logged in this second. Tells when the first one may not."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._records = second, 0
        self._records += 1
        if self._records == MAX_RECORDS_PER_S + 1:
            log.warning("plugin %r logs more than %d records in a second", self.entry.name, MAX_RECORDS_PER_S)
        return self._records <= MAX_RECORDS_PER_S


def _of(hook: str) -> Callable[[IsolatedPlugin], Sequence[Provider] | None]:
    return hookimpl(lambda self: self.providers(hook))


for _capability in set(Capability) - NOT_ISOLATED:
    setattr(IsolatedPlugin, CAPABILITY_HOOKS[_capability][0], _of(CAPABILITY_HOOKS[_capability][0]))
