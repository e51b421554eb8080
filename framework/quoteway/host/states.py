"""How far plugins and providers have come, and why one is not enabled."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from quoteway.context import Context
from quoteway.providers import Provider

log = logging.getLogger("quoteway.host.states")

CORE = "quoteway"
"""The plugin name that the core's own providers are listed under."""

PLUGIN_ERRORS = (Exception, SystemExit, asyncio.CancelledError)
"""What a plugin's synchronous code may raise at the cost of that plugin only (``sys.exit()`` too)."""


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
    except PLUGIN_ERRORS:
        log.exception("the networks of provider %r cannot be read", provider.id)
        return frozenset()


def serves(provider: Provider, chain_id: int, to_chain_id: int) -> bool:
    """Whether a provider takes requests between two networks; False while it cannot say."""
    try:
        return bool(provider.serves(chain_id, to_chain_id))
    except PLUGIN_ERRORS:
        log.exception("provider %r cannot say which networks it serves", provider.id)
        return False
