"""The ids that a token may have, from its symbol and address. Which one it has is decided in ``index``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from quoteway import Address

_PLAIN_SYMBOL = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def slug(symbol: str) -> str:
    lowered = symbol.lower()
    if lowered.isalnum() and lowered.isascii():
        return lowered
    return _NOT_SLUG.sub("-", lowered).strip("-") or "token"


def family(token_id: str) -> str:
    """Returns an id, or slug, up to its first dash. Tokens of different families never compete for an id."""
    return token_id.partition("-")[0]


def best_id(symbol: str, address: Address) -> str:
    """Returns the id of a token that competes with no other."""
    token_id, _ = next(candidates(symbol, address, 0))
    return token_id


def candidates(symbol: str, address: Address, at: int) -> Iterator[tuple[str, object]]:
    """Yields ids, the best first, and what owns them: a plain slug is of its list, ``at``, others are of one
    address."""
    plain = slug(symbol)
    if _PLAIN_SYMBOL.fullmatch(symbol):
        yield plain, at
    digits = address[2:].lower()
    for length in (6, 12, 40):
        yield f"{plain}-{digits[:length]}", address
