"""The commands ``quoteway keys new`` and ``quoteway keys list``."""

from __future__ import annotations

import datetime
import secrets
from pathlib import Path

import click
from marshmallow import ValidationError

from quoteway.errors import ConfigError
from quoteway.server.options import CONFIG_OPTION, quiet

PREFIX = "qw_"
"""How every key begins, so that programs that look for leaked secrets can find it."""


@click.group()
def keys() -> None:
    """Make API keys of a deployment, and list them."""


@keys.command()
@click.argument("name")
@click.option("--tier", help="Name of its limits in [limits.tiers].")
@click.option("--days", type=click.IntRange(1, 3_650), help="Days until it expires; without: it does not.")
@quiet()
def new(name: str, tier: str | None, days: int | None) -> None:
    """Make the API key NAME, such as "wallet".

    Prints the key on stdout, once: give it to its holder. The table for quoteway.toml is printed on stderr.
    It has the digest of the key, from which nobody can find the key. Nothing is written.
    """
    from quoteway.config.fields import load_section
    from quoteway.config.keys import NamedKey
    from quoteway.config.loading import sentences
    from quoteway.web.http.api_keys import digest_of

    key = PREFIX + secrets.token_urlsafe(32)
    table = {"name": name, "sha256": digest_of(key).hex()}
    if tier is not None:
        table["tier"] = tier
    try:
        load_section(NamedKey, table)
    except ValidationError as error:
        raise click.UsageError("; ".join(sentences("", error.messages))) from None
    lines = ["[[auth.keys]]", *(f'{member} = "{value}"' for member, value in table.items())]
    if days is not None:
        ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
        lines.append(f"expires = {ends:%Y-%m-%dT%H:%M:%SZ}")
    click.echo(key)
    told = "\nThis key is not shown again. Add to quoteway.toml, and reload the server (SIGHUP):\n"
    click.echo("\n".join((told, *lines)), err=True)


@keys.command("list")
@CONFIG_OPTION
@quiet()
def list_keys(config_path: Path | None) -> None:
    """List the API keys of a configuration: name, tier, and until when each is valid.

    Exit 0: all are valid. 1: one has expired. 2: the configuration is wrong.
    """
    from quoteway.config.keys import NamedKey
    from quoteway.config.loading import load_config

    try:
        config = load_config(config_path)
    except ConfigError as error:
        raise click.UsageError(str(error)) from None
    now, expired = datetime.datetime.now(datetime.UTC), False
    for index, key in enumerate(config.auth.keys):
        if not isinstance(key, NamedKey):
            click.echo(f"{index}  (no name)  no end")
            continue
        end = "no end" if key.expires is None else f"until {key.expires.isoformat(timespec='seconds')}"
        if key.expires is not None and key.expires <= now:
            end, expired = f"expired at {key.expires.isoformat(timespec='seconds')}", True
        click.echo(f"{index}  {key.name}  {f'tier {key.tier}' if key.tier else 'no tier'}  {end}")
    if not config.auth.keys:
        click.echo("No API keys: every caller is served. `quoteway keys new NAME` makes one.")
    if expired:
        raise SystemExit(1)
