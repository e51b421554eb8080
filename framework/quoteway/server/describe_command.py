"""The command ``quoteway describe``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from quoteway.server.options import CONFIG_OPTION, configured, quiet


@click.command()
@click.argument("abi", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--network", required=True, help="Name or chain id of a configured network.")
@click.option("--transaction", help="Hash of a transaction that calls the contract.")
@click.option("--to", help="The contract, for a transaction that is not on the chain.")
@click.option("--data", help="Its calldata, 0x hex.")
@click.option("--from", "sender", help="Its sender: it need not hold or allow the tokens.")
@click.option("--value", type=click.IntRange(0), default=0, help="The native coin that it sends, in wei.")
@click.option(
    "--token",
    "tokens",
    multiple=True,
    help="A token that it takes and no argument names (may be given several times).",
)
@click.option("--action", help="What the call does, such as swap or deposit (what its name says).")
@click.option("--name", help="What people read of the contract (the name in the ABI file).")
@click.option("--rpc", "rpc_url", help="A node that has the transaction's state (the configured one).")
@CONFIG_OPTION
@quiet()
def describe(
    abi: Path,
    network: str,
    transaction: str | None,
    to: str | None,
    data: str | None,
    sender: str | None,
    value: int,
    tokens: tuple[str, ...],
    action: str | None,
    name: str | None,
    rpc_url: str | None,
    config_path: Path | None,
) -> None:
    """Describe a contract's function for "quoteway_call_descriptions", as Python source.

    ABI is a JSON file. Runs the transaction with one argument changed at a time, to prove what each of them
    does. Exit 0: every role is proved. 1: some are not, and comments of the source name them. 2: nothing
    could be described.
    """
    import asyncio

    from quoteway.errors import GatewayError
    from quoteway.server.describing.describe import Asked, described
    from quoteway.server.describing.errors import CannotDescribe

    asked = Asked(abi, network, transaction, to, data, sender, value, tokens, action, name, rpc_url)
    try:
        source, unproved = asyncio.run(described(configured(config_path), asked))
    except CannotDescribe as error:
        _refuse(str(error))
    except GatewayError as error:
        _refuse(error.message)
    click.echo(source, nl=False)
    for each in unproved:
        click.echo(f"not proved: {each.path} as {each.role}: {each.why}", err=True)
    sys.exit(1 if unproved else 0)


def _refuse(text: str) -> NoReturn:
    click.echo(f"quoteway: {text}", err=True)
    sys.exit(2)
