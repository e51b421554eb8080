"""An index in ClickHouse: for histories beyond one machine's file, written by one index process."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quoteway_indexer.store import Commit, IndexedBlock, Query, Row, Span, Store, StoreError
from quoteway_indexer.stores import schema
from quoteway_indexer.stores import spans as span_lists
from quoteway_indexer.stores.batches import check_commit, rollup_table
from quoteway_indexer.stores.clickhouse_connection import FAILURES, Connection, refusal
from quoteway_indexer.stores.clickhouse_rows import block_table, stored_rows
from quoteway_indexer.stores.clickhouse_schema import BLOCK, OWN, create_table, stored_tables, stored_type
from quoteway_indexer.stores.clickhouse_sql import ClickHouseDialect, literal, range_condition, rows_of
from quoteway_indexer.stores.clickhouse_state import (
    EVERY_FACT,
    NOTHING,
    ChainSpan,
    Entry,
    Lease,
    Rule,
    State,
    append,
    newest,
)
from quoteway_indexer.stores.clickhouse_tidying import READ_MS, tidied
from quoteway_indexer.stores.dropping import IS_PAIR, conditions
from quoteway_indexer.stores.leases import check_leases
from quoteway_indexer.stores.sql import statement
from quoteway_indexer.tables import FACTS, OF_EVENTS, ROLLUPS, TABLES, Table

_TIMEOUT_S: Final = 600
_TIDY_S: Final = 600
_RULES: Final = 50
"""Every condition of a state takes time of every read."""


class ClickHouseStore(Store):
    """Writes an index in ClickHouse, from one process at a time.

    A process whose commit meets an entry that another added to the log writes nothing, and says so. Rows that
    are written twice are there once, as in ``DuckDBStore``.
    """

    def __init__(self, url: str) -> None:
        self._connection = Connection(url, timeout_s=_TIMEOUT_S)
        self._process = secrets.randbits(63)
        self._writer = secrets.randbits(63)
        self._leases: dict[tuple[int, str], str] = {}
        self._entry = NOTHING
        self._read_at = self._tidied_at = time.monotonic()

    def migrate(self) -> None:
        with self._errors():
            for text in OWN:
                self._connection.execute(text)
            state = self._newest().state
            if state.version and schema.steps_from(state.version):
                raise StoreError(
                    f"the index has schema version {state.version}, and ClickHouse cannot change it to"
                    f" {schema.VERSION} at once: let the index be made again in an empty database"
                )
            self._add_missing()
            if state.version != schema.VERSION:
                self._append(msgspec.structs.replace(state, version=schema.VERSION))

    def lease(self, chain_id: int, source: str, holder: str, ttl_s: float) -> bool:
        with self._errors():
            ttl_ms, key = round(ttl_s * 1000), (chain_id, source, holder, self._process)
            long_ms = self._now_ms() + ttl_ms * 5 // 6
            if any(one[:4] == key and one.expires_ms > long_ms for one in self._entry.state.leases):
                return True
            entry = self._newest()
            held = [one for one in entry.state.leases if one.expires_ms > entry.now_ms]
            if any(
                one.process != self._process or (one[:2] == key[:2] and one.holder != holder) for one in held
            ):
                return False
            # All of the holder are extended: the next ones of this round need no entry then.
            expires_ms = entry.now_ms + ttl_ms
            names = {one[:3] for one in held if one.holder == holder} | {key[:3]}
            leases = [one for one in held if one.holder != holder]
            leases += [Lease(*name, self._process, expires_ms) for name in sorted(names)]
            self._append(msgspec.structs.replace(entry.state, leases=leases))
        self._leases[chain_id, source] = holder
        return True

    def release(self, holder: str) -> None:
        self._leases = {key: value for key, value in self._leases.items() if value != holder}
        with self._errors():
            state = self._newest().state
            left = [one for one in state.leases if one.holder != holder]
            if len(left) < len(state.leases):
                self._append(msgspec.structs.replace(state, leases=left))

    def commit(self, commit: Commit) -> None:
        check_commit(commit)
        rollups = [
            (ROLLUPS[name], rollup_table(ROLLUPS[name], rows))
            for name, rows in commit.rollups.items()
            if rows
        ]
        with self._errors():
            self._tidy()
            entry = self._newest()
            self._check_leases(entry.state, commit.chain_id)
            number = entry.number + 1
            state = self._cut(entry.state, commit, number)
            incoming = [(FACTS[name], facts) for name, facts in commit.facts.items() if facts.num_rows]
            for table, facts in incoming:
                state = state.taking_back(self._known(state, table, facts, number))
            if commit.blocks:
                rollups.append((BLOCK, block_table(commit.chain_id, commit.blocks)))
            for table, rows in (*incoming, *rollups):
                self._connection.insert(table.name, stored_rows(table, rows, number, self._writer))
            self._append(state.written(number, self._writer, entry.now_ms))

    def spans(self, chain_id: int) -> list[Span]:
        with self._errors():
            return self._newest().state.spans_of(chain_id)

    def blocks(self, chain_id: int, first: int, last: int) -> list[IndexedBlock]:
        wanted = [(BLOCK.column("number"), f"chain_id = {chain_id} AND number BETWEEN {first} AND {last}")]
        with self._errors():
            rows = rows_of(self._newest().state, BLOCK, wanted)
            columns = self._connection.columns(
                f"SELECT number, hash, parent_hash, timestamp FROM {rows} ORDER BY number"  # noqa: S608
            )
        return [IndexedBlock(*row) for row in zip(*columns, strict=True)]

    def fetch(self, query: Query) -> list[Row]:
        with self._errors():
            wanted = statement(query, ClickHouseDialect(self._newest().state))
            return wanted.rows(self._connection.columns(wanted.text))

    def drop_source(self, chain_id: int, source: str) -> None:
        pools = TABLES["pool_created"]
        of_source = f"chain_id = {chain_id} AND source = {literal(source)}"
        with self._errors():
            entry = self._newest()
            pairs = f"{of_source} AND {IS_PAIR}"
            found = rows_of(entry.state, pools, [(pools.column("source"), pairs)])
            has_pools = self._connection.columns(f"SELECT 1 FROM {found} LIMIT 1")[0]  # noqa: S608
            gone = conditions(str(chain_id), literal(source), "1 = 1" if has_pools else "1 = 0")
            rules = [(name, text) for name, text in gone.items()]
            spans = [one for one in entry.state.spans if (one.chain_id, one.source) != (chain_id, source)]
            self._take_back(entry, [*rules, (EVERY_FACT, of_source)], spans)

    def prune(self, table: str, before: int) -> int:
        declared = TABLES[table]
        old = f"{declared.time} < {before}"
        with self._errors():
            entry = self._newest()
            rows = rows_of(entry.state, declared, [(declared.column(declared.time), old)])
            count = int(self._connection.columns(f"SELECT count() FROM {rows}")[0][0])  # noqa: S608
            if count:
                self._take_back(entry, [(table, old)], entry.state.spans)
        return count

    def note(self, chain_id: int, text: str) -> None:
        with self._errors():
            self._connection.insert_values("note", {"chain_id": chain_id, "text": text})

    def close(self) -> None:
        with self._errors():
            self._connection.close()

    def _now_ms(self) -> int:
        """Returns the time of the server, about."""
        return self._entry.now_ms + round((time.monotonic() - self._read_at) * 1000)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            # Rows of an attempt that failed may come into the tables yet, and must not count with later ones.
            self._writer = secrets.randbits(63)
            if isinstance(error, FAILURES):
                raise StoreError(refusal(error)) from error
            raise

    def _newest(self) -> Entry:
        self._read_at = time.monotonic()
        self._entry = newest(self._connection, self._entry)
        return self._entry

    def _append(self, state: State) -> None:
        """Makes a state count that follows the entry that was read last."""
        added = Entry(self._entry.number + 1, self._writer, state, self._entry.now_ms)
        if not append(self._connection, added):
            raise StoreError("another process writes the index: nothing was written")
        self._entry = added

    def _add_missing(self) -> None:
        """Makes the tables and the columns that are declared and not there."""
        text = "SELECT table, name FROM system.columns WHERE database = currentDatabase()"
        names = [[name.decode() for name in column] for column in self._connection.columns(text)]
        found = set(zip(*names, strict=True))
        for table in stored_tables():
            if table.name not in names[0]:
                self._connection.execute(create_table(table))
                continue
            for column in table.columns:
                if (table.name, column.name) not in found:
                    added = f"ADD COLUMN IF NOT EXISTS {column.name} {stored_type(table, column)}"
                    self._connection.execute(f"ALTER TABLE {table.name} {added}")

    def _check_leases(self, state: State, chain_id: int) -> None:
        """Raises ``StoreError`` when another process has taken over a source that this one holds."""
        held = {source: holder for (chain, source), holder in self._leases.items() if chain == chain_id}
        found = {one.source: one.holder for one in state.leases if one.chain_id == chain_id}
        check_leases(chain_id, held, found)

    @staticmethod
    def _cut(state: State, commit: Commit, number: int) -> State:
        """Returns the state without what a commit takes back, and with the spans that it has read."""
        chain_id, known, rules = commit.chain_id, state.spans_of(commit.chain_id), []
        if commit.rewind_to is not None:
            after = f"chain_id = {chain_id} AND block > {commit.rewind_to}"
            scopes = [
                table.name
                for table in ROLLUPS.values()
                if any(column.name == "block" for column in table.columns)
            ]
            rules += [(scope, after) for scope in (EVERY_FACT, *scopes)]
            rules.append(("block", f"chain_id = {chain_id} AND number > {commit.rewind_to}"))
            known = span_lists.cut(known, commit.rewind_to)
        rules += [
            (EVERY_FACT, range_condition(chain_id, span)) for span in span_lists.overlaps(known, commit.read)
        ]
        if commit.forget_hours_from is not None:
            from_hour = f"chain_id = {chain_id} AND hour >= {commit.forget_hours_from}"
            rules += [(name, from_hour) for name in OF_EVENTS]
        spans = [one for one in state.spans if one.chain_id != chain_id]
        for span in span_lists.joined([*known, *commit.read]):
            spans.append(ChainSpan(chain_id, span.source, span.version, span.first, span.last))
        cut = state.taking_back([Rule(scope, text, number) for scope, text in rules])
        return msgspec.structs.replace(cut, spans=spans)

    def _known(self, state: State, table: Table, facts: pa.Table, number: int) -> list[Rule]:
        """Returns what takes back the rows that have the keys of facts."""
        edges, chain_id = pc.min_max(facts["block"]), facts["chain_id"][0].as_py()
        between = f"chain_id = {chain_id} AND block BETWEEN {edges['min'].as_py()} AND {edges['max'].as_py()}"
        known = rows_of(state, table, [(table.column("block"), between)])
        text = f"SELECT block * {2**32} + log_index FROM {known}"  # noqa: S608
        places = np.array(self._connection.columns(text)[0], np.int64)
        new = facts["block"].to_numpy().astype(np.int64) << 32 | facts["log_index"].to_numpy()
        again = [f"({place >> 32}, {place & 0xFFFFFFFF})" for place in np.intersect1d(places, new).tolist()]
        if not again:
            return []
        keys = f"chain_id = {chain_id} AND (block, log_index) IN ({', '.join(again)})"
        return [Rule(table.name, keys, number)]

    def _take_back(self, entry: Entry, rules: Sequence[tuple[str, str]], spans: Sequence[ChainSpan]) -> None:
        state = entry.state.taking_back([Rule(scope, text, entry.number + 1) for scope, text in rules])
        self._append(msgspec.structs.replace(state, spans=spans, revision=state.revision + 1))

    def _tidy(self) -> None:
        """Deletes now and then what was taken back."""
        since_s = time.monotonic() - self._tidied_at
        if since_s > _TIDY_S or (len(self._entry.state.rules) > _RULES and since_s * 1000 > READ_MS):
            self._tidied_at = time.monotonic()
            self.tidy()

    def tidy(self) -> None:
        """Deletes what no reader can need any more. It may take minutes."""
        with self._errors():
            entry = self._newest()
            state = tidied(self._connection, entry)
            if state != entry.state:
                self._append(state)
