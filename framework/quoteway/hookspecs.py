"""Every hook of Quoteway: the map of the system.

Hooks are synchronous and called once, at start-up. They hand over *provider objects* whose async methods are
called per request; request-time calls never go through pluggy. An implementation may take any subset of a
hook's arguments.

A plugin is a module (or object) registered under the entry-point group ``quoteway.v1`` whose functions carry
``@quoteway.hookimpl``. Its entry-point name is the plugin's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    import click
    from aiohttp import web
    from marshmallow import Schema

    from quoteway.context import Context
    from quoteway.networks import Network
    from quoteway.providers import (
        BridgeProvider,
        MetricsProvider,
        PoolProvider,
        PriceSource,
        Relay,
        RpcUpstream,
        SwapProvider,
        TokenCatalog,
        VaultProvider,
    )

ENTRY_POINT_GROUP = "quoteway.v1"
"""The major version of the hook API is in the group's name: incompatibility is known without importing."""

hookspec = pluggy.HookspecMarker("quoteway")
hookimpl = pluggy.HookimplMarker("quoteway")


# --- capabilities: each returns the provider objects of that capability -----------------------------------


@hookspec
def quoteway_swap_providers(context: Context) -> Iterable[SwapProvider]:  # type: ignore[empty-body]
    """Providers that quote and build swaps. Called once at start-up, after networks are known."""


@hookspec
def quoteway_bridge_providers(context: Context) -> Iterable[BridgeProvider]:  # type: ignore[empty-body]
    """Providers that move tokens between chains. Called once at start-up."""


@hookspec
def quoteway_pool_providers(context: Context) -> Iterable[PoolProvider]:  # type: ignore[empty-body]
    """Providers of pools and liquidity operations. Called once at start-up."""


@hookspec
def quoteway_vault_providers(context: Context) -> Iterable[VaultProvider]:  # type: ignore[empty-body]
    """Providers of vaults and their operations. Called once at start-up."""


@hookspec
def quoteway_token_catalogs(context: Context) -> Iterable[TokenCatalog]:  # type: ignore[empty-body]
    """Sources of token facts. Called once at start-up."""


@hookspec
def quoteway_metrics_providers(context: Context) -> Iterable[MetricsProvider]:  # type: ignore[empty-body]
    """Sources of time series for pools and vaults of any provider. Called once at start-up."""


@hookspec
def quoteway_price_sources(context: Context) -> Iterable[PriceSource]:  # type: ignore[empty-body]
    """Sources of USD prices, asked in configured order. Called once at start-up."""


@hookspec
def quoteway_rpc_upstreams(context: Context) -> Iterable[RpcUpstream]:  # type: ignore[empty-body]
    """Dispatchers of JSON-RPC calls. Called once at start-up; the core reads chains through them too."""


@hookspec
def quoteway_relays(context: Context) -> Iterable[Relay]:  # type: ignore[empty-body]
    """Broadcasters of signed transactions. Called once at start-up."""


# --- around them ------------------------------------------------------------------------------------------


@hookspec
def quoteway_settings() -> type[Schema]:  # type: ignore[empty-body]
    """The marshmallow schema of the plugin's own ``[plugin.<name>]`` section.

    Called before every other hook. What it loads is ``context.settings``; a section it refuses makes the
    plugin ``config_invalid``. Members may be secrets: ``quoteway.SecretField``.
    """


@hookspec
def quoteway_networks(context: Context) -> Iterable[Network]:  # type: ignore[empty-body]
    """Networks this plugin knows, as data. Called once, before the provider hooks of any plugin.

    A network is served when an RPC upstream has an endpoint for it. Two plugins may describe one network; the
    first loaded keeps its facts, both give endpoints, deployment rows and token lists.
    """


@hookspec
def quoteway_lifespan(context: Context) -> AbstractAsyncContextManager[Any]:  # type: ignore[empty-body]
    """An async context manager entered when the server starts (in parallel with others, under a deadline) and
    left when it stops.

    A failure makes this plugin ``startup_failed`` and nothing else; a ``ConfigError`` is shown to the
    operator as the sentence it is, anything else with its traceback.
    """


@hookspec
def quoteway_routes(context: Context) -> Iterable[web.RouteDef]:  # type: ignore[empty-body]
    """aiohttp routes of the plugin's own. Called once, when the web application is made.

    Mounted below ``/x/<plugin>/``, so that ``/v2`` cannot be shadowed.
    """


@hookspec
def quoteway_commands() -> Iterable[click.Command]:  # type: ignore[empty-body]
    """Commands added to the ``quoteway`` CLI. Called when the CLI starts; heavy imports belong inside the
    commands."""


@hookspec
def quoteway_observe(event: Mapping[str, Any]) -> None:
    """Told after each provider call: ``provider``, ``capability``, ``method``, ``outcome``, ``duration_s``.

    Called inside a try: an observer that raises is logged and never breaks the call.
    """
