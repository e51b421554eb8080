"""The gateway that ``quoteway dev`` runs in a process of its own and starts again after each save."""

from __future__ import annotations

import importlib.util
import logging
import re
import socket
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from quoteway.errors import ConfigError
from quoteway.server.options import CONFIG_OPTION, configured

if TYPE_CHECKING:
    from types import ModuleType

    from quoteway.config.model import Config
    from quoteway.engine.gateway import Gateway

SHUTDOWN_TIMEOUT_S = 1.0
"""The time that requests under way get at a reload."""


def name_of(file: Path) -> str:
    """Returns the name of the plugin in a file: ``my_swaps`` of my_swaps.py. Raises ``ConfigError``."""
    if file.suffix != ".py" or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", file.stem):
        raise ConfigError(
            f"{file.name}: a plugin's file is named like a Python module, such as my_swaps.py: rename it"
        )
    return file.stem


def _module_of(file: Path) -> str:
    """Returns a name that no module of another package has."""
    return f"quoteway_dev_{file.stem}"


def load_file(file: Path) -> ModuleType:
    """Imports the plugin in a file. Raises what its code raises, ``OSError`` when it cannot be read."""
    spec = importlib.util.spec_from_file_location(_module_of(file), file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def prepare(file: Path | None, gateway: Gateway) -> None:
    """Adds the plugin of a file, and has every stall of the event loop logged."""
    from quoteway.host.states import PluginEntry

    gateway.watchdog.log_every_s = 0.0
    logging.getLogger("quoteway.host.watchdog").addFilter(partial(_is_news, file, gateway))
    if file is not None:
        loader = partial(load_file, file)
        entry = PluginEntry(name_of(file), file.name, "0", loader=loader, target=_module_of(file))
        gateway.registry.plugins.add_entry(entry)


def _is_news(file: Path | None, gateway: Gateway, record: logging.LogRecord) -> bool:
    """Leaves out how long other plugins block the start: it is no fault of the file's author."""
    plugin = record.args[0] if isinstance(record.args, tuple) and record.args else None
    return gateway.ready or file is None or plugin == name_of(file)


def for_development(config: Config, file: Path | None) -> Config:
    """Returns the configuration with every request logged as text, and the plugin of a file selected."""
    server = replace(
        config.server, access_log="all", log_format="console", shutdown_timeout_s=SHUTDOWN_TIMEOUT_S
    )
    load = config.plugins.load
    if file is not None and load != "all":
        load = (*load, name_of(file))
    return replace(config, server=server, plugins=replace(config.plugins, load=load))


@click.command()
@click.option("--listener", type=int, required=True, help="File descriptor of a listening socket.")
@click.option("--plugin", "file", type=click.Path(path_type=Path))
@CONFIG_OPTION
def main(listener: int, file: Path | None, config_path: Path | None) -> None:
    """Serve on a socket of the parent process until standard input ends."""
    from quoteway.server.announcement import announce
    from quoteway.server.serve import UNUSABLE_CONFIG, Serving, run
    from quoteway.telemetry.logs import configure_logging

    sys.dont_write_bytecode = True  # two saves in one second would have the bytecode of the first
    try:
        config = for_development(configured(config_path), file)
        configure_logging(config)
        run(config, Serving(announce, partial(prepare, file), socket.socket(fileno=listener)))
    except ConfigError as error:
        click.echo(f"quoteway: {error}", err=True)
        sys.exit(UNUSABLE_CONFIG)


if __name__ == "__main__":
    main()
