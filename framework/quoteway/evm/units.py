"""Base units <-> decimal text, in integers only."""

from __future__ import annotations

import re

_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,77})(?:\.([0-9]{1,255}))?", re.ASCII)


def format_units(amount: int, decimals: int) -> str:
    """``amount`` base units as exact decimal text without trailing zeros: 1500000, 6 gives ``"1.5"``."""
    if decimals < 0:
        raise ValueError("decimals is at least 0")
    sign = "-" if amount < 0 else ""
    whole, fraction = divmod(abs(amount), 10**decimals)
    if not fraction:
        return f"{sign}{whole}"
    return f"{sign}{whole}.{str(fraction).zfill(decimals).rstrip('0')}"


def readable_units(amount: int, decimals: int) -> str:
    """As ``format_units``, with the whole part in groups of three for people: ``"3,481.946384"``."""
    whole, point, fraction = format_units(abs(amount), decimals).partition(".")
    return f"{'-' if amount < 0 else ''}{int(whole):,}{point}{fraction}"


def parse_units(text: str, decimals: int) -> int:
    """The base units of an unsigned decimal text such as ``"1.5"``.

    Raises ``ValueError`` for anything but plain ASCII digits with at most one point, and for more
    fraction digits than the token has decimals: rounding somebody's amount is never right.
    """
    match = _DECIMAL.fullmatch(text)
    if match is None:
        raise ValueError("an amount is plain digits with at most one decimal point")
    whole, fraction = match[1], match[2] or ""
    if len(fraction) > decimals:
        raise ValueError(f"the token has {decimals} decimals, the amount has {len(fraction)}")
    return int(whole + fraction.ljust(decimals, "0"))
