"""The command ``quoteway verify-action``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from quoteway.server.options import configured, quiet

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("verify-action")
@click.argument("file", type=_FILE)
@click.option(
    "--keys", required=True, type=_FILE, help="The gateway's public keys: /.well-known/jwks.json, as a file."
)
@click.option("--issuer", help="The `quotes.issuer` that must have signed.")
@click.option(
    "--config",
    "config_path",
    type=_FILE,
    help="A configuration (TOML) by which to decode the calldata too.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the checks and the signed action as JSON.")
@quiet()
def verify_action(
    file: Path, keys: Path, issuer: str | None, config_path: Path | None, as_json: bool
) -> None:
    """Check the signature of a saved action, without any network.

    FILE is the answer to a request for an action, from a deployment that signs them. Checks that the keys
    signed the answer, that it is still valid, that its transactions are those of its id, and that the
    arguments it shows encode to their calldata. Exit 0: everything holds. 1: something does not. 2: it could
    not be checked.
    """
    import orjson

    from quoteway.server.verify_action import CannotVerify, verify

    try:
        config = None if config_path is None else configured(config_path)
        found = verify(file, keys, issuer=issuer, config=config)
    except CannotVerify as error:
        click.echo(f"quoteway: {error}", err=True)
        sys.exit(2)
    if as_json:
        content = {"holds": found.holds, "checks": found.checks, "action": found.action}
        click.echo(orjson.dumps(content, option=orjson.OPT_INDENT_2).decode())
    else:
        for check in found.checks:
            click.echo(f"{'ok' if check.holds else 'WRONG':<5} {check.subject}: {check.text}")
        if found.holds:
            for index, intent in enumerate(found.intents):
                click.echo(f"transaction {index}: {intent}")
            inner = "calls inside a call, " if config is None else ""
            click.echo(f"not checked: {inner}the simulation, and the state of the chain now")
    sys.exit(0 if found.holds else 1)
