"""The commands ``quoteway capture`` and ``quoteway replay``."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from urllib.parse import quote

import click

from quoteway.errors import ConfigError
from quoteway.server.options import quiet

TIMEOUT_S = 60.0
MOST_SHOWN = 40
"""How many differences and missing reads are printed."""


@click.command()
@click.argument("request_id")
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, help="The running server.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write (bundle-REQUEST_ID.json).",
)
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Configuration file (TOML), for [server] capture_key.",
)
def capture(request_id: str, url: str, output: Path | None, config_path: Path | None) -> None:
    """Write what a request was answered from into a bundle, which "quoteway replay" runs again.

    REQUEST_ID is the X-Request-ID of its answer. The server keeps the newest requests when [server] capture
    is set. Exit 0: written. 2: it could not be had.
    """
    from quoteway.config.loading import load_config

    path = output or Path(f"bundle-{re.sub(r'[^A-Za-z0-9_.-]', '_', request_id)}.json")
    try:
        key = load_config(config_path).server.capture_key
        bundle = asyncio.run(_fetch(url, request_id, None if key is None else key.reveal()))
        # Recordings tell what a caller asked: other users of the machine are not to read them.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(bundle)
    except (ConfigError, OSError) as error:
        click.echo(f"quoteway: {error}", err=True)
        sys.exit(2)
    click.echo(f"wrote {path} ({len(bundle):,} bytes): run it with `quoteway replay {path}`")


async def _fetch(url: str, request_id: str, key: str | None) -> bytes:
    """Returns the bundle of a request. Raises ``ConfigError`` with what to do."""
    import aiohttp

    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    place = f"{url.rstrip('/')}/operator/captures/{quote(request_id, safe='')}"
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(place, headers=headers, allow_redirects=False) as response,
        ):
            body = await response.read()
            status, kind = response.status, response.content_type
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise ConfigError(
            f"{url} does not answer ({type(error).__name__}): start it, or give --url"
        ) from None
    if status == 200 and kind == "application/json":
        return body
    if status == 401:
        raise ConfigError(
            f"{url} refuses the key: set [server] capture_key as the server has it, or --config"
        )
    if status == 404:
        raise ConfigError(
            f"{url} has no recording of request {request_id!r}: check the id, and set [server] capture to "
            "how many requests it is to keep"
        )
    raise ConfigError(f"{url} answered {status}: it is no Quoteway server that keeps recordings")


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
