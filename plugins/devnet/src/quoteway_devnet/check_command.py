"""``quoteway check`` runs the levels on an installed plugin, on a devnet of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from quoteway.testing.levels import Report, Result
    from rich.progress import Progress

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("plugin")
@click.option(
    "--level", type=click.IntRange(0, 3), default=3, show_default=True, help="Highest level to run."
)
@click.option(
    "--executions",
    type=click.IntRange(1, 1_000_000),
    default=1_000,
    show_default=True,
    help="Random executions of level 3.",
)
@click.option(
    "--setup",
    type=_FILE,
    help="Python program to run on the new chains first, to deploy contracts. Its arguments are their ports.",
)
@click.option("--json", "json_file", type=_FILE, help="Write the report as JSON.")
@click.option("--html", "html_file", type=_FILE, help="Write the report as a page.")
@click.option("--badge", "badge_file", type=_FILE, help="Write the level as an SVG image.")
@click.option(
    "--config",
    "config_path",
    type=_FILE,
    help="Configuration file with the plugin's section (quoteway.toml, if it exists).",
)
def check(
    plugin: str,
    level: int,
    executions: int,
    setup: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    badge_file: Path | None,
    config_path: Path | None,
) -> None:
    """Check PLUGIN (its entry-point name) and write its level to [plugins] levels.

    Starts a devnet and runs the levels in order, up to the first with a finding or without a check that
    concerns the plugin: neither counts. Exit 0: nothing was found. 1: something was. 2: nothing was checked.
    """
    from quoteway import ConfigError

    from quoteway_devnet.errors import DevnetError

    try:
        from quoteway.testing.levels import badge_of, html_of, json_of

        report, levels_file = _examined(plugin, level, executions, setup, config_path)
        for file, text_of in ((json_file, json_of), (html_file, html_of), (badge_file, badge_of)):
            if file is not None:
                file.write_text(text_of(report), encoding="utf-8")
    except ImportError as error:
        if error.name not in ("pytest", "_pytest"):
            raise
        _refuse("the suites need pytest: install quoteway[testing]")
    except (ConfigError, DevnetError, OSError) as error:
        _refuse(str(error))
    times = ", ".join(f"level {number} {took_s:.1f} s" for number, took_s in report.level_s.items())
    click.echo(f"time: {times or 'none: it did not load'}")
    reached = "no level" if report.level is None else f"level {report.level}"
    click.echo(f"{plugin} {report.version}: {reached}, written to {levels_file}")
    if not report.findings and report.level is not None and report.level < level:
        click.echo(f"no check of level {report.level + 1} concerns this plugin")
    sys.exit(1 if report.findings else 0)


def _refuse(text: str) -> None:
    click.echo(f"quoteway: {text}", err=True)
    sys.exit(2)


def _examined(
    plugin: str, level: int, executions: int, setup: Path | None, config_path: Path | None
) -> tuple[Report, Path]:
    import asyncio

    from quoteway.testing.levels import CHECKS, Examination
    from quoteway.testing.levels.hosting import Host

    from quoteway_devnet.chains import Devnet
    from quoteway_devnet.relayer import Relayer

    host = Host.of(plugin, config_path)
    with Devnet.running() as devnet, Relayer.running(devnet) as relayer, _progress() as progress:
        if setup is not None:
            set_up(setup, devnet.ports)
        examination = Examination(
            devnet,
            host.opener(devnet.ports, relayer.port),
            plugin,
            CHECKS,
            executions,
            progress.told,
            progress.begin,
        )
        report = asyncio.run(examination.report(level))
        return report, host.write_level(report)


def set_up(program: Path, ports: Mapping[str, int]) -> None:
    """Run a program that deploys contracts on the chains at ``ports``. Raises ConfigError when it fails."""
    import subprocess

    from quoteway import ConfigError

    command = [sys.executable, str(program), str(ports["devnet"]), str(ports["devnet-l2"])]
    status = subprocess.run(command, check=False).returncode  # noqa: S603 - what the user named
    if status:
        raise ConfigError(f"--setup: {program} ended with status {status}: its messages are above")


class _Lines:
    """Prints a line for each level and each finding."""

    def begin(self, level: int, planned: int) -> None:
        click.echo(f"level {level}: {planned} checks")

    def told(self, result: Result) -> None:
        finding = result.finding
        if finding is not None:
            who = f"{finding.capability} {finding.provider} " if finding.provider else ""
            click.echo(f"FAILED {finding.check}: {who}{finding.text}\n       {finding.remedy}")


class _Bar(_Lines):
    """Shows a bar for each level, on a terminal."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=None)

    def begin(self, level: int, planned: int) -> None:
        self._bar.reset(self._task, total=planned, description=f"level {level}")

    def told(self, result: Result) -> None:
        self._bar.advance(self._task)
        self._bar.update(self._task, description=f"level {result.level}: {result.check}")
        super().told(result)


@contextmanager
def _progress() -> Iterator[_Lines]:
    """Shows progress; only findings are told, so the log is silent."""
    import logging

    log = logging.getLogger("quoteway")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        if not sys.stdout.isatty():
            yield _Lines()
            return
        from rich.progress import Progress

        with Progress() as bar:
            yield _Bar(bar)
    finally:
        log.setLevel(level)
