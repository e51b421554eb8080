"""What this deployment serves: providers with their states, and networks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from aiohttp import web
from marshmallow import fields

from quoteway.guard import calldata as guard
from quoteway.host.registry import PluginEntry, ProviderEntry, networks_of
from quoteway.models import Capability
from quoteway.networks import Network
from quoteway.providers import PoolProvider, Provider, VaultProvider
from quoteway.web import shapes
from quoteway.web.http.operation import Call, Operation
from quoteway.web.http.schema import ResponseSchema
from quoteway.web.rendering import Wire, slug
from quoteway.web.resources import catalog

HEALTH_TIMEOUT_S = 0.2
"""``healthy`` must answer from memory; one that does not is shown as unknown."""


class ProviderActions(ResponseSchema):
    pool = shapes.texts()
    vault = shapes.texts()
    manage = shapes.texts()


class Spender(ResponseSchema):
    chain_id = shapes.sure(fields.Integer)
    address = shapes.sure(shapes.AddressText)


class ProviderRow(ResponseSchema):
    id = shapes.sure(fields.String)
    name = shapes.sure(fields.String)
    version = shapes.sure(fields.String)
    package = shapes.sure(fields.String)
    plugin = shapes.sure(fields.String)
    capabilities = shapes.texts()
    networks = shapes.texts()
    actions = shapes.one(ProviderActions)
    enabled = shapes.sure(fields.Boolean)
    state = shapes.sure(fields.String)
    healthy = shapes.maybe(fields.Boolean)
    reason = shapes.maybe(fields.String, description="Why it is not enabled")
    spenders = shapes.some(Spender)
    docs = shapes.maybe(fields.String)


class ProviderPage(shapes.PageMembers):
    data = shapes.some(ProviderRow)


class NativeCurrency(ResponseSchema):
    symbol = shapes.sure(fields.String)
    name = shapes.sure(fields.String)
    decimals = shapes.sure(fields.Integer)


class NetworkRow(ResponseSchema):
    id = shapes.sure(fields.String)
    network = shapes.sure(fields.String)
    chain_id = shapes.sure(fields.Integer)
    caip2 = shapes.sure(fields.String)
    name = shapes.sure(fields.String)
    native_currency = shapes.one(NativeCurrency)
    wrapped_native = shapes.maybe(shapes.AddressText)
    explorer_url = shapes.maybe(fields.String)
    block_time_seconds = shapes.sure(fields.Float)
    testnet = shapes.sure(fields.Boolean)
    capabilities = shapes.texts()


class NetworkPage(shapes.PageMembers):
    data = shapes.some(NetworkRow)


async def list_providers(call: Call) -> web.Response:
    async def collect() -> catalog.Listing:
        registry = call.gateway.registry
        groups: dict[tuple[str, str], list[ProviderEntry]] = {}
        for entry in registry.providers:
            groups.setdefault((entry.provider.id, entry.plugin.name), []).append(entry)
        rows = await asyncio.gather(*(_provider_row(call, entries) for entries in groups.values()))
        speaking = {entry.plugin.name for entry in registry.providers}
        broken = [
            _plugin_row(plugin)
            for plugin in registry.plugins
            if plugin.reason is not None and plugin.name not in speaking
        ]
        return catalog.Listing([*rows, *broken], key=lambda row: f"{row['id']}/{row['plugin']}")

    return await catalog.answer(call, collect)


async def _provider_row(call: Call, entries: Sequence[ProviderEntry]) -> Wire:
    first, plugin = entries[0].provider, entries[0].plugin
    chain_ids = sorted({chain_id for entry in entries for chain_id in networks_of(entry.provider)})
    enabled = any(entry.enabled for entry in entries)
    reason = next((entry.not_enabled for entry in entries if entry.not_enabled is not None), None)
    return {
        "id": first.id,
        "name": _text(first, "title") or first.id,
        "version": plugin.version,
        "package": plugin.distribution,
        "plugin": plugin.name,
        "capabilities": sorted({entry.provider.capability.value for entry in entries}),
        "networks": [slug(call.networks, chain_id) for chain_id in chain_ids],
        "actions": {
            "pool": _actions(entries, PoolProvider, "actions"),
            "vault": _actions(entries, VaultProvider, "actions"),
            "manage": _actions(entries, VaultProvider, "manage_actions"),
        },
        "enabled": enabled,
        "state": plugin.state.value,
        "healthy": await _healthy(first) if enabled else None,
        "reason": None if enabled or reason is None else reason.value,
        "spenders": _spenders(entries),
        "docs": _text(first, "docs"),
    }


def _plugin_row(plugin: PluginEntry) -> Wire:
    """A plugin that came to hand over no provider at all: shown under its own name, with the reason."""
    assert plugin.reason is not None
    return {
        "id": plugin.name,
        "name": plugin.name,
        "version": plugin.version,
        "package": plugin.distribution,
        "plugin": plugin.name,
        "capabilities": [],
        "networks": [],
        "actions": {"pool": [], "vault": [], "manage": []},
        "enabled": False,
        "state": plugin.state.value,
        "healthy": None,
        "reason": plugin.reason.value,
        "spenders": [],
        "docs": None,
    }


def _actions(entries: Sequence[ProviderEntry], kind: type[Provider], member: str) -> list[str]:
    found: set[str] = set()
    for entry in entries:
        if isinstance(entry.provider, kind):
            with contextlib.suppress(Exception):
                found.update(action for action in getattr(entry.provider, member) if type(action) is str)
    return sorted(found)


def _text(provider: Provider, member: str) -> str | None:
    with contextlib.suppress(Exception):
        text = getattr(provider, member)
        return text if type(text) is str and text.isprintable() else None
    return None


def _spenders(entries: Sequence[ProviderEntry]) -> list[Wire]:
    found: dict[tuple[int, str], Wire] = {}
    for entry in entries:
        for chain_id in sorted(networks_of(entry.provider)):
            with contextlib.suppress(Exception):  # a provider's bug must not hide the others
                for address in filter(guard.is_address, entry.provider.spenders(chain_id)):
                    found[chain_id, address] = {"chainId": chain_id, "address": address}
    return list(found.values())


async def _healthy(provider: Provider) -> bool | None:
    try:
        healthy = await asyncio.wait_for(provider.healthy(), HEALTH_TIMEOUT_S)
    except Exception:  # a provider's bug is shown as "not known"
        return None
    return healthy if type(healthy) is bool else None


async def list_networks(call: Call) -> web.Response:
    async def collect() -> catalog.Listing:
        return catalog.Listing([_network_row(call, network) for network in call.networks])

    return await catalog.answer(call, collect)


def _network_row(call: Call, network: Network) -> Wire:
    registry = call.gateway.registry
    return {
        "id": network.slug,
        "network": network.slug,
        "chainId": network.chain_id,
        "caip2": network.caip2,
        "name": network.name,
        "nativeCurrency": {
            "symbol": network.native_symbol,
            "name": network.native_name,
            "decimals": network.native_decimals,
        },
        "wrappedNative": network.wrapped_native,
        "explorerUrl": network.explorer_url,
        "blockTimeSeconds": network.block_time_s,
        "testnet": network.testnet,
        "capabilities": [c.value for c in Capability if registry.enabled(c, network.chain_id)],
    }


def _page(
    path: str, name: str, summary: str, handler: Any, response: type[ResponseSchema], **rest: Any
) -> Operation:
    return Operation(
        "GET",
        path,
        name,
        "deployment",
        summary,
        handler,
        response,
        query=catalog.PageQuery,
        errors=(422, 429, 503),
        **rest,
    )


OPERATIONS = (
    _page(
        "/v2/providers",
        "listProviders",
        "Providers, and why one is not enabled",
        list_providers,
        ProviderPage,
        needs_ready=False,
    ),
    _page("/v2/networks", "listNetworks", "Networks of this deployment", list_networks, NetworkPage),
)
