"""The ``quoteway`` command. Commands import what they need when they run: ``--help`` stays quick."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quoteway.errors import ConfigError

if TYPE_CHECKING:
    from quoteway.config.model import Config
    from quoteway.engine.gateway import Gateway
    from quoteway.host.states import PluginEntry

CONFIG_OPTION = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Configuration file (TOML).",
)


class PluginCommands(click.Group):
    """The core's commands, and those of plugins when a name is not one of the core's."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *(command.name or "" for command in _plugin_commands())})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        return own or next((command for command in _plugin_commands() if command.name == cmd_name), None)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            click.echo(f"quoteway: {error}", err=True)
            ctx.exit(2)


def _plugin_commands() -> Iterator[click.Command]:
    """Commands of installed plugins. A broken plugin costs its own commands, with one line saying so."""
    from importlib_metadata import entry_points

    from quoteway.hookspecs import ENTRY_POINT_GROUP

    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            hook = getattr(entry_point.load(), "quoteway_commands", None)
            commands = list(hook()) if hook is not None else []
        except (Exception, SystemExit) as error:
            click.echo(f"quoteway: commands of plugin {entry_point.name!r} are missing: {error!r}", err=True)
            continue
        yield from (command for command in commands if isinstance(command, click.Command) and command.name)


@click.group(cls=PluginCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="quoteway", prog_name="quoteway")
def main() -> None:
    """Quoteway: quotes in, unsigned transactions out."""


@main.command()
@CONFIG_OPTION
@click.option("--host", help="Address to listen on (127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on (8080); 0 for any free one.")
@click.option("--workers", type=click.IntRange(1, 256), help="Processes that share the port (1).")
@click.option("--no-devnet", is_flag=True, help="Do not start the embedded devnet.")
def serve(
    config_path: Path | None, host: str | None, port: int | None, workers: int | None, no_devnet: bool
) -> None:
    """Serve the API."""
    from quoteway.server.serve import Supervisor, is_worker, run
    from quoteway.telemetry.logs import configure_logging

    config = _config(config_path, host=host, port=port, workers=workers, no_devnet=no_devnet)
    configure_logging(config)
    if config.server.workers > 1 and not is_worker():
        # Workers get the port and their number through the environment.
        options = ["--config", str(config_path)] if config_path is not None else []
        options += ["--host", host] if host is not None else []
        options += ["--no-devnet"] if no_devnet else []
        command = [sys.executable, "-m", "quoteway", "serve", *options]
        sys.exit(Supervisor(config, command, os.environ).run())
    run(config, announce=_announce if config.worker == 0 else None)


def _config(path: Path | None, *, no_devnet: bool = False, **server: str | int | None) -> Config:
    from importlib_metadata import entry_points

    from quoteway.config.loading import load_config
    from quoteway.hookspecs import ENTRY_POINT_GROUP

    config = load_config(path, server={name: value for name, value in server.items() if value is not None})
    # A section for a plugin that is not installed is an error.
    if no_devnet and entry_points(group=ENTRY_POINT_GROUP, name="devnet"):
        devnet = {**config.plugin_sections.get("devnet", {}), "enabled": False}
        return replace(config, plugin_sections={**config.plugin_sections, "devnet": devnet})
    return config


def _announce(gateway: Gateway, url: str) -> None:
    """Prints what is served, once the providers are up."""
    registry = gateway.registry
    enabled = sorted({entry.provider.id for entry in registry.providers if entry.enabled})
    networks = [network.slug for network in gateway.runtime.networks]
    lines = [
        "",
        f"  Quoteway is serving on {url}",
        f"    networks   {', '.join(networks) or 'none (give one an RPC URL in quoteway.toml)'}",
        f"    providers  {', '.join(enabled) or 'none'}",
    ]
    for plugin in registry.plugins:
        if plugin.reason not in (None, "not_selected"):
            detail = (plugin.detail or "no detail").splitlines()[0][:160]
            lines.append(f"    not up     {plugin.name}: {plugin.reason} ({detail})")
    lines += ["", "  Try:", f"    curl -s {url}/v2/providers", f"    curl -s '{url}/v2/tokens?limit=5'", ""]
    click.echo("\n".join(lines), err=True)


@main.command()
@CONFIG_OPTION
def providers(config_path: Path | None) -> None:
    """Plugins and providers of this installation, with the reason where one is not enabled."""
    from quoteway.host.states import networks_of
    from quoteway.server.doctor import loaded

    gateway = loaded(_config(config_path))
    rows = [("PROVIDER", "CAPABILITY", "NETWORKS", "PLUGIN", "STATE", "REASON")]
    for entry in gateway.registry.providers:
        networks = ",".join(map(str, sorted(networks_of(entry.provider)))) or "-"
        what = entry.provider.id, entry.provider.capability.value, networks
        rows.append((*what, *_status(entry.plugin, entry.not_enabled)))
    with_providers = {entry.plugin.name for entry in gateway.registry.providers}
    others = (plugin for plugin in gateway.registry.plugins if plugin.name not in with_providers)
    rows += [("-", "-", "-", *_status(plugin, plugin.reason)) for plugin in others]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(map(str.ljust, row, widths)).rstrip())


def _status(plugin: PluginEntry, reason: str | None) -> tuple[str, str, str]:
    return f"{plugin.name} {plugin.version}", plugin.state.value, reason or "-"


@main.command("config")
@CONFIG_OPTION
def show_config(config_path: Path | None) -> None:
    """The configuration in force, secrets hidden."""
    import orjson

    from quoteway.config.loading import redacted

    click.echo(orjson.dumps(redacted(_config(config_path)), option=orjson.OPT_INDENT_2, default=str).decode())


@main.command()
def openapi() -> None:
    """Print the OpenAPI 3.1 document."""
    from quoteway.web.app import openapi_document

    click.echo(openapi_document().decode())


@main.command()
@CONFIG_OPTION
def doctor(config_path: Path | None) -> None:
    """Check what a deployment needs; exit 1 when something is wrong."""
    import asyncio

    from quoteway.server.doctor import examine

    click.echo(f"python {platform.python_version()} on {platform.platform()}")
    sound = True
    for finding in asyncio.run(examine(config_path)):
        sound = sound and finding.mark != "fail"
        click.echo(f"{finding.mark:<5} {finding.subject}: {finding.text}")
    sys.exit(0 if sound else 1)
