"""Registers the providers of one gateway and finds the enabled ones."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Collection, Mapping

from quoteway import providers
from quoteway.host.plugins import Plugins
from quoteway.host.provider_calls import ProviderCalls
from quoteway.host.runtime import Runtime
from quoteway.host.states import PLUGIN_ERRORS, NotEnabled, ProviderEntry, networks_of
from quoteway.models import Capability

log = logging.getLogger("quoteway.host.registry")

PROVIDER_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

CAPABILITY_HOOKS: Mapping[Capability, tuple[str, type[providers.Provider]]] = {
    Capability.RPC: ("quoteway_rpc_upstreams", providers.RpcUpstream),
    Capability.TOKENS: ("quoteway_token_catalogs", providers.TokenCatalog),
    Capability.SWAP: ("quoteway_swap_providers", providers.SwapProvider),
    Capability.BRIDGE: ("quoteway_bridge_providers", providers.BridgeProvider),
    Capability.POOL: ("quoteway_pool_providers", providers.PoolProvider),
    Capability.VAULT: ("quoteway_vault_providers", providers.VaultProvider),
    Capability.METRICS: ("quoteway_metrics_providers", providers.MetricsProvider),
    Capability.PRICES: ("quoteway_price_sources", providers.PriceSource),
    Capability.RELAY: ("quoteway_relays", providers.Relay),
}


class Registry:
    """The providers of one gateway, and the plugins that they come from.

    ``revision`` changes whenever a provider is added, enabled or disabled. ``calls`` calls providers.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._config = runtime.config
        self.providers: list[ProviderEntry] = []
        self._enabled: dict[Capability, list[providers.Provider]] = {}
        self.plugins = Plugins(runtime)
        self.revision = 0
        self.calls = ProviderCalls(self._config.quotes.competition_timeout_s, self.plugins.observe)

    def enabled(self, capability: Capability, chain_id: int | None = None) -> list[providers.Provider]:
        """Returns the enabled providers of a capability, in configured order, then by id."""
        found = self._enabled.get(capability, [])
        return [p for p in found if chain_id is None or chain_id in networks_of(p)]

    def get(self, capability: Capability, provider_id: str) -> providers.Provider | None:
        """Returns the enabled provider with this id, or None."""
        return next((p for p in self._enabled.get(capability, []) if p.id == provider_id), None)

    def rpc_upstreams(self, chain_id: int) -> list[providers.Provider]:
        """Returns the RPC upstreams of a chain that are neither refused nor disabled.

        Includes those that are not enabled yet, since plugins read chains while they start.
        """
        usable = (entry.provider for entry in self.providers if entry.not_enabled is None)
        return [p for p in usable if p.capability is Capability.RPC and chain_id in networks_of(p)]

    def changed(self) -> None:
        """Recomputes the enabled providers. The new ``revision`` invalidates cached pages of lists."""
        order = {provider_id: rank for rank, provider_id in enumerate(self._config.quotes.order)}
        enabled: dict[Capability, list[providers.Provider]] = {}
        found = [entry.provider for entry in self.providers if entry.enabled]
        for provider in sorted(found, key=lambda p: (order.get(p.id, len(order)), p.id)):
            enabled.setdefault(provider.capability, []).append(provider)
        self._enabled = enabled
        self.revision += 1

    def collect(self, capability: Capability) -> None:
        """Gets the providers of a capability from every plugin and checks them."""
        hook, wanted = CAPABILITY_HOOKS[capability]
        for entry, answer in self.plugins.ask(hook):
            offered = answer if isinstance(answer, list) else [answer]
            problem = next((found for p in offered if (found := _incomplete(p, wanted)) is not None), None)
            if problem is not None:  # before any id is claimed: a refused plugin must not block an id
                entry.refuse(NotEnabled.INCOMPLETE, f"{hook}: {problem}")
                continue
            for provider in offered:
                self._claim(ProviderEntry(provider, entry))
        self.changed()

    def add_builtin(self, provider: providers.Provider) -> None:
        """Adds a provider of the core, before or after those of plugins.

        It is listed under plugin ``quoteway`` and enabled unless ``[providers.<id>]`` disables it. Its id
        need not match ``PROVIDER_ID``. When a plugin claims that id, only the plugin's provider is refused.
        """
        self._claim(ProviderEntry(provider, self.plugins.core))
        self.changed()

    def is_builtin(self, provider: providers.Provider) -> bool:
        """Returns whether a provider belongs to the core."""
        return any(e.provider is provider and e.plugin is self.plugins.core for e in self.providers)

    def _claim(self, claim: ProviderEntry) -> None:
        """Adds a provider. Refuses both when two plugins claim one id: load order must not decide."""
        provider_id = claim.provider.id
        settings = self._config.providers.get(provider_id)
        if settings is not None and not settings.enabled:
            claim.reason = NotEnabled.DISABLED
            claim.detail = f"[providers.{provider_id}] enabled = false"
        for other in self.providers:
            both_capabilities_of_one = (
                other.plugin is claim.plugin and other.provider.capability is not claim.provider.capability
            )
            if other.provider.id != provider_id or both_capabilities_of_one:
                continue
            names = f"plugins {other.plugin.name!r} and {claim.plugin.name!r}"
            text = f"{names} both claim provider id {provider_id!r}"
            for entry in (other, claim):
                if entry.plugin is not self.plugins.core:
                    entry.reason, entry.detail = NotEnabled.DUPLICATE_ID, text
            log.error("%s: rename one of the two providers", text)
        self.providers.append(claim)


def _incomplete(provider: object, wanted: type[providers.Provider]) -> str | None:
    """Returns why an object is not a valid provider of the wanted class, or None when it is valid."""
    name = type(provider).__name__
    try:
        if not isinstance(provider, wanted):
            return f"{name} is not a {wanted.__name__}"
        if isinstance(inspect.getattr_static(provider, "id", None), property):
            return f"{name}.id is a property, expected a constant string"
        provider_id = getattr(provider, "id", None)
        if not isinstance(provider_id, str) or not PROVIDER_ID.fullmatch(provider_id):
            return f"{name}.id is {provider_id!r}, expected lowercase letters, digits and dashes"
        if not isinstance(getattr(provider, "title", None), str):
            return f"{name}.title is missing"
        networks = provider.networks
        if not isinstance(networks, Collection) or any(type(n) is not int for n in networks):
            return f"{name}.networks must be chain ids"
        for method, _ in inspect.getmembers(wanted, inspect.iscoroutinefunction):
            if not inspect.iscoroutinefunction(inspect.unwrap(getattr(provider, method))):
                return f"{name}.{method} must be async, like {wanted.__name__}.{method}"
    except PLUGIN_ERRORS as error:  # a property of the provider raised
        return f"{name}: {error!r}"
    return None
