"""Refuses the commits of a process that lost a lease."""

from __future__ import annotations

from collections.abc import Mapping

from quoteway_indexer.store import StoreError


def check_leases(chain_id: int, held: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Raises ``StoreError`` unless every source that this process holds is still its own.

    Both give holders by source: as this process took them, and as the database has them now.
    """
    for source, holder in held.items():
        if found.get(source) != holder:
            raise StoreError(
                f"another process has taken over source {source!r} of chain {chain_id}: nothing was written"
            )
