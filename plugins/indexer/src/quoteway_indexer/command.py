"""``quoteway index`` keeps the index of a deployment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from quoteway import CommandRunner, Context


@click.command()
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Configuration file (TOML).",
)
@click.option("--once", is_flag=True, help="End when the index is complete up to the heads of all chains.")
def index(config_path: Path | None, once: bool) -> None:
    """Keep the history of pools, vaults and wallets, beside the server and with its configuration."""
    runner: CommandRunner = click.get_current_context().obj

    async def work(context: Context) -> None:
        from quoteway_indexer.embedded import clean_up, end_with_parent, is_child
        from quoteway_indexer.process import IndexProcess
        from quoteway_indexer.reporting import reporting

        if is_child():
            end_with_parent(context)
            try:
                await IndexProcess(context).run()
            finally:
                clean_up(context)
            return
        with reporting() as report:
            await IndexProcess(context, report).run(once=once)

    runner.run("indexer", work, config_path)
