"""Finds, loads and configures plugins, and calls their hooks. A plugin's error affects that plugin only.

pluggy is used for registration and validation only. Its hook calls stop at the first implementation that
raises, and its results do not name the plugin.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pluggy
from marshmallow import RAISE, Schema, ValidationError

from quoteway import hookspecs
from quoteway.context import Context
from quoteway.errors import ConfigError
from quoteway.host.runtime import Runtime
from quoteway.host.states import CORE, PLUGIN_ERRORS, NotEnabled, PluginEntry, State
from quoteway.secrets import SecretField, missing_credentials

log = logging.getLogger("quoteway.host.plugins")


def core_version() -> str:
    """Returns the version of the installed core, or "0" when it runs from a source tree."""
    from importlib_metadata import PackageNotFoundError, version

    try:
        return version("quoteway")
    except PackageNotFoundError:
        return "0"


class Plugins:
    """The installed plugins of one gateway, in the order found.

    ``core`` stands for the core itself. ``listeners`` are called with the events of ``quoteway_observe``.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._config = runtime.config
        self._runtime = runtime
        self._manager = pluggy.PluginManager("quoteway")
        self._manager.add_hookspecs(hookspecs)
        self._entries: dict[str, PluginEntry] = {}
        self.core = PluginEntry(CORE, CORE, core_version(), State.ENABLED)
        self.loaded = False
        self.listeners: list[Callable[[Mapping[str, Any]], None]] = []

    def __iter__(self) -> Iterator[PluginEntry]:
        return iter(tuple(self._entries.values()))

    def discover(self) -> None:
        """Lists installed plugins by their entry points. Imports no plugin, since an import runs its code."""
        from importlib_metadata import distributions

        seen: set[str] = set()
        for distribution in distributions():
            try:
                # Few distributions are plugins. Reading this text is cheaper than parsing every METADATA.
                if "quoteway.v" not in (distribution.read_text("entry_points.txt") or ""):
                    continue
                name, version = distribution.name, distribution.version
                entry_points = [ep for ep in distribution.entry_points if ep.group.startswith("quoteway.v")]
            except Exception:
                log.exception("skipped an installed distribution: its metadata cannot be read")
                continue
            key = re.sub(r"[-_.]+", "-", name).lower()
            if key in seen:
                continue  # a second copy later on sys.path, which an import would not use
            seen.add(key)
            matching = {ep.name for ep in entry_points if ep.group == hookspecs.ENTRY_POINT_GROUP}
            for entry_point in entry_points:
                entry = PluginEntry(entry_point.name, name, version, loader=entry_point.load)
                if entry_point.group != hookspecs.ENTRY_POINT_GROUP:
                    if entry_point.name in matching:
                        continue  # the plugin also supports this core's major version
                    entry.refuse(
                        NotEnabled.INCOMPATIBLE,
                        f"it is written for hook API {entry_point.group!r}, this core has "
                        f"{hookspecs.ENTRY_POINT_GROUP!r}: install a matching version of {name}",
                    )
                self._add(entry)

    def add(self, name: str, plugin: object) -> None:
        """Adds a plugin object that has no entry point, for tests and embedding applications."""
        self._add(PluginEntry(name, "in-process", "0", loader=lambda: plugin))

    def _add(self, entry: PluginEntry) -> None:
        if entry.name == CORE:
            entry.refuse(NotEnabled.DUPLICATE_ID, f"the name {CORE!r} is reserved for the core")
        key, other = entry.name, self._entries.get(entry.name)
        if other is not None:
            text = f"{other.distribution} and {entry.distribution} both claim plugin name {entry.name!r}"
            other.refuse(NotEnabled.DUPLICATE_ID, text)
            entry.refuse(NotEnabled.DUPLICATE_ID, text)
            key = f"{entry.name}@{entry.distribution}"
        self._entries[key] = entry

    def load(self) -> None:
        """Imports, registers and configures every selected plugin.

        Raises ``ConfigError`` when the configuration names a plugin that is not installed.
        """
        unknown = sorted(set(self._config.plugin_sections) - set(self._entries))
        selection = self._config.plugins.load
        if selection != "all":
            unknown += sorted(set(selection) - set(self._entries))
        if unknown:
            known = ", ".join(sorted(self._entries)) or "none"
            raise ConfigError(
                f"the configuration names plugin {unknown[0]!r}, which is not installed (installed: {known})"
            )
        for entry in self:
            if entry.reason is not None:
                continue
            if selection != "all" and entry.name not in selection:
                entry.reason, entry.detail = NotEnabled.NOT_SELECTED, "plugins.load does not name it"
                continue
            self._import(entry)
            if entry.reason is None:
                self._configure(entry)
        self.loaded = True

    def _import(self, entry: PluginEntry) -> None:
        try:
            plugin = entry.loader()
        except PLUGIN_ERRORS as error:
            entry.refuse(NotEnabled.IMPORT_FAILED, f"{type(error).__name__}: {error}", error=error)
            return
        try:
            self._manager.register(plugin, name=entry.name)
            self._manager.check_pending()
        except PLUGIN_ERRORS as error:  # raised by pluggy's validation or by attributes of the object
            if self._manager.get_plugin(entry.name) is not None:
                self._manager.unregister(name=entry.name)
            text = str(error) if isinstance(error, pluggy.PluginValidationError) else repr(error)
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
            entry.refuse(NotEnabled.STARTUP_FAILED, f"quoteway_settings: {error!r}", error=error)
            return
        own_log = logging.getLogger(f"quoteway.plugin.{entry.name}")
        entry.context = Context(entry.name, MappingProxyType(dict(settings)), own_log, self._runtime)
        entry.state = State.CONFIGURED

    def _call(self, entry: PluginEntry, hook: str, **arguments: Any) -> Any:
        """Calls a plugin's implementation of a hook and returns its result, or None without one."""
        for impl in getattr(self._manager.hook, hook).get_hookimpls():
            if impl.plugin_name == entry.name:
                return impl.function(*(arguments[name] for name in impl.argnames))
        return None

    def ask(self, hook: str) -> Iterator[tuple[PluginEntry, Any]]:
        """Calls a hook of every configured plugin and yields the results. A plugin that raises is refused."""
        for entry in self:
            if entry.reason is not None or entry.context is None:
                continue
            try:
                answer = self._call(entry, hook, context=entry.context)
                if inspect.iscoroutine(answer):
                    answer.close()
                    entry.refuse(NotEnabled.INCOMPLETE, f"{hook} is async: hooks must be plain functions")
                    continue
                if isinstance(answer, Iterable) and not isinstance(answer, str | bytes):
                    answer = list(answer)  # a generator raises here, inside the try
            except ConfigError as error:
                entry.refuse(NotEnabled.CONFIG_INVALID, str(error))
                continue
            except PLUGIN_ERRORS as error:
                abstract = isinstance(error, TypeError) and "abstract" in str(error)
                reason = NotEnabled.INCOMPLETE if abstract else NotEnabled.STARTUP_FAILED
                entry.refuse(reason, f"{hook}: {error!r}", error=error)
                continue
            if answer is not None:
                yield entry, answer

    def observe(self, event: Mapping[str, Any]) -> None:
        """Calls every observer with a finished provider call. Logs an observer that raises."""
        for listener in self.listeners:
            listener(event)
        for entry in self:
            if entry.reason is None:
                try:
                    self._call(entry, "quoteway_observe", event=event)
                except PLUGIN_ERRORS:
                    log.exception("observer of plugin %r raised", entry.name)


def _absent_secrets(form: Schema | None, section: Mapping[str, Any]) -> Iterator[str]:
    """Yields a message for each required secret that is not in the plugin's section."""
    for name, member in () if form is None else form.fields.items():
        if isinstance(member, SecretField) and member.required and (member.data_key or name) not in section:
            yield f"{member.data_key or name} is not set"
