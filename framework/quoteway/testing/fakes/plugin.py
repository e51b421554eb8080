"""A plugin made of provider objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quoteway import (
    Capability,
    Context,
    ContractDescription,
    DoctorCheck,
    EventSource,
    Network,
    Provider,
    hookimpl,
)

if TYPE_CHECKING:
    from quoteway.config.model import Config

ProviderOrMaker = Provider | Callable[[Context], Provider]


class FakePlugin:
    """A plugin made of provider objects, or of functions that make one from the plugin's context.

    ``calls`` describes the calls of its contracts, such as ``FAKE_CALLS``; ``pinned`` makes them count.
    """

    def __init__(
        self,
        providers: Iterable[ProviderOrMaker] = (),
        *,
        networks: Iterable[Network] = (),
        calls: Iterable[ContractDescription] = (),
        event_sources: Iterable[EventSource] = (),
        doctor_checks: Iterable[DoctorCheck] = (),
        lifespan: Callable[[Context], AbstractAsyncContextManager[Any]] | None = None,
    ) -> None:
        self._providers = list(providers)
        self._networks = list(networks)
        self.described = tuple(calls)
        self._event_sources = tuple(event_sources)
        self._doctor_checks = tuple(doctor_checks)
        self._lifespan = lifespan
        self._made: list[Provider] | None = None

    def _of(self, capability: Capability, context: Context) -> list[Provider]:
        if self._made is None:
            self._made = [p if isinstance(p, Provider) else p(context) for p in self._providers]
        return [p for p in self._made if p.capability is capability]

    @hookimpl
    def quoteway_networks(self, context: Context) -> list[Network]:
        return self._networks

    @hookimpl
    def quoteway_call_descriptions(self, context: Context) -> tuple[ContractDescription, ...]:
        return self.described

    @hookimpl
    def quoteway_doctor_checks(self, context: Context) -> tuple[DoctorCheck, ...]:
        return self._doctor_checks

    @hookimpl
    def quoteway_event_sources(self, context: Context) -> tuple[EventSource, ...]:
        return self._event_sources

    @hookimpl
    def quoteway_lifespan(self, context: Context) -> AbstractAsyncContextManager[Any] | None:
        return self._lifespan(context) if self._lifespan is not None else None

    @hookimpl
    def quoteway_rpc_upstreams(self, context: Context) -> list[Provider]:
        return self._of(Capability.RPC, context)

    @hookimpl
    def quoteway_token_catalogs(self, context: Context) -> list[Provider]:
        return self._of(Capability.TOKENS, context)

    @hookimpl
    def quoteway_swap_providers(self, context: Context) -> list[Provider]:
        return self._of(Capability.SWAP, context)

    @hookimpl
    def quoteway_bridge_providers(self, context: Context) -> list[Provider]:
        return self._of(Capability.BRIDGE, context)

    @hookimpl
    def quoteway_pool_providers(self, context: Context) -> list[Provider]:
        return self._of(Capability.POOL, context)

    @hookimpl
    def quoteway_vault_providers(self, context: Context) -> list[Provider]:
        return self._of(Capability.VAULT, context)

    @hookimpl
    def quoteway_metrics_providers(self, context: Context) -> list[Provider]:
        return self._of(Capability.METRICS, context)

    @hookimpl
    def quoteway_price_sources(self, context: Context) -> list[Provider]:
        return self._of(Capability.PRICES, context)

    @hookimpl
    def quoteway_liquidity_sources(self, context: Context) -> list[Provider]:
        return self._of(Capability.LIQUIDITY, context)

    @hookimpl
    def quoteway_executors(self, context: Context) -> list[Provider]:
        return self._of(Capability.EXECUTION, context)

    @hookimpl
    def quoteway_relays(self, context: Context) -> list[Provider]:
        return self._of(Capability.RELAY, context)

    @hookimpl
    def quoteway_screening(self, context: Context) -> list[Provider]:
        return self._of(Capability.SCREENING, context)


def pinned(config: Config, plugins: Mapping[str, Any]) -> Config:
    """Returns the configuration of an operator who has read the call descriptions of these fake plugins."""
    from quoteway.config.model import CallsConfig
    from quoteway.evm.calls.registry import digest_of

    fakes = [plugin for plugin in plugins.values() if isinstance(plugin, FakePlugin)]
    digests = [digest_of(fake.described) for fake in fakes if fake.described]
    return replace(config, calls=CallsConfig((*config.calls.pinned, *digests)))
