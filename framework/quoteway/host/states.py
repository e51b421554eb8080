"""States of plugins and providers, and the reasons why one is not enabled."""

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
"""The plugin name under which the core's providers are listed."""

PLUGIN_ERRORS = (Exception, SystemExit, asyncio.CancelledError)
"""Exceptions of a plugin's synchronous code that must affect that plugin only, ``sys.exit()`` included."""


class State(StrEnum):
    """The state of a plugin or provider in the deployment. Requests do not change it."""

    INSTALLED = "installed"
    LOADED = "loaded"
    CONFIGURED = "configured"
    STARTED = "started"
    ENABLED = "enabled"


class NotEnabled(StrEnum):
    """All reasons why a plugin or provider is not enabled (docs: reference/plugin-states)."""

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
    """One installed plugin. ``detail`` may contain exception text: never send it to clients."""

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
        """Records and logs why the plugin is not enabled. Only the first reason counts."""
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
        """Returns the reason of the provider, else that of its plugin."""
        return self.reason or self.plugin.reason


def networks_of(provider: Provider) -> frozenset[int]:
    """Returns the chain ids that a provider serves now; empty when reading them raises.

    ``networks`` may change at run time and may be a property, so reading it may run code of the plugin.
    """
    try:
        return frozenset(provider.networks)
    except PLUGIN_ERRORS:
        log.exception("the networks of provider %r cannot be read", provider.id)
        return frozenset()


def serves(provider: Provider, chain_id: int, to_chain_id: int) -> bool:
    """Returns whether a provider serves requests between two networks; False when it raises."""
    try:
        return bool(provider.serves(chain_id, to_chain_id))
    except PLUGIN_ERRORS:
        log.exception("serves() of provider %r raised", provider.id)
        return False
