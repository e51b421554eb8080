"""The version of the schema, and what brings an older database to it.

A column or a table that is new in ``tables`` needs no step: ``migrate`` adds what is missing, with nulls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from quoteway_indexer.store import StoreError

VERSION: Final = 2
"""Increase it with every change of the tables, so that an older program does not write a newer database."""

MIGRATIONS: Final[Mapping[int, Sequence[str]]] = {}
"""Statements that bring a database of that version to the next one."""


def steps_from(found: int) -> list[str]:
    """Returns the statements that bring a database of a version to this one.

    Raises ``StoreError`` when it is of a newer version than this program.
    """
    if found > VERSION:
        raise StoreError(
            f"the index has schema version {found}, and this program knows versions up to {VERSION}: "
            "update quoteway-indexer, or let it make a new index"
        )
    return [text for version in range(found, VERSION) for text in MIGRATIONS.get(version, ())]
