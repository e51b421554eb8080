"""Base units as decimal text, in integers only."""

from __future__ import annotations


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
