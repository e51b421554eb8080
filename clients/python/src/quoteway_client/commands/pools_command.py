"""The command ``quoteway pools``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from quoteway_client.commands.asking import asking, gateway_options, show_json
from quoteway_client.commands.missing_lines import missing_sources
from quoteway_client.commands.text import harmless, percent, show, show_table, usd
from quoteway_client.models.pools import PoolEntry, PoolPage
from quoteway_client.operations.pools import list_pools

SORTS = {"tvl": "-tvlUsd", "apr": "-apr", "volume": "-volume24hUsd", "fees": "-fees24hUsd"}
"""What rows are sorted by, the greatest first, as the API names it."""


@click.command()
@click.argument("token", required=False)
@click.option("--network", help="Only pools of this network.")
@click.option("--protocol", help='Only pools of this protocol, such as "uniswap-v3".')
@click.option("--sort", type=click.Choice(list(SORTS)), default="tvl", help="What comes first (tvl).")
@click.option("--limit", type=click.IntRange(1, 200), default=20, help="Rows that are shown (20).")
@gateway_options
def pools(
    token: str | None,
    network: str | None,
    protocol: str | None,
    sort: str,
    limit: int,
    url: str,
    as_json: bool,
) -> None:
    """List pools, with their fee, value, yield and volume.

    TOKEN is a symbol, an address or "native": only pools that hold it. Exit 0: shown. 1: refused. 2: wrong
    options. 3: no answer of a gateway. 4: a symbol is of several tokens.
    """
    order: Any = SORTS[sort]
    with asking(url) as gateway:
        call = list_pools(token=token, network=network, protocol=protocol, sort=order, limit=limit)
        answer = gateway.answer(call)
    if as_json:
        show_json(answer.content)
        return
    page = answer.model
    if page.data:
        rows = [("PAIR", "PROTOCOL", "FEE", "TVL USD", "APR", "VOLUME 24H USD", "NETWORK", "POOL")]
        show_table([*rows, *map(_row, page.data)])
    show(_notes(page))


def _row(pool: PoolEntry) -> tuple[str, ...]:
    marks = (", uses hooks" if pool.hooks else "") + (", a preview" if pool.preview else "")
    return (
        harmless(pool.pair, 33),
        harmless(pool.protocol, 24),
        "-" if pool.fee_bps is None else percent(pool.fee_bps),
        usd(pool.tvl_usd),
        "-" if pool.apr is None else f"{100 * pool.apr:,.2f} %",
        usd(pool.volume24h_usd),
        harmless(pool.network, 40),
        harmless(pool.id, 120) + marks,
    )


def _notes(page: PoolPage) -> Iterator[str]:
    """Yields what the rows are not, in words."""
    if not page.data:
        yield "no pool is listed"
    if page.next_cursor is not None:
        of = "" if page.total is None else f" of {page.total}"
        yield f"the first {len(page.data)}{of} pools: --limit shows more"
    if page.preview:
        yield "some rows are previews: their values are not live"
    yield from missing_sources("pools", page.partial)
