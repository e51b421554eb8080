"""The index of a deployment: whether there is one, of which networks, and its reader in a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from quoteway import Context, Network

from quoteway_indexer.embedded import child_running, settings_of
from quoteway_indexer.store import Reader


def enabled(context: Context) -> bool:
    """Returns whether this deployment has an index."""
    chosen: bool | None = context.settings["enabled"]
    return context.config.embedded if chosen is None else chosen


def networks_of(context: Context) -> list[Network]:
    """Returns the networks to index. Raises ``ConfigError`` for an unknown one."""
    chosen: Sequence[str] | None = context.settings["networks"]
    if chosen is None:
        return list(context.networks)
    return [context.networks.configured(name, "[plugin.indexer] networks") for name in chosen]


def reader_of(context: Context) -> Reader:
    """Returns the reader of the index, one for all hooks of a gateway."""
    from quoteway_indexer.stores import open_reader

    if "reader" not in context.state:
        context.state["reader"] = open_reader(settings_of(context))
    reader: Reader = context.state["reader"]
    return reader


@asynccontextmanager
async def running(context: Context) -> AsyncIterator[None]:
    """Is the lifespan of the plugin in a server."""
    async with child_running(context):
        try:
            yield
        finally:
            reader: Reader | None = context.state.pop("reader", None)
            if reader is not None:
                await reader.close()
