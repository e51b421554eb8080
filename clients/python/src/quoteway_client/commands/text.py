"""What commands print: text of others made harmless, amounts, times, and tables for a terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from quoteway_client.units import MAX_DECIMALS, from_units

if TYPE_CHECKING:
    from quoteway_client.models.shared import TokenRef

SYMBOL_LENGTH = 16
MESSAGE_LENGTH = 600
_GAP = "  "


def harmless(text: object, limit: int = MESSAGE_LENGTH) -> str:
    r"""Returns text of a token, a gateway or a node for one line of a terminal.

    Control characters, terminal escapes, and everything outside of ASCII become escapes such as ``\u202e``:
    they could move the cursor, reverse the line or look like other letters. Text longer than ``limit`` is
    cut.
    """
    safe = str(text).encode("unicode_escape").decode("ascii")
    return safe if len(safe) <= limit else safe[: limit - 3] + "..."


def symbol(token: TokenRef) -> str:
    """Returns the symbol of a token; the ends of its address where it has none."""
    return harmless(token.symbol, SYMBOL_LENGTH) if token.symbol else short(token.address)


def short(identifier: str) -> str:
    """Returns the two ends of an address, hash or id."""
    safe = harmless(identifier)
    return safe if len(safe) <= 16 else f"{safe[:8]}...{safe[-6:]}"


def amount(units: int, token: TokenRef) -> str:
    """Returns an amount of base units in whole tokens, exactly, with the symbol."""
    if not 0 <= token.decimals <= MAX_DECIMALS:
        return f"{units} base units of {symbol(token)}"
    return f"{quantity(units, token)} {symbol(token)}"


def quantity(units: int, token: TokenRef) -> str:
    """Returns an amount of base units in whole tokens, exactly, without the symbol."""
    if not 0 <= token.decimals <= MAX_DECIMALS:
        return f"{units} base units"
    whole, point, fraction = from_units(abs(units), token.decimals).partition(".")
    return f"{'-' if units < 0 else ''}{int(whole):,}{point}{fraction}"


def usd(value: float | None) -> str:
    """Returns a value in US dollars: two decimals, or four digits of a small one."""
    if value is None:
        return "-"
    return f"{value:,.2f}" if abs(value) >= 1 or value == 0 else f"{value:.4g}"


def percent(bps: float | None) -> str:
    """Returns basis points in percent."""
    return "not known" if bps is None else f"{bps / 100:.4f}".rstrip("0").rstrip(".") + " %"


def span(seconds: float) -> str:
    """Returns a span of time in its largest unit; a negative one is 0."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def show_table(rows: Sequence[Sequence[str]]) -> None:
    """Prints rows, the first of which are the headings.

    On a terminal that is too narrow the last column is below the others. Elsewhere each row is one line.
    """
    columns = [max(map(len, column)) for column in zip(*rows, strict=True)]
    width = terminal_width()
    if width is None or sum(columns) + len(_GAP) * (len(columns) - 1) <= width:
        for row in rows:
            click.echo(_joined(row, columns))
        return
    for row in rows:
        for line in wrapped(_joined(row[:-1], columns), width):
            click.echo(line)
        for line in wrapped(row[-1], width - len(_GAP)) if row[-1] else ():
            click.echo(_GAP + line)


def show(lines: Iterable[str]) -> None:
    """Prints lines. On a terminal a longer one is continued below, indented by two more."""
    width = terminal_width()
    for line in lines:
        for part in wrapped(line, width):
            click.echo(part)


def wrapped(line: str, width: int | None) -> Iterator[str]:
    """Yields the parts of a line that fit ``width``; the whole line without one."""
    if width is None or len(line) <= width:
        yield line
        return
    indent = " " * (len(line) - len(line.lstrip()))
    yield from textwrap.wrap(line, width, subsequent_indent=indent + _GAP, break_on_hyphens=False)


def terminal_width() -> int | None:
    """Returns the columns of the terminal that is printed on. None for a file or a pipe."""
    return max(40, shutil.get_terminal_size((80, 24)).columns) if sys.stdout.isatty() else None


def _joined(row: Sequence[str], columns: Sequence[int]) -> str:
    return _GAP.join(map(str.ljust, row, columns)).rstrip()
