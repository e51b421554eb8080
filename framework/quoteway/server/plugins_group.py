"""``quoteway plugins``: lists, explains, installs, removes and locks plugins."""

from __future__ import annotations

from pathlib import Path

import click

from quoteway.server.options import CONFIG_OPTION, configured, quiet


@click.group()
def plugins() -> None:
    """The installed plugins."""


@plugins.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@CONFIG_OPTION
@quiet()
def list_plugins(as_json: bool, config_path: Path | None) -> None:
    """List the installed plugins with their states and providers.

    The plugins are loaded and not started, so a plugin that works is "configured".
    """
    import orjson

    from quoteway.server.doctor import loaded
    from quoteway.server.plugin_report import rows, table

    found = rows(loaded(configured(config_path)))
    lines = [orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()] if as_json else table(found)
    click.echo("\n".join(lines))


@plugins.command()
@click.argument("name")
@CONFIG_OPTION
@quiet()
def info(name: str, config_path: Path | None) -> None:
    """Show metadata, hooks, providers, settings and lock state of a plugin."""
    from quoteway.server import plugin_report
    from quoteway.server.doctor import loaded

    gateway = loaded(configured(config_path))
    for plugin in plugin_report.named(gateway, name):
        click.echo("\n".join(plugin_report.info(gateway, plugin)))


@plugins.command()
@click.argument("name")
@CONFIG_OPTION
@quiet()
def why(name: str, config_path: Path | None) -> None:
    """Say why a plugin or provider is or is not enabled, and what to do."""
    from quoteway.server import plugin_report
    from quoteway.server.doctor import loaded

    click.echo("\n".join(plugin_report.why(loaded(configured(config_path)), name)))


@plugins.command()
@CONFIG_OPTION
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write ([plugins] lock, else quoteway.lock).",
)
def lock(config_path: Path | None, output: Path | None) -> None:
    """Write the lock file: the plugins that the configuration selects, as they are installed now."""
    from quoteway.engine.gateway import Gateway
    from quoteway.host.plugin_lock import lock_text

    config = configured(config_path)
    found = Gateway(config).registry.plugins  # found, not imported: nothing of them has run before
    entries = [plugin for plugin in found if plugin.reason is None and found.selects(plugin)]
    path = output or config.plugin_lock or Path("quoteway.lock")
    path.write_text(lock_text(entries), encoding="utf-8")
    click.echo(f"locked {', '.join(entry.name for entry in entries) or 'nothing'} in {path}")
