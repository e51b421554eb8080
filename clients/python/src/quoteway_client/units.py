"""Amounts: decimal text for people, integers of base units for the API."""

from __future__ import annotations

import re

_DECIMAL = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?", re.ASCII)
MAX_DECIMALS = 255


def to_units(amount: str | int, decimals: int) -> int:
    """Returns an amount in base units: ``to_units("1.5", 18)`` is 1500000000000000000.

    Raises ``TypeError`` for a float, which cannot hold most amounts, and ``ValueError`` for text that is no
    decimal number or has more digits after the point than the token has decimals.
    """
    _check(decimals)
    if isinstance(amount, bool) or not isinstance(amount, (str, int)):
        raise TypeError(f"an amount is text or an int, not {type(amount).__name__}: write it as '1.5'")
    found = _DECIMAL.fullmatch(str(amount))
    if found is None:
        raise ValueError(f"{amount!r} is no decimal number such as '1.5'")
    sign, whole, fraction = found[1], found[2], (found[3] or "").rstrip("0")
    if len(fraction) > decimals:
        raise ValueError(
            f"{amount!r} has {len(fraction)} digits after the point, and the token has {decimals} decimals"
        )
    units = int(whole + fraction.ljust(decimals, "0"))
    return -units if sign else units


def from_units(units: int, decimals: int) -> str:
    """Returns an amount of base units as exact decimal text: ``from_units(1500000, 6)`` is ``"1.5"``.

    Raises ``TypeError`` for anything but an int.
    """
    _check(decimals)
    if isinstance(units, bool) or not isinstance(units, int):
        raise TypeError(f"base units are an int, not {type(units).__name__}")
    digits = str(abs(units)).rjust(decimals + 1, "0")
    whole, fraction = (digits[:-decimals], digits[-decimals:].rstrip("0")) if decimals else (digits, "")
    return ("-" if units < 0 else "") + whole + (f".{fraction}" if fraction else "")


def _check(decimals: int) -> None:
    if isinstance(decimals, bool) or not isinstance(decimals, int):
        raise TypeError(f"decimals are an int, not {type(decimals).__name__}")
    if not 0 <= decimals <= MAX_DECIMALS:
        raise ValueError(f"decimals are from 0 to {MAX_DECIMALS}, not {decimals}")
