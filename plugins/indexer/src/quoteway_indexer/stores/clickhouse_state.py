"""What of a ClickHouse index counts: the newest entry of its commit log, and the conditions that it makes.

ClickHouse has no transactions over tables. Rows of a commit are inserted first, with the number of the commit
and a random number of the attempt (``writer``); nobody sees them. One inserted row of ``commit_log`` then
makes all of them count, and everything else that the commit changes. An entry is the whole state. Its number
is that of the entry it follows plus one. When two processes add an entry of the same number, the one that the
server added first counts (``_block_number``), for ever: a late writer can add nothing to a state that another
has replaced, and finds so by reading the log.

Rows are taken back by conditions in the state, until they are deleted (see ``clickhouse_tidying``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from quoteway_indexer.store import Span
from quoteway_indexer.stores.clickhouse_connection import Connection
from quoteway_indexer.stores.spans import by_block
from quoteway_indexer.tables import Table

EVERY_FACT: Final = "fact"
"""The scope of a rule for every table of facts."""


class Rule(NamedTuple):
    """Rows that were taken back: those of ``condition`` written before the commit ``below``.

    ``scope`` is a table, or ``EVERY_FACT``.
    """

    scope: str
    condition: str
    below: int


class Era(NamedTuple):
    """The rows with these commit numbers that count are of one writer. 0: of any, since there are no others.

    ``at_ms`` is when the last of them was written.
    """

    first: int
    last: int
    writer: int
    at_ms: int


class Lease(NamedTuple):
    """The right of a holder, in a process, to write a source."""

    chain_id: int
    source: str
    holder: str
    process: int
    expires_ms: int


class ChainSpan(NamedTuple):
    """A ``Span`` of a chain."""

    chain_id: int
    source: str
    version: int
    first: int
    last: int


class State(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the log.

    ``version`` is that of the schema, 0 before there is one. ``tidied`` is the commit up to which no key has
    more than one row.
    """

    version: int = 0
    revision: int = 0
    tidied: int = 0
    eras: Sequence[Era] = ()
    rules: Sequence[Rule] = ()
    spans: Sequence[ChainSpan] = ()
    leases: Sequence[Lease] = ()

    def spans_of(self, chain_id: int) -> list[Span]:
        """Returns what was read of a chain, in ascending order of blocks."""
        return by_block(Span(*span[1:]) for span in self.spans if span.chain_id == chain_id)

    def committed(self) -> str:
        """Returns the condition of rows whose commit counts."""
        ways = [
            f"commit_number BETWEEN {era.first} AND {era.last}"
            + (f" AND writer = {era.writer}" if era.writer else "")
            for era in self.eras
        ]
        return f"({' OR '.join(ways)})" if ways else "1 = 0"

    def standing(self, table: Table) -> list[str]:
        """Returns the conditions of rows that were not taken back."""
        return [f"NOT {taken_back(rule)}" for rule in self.rules if rule.scope in (table.name, table.kind)]

    def written(self, number: int, writer: int, at_ms: int) -> State:
        """Returns the state in which the rows count that a writer inserted with a commit number."""
        *before, last = self.eras or (None,)
        if last is None or last.writer != writer:
            eras = [*self.eras, Era(number, number, writer, at_ms)]
        else:
            eras = [*(era for era in before if era), Era(last.first, number, writer, at_ms)]
        return msgspec.structs.replace(self, eras=eras, revision=self.revision + 1)

    def taking_back(self, rules: Sequence[Rule]) -> State:
        """Returns the state with more rules. The newest of a condition has every row of an older one."""
        every = {(rule.scope, rule.condition): rule for rule in (*self.rules, *rules)}
        return msgspec.structs.replace(self, rules=list(every.values()))


class Entry(NamedTuple):
    """An entry of the log, and the time of the server when it was read."""

    number: int
    writer: int
    state: State
    now_ms: int


NOTHING: Final = Entry(0, 0, State(), 0)
"""Before the first entry."""


def taken_back(rule: Rule) -> str:
    """Returns the condition of the rows of a rule. It does not hold where a column is null."""
    return f"ifNull(commit_number < {rule.below} AND ({rule.condition}), 0)"


def newest(connection: Connection, known: Entry) -> Entry:
    """Returns the newest entry of the log. The state of the ``known`` one is not read again."""
    columns = connection.columns(
        f"SELECT number, writer, if(number = {known.number} AND writer = {known.writer}, '', state),"  # noqa: S608
        " toUnixTimestamp64Milli(now64(3)) FROM commit_log"
        " WHERE number = (SELECT max(number) FROM commit_log) ORDER BY _block_number LIMIT 1"
    )
    if not columns[0]:
        return NOTHING
    (number,), (writer,), (text,), (now_ms,) = columns
    return Entry(number, writer, msgspec.json.decode(text, type=State) if text else known.state, now_ms)


def append(connection: Connection, entry: Entry) -> bool:
    """Adds an entry to the log. Returns whether it counts."""
    text = msgspec.json.encode(entry.state).decode()
    connection.insert_values("commit_log", {"number": entry.number, "writer": entry.writer, "state": text})
    columns = connection.columns(
        f"SELECT writer FROM commit_log WHERE number = {entry.number} ORDER BY _block_number LIMIT 1"  # noqa: S608
    )
    return bool(columns[0] == [entry.writer])
