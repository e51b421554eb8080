"""Starts gateways with an installed plugin on a running devnet, and writes the level that it reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quoteway import ConfigError
from quoteway.testing.levels.running import Report
from quoteway.testing.levels.subject import OpenGateway

if TYPE_CHECKING:
    from quoteway.config.model import Config

COMPANIONS = ("devnet", "rpc", "router")
"""The plugins that a plugin is examined with, where they are installed: chains, JSON-RPC, and the router that
makes swaps of liquidity sources and executors."""


@dataclass(frozen=True, slots=True)
class Host:
    """An installed plugin to examine. ``config`` is the operator's: only the plugin's own section of it, the
    pinned call descriptions and the path of the levels file count."""

    plugin: str
    config: Config

    @classmethod
    def of(cls, plugin: str, config_path: Path | None) -> Host:
        """Raises ``ConfigError`` for a plugin that is not installed and a configuration that is not valid."""
        from importlib_metadata import entry_points

        from quoteway.config.loading import load_config
        from quoteway.hookspecs import ENTRY_POINT_GROUP

        installed = sorted({each.name for each in entry_points(group=ENTRY_POINT_GROUP)})
        if plugin not in installed:
            raise ConfigError(f"no plugin {plugin!r} is installed (installed: {', '.join(installed)})")
        return cls(plugin, load_config(config_path))

    def opener(self, ports: Mapping[str, int], relayer_port: int) -> OpenGateway:
        """Returns what starts a gateway with the plugin on the chains at ``ports``, by slug.

        The devnet's relayer answers at ``relayer_port``: bridges need it to quote.
        """
        from importlib_metadata import entry_points

        from quoteway.config.model import Config, PluginsConfig, QuotesConfig
        from quoteway.engine.gateway import Gateway
        from quoteway.hookspecs import ENTRY_POINT_GROUP

        installed = {each.name for each in entry_points(group=ENTRY_POINT_GROUP)}
        load = tuple(name for name in dict.fromkeys((*COMPANIONS, self.plugin)) if name in installed)
        devnet = {
            "enabled": True,
            "start": False,
            "port": ports["devnet"],
            "l2_port": ports["devnet-l2"],
            "relayer_port": relayer_port,
        }
        own = self.config.plugin_sections.get(self.plugin, {})
        config = Config(
            plugins=PluginsConfig(load=load),
            quotes=QuotesConfig(competition_timeout_s=30.0),  # a busy machine is slow, not wrong
            plugin_sections={self.plugin: own, "devnet": devnet},
            calls=self.config.calls,
        )
        return lambda: Gateway(config).running()

    def write_level(self, report: Report) -> Path:
        """Writes the level to the levels file of the configuration, for the server to show and require.

        Returns its path. A plugin that did not reach level 0 loses its row.
        """
        from quoteway.engine.gateway import Gateway
        from quoteway.host.plugin_levels import PluginLevels

        path = self.config.plugin_levels
        entry = next(each for each in Gateway(self.config).registry.plugins if each.name == self.plugin)
        path.write_text(PluginLevels.read(path).text_with(entry, report.level), encoding="utf-8")
        return path
