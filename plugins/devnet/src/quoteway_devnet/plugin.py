"""The devnet as a plugin: two networks, their processes, and three commands."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from quoteway import ConfigError, Context, Network, Relay, hookimpl

if TYPE_CHECKING:
    import click
    from marshmallow import Schema

_ATTACH_TIMEOUT_S = 300.0
"""The time that the first worker may need to fetch the packages on a new machine."""


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_devnet.settings import DevnetSettings

    return DevnetSettings


@hookimpl
def quoteway_networks(context: Context) -> Iterable[Network]:
    if not _enabled(context):
        return ()
    from quoteway_devnet.networks import devnet_networks

    return devnet_networks(_ports(context), f"http://127.0.0.1:{_relayer_port(context)}/api")


@hookimpl
def quoteway_relays(context: Context) -> Iterable[Relay]:
    if not _enabled(context):
        return ()
    from quoteway_devnet.relay import DevnetRelay
    from quoteway_devnet.tables import DEVNET, DEVNET_L2

    ports = _ports(context)
    return (DevnetRelay({chain.chain_id: ports[chain.slug] for chain in (DEVNET, DEVNET_L2)}),)


@hookimpl
def quoteway_lifespan(context: Context) -> AbstractAsyncContextManager[Any]:
    return _chains(context)


@hookimpl
def quoteway_commands() -> Iterable[click.Command]:
    from quoteway_devnet.check_command import check
    from quoteway_devnet.command import demo, devnet

    return (check, demo, devnet)


@asynccontextmanager
async def _chains(context: Context) -> AsyncIterator[None]:
    if not _enabled(context):
        yield
        return
    import asyncio

    from quoteway_devnet.chains import Devnet
    from quoteway_devnet.relayer import Relayer

    ports = _ports(context)
    # The first worker runs the chains; the others wait for them.
    if context.settings["start"] and context.config.worker == 0:
        report = None if sys.stderr.isatty() else context.log.info
        async with (
            Devnet.start(ports, report) as devnet,
            Relayer.start(devnet, _relayer_port(context)),
        ):
            for slug, url in devnet.urls.items():
                context.log.info("%s runs at %s", slug, url)
            yield
    else:
        await asyncio.to_thread(Devnet.attach, ports, _ATTACH_TIMEOUT_S)
        yield


def _enabled(context: Context) -> bool:
    chosen: bool | None = context.settings["enabled"]
    return context.config.embedded if chosen is None else chosen


def _ports(context: Context) -> dict[str, int]:
    """Return slug -> port, the same for all hooks of this gateway."""
    ports: dict[str, int] | None = context.state.get("ports")
    if ports is None:
        from quoteway_devnet.anvil import free_port
        from quoteway_devnet.tables import DEVNET, DEVNET_L2

        ports = {DEVNET.slug: context.settings["port"], DEVNET_L2.slug: context.settings["l2_port"]}
        if 0 in (*ports.values(), context.settings["relayer_port"]):
            if context.config.server.workers > 1 or not context.settings["start"]:
                raise ConfigError(
                    "[plugin.devnet] port, l2_port, relayer_port: 0 (any free port) works with one worker "
                    "that starts the chains itself; name the ports"
                )
            ports = {slug: port or free_port() for slug, port in ports.items()}
        context.state["ports"] = ports
    return ports


def _relayer_port(context: Context) -> int:
    """Return the relayer's port, the same for all hooks of this gateway."""
    port: int | None = context.state.get("relayer_port")
    if port is None:
        from quoteway_devnet.anvil import free_port
        from quoteway_devnet.tables import DEVNET_L2

        chosen: int | None = context.settings["relayer_port"]
        port = _ports(context)[DEVNET_L2.slug] + 1 if chosen is None else chosen or free_port()
        context.state["relayer_port"] = port
    return port
