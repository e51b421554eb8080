"""The parts of a deployment's configuration that plugins may read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol


class QuoteSettings(Protocol):
    """The settings of ``[quotes]`` that plugins may read."""

    @property
    def action_deadline_s(self) -> int:
        """Returns how long the transactions of an action stay executable, in seconds."""


class ServerSettings(Protocol):
    """The settings of ``[server]`` that plugins may read."""

    @property
    def workers(self) -> int:
        """Returns the number of worker processes."""


class Deployment(Protocol):
    """The parts of the deployment's configuration that plugins may read."""

    @property
    def quotes(self) -> QuoteSettings:
        """Returns the settings of ``[quotes]``."""

    @property
    def server(self) -> ServerSettings:
        """Returns the settings of ``[server]``."""

    @property
    def providers(self) -> Mapping[str, ProviderSettings]:
        """Returns the settings of ``[providers.<id>]`` by the provider's id."""

    @property
    def embedded(self) -> bool:
        """Returns whether nothing is configured. The devnet runs in that case."""

    @property
    def path(self) -> Path | None:
        """Returns the path of the configuration file, or None without one."""

    @property
    def worker(self) -> int:
        """Returns the index of this process among the workers."""


class ProviderSettings(Protocol):
    """The settings of ``[providers.<id>]`` that plugins may read."""

    @property
    def opaque(self) -> Literal["refused", "simulated"]:
        """Returns what becomes of a swap whose calldata the core cannot read."""
