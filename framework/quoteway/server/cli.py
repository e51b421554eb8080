"""The ``quoteway`` command. Commands import what they need when they run: ``--help`` stays quick."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quoteway.config.run_folder import note_failure
from quoteway.errors import ConfigError
from quoteway.server.client_commands import client_command, client_commands
from quoteway.server.deployment_commands import config, doctor
from quoteway.server.describe_command import describe
from quoteway.server.key_commands import keys
from quoteway.server.new_plugin import KINDS, write_plugin
from quoteway.server.options import CONFIG_OPTION, configured, quiet
from quoteway.server.plugin_commands import PluginCommandRunner
from quoteway.server.plugins_group import plugins
from quoteway.server.policy_commands import policy
from quoteway.server.replay_commands import capture, replay, trace
from quoteway.server.verify_action_command import verify_action

if TYPE_CHECKING:
    from quoteway.host.states import PluginEntry


class PluginCommands(click.Group):
    """The core's commands; those of clients and plugins when a name is not one of the core's."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        plugins = (command.name or "" for command in _plugin_commands(_runner(ctx).config_path))
        return sorted({*super().list_commands(ctx), *client_commands(), *plugins})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Also finds the configuration file in the options of the command: it says which plugins may run."""
        for word, following in zip(args, [*args[1:], ""], strict=True):
            if word == "--config" or word.startswith("--config="):
                ctx.obj = PluginCommandRunner(Path(word.partition("=")[2] or following))
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name) or client_command(cmd_name)
        return own or next(
            (each for each in _plugin_commands(_runner(ctx).config_path) if each.name == cmd_name), None
        )

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            click.echo(f"quoteway: {error}", err=True)
            note_failure(error)
            ctx.exit(2)


def _runner(ctx: click.Context) -> PluginCommandRunner:
    """Returns the object of the commands' click contexts."""
    if ctx.obj is None:
        ctx.obj = PluginCommandRunner()
    runner: PluginCommandRunner = ctx.obj
    return runner


def _plugin_commands(config_path: Path | None) -> Iterator[click.Command]:
    """Commands of the plugins that the configuration lets this process import.

    A plugin that is broken, or not as it is locked, costs its own commands, with one line saying so.
    """
    from quoteway.config.loading import load_selection
    from quoteway.host.plugins import MOST_ITEMS, Plugins
    from quoteway.host.runtime import Runtime
    from quoteway.host.states import PLUGIN_ERRORS, NotEnabled, told

    try:
        plugins = Plugins(Runtime(load_selection(config_path)))
        plugins.discover()
        isolated = plugins.admit()
    except ConfigError as error:
        click.echo(f"quoteway: commands of plugins are missing: {error}", err=True)
        return
    for entry in plugins:
        if entry.reason is NotEnabled.NOT_SELECTED or entry.name in isolated:
            continue
        why, commands = entry.detail, []
        try:
            if entry.reason is None:
                hook = getattr(entry.loader(), "quoteway_commands", None)
                commands = list(islice(hook(), MOST_ITEMS)) if hook is not None else []
        except PLUGIN_ERRORS as error:
            why = told(error)
        if why is not None:
            click.echo(f"quoteway: commands of plugin {entry.name!r} are missing: {why}", err=True)
        yield from (command for command in commands if isinstance(command, click.Command) and command.name)


@click.group(cls=PluginCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="quoteway", prog_name="quoteway")
def main() -> None:
    """Quoteway: quotes in, unsigned transactions out."""


main.add_command(plugins)


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
    from quoteway.server.announcement import announce
    from quoteway.server.serve import Serving, is_worker, run
    from quoteway.server.supervisor import Supervisor
    from quoteway.telemetry.logs import configure_logging

    load = partial(configured, config_path, host=host, port=port, workers=workers, no_devnet=no_devnet)
    settings = load()
    configure_logging(settings)
    if settings.server.workers > 1 and not is_worker():
        # Workers get the port and their number through the environment.
        options = ["--config", str(config_path)] if config_path is not None else []
        options += ["--host", host] if host is not None else []
        options += ["--no-devnet"] if no_devnet else []
        command = [sys.executable, "-m", "quoteway", "serve", *options]
        sys.exit(Supervisor(settings, command, os.environ, load).run())
    run(settings, Serving(announce=announce if settings.worker == 0 else None))


@main.command()
@click.option(
    "--plugin",
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, resolve_path=True),
    help="A plugin in one Python file, without packaging.",
)
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on (8080); 0 for any free one.")
@CONFIG_OPTION
def dev(file: Path | None, port: int | None, config_path: Path | None) -> None:
    """Serve a plugin that you write over the devnet, again after each save.

    Without --plugin the sources of plugins in editable installations are watched. The devnet keeps its state.
    Every request is logged, and every time that a plugin blocks the server.
    """
    from quoteway.server.dev import run

    run(configured(config_path, port=port), file)


@main.command()
@CONFIG_OPTION
@quiet()
def providers(config_path: Path | None) -> None:
    """Plugins and providers of this installation, with the reason where one is not enabled."""
    from quoteway.host.states import networks_of
    from quoteway.server.doctor import loaded

    gateway = loaded(configured(config_path))
    rows = [("PROVIDER", "CAPABILITY", "NETWORKS", "PLUGIN", "STATE", "REASON")]
    for entry in gateway.registry.providers:
        networks = ",".join(map(str, sorted(networks_of(entry.provider)))) or "-"
        what = entry.provider.id, entry.provider.capability.value, networks
        rows.append((*what, *_status(entry.plugin, entry.not_enabled)))
    with_providers = {id(entry.plugin) for entry in gateway.registry.providers}
    others = (plugin for plugin in gateway.registry.plugins if id(plugin) not in with_providers)
    rows += [("-", "-", "-", *_status(plugin, plugin.reason)) for plugin in others]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(map(str.ljust, row, widths)).rstrip())


@main.command()
@click.argument("kind", type=click.Choice([*KINDS]))
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Folder to make the plugin's folder in (the current one).",
)
def new(kind: str, name: str, into: Path) -> None:
    """Write a new plugin: a working provider of KIND with tests, configuration and CI workflows.

    NAME is the plugin's: its folder and distribution are quoteway-NAME.
    """
    folder = write_plugin(kind, name, into)
    lines = [
        f"Wrote {folder}: {KINDS[kind].summary[0].lower()}{KINDS[kind].summary[1:]}.",
        "",
        "Next:",
        f"  cd {shlex.quote(str(folder))}",
        "  python -m pip install -e '.[test]'",
        "  python -m pytest",
        "",
        "README.md says how to run and publish it.",
    ]
    click.echo("\n".join(lines))


@main.command()
@click.argument("plugin")
@CONFIG_OPTION
@quiet()
def calls(plugin: str, config_path: Path | None) -> None:
    """What a plugin says that the calls of its contracts mean, and the digest to pin."""
    from quoteway.evm.calls.registry import digest_of
    from quoteway.server.doctor import loaded

    gateway = loaded(configured(config_path))
    described = gateway.described.get(plugin, ())
    if not described:
        raise click.ClickException(f"plugin {plugin!r} describes no calls")
    for contract in described:
        click.echo(contract.name)
        for place in contract.deployments:
            click.echo(f"  on chain {place.chain_id} at {place.address}")
        for call in contract.calls:
            click.echo(f"  {call.action}: {call.declaration}")
            for role in (*call.spends, *call.pays):
                click.echo(f"    {role}")
    digest = digest_of(described)
    pinned = digest in gateway.config.calls.pinned
    click.echo(f"{digest} is {'pinned' if pinned else 'not pinned: add it to [calls] pinned to trust it'}")


def _status(plugin: PluginEntry, reason: str | None) -> tuple[str, str, str]:
    return f"{plugin.name} {plugin.version}", plugin.state.value, reason or "-"


@main.command()
def openapi() -> None:
    """Print the OpenAPI 3.1 document."""
    from quoteway.web.app import openapi_document

    click.echo(openapi_document().decode())


@main.command("verify-quote")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--rpc", "rpc_url", help="A node that has the state of the quote's block (the configured one).")
@CONFIG_OPTION
@quiet()
def verify_quote(file: Path, rpc_url: str | None, config_path: Path | None) -> None:
    """Check the certificate of a saved swap quote against the chain.

    FILE is the answer to a quote that was requested with "certificate": "full". Exit 0: everything holds. 1:
    something does not. 2: it could not be checked.
    """
    import asyncio

    from quoteway.server.verify_quote import CannotVerify, verify

    try:
        found = asyncio.run(verify(configured(config_path), file, rpc_url))
    except CannotVerify as error:
        click.echo(f"quoteway: {error}", err=True)
        sys.exit(2)
    for check in found.checks:
        click.echo(f"{'ok' if check.holds else 'WRONG':<5} {check.subject}: {check.text}")
    if found.holds:
        click.echo(f"verified: {found.claim}")
        click.echo("not checked: netGapBps and arbitrage, which the certificate does not prove")
    sys.exit(0 if found.holds else 1)


main.add_command(verify_action)
main.add_command(describe)
main.add_command(capture)
main.add_command(replay)
main.add_command(trace)
main.add_command(config)
main.add_command(doctor)
main.add_command(keys)
main.add_command(policy)
