"""The command ``quoteway portfolio``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import click

from quoteway_client.commands.asking import Asking, asking, gateway_options, show_json
from quoteway_client.commands.portfolio_lines import (
    balance_rows,
    missing_lines,
    network_names,
    position_lines,
    position_total,
    total_lines,
    unlisted_lines,
)
from quoteway_client.commands.text import harmless, show, show_table
from quoteway_client.comparing import same_address
from quoteway_client.errors import ProviderUnavailable, QuoteMismatch
from quoteway_client.exchange import Answered
from quoteway_client.models.portfolio import Balances, PortfolioPosition, Positions
from quoteway_client.models.shared import FailedSource
from quoteway_client.operations.portfolio import get_portfolio_balances, get_portfolio_positions

ROWS_OF_A_PAGE = 200


@click.command()
@click.argument("address")
@click.option("--network", help="Network to read (all).")
@gateway_options
def portfolio(address: str, network: str | None, url: str, as_json: bool) -> None:
    """Show what a wallet holds, what that is worth and sells for, and its positions in pools and vaults.

    ADDRESS is an address or an ENS name. --json prints an object: "balances" is the API's answer, "positions"
    the list of its pages, null where no provider has positions. Exit 0: shown. 1: refused. 2: wrong options.
    3: no answer of a gateway. 5: the answer is of another wallet.
    """
    with asking(url) as gateway:
        call = get_portfolio_balances(wallet=address, network=network)
        balances = gateway.answer(replace(call, check=lambda answer: _compare(address, answer)))
        # An ENS name is resolved once: both answers are of one wallet.
        found = _positions(gateway, balances.model.wallet, network)
    if as_json:
        pages = (
            b"null" if found.unavailable else b"[" + b",".join(each.content for each in found.pages) + b"]"
        )
        show_json(b'{"balances":' + balances.content + b',"positions":' + pages + b"}")
        return
    _show(balances.model, found)


@dataclass(frozen=True, slots=True)
class _Found:
    """The pages of positions; ``unavailable`` says why there are none where no provider has positions."""

    pages: Sequence[Answered[Positions]] = ()
    unavailable: str | None = None

    @property
    def rows(self) -> list[PortfolioPosition]:
        return [row for page in self.pages for row in page.model.data]

    @property
    def failed(self) -> Sequence[FailedSource]:
        """Every page tells the same."""
        return self.pages[0].model.partial if self.pages else ()


def _positions(gateway: Asking, wallet: str, network: str | None) -> _Found:
    call = get_portfolio_positions(wallet=wallet, network=network, limit=ROWS_OF_A_PAGE)
    try:
        return _Found(list(gateway.pages(call)))
    except ProviderUnavailable as error:
        return _Found(unavailable=harmless(error.message))


def _compare(address: str, answer: Balances) -> None:
    """Raises ``QuoteMismatch`` where balances are of another wallet than the address that was typed."""
    differing = list(same_address("wallet", address, answer.wallet))
    if differing:
        raise QuoteMismatch(differing)


def _show(balances: Balances, found: _Found) -> None:
    networks = network_names(balances)
    show([f"wallet         {harmless(balances.wallet, 66)}"])
    for as_of in balances.as_of:
        rows = [row for row in balances.data if row.chain_id == as_of.chain_id and row.listed]
        click.echo("")
        show([f"{networks[as_of.chain_id]} at block {as_of.block}"])
        if rows:
            show_table(balance_rows(rows))
        else:
            show(["no listed token"])
    unlisted = [row for row in balances.data if not row.listed]
    if unlisted:
        click.echo("")
        show(unlisted_lines(unlisted, networks))
    for position in found.rows:
        click.echo("")
        show(position_lines(position))
    click.echo("")
    show(total_lines(balances))
    if found.unavailable is None:
        show([position_total(found.rows)])
    else:
        show([f"positions      not known: {found.unavailable}"])
    show(missing_lines(balances.partial, found.failed, networks))
