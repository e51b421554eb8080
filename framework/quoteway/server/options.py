"""What commands of ``quoteway`` share: the option ``--config``, the configuration, a silent log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from quoteway.config.model import Config

CONFIG_OPTION = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Configuration file (TOML).",
)


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps the log out of what a command prints: it tells its own findings."""
    import logging

    log = logging.getLogger("quoteway")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def configured(path: Path | None, *, no_devnet: bool = False, **server: str | int | None) -> Config:
    """Returns the configuration; ``server`` overrides members of ``[server]`` that are not None."""
    from importlib_metadata import entry_points

    from quoteway.config.loading import load_config
    from quoteway.hookspecs import ENTRY_POINT_GROUP

    config = load_config(path, server={name: value for name, value in server.items() if value is not None})
    # A section for a plugin that is not installed is an error.
    if no_devnet and entry_points(group=ENTRY_POINT_GROUP, name="devnet"):
        devnet = {**config.plugin_sections.get("devnet", {}), "enabled": False}
        return replace(config, plugin_sections={**config.plugin_sections, "devnet": devnet})
    return config
