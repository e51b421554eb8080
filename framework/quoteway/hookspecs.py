"""All hooks of Quoteway.

Hooks are synchronous. They are called once, at start-up, except for ``quoteway_observe``. Provider hooks
return *provider objects*, whose async methods are called per request. An implementation may take any subset
of a hook's arguments.

A plugin is a module or object registered under the entry-point group ``quoteway.v1``. Its hook functions are
marked with ``@quoteway.hookimpl``. The name of the entry point is the name of the plugin.
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

    from quoteway import providers
    from quoteway.context import Context
    from quoteway.metrics_provider import MetricsProvider
    from quoteway.models import ContractDescription, DoctorCheck, EventSource, Site
    from quoteway.networks import Network
    from quoteway.screener import Screener

ENTRY_POINT_GROUP = "quoteway.v1"
"""Contains the major version of the hook API: an incompatible plugin is found without importing it."""

hookspec = pluggy.HookspecMarker("quoteway")
hookimpl = pluggy.HookimplMarker("quoteway")
"""Marks a function of a plugin as the implementation of the hook of its name."""


# --- capabilities -----------------------------------------------------------------------------------------


@hookspec
def quoteway_swap_providers(context: Context) -> Iterable[providers.SwapProvider]:  # type: ignore[empty-body]
    """Returns providers that quote and build swaps. Called once at start-up, after networks are known."""


@hookspec
def quoteway_bridge_providers(context: Context) -> Iterable[providers.BridgeProvider]:  # type: ignore[empty-body]
    """Returns providers that move tokens between chains. Called once at start-up."""


@hookspec
def quoteway_pool_providers(context: Context) -> Iterable[providers.PoolProvider]:  # type: ignore[empty-body]
    """Returns providers of pools and liquidity operations. Called once at start-up."""


@hookspec
def quoteway_vault_providers(context: Context) -> Iterable[providers.VaultProvider]:  # type: ignore[empty-body]
    """Returns providers of vaults and vault operations. Called once at start-up."""


@hookspec
def quoteway_token_catalogs(context: Context) -> Iterable[providers.TokenCatalog]:  # type: ignore[empty-body]
    """Returns sources of token facts. Called once at start-up."""


@hookspec
def quoteway_metrics_providers(context: Context) -> Iterable[MetricsProvider]:  # type: ignore[empty-body]
    """Returns sources of time series for pools and vaults of any provider. Called once at start-up."""


@hookspec
def quoteway_price_sources(context: Context) -> Iterable[providers.PriceSource]:  # type: ignore[empty-body]
    """Returns sources of USD prices. All are asked, and a majority decides. Called once at start-up."""


@hookspec
def quoteway_rpc_upstreams(context: Context) -> Iterable[providers.RpcUpstream]:  # type: ignore[empty-body]
    """Returns dispatchers of JSON-RPC calls. Called once at start-up. The core reads chains with them too."""


@hookspec
def quoteway_relays(context: Context) -> Iterable[providers.Relay]:  # type: ignore[empty-body]
    """Returns broadcasters of signed transactions. Called once at start-up."""


@hookspec
def quoteway_screening(context: Context) -> Iterable[Screener]:  # type: ignore[empty-body]
    """Returns screeners of actions. Called once at start-up.

    All are asked about each action that the rules of the custody policy allow, and one refusal refuses it. A
    deployment without a policy asks none.
    """


@hookspec
def quoteway_liquidity_sources(context: Context) -> Iterable[providers.LiquiditySource]:  # type: ignore[empty-body]
    """Returns sources of pools that swaps may be routed through. Called once at start-up.

    A swap provider routes over their pools for each executor that takes pools of a source. Objects of pools
    are used thousands of times in a quote: a plugin in a process of its own is not asked.
    """


@hookspec
def quoteway_executors(context: Context) -> Iterable[providers.Executor]:  # type: ignore[empty-body]
    """Returns what encodes swaps through the pools of liquidity sources. Called once at start-up.

    It is called before the hooks of swap providers, which route for each executor. Not asked of a plugin in
    a process of its own.
    """


@hookspec
def quoteway_event_sources(context: Context) -> Iterable[EventSource]:  # type: ignore[empty-body]
    """Returns which logs of the plugin's protocols an indexer should keep, as data. Called once at start-up.

    An indexer reads them through ``Context.event_sources``. Sources of networks that are not served are left
    out. Not asked of a plugin in a process of its own. ``EventRule`` says how an event becomes rows.
    """


# --- settings, networks, lifespan, routes, commands, events -----------------------------------------------


@hookspec
def quoteway_settings() -> type[Schema]:  # type: ignore[empty-body]
    """Returns the marshmallow schema of the plugin's ``[plugin.<name>]`` section.

    Called before every other hook. The loaded section is ``context.settings``. When the schema refuses
    the section, the plugin is ``config_invalid``. Use ``quoteway.SecretField`` for secrets.
    """


@hookspec
def quoteway_networks(context: Context) -> Iterable[Network]:  # type: ignore[empty-body]
    """Returns the networks that the plugin describes. Called once, before the provider hooks of any plugin.

    A network is served when an RPC upstream has an endpoint for it. Two plugins may describe one network. The
    facts of the plugin loaded first are used; endpoints, deployment rows and token lists are merged.
    """


@hookspec
def quoteway_call_descriptions(context: Context) -> Iterable[ContractDescription]:  # type: ignore[empty-body]
    """Returns what the calls of the plugin's contracts mean, for contracts that the core does not know.

    Called once at start-up. They count when the operator pins their digest in ``[calls] pinned``; until then
    the plugin is ``unpinned_descriptions``. What the core knows of a contract is not replaced.
    """


@hookspec
def quoteway_lifespan(context: Context) -> AbstractAsyncContextManager[Any]:  # type: ignore[empty-body]
    """Returns an async context manager. It is entered when the server starts and left when it stops.

    The lifespans of all plugins are entered in parallel, under one deadline. When one fails, only its plugin
    becomes ``startup_failed``. A ``ConfigError`` is logged by its message, other exceptions with a traceback.
    """


@hookspec
def quoteway_routes(context: Context) -> Iterable[web.RouteDef]:  # type: ignore[empty-body]
    """Returns the plugin's aiohttp routes. Called once, at the first request below ``/x/``.

    They are mounted below ``/x/<plugin>/``, so that they cannot shadow ``/v2``. A request must be answered
    within nine tenths of ``[server] request_timeout_s``. At most 64 of one plugin run at a time.
    """


@hookspec
def quoteway_site(context: Context) -> Site:  # type: ignore[empty-body]
    """Returns the static files of a web interface. Called once, at the first request for them.

    Asked only of the plugin that ``[server] site`` names. Its page is at ``/`` for browsers (``Accept:
    text/html``), all its files are below ``/site/``: nothing of it can shadow the API. The core sends them
    with a policy under which scripts, styles, images and requests of the page are of its own origin alone.
    Links in the folder are not followed. Not asked of a plugin in a process of its own.
    """


@hookspec
def quoteway_doctor_checks(context: Context) -> Iterable[DoctorCheck]:  # type: ignore[empty-body]
    """Returns what ``quoteway doctor`` asks for the plugin: databases and stores that its section names.

    Called by that command alone, without a running server: lifespans are not entered. Nodes are asked by the
    core. Not asked of a plugin in a process of its own.
    """


@hookspec
def quoteway_commands() -> Iterable[click.Command]:  # type: ignore[empty-body]
    """Returns commands to add to the ``quoteway`` CLI. Called when the CLI starts.

    Import heavy modules inside the commands. ``click.get_current_context().obj`` is a
    ``quoteway.CommandRunner``: with it a command reads chains as the server does.
    """


@hookspec
def quoteway_observe(event: Mapping[str, Any]) -> None:
    """Observes a finished provider call. Called after each one in a thread of its own; returns nothing.

    No request waits for it. An observer that is slower than the calls loses events, which
    ``quoteway_observer_dropped`` counts.

    ``event`` has ``provider``, ``capability``, ``method``, ``outcome``, ``reason`` and ``duration_s``.
    ``reason`` says why there is no answer, and is None with one. A provider that a competition did not wait
    for is observed when its answer comes. With ``method`` ``run``, the event is about the simulation of the
    provider's transactions: ``outcome`` is ``success``, ``skipped``, or the reason why they were refused, for
    example ``quote_mismatch``. With ``method`` ``price``, it is about a price that is far from the others',
    with ``optimality`` about a quote whose ``optimality`` was wrong and left out.
    JSON-RPC calls are not observed. An exception is logged and does not affect the provider call.
    """
