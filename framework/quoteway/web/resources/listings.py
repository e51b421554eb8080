"""What this deployment serves: providers with their states, and networks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from aiohttp import web

from quoteway.guard.findings import is_address
from quoteway.host.states import PluginEntry, ProviderEntry, networks_of
from quoteway.models import Address, Capability
from quoteway.providers import PoolProvider, Provider, VaultProvider
from quoteway.web.http.operation import Call, get
from quoteway.web.resources import catalog
from quoteway.web.wire.rows import NetworkPage, NetworkRow, ProviderPage, ProviderRow
from quoteway.web.wire.view import Wire

HEALTH_TIMEOUT_S = 0.2
"""``healthy`` must answer from memory; a provider that takes longer is shown as unknown."""


@get(
    "/v2/providers",
    "Providers, and why one is not enabled",
    ProviderPage,
    tag="deployment",
    query=catalog.PageQuery,
    needs_ready=False,
)
async def list_providers(call: Call) -> web.Response:
    async def collect() -> catalog.Listing:
        registry = call.gateway.registry
        groups: dict[tuple[str, str], list[ProviderEntry]] = {}
        for entry in registry.providers:
            groups.setdefault((entry.provider.id, entry.plugin.name), []).append(entry)
        with_providers = {plugin for _, plugin in groups}
        broken = [p for p in registry.plugins if p.reason is not None and p.name not in with_providers]
        shown = [(entries[0].plugin, entries) for entries in groups.values()] + [(p, []) for p in broken]
        rows = await asyncio.gather(*(_provider_row(call, *group) for group in shown))
        return catalog.Listing(rows, key=lambda row: f"{row['id']}/{row['plugin']}")

    return await catalog.answer(call, collect)


async def _provider_row(call: Call, plugin: PluginEntry, entries: Sequence[ProviderEntry]) -> Wire:
    """The row of a provider, or of a plugin without one: then only its name and the reason are known."""
    first = entries[0].provider if entries else None
    provider_id = first.id if first else plugin.name
    enabled = any(entry.enabled for entry in entries)
    reasons = (entry.not_enabled for entry in entries if entry.not_enabled is not None)
    return ProviderRow.of(
        call.networks,
        id=provider_id,
        name=_text(first, "title") or provider_id,
        plugin=plugin,
        reason=None if enabled else next(reasons, plugin.reason),
        capabilities=sorted({entry.provider.capability.value for entry in entries}),
        chain_ids=sorted({chain_id for entry in entries for chain_id in networks_of(entry.provider)}),
        actions=(
            _actions(entries, PoolProvider, "actions"),
            _actions(entries, VaultProvider, "actions"),
            _actions(entries, VaultProvider, "manage_actions"),
        ),
        enabled=enabled,
        healthy=await _healthy(first) if first and enabled else None,
        spenders=_spenders(entries),
        docs=_text(first, "docs"),
    )


def _actions(entries: Sequence[ProviderEntry], kind: type[Provider], member: str) -> list[str]:
    found: set[str] = set()
    for entry in entries:
        if isinstance(entry.provider, kind):
            with contextlib.suppress(Exception):
                found.update(action for action in getattr(entry.provider, member) if type(action) is str)
    return sorted(found)


def _text(provider: Provider | None, member: str) -> str | None:
    with contextlib.suppress(Exception):
        text = getattr(provider, member)
        return text if type(text) is str and text.isprintable() else None
    return None


def _spenders(entries: Sequence[ProviderEntry]) -> list[tuple[int, Address]]:
    found: dict[tuple[int, Address], None] = {}
    for entry in entries:
        for chain_id in sorted(networks_of(entry.provider)):
            with contextlib.suppress(Exception):  # a provider's bug must not hide the others
                for address in filter(is_address, entry.provider.spenders(chain_id)):
                    found[chain_id, address] = None
    return list(found)


async def _healthy(provider: Provider) -> bool | None:
    try:
        healthy = await asyncio.wait_for(provider.healthy(), HEALTH_TIMEOUT_S)
    except Exception:  # a provider's bug is shown as unknown
        return None
    return healthy if type(healthy) is bool else None


@get("/v2/networks", "Networks of this deployment", NetworkPage, tag="deployment", query=catalog.PageQuery)
async def list_networks(call: Call) -> web.Response:
    async def collect() -> catalog.Listing:
        registry = call.gateway.registry
        rows = []
        for network in call.networks:
            capabilities = [c.value for c in Capability if registry.enabled(c, network.chain_id)]
            rows.append(NetworkRow.of(call.networks, network=network, capabilities=capabilities))
        return catalog.Listing(rows)

    return await catalog.answer(call, collect)


OPERATIONS = (list_providers, list_networks)
