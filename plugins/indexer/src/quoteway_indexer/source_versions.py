"""The version under which the index keeps what it read of a source."""

from __future__ import annotations

import zlib

from quoteway import EventSource


def version_of(declared: EventSource) -> int:
    """Returns a number of 31 bits that is another one when the source has to be read again."""
    children = declared.children
    parts = (
        declared.version,
        [(rule.event, rule.fact, sorted(rule.columns.items())) for rule in declared.rules],
        sorted(address.lower() for address in declared.addresses),
        children
        and (sorted(each.lower() for each in children.factories), children.event, children.parameter),
        sorted(account.lower() for account in declared.accounts),
    )
    return zlib.crc32(repr(parts).encode()) & 0x7FFF_FFFF
