"""What commands of plugins use to run their work, see ``quoteway_commands``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from quoteway.context import Context


class CommandRunner(Protocol):
    """Runs the work of a plugin's command. It is the object of the command's click context."""

    def run(
        self, plugin: str, work: Callable[[Context], Awaitable[None]], config_path: Path | None = None
    ) -> None:
        """Runs ``await work(context)`` with the plugin's context, while the RPC upstreams run.

        Nothing is served, and of the other plugins no lifespan is entered. SIGTERM and SIGINT cancel the
        work. Raises ``ConfigError`` when the configuration or the plugin cannot be used.
        """
