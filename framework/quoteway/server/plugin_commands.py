"""Runs the work of plugins' commands inside a gateway that serves nothing."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quoteway.context import Context
from quoteway.errors import ConfigError

if TYPE_CHECKING:
    from quoteway.config.model import Config


@dataclass(frozen=True, slots=True)
class PluginCommandRunner:
    """See ``quoteway.CommandRunner``. ``config_path`` is the file named in the command's options."""

    config_path: Path | None = None

    def run(
        self, plugin: str, work: Callable[[Context], Awaitable[None]], config_path: Path | None = None
    ) -> None:
        """See ``quoteway.CommandRunner``."""
        from quoteway.config.loading import load_config
        from quoteway.telemetry.logs import configure_logging

        config = load_config(config_path or self.config_path)
        configure_logging(config)
        try:
            import uvloop
        except ImportError:  # Windows
            asyncio.run(_run(config, plugin, work))
        else:
            uvloop.run(_run(config, plugin, work))


async def _run(config: Config, plugin: str, work: Callable[[Context], Awaitable[None]]) -> None:
    from quoteway.engine.gateway import Gateway

    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopped.set)
    async with Gateway(config).reading() as gateway:
        entry = next((each for each in gateway.registry.plugins if each.name == plugin), None)
        if entry is None or entry.context is None or entry.reason is not None:
            why = "it is not installed" if entry is None else entry.detail or str(entry.reason)
            raise ConfigError(f"plugin {plugin!r} cannot be used: {why}")
        working = asyncio.ensure_future(work(entry.context))
        ending = asyncio.create_task(stopped.wait())
        await asyncio.wait([working, ending], return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if not working.done():
            working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working
