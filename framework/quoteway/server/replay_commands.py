"""The commands ``quoteway capture``, ``quoteway replay`` and ``quoteway trace``."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

from quoteway.errors import ConfigError
from quoteway.server.options import quiet

if TYPE_CHECKING:
    from quoteway.server.operator_client import Operator

MOST_SHOWN = 40
"""How many differences and missing reads are printed."""


_url = click.option("--url", default="http://127.0.0.1:8080", show_default=True, help="The running server.")
_config = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Configuration file (TOML), for [server] capture_key.",
)


@click.command()
@click.argument("request_id")
@_url
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write (bundle-REQUEST_ID.json).",
)
@_config
@click.option("--as-it-is", is_flag=True, help="Do not run it to add the reads that it lacks.")
@quiet()
def capture(request_id: str, url: str, output: Path | None, config_path: Path | None, as_it_is: bool) -> None:
    """Write what a request was answered from into a bundle, which "quoteway replay" runs again.

    REQUEST_ID is the X-Request-ID of its answer. The server keeps the newest requests when [server] capture
    is set. Runs the bundle once and asks the server for the reads that it lacks, at the block of the request.
    Exit 0: written. 2: it could not be had.
    """
    path = output or Path(f"bundle-{re.sub(r'[^A-Za-z0-9_.-]', '_', request_id)}.json")
    try:
        bundle, outcome = asyncio.run(_captured(_operator(url, config_path), request_id, as_it_is))
        # Recordings tell what a caller asked: other users of the machine are not to read them.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(bundle)
    except (ConfigError, OSError) as error:
        click.echo(f"quoteway: {error}", err=True)
        sys.exit(2)
    click.echo(f"wrote {path} ({len(bundle):,} bytes): {outcome}")
    click.echo(f"run it with `quoteway replay {path}`, look at it with `quoteway trace {path}`")


def _operator(url: str, config_path: Path | None) -> Operator:
    from quoteway.config.loading import load_config
    from quoteway.server.operator_client import Operator

    key = load_config(config_path).server.capture_key
    return Operator(url, None if key is None else key.reveal())


async def _captured(operator: Operator, request_id: str, as_it_is: bool) -> tuple[bytes, str]:
    """Returns the text of a bundle and what a replay of it came to."""
    from quoteway.engine.bundles import BundleError, parse_bundle
    from quoteway.server.replay import completed

    text = await operator.capture(request_id)
    if as_it_is:
        return text, "as it was recorded"
    try:
        bundle, found = await completed(parse_bundle(text, operator.url), operator.read)
    except BundleError as error:
        return text, f"as it was recorded, because it cannot be run here: {error}"
    if found.added:
        text = orjson.dumps(bundle.content)
    how = "has the same answer" if not found.differences else f"differs in {len(found.differences)} members"
    return text, f"{len(found.added)} reads added; a replay {how}"


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False))
@quiet()
def replay(bundle: Path) -> None:
    """Run the request of a bundle again, without any network, and compare the answers.

    BUNDLE is a file of "quoteway capture". Exit 0: the answers are the same. 1: they differ. 2: it could not
    be run.
    """
    from quoteway.engine.bundles import BundleError, read_bundle
    from quoteway.server.replay import replay as run

    try:
        found = asyncio.run(run(read_bundle(bundle)))
    except (BundleError, ConfigError) as error:
        click.echo(f"quoteway: {error}", err=True)
        sys.exit(2)
    for note in found.notes:
        click.echo(f"note: {note}")
    if not found.differences:
        click.echo(f"same: status {found.status}")
        return
    for difference in found.differences[:MOST_SHOWN]:
        click.echo(f"differs: {difference}")
    for read in found.missing[:MOST_SHOWN]:
        click.echo(f"not recorded: {read}")
    sys.exit(1)


@click.command()
@click.argument("recording")
@_url
@_config
@click.option("--json", "as_json", is_flag=True, help="Print the tree and the answer as JSON.")
@quiet()
def trace(recording: str, url: str, config_path: Path | None, as_json: bool) -> None:
    """Show whom a recorded request asked, when and for how long, and what its transactions do.

    RECORDING is a file of "quoteway capture", or the X-Request-ID of a request that the server still keeps.
    Exit 0: shown. 2: it could not be had.
    """
    from quoteway.engine.bundles import BundleError, parse_bundle, read_bundle
    from quoteway.server.trace import document_of, lines_of

    try:
        path = Path(recording)
        if path.suffix == ".json" or path.is_file():
            bundle = read_bundle(path)
        else:
            bundle = parse_bundle(asyncio.run(_operator(url, config_path).capture(recording)), url)
    except (BundleError, ConfigError, OSError) as error:
        click.echo(f"quoteway: {error}", err=True)
        sys.exit(2)
    if as_json:
        click.echo(document_of(bundle), nl=False)
        return
    for line in lines_of(bundle):
        click.echo(line)
