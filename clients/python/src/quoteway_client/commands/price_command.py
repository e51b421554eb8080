"""The command ``quoteway price``."""

from __future__ import annotations

import time

import click

from quoteway_client.commands.asking import asking, gateway_options, show_json
from quoteway_client.commands.text import harmless, show, show_table, span, symbol, usd
from quoteway_client.models.prices import PriceEntry
from quoteway_client.operations.prices import get_prices


@click.command()
@click.argument("tokens", nargs=-1, required=True)
@click.option("--network", required=True, help="Network of the tokens.")
@gateway_options
def price(tokens: tuple[str, ...], network: str, url: str, as_json: bool) -> None:
    """Show what tokens cost in US dollars, from which sources, and how old that is.

    TOKENS are symbols, addresses or "native". Exit 0: shown. 1: refused. 2: wrong options. 3: no answer of a
    gateway. 4: a symbol is of several tokens.
    """
    with asking(url) as gateway:
        answer = gateway.answer(get_prices(network=network, tokens=tokens))
    if as_json:
        show_json(answer.content)
        return
    now = time.time()
    rows = [("TOKEN", "ADDRESS", "USD", "AGE", "SOURCES")]
    show_table([*rows, *(_row(each, now) for each in answer.model.data)])
    show(
        f"{symbol(each.token)}: {harmless(notice.message)} ({harmless(notice.code)})"
        for each in answer.model.data
        for notice in each.warnings
    )
    show(f"{harmless(each.token)}: not shown ({harmless(each.reason)})" for each in answer.model.partial)


def _row(entry: PriceEntry, now: float) -> tuple[str, str, str, str, str]:
    age = "-" if entry.as_of_block is None else span(now - entry.as_of_block.timestamp)
    sources = ", ".join(map(harmless, entry.sources)) or "no price is known"
    unconfirmed = "" if entry.anchored or entry.price_usd is None else "; not confirmed"
    address = harmless(entry.token.address, 66)
    return symbol(entry.token), address, usd(entry.price_usd), age, sources + unconfirmed
