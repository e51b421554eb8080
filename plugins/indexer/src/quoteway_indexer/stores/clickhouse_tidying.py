"""Deletes from a ClickHouse index what does not count any more: it takes room, and every condition time.

A state names what does not count, so that nothing depends on when it is deleted, and a deletion that was
begun may be begun again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from quoteway_indexer.stores.clickhouse_connection import Connection
from quoteway_indexer.stores.clickhouse_schema import LOG_PART, stored_tables
from quoteway_indexer.stores.clickhouse_state import Entry, Era, State, taken_back
from quoteway_indexer.tables import Table

READ_MS: Final = 60_000
"""A read ends within this time; until then it may need what a newer state does not have."""
LATE_MS: Final = 86_400_000
"""An insert that a process has begun has come in after this time, or never does."""
_ERAS: Final = 50


def tidied(connection: Connection, entry: Entry) -> State:
    """Deletes what does not count since ``READ_MS``. Returns the state that has no rules for that."""
    until = f"SELECT max(number) FROM commit_log WHERE at_ms < {entry.now_ms - READ_MS}"  # noqa: S608
    last = connection.columns(until)[0][0]
    state = entry.state
    old = [rule for rule in state.rules if rule.below <= last]
    filled = _filled(connection)
    for table in filled:
        if table.kind == "rollup" and last > state.tidied:
            # First: the row that replaced another is taken back together with it.
            newer = f"commit_number BETWEEN {state.tidied + 1} AND {last} AND {state.committed()}"
            keys = ", ".join(table.key)
            rows = f"FROM {table.name} WHERE {state.committed()} AND commit_number <= {last}"
            changed = f"({keys}) IN (SELECT {keys} FROM {table.name} WHERE {newer})"  # noqa: S608
            connection.execute(
                f"DELETE {rows} AND {changed} AND ({keys}, commit_number) NOT IN"
                f" (SELECT {keys}, max(commit_number) {rows} AND {changed} GROUP BY {keys})"
            )
        gone = [taken_back(rule) for rule in old if rule.scope in (table.name, table.kind)]
        if gone:
            connection.execute(f"DELETE FROM {table.name} WHERE {' OR '.join(gone)}")  # noqa: S608
    _forget_entries(connection, last)
    eras = _fewer_eras(connection, state, filled, entry.now_ms - LATE_MS)
    rules = [rule for rule in state.rules if rule not in old]
    return msgspec.structs.replace(state, rules=rules, eras=eras, tidied=max(last, state.tidied))


def _fewer_eras(connection: Connection, state: State, filled: Sequence[Table], late_ms: int) -> list[Era]:
    """Deletes the rows of old eras that do not count, and returns the eras with one for all of them."""
    old = [era for era in state.eras if era.at_ms < late_ms]
    if len(old) < _ERAS:
        return list(state.eras)
    counting = msgspec.structs.replace(state, eras=old).committed()
    for table in filled:
        others = f"commit_number <= {old[-1].last} AND NOT {counting}"
        connection.execute(f"DELETE FROM {table.name} WHERE {others}")  # noqa: S608
    return [Era(0, old[-1].last, 0, old[-1].at_ms), *state.eras[len(old) :]]


def _filled(connection: Connection) -> list[Table]:
    """Returns the tables that have rows."""
    text = "SELECT DISTINCT table FROM system.parts WHERE active AND database = currentDatabase()"
    names = {name.decode() for name in connection.columns(text)[0]}
    return [table for table in stored_tables() if table.name in names]


def _forget_entries(connection: Connection, last: int) -> None:
    """Deletes entries of the log before one, as far as they fill parts."""
    parts = connection.columns(
        f"SELECT DISTINCT _partition_id FROM commit_log WHERE number < {last // LOG_PART * LOG_PART}"  # noqa: S608
    )
    for part in parts[0]:
        connection.execute(f"ALTER TABLE commit_log DROP PARTITION ID '{part.decode()}'")
