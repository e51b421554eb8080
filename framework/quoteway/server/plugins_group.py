"""``quoteway plugins``: lists, explains, installs, removes and locks plugins."""

from __future__ import annotations

import subprocess
import sys
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


@plugins.command("install")
@click.argument("spec")
@click.option("--upgrade", is_flag=True, help="Take a newer version than the installed one.")
@CONFIG_OPTION
def install_plugin(spec: str, upgrade: bool, config_path: Path | None) -> None:
    """Install a plugin beside the core, load it as the server would, and say its state.

    SPEC is the name of a distribution, also with versions (quoteway-lifi==0.1.0), a wheel file, or a folder
    with a pyproject.toml. uv installs it when it is on PATH, else pip. The core keeps its version.
    """
    from quoteway.server import plugin_install

    config = configured(config_path)
    what = plugin_install.wanted(spec)
    plugin_install.install(what, upgrade=upgrade)
    names = plugin_install.plugins_of(what.name)
    if not names:
        raise click.ClickException(
            f"{what.name} is installed and is no plugin: it has no entry point for Quoteway. Remove it with "
            f"`uv pip uninstall {what.name}` or `pip uninstall {what.name}`"
        )
    options = ["--config", str(config_path)] if config_path is not None else []
    for name in names:
        # A new process: this one may have imported another version.
        told = [sys.executable, "-P", "-m", "quoteway", "plugins", "info", *options, "--", name]
        subprocess.run(told, check=False)  # noqa: S603 - our own interpreter
        click.echo("To use it:")
        for text in plugin_install.to_configure(config, name):
            click.echo(f"  - {text}")


@plugins.command("uninstall")
@click.argument("name")
@CONFIG_OPTION
def uninstall_plugin(name: str, config_path: Path | None) -> None:
    """Remove the distribution of a plugin, and say what the configuration still has of it.

    NAME is the name of the plugin or of its distribution. Other packages are not removed.
    """
    from quoteway.errors import ConfigError
    from quoteway.server import plugin_install

    plugin = plugin_install.removable(name)
    names = plugin_install.plugins_of(plugin.distribution)
    try:  # before it is removed: a section of a plugin that is not installed is no error here
        config = configured(config_path)
        left = [text for each in names for text in plugin_install.remains(config, each)]
    except ConfigError as error:
        left = [f"not known, since the configuration cannot be read: {error}"]
    plugin_install.uninstall(plugin.distribution)
    click.echo(f"removed {plugin.distribution} {plugin.version} (plugin {', '.join(names)})")
    if left:
        click.echo("The configuration still has:")
    for text in left:
        click.echo(f"  - {text}")


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
