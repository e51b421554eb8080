"""Plugins: discover, load one by one, hold their states. The only file that touches pluggy's dispatch.

pluggy registers and validates; it never dispatches here, because one raising implementation would abort the
call for all and results would carry no plugin name. Each plugin is loaded, configured and asked in a try of
its own.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pluggy

from quoteway import hookspecs
from quoteway.config.model import Config
from quoteway.context import Context
from quoteway.errors import ConfigError
from quoteway.host.provider_calls import ProviderCalls
from quoteway.host.runtime import Runtime
from quoteway.models import Capability
from quoteway.providers import (
    BridgeProvider,
    MetricsProvider,
    PoolProvider,
    PriceSource,
    Provider,
    Relay,
    RpcUpstream,
    SwapProvider,
    TokenCatalog,
    VaultProvider,
)
from quoteway.secrets import SecretField, missing_credentials

if TYPE_CHECKING:
    from marshmallow import Schema

log = logging.getLogger("quoteway.host.registry")

BROKEN = (Exception, SystemExit, asyncio.CancelledError)
"""What a plugin's synchronous code may raise without costing anyone else: ``sys.exit()`` in it must not end
the server."""

PROVIDER_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

CAPABILITY_HOOKS: Mapping[Capability, tuple[str, type[Provider]]] = MappingProxyType(
    {
        Capability.RPC: ("quoteway_rpc_upstreams", RpcUpstream),
        Capability.TOKENS: ("quoteway_token_catalogs", TokenCatalog),
        Capability.SWAP: ("quoteway_swap_providers", SwapProvider),
        Capability.BRIDGE: ("quoteway_bridge_providers", BridgeProvider),
        Capability.POOL: ("quoteway_pool_providers", PoolProvider),
        Capability.VAULT: ("quoteway_vault_providers", VaultProvider),
        Capability.METRICS: ("quoteway_metrics_providers", MetricsProvider),
        Capability.PRICES: ("quoteway_price_sources", PriceSource),
        Capability.RELAY: ("quoteway_relays", Relay),
    }
)


class State(StrEnum):
    """How far a plugin or provider has come. ``enabled`` is of the deployment, never of a request."""

    INSTALLED = "installed"
    LOADED = "loaded"
    CONFIGURED = "configured"
    STARTED = "started"
    ENABLED = "enabled"


class NotEnabled(StrEnum):
    """The closed set of reasons why a plugin or provider is not enabled (docs: reference/plugin-states)."""

    NOT_SELECTED = "not_selected"
    INCOMPATIBLE = "incompatible"
    IMPORT_FAILED = "import_failed"
    INCOMPLETE = "incomplete"
    DUPLICATE_ID = "duplicate_id"
    DISABLED = "disabled"
    CONFIG_INVALID = "config_invalid"
    CREDENTIAL_MISSING = "credential_missing"
    STARTUP_FAILED = "startup_failed"


@dataclass(slots=True)
class PluginEntry:
    """One installed plugin. ``detail`` may hold exception text: for the operator's log and ``doctor``, not
    for clients."""

    name: str
    distribution: str
    version: str
    state: State = State.INSTALLED
    reason: NotEnabled | None = None
    detail: str | None = None
    loader: Any = field(default=None, repr=False)
    plugin: Any = field(default=None, repr=False)
    context: Context | None = field(default=None, repr=False)

    def refuse(self, reason: NotEnabled, detail: str, *, error: BaseException | None = None) -> None:
        """Records why the plugin is not enabled, once, and says so in the log."""
        if self.reason is not None:
            return
        self.reason, self.detail = reason, detail
        log.error("plugin %r is not enabled: %s: %s", self.name, reason, detail, exc_info=error)


@dataclass(slots=True)
class ProviderEntry:
    """One provider object of a loaded plugin."""

    provider: Provider
    plugin: PluginEntry
    reason: NotEnabled | None = None
    detail: str | None = None

    @property
    def state(self) -> State:
        return self.plugin.state

    @property
    def enabled(self) -> bool:
        return self.reason is None and self.plugin.reason is None and self.plugin.state is State.ENABLED

    @property
    def not_enabled(self) -> NotEnabled | None:
        """The reason to show: the provider's own, else its plugin's."""
        return self.reason or self.plugin.reason


def networks_of(provider: Provider) -> frozenset[int]:
    """The chain ids that a provider serves now; none while it cannot say.

    They may change while it runs, and reading them may be the plugin's code: what it raises is no caller's
    failure.
    """
    try:
        return frozenset(provider.networks)
    except BROKEN:
        log.exception("the networks of provider %r cannot be read", provider.id)
        return frozenset()


def serves(provider: Provider, chain_id: int, to_chain_id: int) -> bool:
    """Whether a provider takes requests between two networks; False while it cannot say."""
    try:
        return bool(provider.serves(chain_id, to_chain_id))
    except BROKEN:
        log.exception("provider %r cannot say which networks it serves", provider.id)
        return False


def core_version() -> str:
    """The version of the installed core; "0" in a source tree that is not installed."""
    from importlib_metadata import PackageNotFoundError, version

    try:
        return version("quoteway")
    except PackageNotFoundError:
        return "0"


class Registry:
    """All plugins and providers of one gateway, with their states."""

    def __init__(self, config: Config, runtime: Runtime) -> None:
        self._config = config
        self._runtime = runtime
        self._manager = pluggy.PluginManager("quoteway")
        self._manager.add_hookspecs(hookspecs)
        self._plugins: dict[str, PluginEntry] = {}
        self._providers: list[ProviderEntry] = []
        self._core = PluginEntry("quoteway", "quoteway", core_version(), State.ENABLED)
        self._enabled: dict[Capability, list[Provider]] = {}
        self.loaded = False
        self.listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self.revision = 0
        self.calls = ProviderCalls(config.quotes.competition_timeout_s, self.observe)

    # --- what is known ------------------------------------------------------------------------------------

    @property
    def plugins(self) -> tuple[PluginEntry, ...]:
        return tuple(self._plugins.values())

    @property
    def providers(self) -> tuple[ProviderEntry, ...]:
        return tuple(self._providers)

    def enabled(self, capability: Capability, chain_id: int | None = None) -> list[Provider]:
        """The enabled providers of a capability, of one chain or of all, in configured order, then by id."""
        found = self._enabled.get(capability, [])
        return [p for p in found if chain_id is None or chain_id in networks_of(p)]

    def get(self, capability: Capability, provider_id: str) -> Provider | None:
        """The enabled provider with this id, or None."""
        return next((p for p in self._enabled.get(capability, []) if p.id == provider_id), None)

    def rpc_upstreams(self, chain_id: int) -> list[Provider]:
        """The RPC upstreams of a chain that nothing speaks against; also while plugins are still starting,
        since their starting may read the chain."""
        return [
            entry.provider
            for entry in self._providers
            if entry.provider.capability is Capability.RPC
            and entry.not_enabled is None
            and chain_id in networks_of(entry.provider)
        ]

    def changed(self) -> None:
        """Recomputes what is enabled; bumps ``revision`` so that cached catalogs are rebuilt."""
        order = {provider_id: rank for rank, provider_id in enumerate(self._config.quotes.order)}
        enabled: dict[Capability, list[Provider]] = {}
        for entry in self._providers:
            if entry.enabled:
                enabled.setdefault(entry.provider.capability, []).append(entry.provider)
        for found in enabled.values():
            found.sort(key=lambda p: (order.get(p.id, len(order)), p.id))
        self._enabled = enabled
        self.revision += 1

    # --- discovery and loading ----------------------------------------------------------------------------

    def discover(self) -> None:
        """Lists installed plugins from entry points. Imports nothing: importing is execution."""
        from importlib_metadata import distributions

        seen: set[str] = set()
        for distribution in distributions():
            try:
                # Most distributions have none: reading the text is cheaper than parsing every METADATA.
                if "quoteway.v" not in (distribution.read_text("entry_points.txt") or ""):
                    continue
                name, version = distribution.name, distribution.version
                entry_points = [ep for ep in distribution.entry_points if ep.group.startswith("quoteway.v")]
            except Exception:
                log.exception("an installed distribution has metadata that cannot be read: it is left out")
                continue
            key = re.sub(r"[-_.]+", "-", name).lower()
            if key in seen:
                continue  # the same distribution further down the path, which an import would not find
            seen.add(key)
            spoken = {ep.name for ep in entry_points if ep.group == hookspecs.ENTRY_POINT_GROUP}
            for entry_point in entry_points:
                entry = PluginEntry(entry_point.name, name, version, loader=entry_point.load)
                if entry_point.group != hookspecs.ENTRY_POINT_GROUP:
                    if entry_point.name in spoken:
                        continue  # it offers this core's major version too
                    entry.refuse(
                        NotEnabled.INCOMPATIBLE,
                        f"it is written for hook API {entry_point.group!r}, this core speaks "
                        f"{hookspecs.ENTRY_POINT_GROUP!r}: install a matching version of {name}",
                    )
                self._add(entry)

    def add(self, name: str, plugin: object) -> None:
        """Adds an in-process plugin (tests, embedders) that no entry point names."""
        self._add(PluginEntry(name, "in-process", "0", loader=lambda: plugin))

    def _add(self, entry: PluginEntry) -> None:
        if entry.name == self._core.name:
            entry.refuse(NotEnabled.DUPLICATE_ID, f"{entry.name!r} names the core's own providers")
        other = self._plugins.get(entry.name)
        if other is not None:
            text = f"{other.distribution} and {entry.distribution} both claim plugin name {entry.name!r}"
            other.refuse(NotEnabled.DUPLICATE_ID, text)
            entry.refuse(NotEnabled.DUPLICATE_ID, text)
            self._plugins[f"{entry.name}@{entry.distribution}"] = entry
            return
        self._plugins[entry.name] = entry

    def load(self) -> None:
        """Imports, registers and configures every selected plugin, each in a try of its own.

        Raises ``ConfigError`` when the configuration has a section for a plugin that is not installed.
        """
        unknown = sorted(set(self._config.plugin_sections) - set(self._plugins))
        selection = self._config.plugins.load
        if selection != "all":
            unknown += sorted(set(selection) - set(self._plugins))
        if unknown:
            known = ", ".join(sorted(self._plugins)) or "none"
            raise ConfigError(
                f"the configuration names plugin {unknown[0]!r}, which is not installed (installed: {known})"
            )
        for entry in self._plugins.values():
            if entry.reason is not None:
                continue
            if selection != "all" and entry.name not in selection:
                entry.reason, entry.detail = NotEnabled.NOT_SELECTED, "plugins.load does not name it"
                continue
            self._import(entry)
            if entry.reason is None:
                self._configure(entry)
        self.loaded = True
        self.changed()

    def _import(self, entry: PluginEntry) -> None:
        try:
            plugin = entry.loader()
        except BROKEN as error:
            entry.refuse(NotEnabled.IMPORT_FAILED, f"{type(error).__name__}: {error}", error=error)
            return
        try:
            self._manager.register(plugin, name=entry.name)
            self._manager.check_pending()
        except (
            BROKEN
        ) as error:  # pluggy's own validation, and whatever reading the object's attributes raises
            if self._manager.get_plugin(entry.name) is not None:
                self._manager.unregister(name=entry.name)
            text = str(error) if isinstance(error, pluggy.PluginValidationError) else repr(error)
            entry.refuse(NotEnabled.INCOMPATIBLE, text)
            return
        entry.plugin, entry.state = plugin, State.LOADED
        if not any(True for _ in self._implemented(entry)):
            entry.refuse(
                NotEnabled.INCOMPLETE, "it implements no hook: mark its functions with @quoteway.hookimpl"
            )

    def _implemented(self, entry: PluginEntry) -> Iterator[str]:
        for caller in self._manager.get_hookcallers(entry.plugin) or ():
            yield caller.name

    def _configure(self, entry: PluginEntry) -> None:
        from marshmallow import RAISE, ValidationError

        section = self._config.plugin_sections.get(entry.name, {})
        settings: Mapping[str, Any] = {}
        missing = list(missing_credentials(section))
        if missing:
            entry.refuse(NotEnabled.CREDENTIAL_MISSING, f"[plugin.{entry.name}]: {missing[0]}")
            return
        try:
            schema = self._call(entry, "quoteway_settings")
            if schema is not None:
                form = schema()
                absent = next(_absent_secrets(form, section), None)
                if absent is not None:
                    entry.refuse(NotEnabled.CREDENTIAL_MISSING, f"[plugin.{entry.name}]: {absent} is not set")
                    return
                settings = form.load(dict(section), unknown=RAISE)
            elif section:
                raise ConfigError("this plugin takes no settings")
        except (ValidationError, ConfigError) as error:
            entry.refuse(NotEnabled.CONFIG_INVALID, f"[plugin.{entry.name}]: {error}")
            return
        except BROKEN as error:
            entry.refuse(NotEnabled.STARTUP_FAILED, f"quoteway_settings: {error!r}", error=error)
            return
        entry.context = Context(
            entry.name,
            MappingProxyType(dict(settings)),
            logging.getLogger(f"quoteway.plugin.{entry.name}"),
            self._runtime,
        )
        entry.state = State.CONFIGURED

    # --- asking -------------------------------------------------------------------------------------------

    def _call(self, entry: PluginEntry, hook: str, **arguments: Any) -> Any:
        """Calls one plugin's implementation of a hook with the arguments it takes; None without one."""
        for impl in getattr(self._manager.hook, hook).get_hookimpls():
            if impl.plugin_name == entry.name:
                return impl.function(*(arguments[name] for name in impl.argnames))
        return None

    def ask(self, hook: str) -> Iterator[tuple[PluginEntry, Any]]:
        """Calls a hook of every configured plugin; a plugin that raises is refused and the others go on."""
        for entry in self._plugins.values():
            if entry.reason is not None or entry.context is None:
                continue
            try:
                answer = self._call(entry, hook, context=entry.context)
                if inspect.iscoroutine(answer):
                    answer.close()
                    entry.refuse(NotEnabled.INCOMPLETE, f"{hook} is async, hooks are plain functions")
                    continue
                if (
                    answer is not None
                    and not isinstance(answer, (str, bytes))
                    and isinstance(answer, Iterable)
                ):
                    answer = list(answer)  # a generator raises here, inside the try
            except ConfigError as error:
                entry.refuse(NotEnabled.CONFIG_INVALID, str(error))
                continue
            except BROKEN as error:
                abstract = isinstance(error, TypeError) and "abstract" in str(error)
                reason = NotEnabled.INCOMPLETE if abstract else NotEnabled.STARTUP_FAILED
                entry.refuse(reason, f"{hook}: {error}" if abstract else f"{hook}: {error!r}", error=error)
                continue
            if answer is not None:
                yield entry, answer

    def collect(self, capability: Capability) -> None:
        """Asks every plugin for its providers of a capability and checks what they hand over."""
        hook, wanted = CAPABILITY_HOOKS[capability]
        for entry, answer in self.ask(hook):
            providers = answer if isinstance(answer, list) else [answer]
            problem = next((found for p in providers if (found := _incomplete(p, wanted)) is not None), None)
            if problem is not None:  # before any claim: what is not served must not contest an id
                entry.refuse(NotEnabled.INCOMPLETE, f"{hook}: {problem}")
                continue
            for provider in providers:
                self._claim(ProviderEntry(provider, entry))
        self.changed()

    def add_builtin(self, provider: Provider) -> None:
        """Adds a provider of the core itself, before or after those of plugins.

        It is listed under plugin ``quoteway``, enabled unless ``[providers.<id>]`` says otherwise, and its id
        need not match ``PROVIDER_ID``. A plugin that claims its id is refused alone.
        """
        self._claim(ProviderEntry(provider, self._core))
        self.changed()

    def is_builtin(self, provider: Provider) -> bool:
        """Whether a provider is the core's own."""
        return any(e.provider is provider and e.plugin is self._core for e in self._providers)

    def _claim(self, claim: ProviderEntry) -> None:
        """Adds a provider. Two plugins that claim one id are both refused: load order must not decide."""
        provider_id = claim.provider.id
        settings = self._config.providers.get(provider_id)
        if settings is not None and not settings.enabled:
            claim.reason = NotEnabled.DISABLED
            claim.detail = f"[providers.{provider_id}] enabled = false"
        for other in self._providers:
            same_place = (
                other.plugin is claim.plugin and other.provider.capability is not claim.provider.capability
            )
            if other.provider.id != provider_id or same_place:
                continue
            text = (
                f"plugins {other.plugin.name!r} and {claim.plugin.name!r} both claim provider id "
                f"{provider_id!r}"
            )
            for entry in (other, claim):
                if entry.plugin is not self._core:
                    entry.reason, entry.detail = NotEnabled.DUPLICATE_ID, text
            log.error("%s: no plugin gets it", text)
        self._providers.append(claim)

    def observers(self) -> list[PluginEntry]:
        """The plugins that implement ``quoteway_observe``."""
        names = {impl.plugin_name for impl in self._manager.hook.quoteway_observe.get_hookimpls()}
        return [entry for entry in self._plugins.values() if entry.name in names and entry.reason is None]

    def observe(self, event: Mapping[str, Any]) -> None:
        """Tells every observer of a finished provider call; one that raises is logged, nothing more."""
        for listener in self.listeners:
            listener(event)
        for entry in self.observers():
            try:
                self._call(entry, "quoteway_observe", event=event)
            except BROKEN:
                log.exception("observer of plugin %r raised", entry.name)


def _absent_secrets(form: Schema, section: Mapping[str, Any]) -> Iterator[str]:
    """The required secrets that a plugin's section does not mention."""
    for name, member in form.fields.items():
        if isinstance(member, SecretField) and member.required and (member.data_key or name) not in section:
            yield member.data_key or name


def _incomplete(provider: object, wanted: type[Provider]) -> str | None:
    """What keeps an object from being a provider of the wanted class; None when nothing does."""
    try:
        return _shortcoming(provider, wanted)
    except BROKEN as error:  # a property of the provider raised
        return f"{type(provider).__name__}: {error!r}"


def _shortcoming(provider: object, wanted: type[Provider]) -> str | None:
    if not isinstance(provider, wanted):
        return f"{type(provider).__name__} is not a {wanted.__name__}"
    if isinstance(inspect.getattr_static(provider, "id", None), property):
        return f"{type(provider).__name__}.id is a property: it must be one and the same for good"
    provider_id = getattr(provider, "id", None)
    if not isinstance(provider_id, str) or not PROVIDER_ID.fullmatch(provider_id):
        return (
            f"{type(provider).__name__}.id is {provider_id!r}, expected lowercase letters, digits and dashes"
        )
    if not isinstance(getattr(provider, "title", None), str):
        return f"{type(provider).__name__}.title is missing"
    if not isinstance(provider.networks, Collection) or any(type(n) is not int for n in provider.networks):
        return f"{type(provider).__name__}.networks must be chain ids"
    for name, member in inspect.getmembers(wanted, inspect.iscoroutinefunction):
        if not name.startswith("_") and not inspect.iscoroutinefunction(
            inspect.unwrap(getattr(provider, name))
        ):
            return f"{type(provider).__name__}.{name} is not async as {wanted.__name__}.{member.__name__} is"
    return None
