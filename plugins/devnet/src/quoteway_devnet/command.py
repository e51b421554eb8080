"""``quoteway devnet`` runs the two chains alone; ``quoteway demo`` runs a client against a gateway."""

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from quoteway_devnet.tables import CHAINS, DEVNET, DEVNET_L2, ChainRow

if TYPE_CHECKING:
    from quoteway_devnet.chains import Devnet
    from quoteway_devnet.relayer import Relayer

_Decorator = Callable[[Callable[..., None]], Callable[..., None]]
_PORT = click.IntRange(0, 65_535)
_DEFAULT = click.core.ParameterSource.DEFAULT


def _port_option(name: str, chain: ChainRow) -> _Decorator:
    text = f"Port of chain {chain.chain_id}; 0: any free port."
    return click.option(name, type=_PORT, default=chain.default_port, show_default=True, help=text)


def _node_option(name: str, chain: ChainRow) -> _Decorator:
    url = f"http://127.0.0.1:{chain.default_port}"
    return click.option(
        name, default=url, show_default=True, help=f"The node of chain {chain.chain_id}, with --url."
    )


@click.group(invoke_without_command=True)
@_port_option("--port", DEVNET)
@_port_option("--l2-port", DEVNET_L2)
@click.option(
    "--relayer-port",
    type=_PORT,
    default=None,
    help="Port of the bridge's relayer.  [default: the one after --l2-port]",
)
@click.option("--prepare", is_flag=True, help="Only fetch and build what is not cached yet, as `fetch` does.")
@click.option("--rebuild", is_flag=True, help="Delete the built chains and build them again.")
@click.pass_context
def devnet(
    context: click.Context, port: int, l2_port: int, relayer_port: int | None, prepare: bool, rebuild: bool
) -> None:
    """Run two local chains with the real protocol contracts until Ctrl-C."""
    if context.invoked_subcommand is not None:
        given = [name for name in context.params if context.get_parameter_source(name) is not _DEFAULT]
        if given:
            option = f"--{given[0].replace('_', '-')}"
            raise click.UsageError(f"{option} is for `quoteway devnet` alone: leave it out, or the command.")
        return
    from quoteway_devnet.anvil import free_port
    from quoteway_devnet.chains import Devnet
    from quoteway_devnet.errors import DevnetError
    from quoteway_devnet.relayer import Relayer
    from quoteway_devnet.state import forget, ready_state

    try:
        if rebuild:
            forget()
        if prepare:
            ready_state()
            return
        ports = {DEVNET.slug: port or free_port(), DEVNET_L2.slug: l2_port or free_port()}
        own_port = ports[DEVNET_L2.slug] + 1 if relayer_port is None else relayer_port
        with Devnet.running(ports) as running, Relayer.running(running, own_port) as relayer:
            ended = _ending()
            _describe(running, relayer)
            ended.get()
    except DevnetError as error:
        raise click.ClickException(str(error)) from None
    click.echo("Stopped.")


@devnet.command()
@click.argument("groups", nargs=-1, metavar="[GROUP]...")
@click.option("--all", "every", is_flag=True, help="Every group.")
def fetch(groups: tuple[str, ...], every: bool) -> None:
    """Fetch what the chains are made of and build them, so that later starts need no network.

    GROUP names further packages, which tests use: public, balancer, opstack, ens, forks and balancer-v3.
    """
    from quoteway_devnet.errors import DevnetError
    from quoteway_devnet.packages import GROUPS, cache_root
    from quoteway_devnet.state import ready_state

    unknown = [name for name in groups if name not in GROUPS]
    if unknown:
        raise click.UsageError(f"there is no group {unknown[0]!r}: choose of {', '.join(GROUPS)}.")
    try:
        ready_state()
        for name in GROUPS if every else dict.fromkeys(groups):
            GROUPS[name]()
    except DevnetError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"Ready in {cache_root()}: `quoteway devnet` and `quoteway serve` start without a network.")


def _describe(running: "Devnet", relayer: "Relayer") -> None:
    from quoteway_devnet.accounts import ACCOUNTS

    click.echo("Accounts, funded with every token on both chains. Their keys are public:")
    click.echo("never send them anything of value.\n")
    for index, account in enumerate(ACCOUNTS):
        click.echo(f"  ({index}) {account.address}  {account.private_key}")
    for chain in CHAINS:
        manifest = running.chains[chain.slug]
        click.echo(f"\n{chain.slug}: {running.urls[chain.slug]} (chain id {chain.chain_id})")
        click.echo(f"  {len(manifest.pools)} pools; Universal Router {manifest.contracts['UniversalRouter']}")
        click.echo("  " + ", ".join(token.symbol for token in manifest.tokens))
    click.echo(f"\nThe bridge's relayer: {relayer.url}")
    click.echo("\nUse them from a gateway in another terminal:")
    names = (("PORT", DEVNET), ("L2_PORT", DEVNET_L2))
    ports = " ".join(f"QUOTEWAY_PLUGIN__DEVNET__{name}={running.ports[chain.slug]}" for name, chain in names)
    ports += f" QUOTEWAY_PLUGIN__DEVNET__RELAYER_PORT={relayer.port}"
    click.echo(f"  QUOTEWAY_PLUGIN__DEVNET__START=false {ports} quoteway serve")
    click.echo("\nReady. Ctrl-C stops both.")


def _ending() -> queue.SimpleQueue[None]:
    """Returns what gives an item at Ctrl-C, SIGTERM or, with QUOTEWAY_STOP_AT_EOF, the end of input.

    Not an event: to set one takes a lock, which a signal handler may find taken for ever.
    """
    ended: queue.SimpleQueue[None] = queue.SimpleQueue()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.put(None))
    if "QUOTEWAY_STOP_AT_EOF" in os.environ:
        threading.Thread(target=_wait_for_eof, args=(ended,), daemon=True).start()
    return ended


def _wait_for_eof(ended: queue.SimpleQueue[None]) -> None:
    """Puts an item when the process at the other end of standard input is gone, however it ended."""
    with contextlib.suppress(OSError):
        while os.read(0, 4_096):
            pass
    ended.put(None)


@click.command()
@click.option(
    "--url", help="A running gateway, such as http://127.0.0.1:8080. Default: the demo starts its own."
)
@_node_option("--node", DEVNET)
@_node_option("--l2-node", DEVNET_L2)
def demo(url: str | None, node: str, l2_node: str) -> None:
    """Quote, sign and execute swaps, pools, vaults and transfers; compare received with quoted amounts."""
    from quoteway_devnet.demo.errors import DemoError
    from quoteway_devnet.demo.run import run
    from quoteway_devnet.errors import DevnetError

    # Exits as Ctrl-C does, so that everything that the demo started is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        exact = run(url, {DEVNET.slug: node, DEVNET_L2.slug: l2_node})
    except (DemoError, DevnetError) as error:
        raise click.ClickException(str(error)) from None
    if not exact:
        sys.exit(1)
