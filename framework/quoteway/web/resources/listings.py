"""What this deployment serves: providers with their states, and networks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace

from aiohttp import web

from quoteway.engine.gateway import Gateway
from quoteway.engine.provider_sets import provider_set
from quoteway.errors import GatewayError
from quoteway.guard.findings import is_address
from quoteway.host.call_records import MethodCalls
from quoteway.host.missing_contracts import MissingContract
from quoteway.host.states import NotEnabled, PluginEntry, ProviderEntry, networks_of
from quoteway.host.upstream_health import upstream_health
from quoteway.models import Address, Capability
from quoteway.providers import (
    Executor,
    PoolProvider,
    PriceSource,
    Provider,
    SwapProvider,
    VaultProvider,
)
from quoteway.web.http.cache import CACHE
from quoteway.web.http.health import readiness
from quoteway.web.http.operation import Call, get
from quoteway.web.resources import catalog
from quoteway.web.wire.networks import NetworkPage, NetworkRow
from quoteway.web.wire.providers import ProviderPage, ProviderRow
from quoteway.web.wire.view import Wire, camel_case

HEALTH_TIMEOUT_S = 0.2
"""``healthy`` must answer from memory; a provider that takes longer is shown as unknown."""

_QUOTES = {each.value for each in (Capability.SWAP, Capability.BRIDGE, Capability.POOL, Capability.VAULT)}
"""The capabilities of providers that an API key can be limited to."""

REFUSAL_TIMEOUT_S = 1.0
"""An executor reads its contracts to say whether it refuses a chain, once in ten minutes."""


@get(
    "/v2/providers",
    "Providers, and why one is not enabled",
    ProviderPage,
    tag="deployment",
    query=catalog.PageQuery,
    needs_ready=False,
    cached=True,
    description="Made at each request: how the calls of each provider did in the worker that answers, and "
    "for one that is not enabled the reason. With an API key that is limited to some providers, of those "
    "that quote only these.",
)
async def list_providers(call: Call) -> web.Response:
    # Not from the cache: health is that of now. Concurrent requests share what the providers say.
    flights, revision = call.request.app[CACHE].flights, call.gateway.registry.revision
    rows = await flights.run(("providers", revision), partial(provider_rows, call.gateway))
    ids = provider_set()
    shown = [row for row in rows if ids is None or row["id"] in ids or not _QUOTES & {*row["capabilities"]}]
    listing = catalog.Listing(shown, key=lambda row: f"{row['id']}/{row['plugin']}/{row['package']}")
    return catalog.current(call, listing, "" if ids is None else " ".join(sorted(ids)))


async def provider_rows(gateway: Gateway) -> list[Wire]:
    """Returns the rows of all providers, and of plugins without one that are not enabled or block."""
    registry = gateway.registry
    groups: dict[tuple[str, str], list[ProviderEntry]] = {}
    for entry in registry.providers:
        groups.setdefault((entry.provider.id, entry.plugin.name), []).append(entry)
    with_providers = {id(entry.plugin) for entry in registry.providers}
    others = [p for p in registry.plugins if id(p) not in with_providers]
    told = [p for p in others if p.reason is not None or gateway.watchdog.worst(p.name)]
    shown = [(entries[0].plugin, entries) for entries in groups.values()] + [(p, []) for p in told]
    outliers = gateway.prices.outliers()
    return list(await asyncio.gather(*(_provider_row(gateway, *group, outliers) for group in shown)))


async def _provider_row(
    gateway: Gateway, plugin: PluginEntry, entries: Sequence[ProviderEntry], outliers: Mapping[str, int]
) -> Wire:
    """The row of a provider, or of a plugin without one: then only its name and the reason are known."""
    first = entries[0].provider if entries else None
    provider_id = first.id if first else plugin.name
    registry = gateway.registry
    enabled = any(entry.enabled for entry in entries) if entries else plugin.reason is None
    # Who is refused was never called: calls and scores under its id are those of the id's owner.
    own = [entry.provider for entry in entries if entry.reason is None]
    healthy = await _healthy(gateway, first) if first and enabled else None
    methods = [calls for provider in own for calls in registry.calls.methods(provider)]
    reasons = (entry.not_enabled for entry in entries if entry.not_enabled is not None)
    return ProviderRow.of(
        gateway.runtime.networks,
        id=provider_id,
        name=_text(first, "title") or provider_id,
        plugin=plugin,
        reason=None if enabled else next(reasons, plugin.reason),
        capabilities=sorted({entry.provider.capability.value for entry in entries}),
        chain_ids=sorted({chain_id for entry in entries for chain_id in networks_of(entry.provider)}),
        actions=(
            _names(entries, PoolProvider, "actions"),
            _names(entries, VaultProvider, "actions"),
            _names(entries, VaultProvider, "manage_actions"),
        ),
        strategies=_strategies(entries),
        protocols=_names(entries, SwapProvider, "protocols"),
        limits=[camel_case(name) for name in _names(entries, SwapProvider, "honours")],
        enforces_fees=any(isinstance(e.provider, SwapProvider) and e.provider.enforces_fees for e in entries),
        exact_out=_exact_out(entries),
        enabled=enabled,
        healthy=healthy,
        spenders=_spenders(entries),
        missing_contracts=_missing_contracts(gateway, own) if enabled else [],
        refusals=await _refusals(gateway, own) if enabled else [],
        upstreams=[row for _, row in await upstream_health(own)] if enabled else [],
        docs=_text(first, "docs"),
        score=next((registry.scores.of(p) for p in own if isinstance(p, SwapProvider)), None),
        # A squatter has run no code: what has that plugin name is another one's.
        worst_stall=None if plugin.reason is NotEnabled.SQUATTER else gateway.watchdog.worst(plugin.name),
        methods=methods,
        last_error=_last_error(methods, gateway.runtime.clock()),
        price_outliers=outliers[provider_id] if any(isinstance(p, PriceSource) for p in own) else None,
    )


def _last_error(methods: Sequence[MethodCalls], now: float) -> SimpleNamespace | None:
    failed = [calls for calls in methods if calls.last_error is not None]
    if not failed:
        return None
    newest = min(failed, key=lambda calls: calls.failed_s_ago)
    at = int(now - newest.failed_s_ago)
    return SimpleNamespace(
        capability=newest.capability, method=newest.method, reason=newest.last_error, at=at
    )


def _names(entries: Sequence[ProviderEntry], kind: type[Provider], member: str) -> list[str]:
    found: set[str] = set()
    for entry in entries:
        if isinstance(entry.provider, kind):
            with contextlib.suppress(Exception):
                found.update(action for action in getattr(entry.provider, member) if type(action) is str)
    return sorted(found)


def _strategies(entries: Sequence[ProviderEntry]) -> list[tuple[int, str]]:
    """The strategies of new vaults, by chain id."""
    found: set[tuple[int, str]] = set()
    for entry in entries:
        if isinstance(entry.provider, VaultProvider):
            with contextlib.suppress(Exception):
                by_chain = entry.provider.deploy_strategies.items()
                found.update((chain_id, name) for chain_id, names in by_chain for name in names)
    return sorted(found)


def _exact_out(entries: Sequence[ProviderEntry]) -> bool:
    found = False
    for entry in entries:
        if isinstance(entry.provider, SwapProvider):
            with contextlib.suppress(Exception):
                found = found or entry.provider.exact_out is True
    return found


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


def _missing_contracts(gateway: Gateway, own: Sequence[Provider]) -> list[MissingContract]:
    """What the capabilities of one provider miss, each contract once."""
    found = [each for provider in own for each in gateway.missing.of(provider, networks_of(provider))]
    unique = {(each.chain_id, each.contract): each for each in found}
    return [unique[key] for key in sorted(unique)]


async def _refusals(gateway: Gateway, own: Sequence[Provider]) -> list[tuple[int, str]]:
    """The chains that an executor refuses. One that cannot say in time is not named."""
    runtime = gateway.runtime

    async def ask(executor: Executor, chain_id: int) -> str | None:
        with contextlib.suppress(GatewayError, TimeoutError):
            async with asyncio.timeout(REFUSAL_TIMEOUT_S):
                block = await runtime.chain(chain_id).head()
                return await runtime.liquidity.refusal(executor, chain_id, block)
        return None

    asked = [(each, at) for each in own if isinstance(each, Executor) for at in sorted(networks_of(each))]
    answers = await asyncio.gather(*(ask(executor, chain_id) for executor, chain_id in asked))
    return [
        (chain_id, reason)
        for (_, chain_id), reason in zip(asked, answers, strict=True)
        if reason is not None and reason.isprintable()
    ]


async def _healthy(gateway: Gateway, provider: Provider) -> bool | None:
    (outcome,) = await gateway.registry.calls.ask_all(
        [provider], lambda asked: asked.healthy(), verb="healthy", timeout_s=HEALTH_TIMEOUT_S, spared=True
    )
    return outcome.value if type(outcome.value) is bool else None


@get(
    "/v2/networks",
    "Networks of this deployment",
    NetworkPage,
    tag="deployment",
    query=catalog.PageQuery,
    cached=True,
    description="All networks that providers or the configuration name, with what is served on each and "
    "whether it works.",
)
async def list_networks(call: Call) -> web.Response:
    async def collect() -> catalog.Listing:
        registry = call.gateway.registry
        found = await readiness(call.gateway, with_states=True)
        states = {state.network.chain_id: state for state in found.states}
        rows = []
        for network in call.networks:
            served = [c.value for c in Capability if registry.enabled(c, network.chain_id)]
            state = states.get(network.chain_id)
            rows.append(NetworkRow.of(call.networks, network=network, capabilities=served, readiness=state))
        return catalog.Listing(rows)

    return await catalog.answer(call, collect)


OPERATIONS = (list_providers, list_networks)
