"""Finds, loads and configures plugins, and calls their hooks. A plugin's error affects that plugin only.

pluggy is used for registration and validation only. Its hook calls stop at the first implementation that
raises, and its results do not name the plugin.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

import pluggy
from marshmallow import RAISE, Schema, ValidationError

from quoteway import hookspecs
from quoteway.context import Context
from quoteway.errors import ConfigError
from quoteway.host.installed_plugins import core_version, installed_plugins
from quoteway.host.observers import Observer
from quoteway.host.plugin_levels import PluginLevels
from quoteway.host.plugin_lock import PluginLock
from quoteway.host.runtime import Runtime
from quoteway.host.states import CORE, PLUGIN_ERRORS, NotEnabled, PluginEntry, State, normalized, told
from quoteway.secrets import SecretField, missing_credentials

log = logging.getLogger("quoteway.host.plugins")

MOST_ITEMS = 10_000
"""The most items of a hook's answer."""


class Plugins:
    """The installed plugins of one gateway, in the order found.

    ``core`` stands for the core itself. ``listeners`` of the core are called with the events of
    ``quoteway_observe`` at once, the ``observers`` of plugins beside the requests. ``changed`` is called when
    a plugin is enabled or disabled at run time.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._config = runtime.config
        self._runtime = runtime
        self._manager = pluggy.PluginManager("quoteway")
        self._manager.add_hookspecs(hookspecs)
        self._entries: dict[str, PluginEntry] = {}
        self.core = PluginEntry(CORE, CORE, core_version(), State.ENABLED)
        self.loaded = False
        self.changed: Callable[[], None] = lambda: None
        self._closes: list[Callable[[], None]] = []
        self.listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self.observers: Sequence[Observer] = ()

    def __iter__(self) -> Iterator[PluginEntry]:
        return iter(tuple(self._entries.values()))

    def discover(self) -> None:
        """Lists installed plugins by their entry points. Imports no plugin, since an import runs its code."""
        for entry in installed_plugins():
            self.add_entry(entry)

    def add(self, name: str, plugin: object) -> None:
        """Adds a plugin object that has no entry point, for tests and embedding applications."""
        self.add_entry(PluginEntry(name, "in-process", "0", loader=lambda: plugin))

    def add_entry(self, entry: PluginEntry) -> None:
        """Adds an installed plugin. Two of one name are both refused."""
        if entry.name == CORE:
            entry.refuse(NotEnabled.DUPLICATE_ID, f"the name {CORE!r} is reserved for the core")
        key, other = entry.name, self._entries.get(entry.name)
        if not self.owns(entry, entry.name):
            owner = self._config.plugins.owners[entry.name]
            text = f"{entry.distribution} claims plugin name {entry.name!r}, which belongs to {owner}"
            entry.refuse(NotEnabled.SQUATTER, text)
            key = f"{entry.name}@{entry.distribution}"
        elif other is not None:
            text = (
                f"{other.distribution} and {entry.distribution} both claim plugin name {entry.name!r}: "
                "say whose it is in [plugins] owners"
            )
            other.refuse(NotEnabled.DUPLICATE_ID, text)
            entry.refuse(NotEnabled.DUPLICATE_ID, text)
            key = f"{entry.name}@{entry.distribution}"
        self._entries[key] = entry

    def owns(self, entry: PluginEntry, name: str) -> bool:
        """Returns whether the configuration lets a plugin have a plugin name or provider id."""
        owner = self._config.plugins.owners.get(name)
        return owner is None or normalized(owner) == normalized(entry.distribution)

    def selects(self, entry: PluginEntry) -> bool:
        """Returns whether the configuration says to load a plugin."""
        return self._config.plugins.load == "all" or entry.name in self._config.plugins.load

    def admit(self) -> set[str]:
        """Refuses the plugins that are not selected, not as they are locked, or below the level required.

        Imports nothing. Returns the names of the plugins that run in processes of their own: this process
        imports none of them. Raises ``ConfigError`` when the configuration names a plugin to isolate that is
        not installed, or the lock file or the levels file cannot be used.
        """
        path = self._config.plugin_lock
        lock = None if path is None else PluginLock.read(path)
        if lock is not None:  # it does not have the bytecode in __pycache__: nothing must read that
            sys.pycache_prefix = os.devnull
        for entry in self:
            if entry.reason is None and not self.selects(entry):
                entry.reason, entry.detail = NotEnabled.NOT_SELECTED, "plugins.load does not name it"
            if entry.reason is None and lock is not None and entry.installed is not None:
                difference = lock.difference(entry)
                if difference is not None:
                    entry.refuse(NotEnabled.LOCK_MISMATCH, f"{difference}: {path}")
        self._require_levels()
        return self._isolated()

    def _require_levels(self) -> None:
        """Sets the levels of the installed plugins and refuses those below the level required."""
        settings = self._config.plugins
        levels = PluginLevels.read(self._config.plugin_levels)
        for entry in self:
            if entry.reason is not None or entry.installed is None:
                continue
            entry.level = levels.level_of(entry)
            least = settings.least_levels.get(entry.name, settings.least_level)
            if (entry.level or 0) >= least:
                continue
            has = "has no level" if entry.level is None else f"has level {entry.level}"
            if entry.level is None and entry.name in levels.plugins:
                has = "has other files than those that were checked"
            remedy = f"run `quoteway check {entry.name} --level {least}`"
            entry.refuse(NotEnabled.LEVEL_TOO_LOW, f"it {has}, and level {least} is required: {remedy}")

    def load(self) -> None:
        """Imports, registers and configures every selected plugin.

        Raises ``ConfigError`` as ``admit`` does, and when the configuration names a plugin that is not
        installed.
        """
        unknown = sorted(set(self._config.plugin_sections) - set(self._entries))
        selection = self._config.plugins.load
        if selection != "all":
            unknown += sorted(set(selection) - set(self._entries))
        if self._config.server.site and self._config.server.site not in self._entries:
            unknown.append(self._config.server.site)
        if unknown:
            known = ", ".join(sorted(self._entries)) or "none"
            raise ConfigError(
                f"the configuration names plugin {unknown[0]!r}, which is not installed (installed: {known})"
            )
        isolated = self.admit()
        for entry in self:
            if entry.reason is not None:
                continue
            if entry.name in isolated:
                self._isolate(entry)
            if entry.reason is None:
                self._import(entry)
            if entry.reason is None:
                self._configure(entry)
        implementing = {impl.plugin_name for impl in self._manager.hook.quoteway_observe.get_hookimpls()}
        self.observers = [Observer(e, partial(self._observe, e)) for e in self if e.name in implementing]
        self.loaded = True

    def _isolated(self) -> set[str]:
        """Returns the names of the plugins that run in a process of their own.

        A provider's plugin is not known before it runs, so a provider is named by its plugin's name only.
        """
        named = dict.fromkeys(self._config.plugins.isolate, "plugins.isolate")
        for provider_id, settings in self._config.providers.items():
            if settings.isolation == "process":
                named[provider_id] = f"[providers.{provider_id}] isolation"
        for name in named.keys() - self._entries.keys():
            raise ConfigError(
                f"{named[name]}: no plugin is named {name!r} (installed: "
                f"{', '.join(sorted(self._entries))}). All "
                "providers of a plugin share a process: name the plugin in [plugins] isolate"
            )
        return set(named)

    def _isolate(self, entry: PluginEntry) -> None:
        from quoteway.host.isolation.plugin import IsolatedPlugin

        if not entry.target:
            text = (
                "it has no entry point, so that no other process can load it: remove it from plugins.isolate"
            )
            entry.refuse(NotEnabled.CONFIG_INVALID, text)
            return
        entry.loader = partial(IsolatedPlugin, entry, self._runtime, lambda: self.changed(), self._closes)

    async def begin_work(self, only: Collection[PluginEntry] | None = None) -> None:
        """Starts what plugins, or some of them, do beside requests. Ends it where a plugin is refused."""
        for entry in self:
            if entry.context is None or (only is not None and not any(entry is each for each in only)):
                continue
            if entry.reason is None:
                entry.context.background.start()
            else:
                await entry.close()

    async def end_work(self) -> None:
        """Ends what the plugins do beside requests."""
        await asyncio.gather(*(entry.close() for entry in self))

    def close(self) -> None:
        """Ends the processes of isolated plugins that were refused after they had started."""
        for close in self._closes:
            close()

    def _import(self, entry: PluginEntry) -> None:
        try:
            with self.budget(entry, "its import"), _recursion_limit_kept():
                plugin = entry.loader()
        except PLUGIN_ERRORS as error:
            entry.refuse(NotEnabled.IMPORT_FAILED, told(error), error=error)
            return
        try:
            self._manager.register(plugin, name=entry.name)
            self._manager.check_pending()
        except PLUGIN_ERRORS as error:  # raised by pluggy's validation or by attributes of the object
            if self._manager.get_plugin(entry.name) is not None:
                self._manager.unregister(name=entry.name)
            text = str(error) if isinstance(error, pluggy.PluginValidationError) else told(error)
            entry.refuse(NotEnabled.INCOMPATIBLE, text)
            return
        entry.plugin, entry.state = plugin, State.LOADED
        if not self._manager.get_hookcallers(plugin):
            entry.refuse(
                NotEnabled.INCOMPLETE, "it implements no hook: mark its functions with @quoteway.hookimpl"
            )

    def _configure(self, entry: PluginEntry) -> None:
        section = self._config.plugin_sections.get(entry.name, {})
        settings: Mapping[str, Any] = {}
        try:
            with self.budget(entry, "quoteway_settings"):
                schema = self._call(entry, "quoteway_settings")
            form = None if schema is None else schema()
            missing = [*missing_credentials(section), *_absent_secrets(form, section)]
            if missing:
                entry.refuse(NotEnabled.CREDENTIAL_MISSING, f"[plugin.{entry.name}]: {missing[0]}")
                return
            if form is not None:
                settings = form.load(dict(section), unknown=RAISE)
            elif section:
                raise ConfigError("this plugin takes no settings")
        except (ValidationError, ConfigError) as error:
            entry.refuse(NotEnabled.CONFIG_INVALID, f"[plugin.{entry.name}]: {error}")
            return
        except PLUGIN_ERRORS as error:
            entry.refuse(NotEnabled.STARTUP_FAILED, f"quoteway_settings: {told(error)}", error=error)
            return
        own_log = logging.getLogger(f"quoteway.plugin.{entry.name}")
        entry.context = Context(entry.name, MappingProxyType(dict(settings)), own_log, self._runtime)
        entry.state = State.CONFIGURED

    @contextlib.contextmanager
    def budget(self, entry: PluginEntry, what: str) -> Iterator[None]:
        """Refuses a plugin whose synchronous code took longer inside than plugins have to start.

        Such code cannot be cut off. Its time is its own: it is not taken from other plugins.
        """
        began = time.perf_counter()
        yield
        took_s, most_s = time.perf_counter() - began, self._config.plugins.startup_timeout_s
        if took_s > most_s:
            text = f"{what} took {took_s:.1f} s, more than plugins.startup_timeout_s ({most_s:g} s)"
            entry.refuse(NotEnabled.STARTUP_FAILED, text)

    def hooks_of(self, entry: PluginEntry) -> list[str]:
        """Returns the names of the hooks that a loaded plugin implements, sorted."""
        from quoteway.host.isolation.plugin import IsolatedPlugin

        if isinstance(entry.plugin, IsolatedPlugin):  # it has every hook, and its process some
            return sorted(entry.plugin.hooks)
        callers = self._manager.get_hookcallers(entry.plugin) if entry.plugin is not None else None
        return sorted(caller.name for caller in callers or ())

    def settings_of(self, entry: PluginEntry) -> Schema | None:
        """Returns the schema of a loaded plugin's section; None when it takes no settings, or cannot say."""
        try:
            schema = self._call(entry, "quoteway_settings")
            return None if schema is None else schema()
        except PLUGIN_ERRORS:
            return None

    def _call(self, entry: PluginEntry, hook: str, **arguments: Any) -> Any:
        """Calls a plugin's implementation of a hook and returns its result, or None without one."""
        for impl in getattr(self._manager.hook, hook).get_hookimpls():
            if impl.plugin_name == entry.name:
                return impl.function(*(arguments[name] for name in impl.argnames))
        return None

    def ask(
        self, hook: str, only: Collection[PluginEntry] | None = None
    ) -> Iterator[tuple[PluginEntry, Any]]:
        """Calls a hook of every configured plugin, or of some, and yields the results.

        A plugin that raises is refused.
        """
        for entry in self:
            if entry.reason is not None or entry.context is None:
                continue
            if only is not None and not any(entry is each for each in only):
                continue
            try:
                with self.budget(entry, hook):
                    answer = self._call(entry, hook, context=entry.context)
                    if isinstance(answer, Iterable) and not isinstance(answer, str | bytes):
                        answer = list(islice(answer, MOST_ITEMS + 1))  # a generator raises here
                        if len(answer) > MOST_ITEMS:
                            raise ValueError(f"it returns more than {MOST_ITEMS} items")
                if inspect.iscoroutine(answer):
                    answer.close()
                    entry.refuse(NotEnabled.INCOMPLETE, f"{hook} is async: hooks must be plain functions")
                    continue
            except ConfigError as error:
                entry.refuse(NotEnabled.CONFIG_INVALID, str(error))
                continue
            except PLUGIN_ERRORS as error:
                abstract = type(error) is TypeError and "abstract" in str(error)
                reason = NotEnabled.INCOMPLETE if abstract else NotEnabled.STARTUP_FAILED
                entry.refuse(reason, f"{hook}: {told(error)}", error=error)
                continue
            if answer is not None and entry.reason is None:
                yield entry, answer

    def observe(self, event: Mapping[str, Any]) -> None:
        """Tells every observer of a finished provider call, and waits for none of a plugin.

        Plugins are not told of JSON-RPC calls, of which a quote makes dozens.
        """
        for listener in self.listeners:
            listener(event)
        if event["method"] == "forward":
            return
        for observer in self.observers:
            observer.tell(event)

    def _observe(self, entry: PluginEntry, event: Mapping[str, Any]) -> None:
        self._call(entry, "quoteway_observe", event=event)


@contextlib.contextmanager
def _recursion_limit_kept() -> Iterator[None]:
    """Some libraries raise the limit at import (py_ecc, below eth-account, to 100,000): then deep JSON of a
    stranger would overflow the stack and end the server, where Python's own limit raises ``RecursionError``.
    """
    limit = sys.getrecursionlimit()
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _absent_secrets(form: Schema | None, section: Mapping[str, Any]) -> Iterator[str]:
    """Yields a message for each required secret that is not in the plugin's section."""
    for name, member in () if form is None else form.fields.items():
        if isinstance(member, SecretField) and member.required and (member.data_key or name) not in section:
            yield f"{member.data_key or name} is not set"
