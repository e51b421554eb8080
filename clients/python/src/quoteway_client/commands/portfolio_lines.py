"""What ``quoteway portfolio`` prints of balances, positions, totals, and of what is missing from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from quoteway_client.commands.missing_lines import missing_sources, reason_words
from quoteway_client.commands.text import amount, harmless, quantity, symbol, usd

if TYPE_CHECKING:
    from quoteway_client.models.portfolio import Balance, Balances, PortfolioPosition
    from quoteway_client.models.shared import FailedSource, Leg, Partial

MOST_SPAM = 10
"""Spam tokens with a line of their own. Anyone can send thousands of them to a wallet."""
NO_CATALOG = (
    "No catalog lists these tokens: anyone can give a contract any symbol, and send its tokens to anybody"
)


def network_names(balances: Balances) -> Mapping[int, str]:
    """Returns the name of each network that an answer knows, by chain id."""
    named = {row.chain_id: harmless(row.network, 40) for row in balances.data}
    others = [each.chain_id for each in balances.as_of] + [each.chain_id for each in balances.partial]
    return {chain_id: f"chain {chain_id}" for chain_id in others} | named


def balance_rows(rows: Sequence[Balance]) -> list[tuple[str, ...]]:
    """Returns the table of one network's listed tokens, each amount exact, the most valuable first.

    The column of notes is there only where a token has one.
    """
    table = [("TOKEN", "BALANCE", "USD", "SELLS FOR", "NOTES")]
    for row in sorted(rows, key=lambda row: -(row.value_usd or 0)):
        values = usd(row.value_usd), usd(row.realisable_usd)
        table.append((symbol(row.token), quantity(row.amount, row.token), *values, "; ".join(_notes(row))))
    noted = any(row[-1] for row in table[1:])
    return [row if noted else row[:-1] for row in table]


def unlisted_lines(rows: Sequence[Balance], networks: Mapping[int, str]) -> Iterator[str]:
    """Yields the tokens that no catalog lists, each with its whole address, spam last."""
    if not rows:
        return
    yield NO_CATALOG
    spam = [row for row in rows if row.spam]
    for row in (row for row in rows if not row.spam):
        notes = "".join(f", {each}" for each in _notes(row))
        counted = "counted" if row.counted else "not counted"
        sold = "not known" if row.realisable_usd is None else f"at least {usd(row.realisable_usd)} USD"
        yield f"unlisted       {_holding(row, networks)}; sells for {sold}, {counted}{notes}"
    for row in spam[:MOST_SPAM]:
        rules = ", ".join(harmless(each, 32) for each in row.spam_reasons)
        yield f"spam           {_holding(row, networks)}; {rules}"
    if len(spam) > MOST_SPAM:
        yield f"spam           {len(spam) - MOST_SPAM} more tokens: --json has them"


def position_lines(position: PortfolioPosition) -> Iterator[str]:
    """Yields a position: where it is, what it holds, its fees and its value."""
    place = f"{harmless(position.network, 40)}, {harmless(position.provider, 24)}"
    if position.vault_id is not None:
        yield f"vault          {harmless(position.vault_id, 120)} ({place})"
    else:
        number = f", position {harmless(position.position_id, 100)}" if position.kind == "nft" else ""
        yield f"pool           {harmless(position.pool_id, 120)} ({place}){number}"
    yield f"  holds        {_legs(position.amounts) or 'not known'}"
    if position.uncollected_fees:
        yield f"  fees         {_legs(position.uncollected_fees)}"
    if position.in_range is False:
        yield "  range        the price of the pool is out of it: the position earns no fees"
    value = "not known" if position.value_usd is None else f"{usd(position.value_usd)} USD"
    yield f"  value        {value}, at block {position.as_of_block.number}"


def total_lines(balances: Balances) -> Iterator[str]:
    """Yields the total of the balances, and in words why it is not complete."""
    total = "not known" if balances.total_usd is None else f"{usd(balances.total_usd)} USD"
    if balances.total_complete:
        yield f"balances       {total}"
        return
    uncounted = [symbol(row.token) for row in balances.data if row.listed and row.amount and not row.counted]
    causes = []
    if uncounted:
        causes.append(f"no confirmed price of {', '.join(uncounted)}")
    if balances.partial:
        causes.append("see what is missing")
    yield f"balances       {total}, not complete: {'; '.join(causes) or 'the gateway does not say why'}"


def position_total(positions: Sequence[PortfolioPosition]) -> str:
    """Returns the line with the number of positions, and what those with a known value are worth."""
    values = [Decimal(str(each.value_usd)) for each in positions if each.value_usd is not None]
    if not positions:
        return "positions      none"
    worth = f"{len(positions)}, worth {sum(values):,.2f} USD" if values else f"{len(positions)}"
    unknown = len(positions) - len(values)
    return f"positions      {worth}" + (f", not complete: {unknown} without a known value" if unknown else "")


def missing_lines(
    partial: Sequence[Partial], failed: Sequence[FailedSource], networks: Mapping[int, str]
) -> Iterator[str]:
    """Yields what an answer lacks: tokens, networks, and the positions of providers."""
    for each in partial:
        what = "" if each.token is None else f", token {harmless(each.token, 66)}"
        yield f"missing        {networks[each.chain_id]}{what}: {reason_words(each.reason)}"
    yield from missing_sources("positions", failed)


def _notes(row: Balance) -> Iterator[str]:
    """Yields what to know of a balance's value."""
    if not row.amount or row.spam:
        return
    if row.value_usd is None:
        yield "no price is known"
    elif not row.anchored:
        yield "the price is not confirmed" + ("" if row.counted or not row.listed else ", not counted")
    elif row.listed and not row.counted:
        yield "not counted"
    for notice in row.warnings:
        yield harmless(notice.code, 32)


def _holding(row: Balance, networks: Mapping[int, str]) -> str:
    address = harmless(row.token.address, 66)
    return f"{amount(row.amount, row.token)} ({networks[row.chain_id]}, {address})"


def _legs(legs: Sequence[Leg]) -> str:
    return ", ".join(amount(leg.amount, leg.token) for leg in legs)
