"""Registers the providers of one gateway and finds the enabled ones."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Mapping

from quoteway import providers
from quoteway.host.checked_provider import checked
from quoteway.host.plugins import Plugins
from quoteway.host.provider_calls import ProviderCalls
from quoteway.host.runtime import Runtime
from quoteway.host.scores import Scores
from quoteway.host.states import PLUGIN_ERRORS, NotEnabled, ProviderEntry, networks_of, told
from quoteway.metrics_provider import MetricsProvider
from quoteway.models import Capability
from quoteway.screener import Screener

log = logging.getLogger("quoteway.host.registry")

PROVIDER_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

CAPABILITY_HOOKS: Mapping[Capability, tuple[str, type[providers.Provider]]] = {
    Capability.RPC: ("quoteway_rpc_upstreams", providers.RpcUpstream),
    Capability.TOKENS: ("quoteway_token_catalogs", providers.TokenCatalog),
    Capability.SWAP: ("quoteway_swap_providers", providers.SwapProvider),
    Capability.BRIDGE: ("quoteway_bridge_providers", providers.BridgeProvider),
    Capability.POOL: ("quoteway_pool_providers", providers.PoolProvider),
    Capability.VAULT: ("quoteway_vault_providers", providers.VaultProvider),
    Capability.METRICS: ("quoteway_metrics_providers", MetricsProvider),
    Capability.PRICES: ("quoteway_price_sources", providers.PriceSource),
    Capability.RELAY: ("quoteway_relays", providers.Relay),
    Capability.LIQUIDITY: ("quoteway_liquidity_sources", providers.LiquiditySource),
    Capability.EXECUTION: ("quoteway_executors", providers.Executor),
    Capability.SCREENING: ("quoteway_screening", Screener),
}


class Registry:
    """The providers of one gateway, and the plugins that they come from.

    ``revision`` changes whenever a provider is added, enabled or disabled. ``calls`` calls providers, and
    ``scores`` has how their quotes did lately.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._config = runtime.config
        self.providers: list[ProviderEntry] = []
        self._enabled: dict[Capability, list[providers.Provider]] = {}
        self.plugins = Plugins(runtime)
        self.plugins.changed = self.changed
        self.revision = 0
        self.scores = Scores(runtime.clock)
        self.calls = ProviderCalls(self._config.quotes.competition_timeout_s, self.plugins.observe)

    def enabled(self, capability: Capability, chain_id: int | None = None) -> list[providers.Provider]:
        """Returns the enabled providers of a capability, in configured order, then by id."""
        found = self._enabled.get(capability, [])
        return [p for p in found if chain_id is None or chain_id in networks_of(p)]

    def get(self, capability: Capability, provider_id: str) -> providers.Provider | None:
        """Returns the enabled provider with this id, or None."""
        return next((p for p in self._enabled.get(capability, []) if p.id == provider_id), None)

    def maker(self, capability: Capability, provider_id: str) -> tuple[str, int] | None:
        """Returns the plugin of an enabled provider and the version of its plans; None when there is none."""
        for entry in self.providers:
            provider = entry.provider
            if entry.enabled and provider.capability is capability and provider.id == provider_id:
                return entry.plugin.name, getattr(provider, "plan_version", 1)
        return None

    def plugins_of(self, capability: Capability) -> dict[str, str]:
        """Returns the names of the plugins of the enabled providers of a capability, by provider id."""
        return {
            entry.provider.id: entry.plugin.name
            for entry in self.providers
            if entry.enabled and entry.provider.capability is capability
        }

    def rpc_upstreams(self, chain_id: int) -> list[providers.Provider]:
        """Returns the RPC upstreams of a chain that are neither refused nor disabled.

        Includes those that are not enabled yet, since plugins read chains while they start.
        """
        offered = [entry for entry in self.providers if entry.provider.capability is Capability.RPC]
        usable = (entry.provider for entry in offered if entry.not_enabled is None)
        return [provider for provider in usable if chain_id in networks_of(provider)]

    def refused_upstreams(self, chain_id: int) -> str:
        """Returns the RPC upstreams of a chain with the reasons why they are not enabled, in brackets."""
        named = [
            f"{entry.provider.id}: {entry.not_enabled}"
            for entry in self.providers
            if entry.provider.capability is Capability.RPC
            and entry.not_enabled is not None
            and chain_id in networks_of(entry.provider)
        ]
        return f" ({', '.join(named)})" if named else ""

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
            try:  # before any id is claimed: a refused plugin must not block an id
                with self.plugins.budget(entry, f"{hook}: reading its providers"):
                    found = [_complete(p, wanted, self.calls.count_unreadable) for p in offered]
            except ValueError as error:
                entry.refuse(NotEnabled.INCOMPLETE, f"{hook}: {error}")
                continue
            for provider in found if entry.reason is None else ():
                self._claim(ProviderEntry(provider, entry))
        self.changed()

    def add_builtin(self, provider: providers.Provider) -> None:
        """Adds a provider of the core, before or after those of plugins.

        It is listed under plugin ``quoteway`` and enabled unless ``[providers.<id>]`` disables it. Its id
        need not match ``PROVIDER_ID``. A plugin's provider that claims that id is refused.
        """
        self._claim(ProviderEntry(provider, self.plugins.core))
        self.changed()

    def is_builtin(self, provider: providers.Provider) -> bool:
        """Returns whether a provider belongs to the core."""
        return any(e.provider is provider and e.plugin is self.plugins.core for e in self.providers)

    def _claim(self, claim: ProviderEntry) -> None:
        """Adds a provider. Refuses a squatter; and both where nothing says whose the id is."""
        provider_id = claim.provider.id
        settings = self._config.providers.get(provider_id)
        if settings is not None and not settings.enabled:
            claim.reason = NotEnabled.DISABLED
            claim.detail = f"[providers.{provider_id}] enabled = false"
        rank = self._rank(claim)
        if rank is None:
            self._refuse_squatter(claim, self._config.plugins.owners[provider_id])
        for other in self.providers:
            both_capabilities_of_one = (
                other.plugin is claim.plugin and other.provider.capability is not claim.provider.capability
            )
            if other.provider.id != provider_id or both_capabilities_of_one:
                continue
            rank_of_other = self._rank(other)
            if rank is None or rank_of_other is None:
                continue  # refused as a squatter
            if rank != rank_of_other:
                owner, squatter = (claim, other) if rank < rank_of_other else (other, claim)
                self._refuse_squatter(squatter, f"plugin {owner.plugin.name!r}")
                continue
            names = f"plugins {other.plugin.name!r} and {claim.plugin.name!r}"
            text = f"{names} both claim provider id {provider_id!r}: say whose it is in [plugins] owners"
            for entry in (other, claim):
                entry.reason, entry.detail = NotEnabled.DUPLICATE_ID, text
            log.error("%s", text)
        self.providers.append(claim)

    def _rank(self, claim: ProviderEntry) -> int | None:
        """Returns the rank of a plugin's claim for a provider id, best first; None when it may not have it.

        The core comes first, then the plugins in the order of the load list. Without a list, all are equal.
        """
        if claim.plugin is self.plugins.core:
            return -1
        if not self.plugins.owns(claim.plugin, claim.provider.id):
            return None
        load = self._config.plugins.load
        return 0 if load == "all" else load.index(claim.plugin.name)

    def _refuse_squatter(self, claim: ProviderEntry, owner: str) -> None:
        plugin = claim.plugin
        claim.reason = NotEnabled.SQUATTER
        claim.detail = (
            f"plugin {plugin.name!r} of {plugin.distribution} claims provider id {claim.provider.id!r}, "
            f"which belongs to {owner}"
        )
        log.error("%s: it is refused, the owner is not", claim.detail)


def _complete(
    provider: object, wanted: type[providers.Provider], failed: Callable[[providers.Provider, str], None]
) -> providers.Provider:
    """Returns a plugin's provider for the core. Raises ``ValueError`` that says why it is not valid."""
    name = type(provider).__name__
    try:
        if not isinstance(provider, wanted):
            raise ValueError(f"{name} is not a {wanted.__name__}")
        if isinstance(inspect.getattr_static(provider, "id", None), property):
            raise ValueError(f"{name}.id is a property, expected a constant string")
        provider_id = getattr(provider, "id", None)
        if type(provider_id) is not str or not PROVIDER_ID.fullmatch(provider_id):
            text = "expected lowercase letters, digits and dashes"
            raise ValueError(f"{name}.id is {provider_id!r:.100}, {text}")
        for method, _ in inspect.getmembers(wanted, inspect.iscoroutinefunction):
            if not inspect.iscoroutinefunction(inspect.unwrap(getattr(provider, method))):
                raise ValueError(f"{name}.{method} must be async, like {wanted.__name__}.{method}")
        return checked(provider, wanted, failed)
    except ValueError:
        raise
    except PLUGIN_ERRORS as error:  # a property of the provider raised
        raise ValueError(f"{name}: {told(error)}") from error
