"""What every back end of an index can do: one writer in the index process, readers anywhere.

Writing is synchronous: it runs in the index process, never on the event loop of a server. Reading is
asynchronous and by ``Select``, so that it can go over a socket to the process that has the database.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

Value: TypeAlias = int | float | str | bytes | None
"""A value of a column: ``bytes`` for addresses and ids, ``int`` for every integer type."""
Row: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a column with a value, or with any of several (``in``)."""

    column: str
    operator: Literal["=", "<", "<=", ">", ">=", "in"]
    value: Value | tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Select:
    """Rows of one table. ``order`` are columns, each descending with a leading ``-``."""

    table: str
    columns: tuple[str, ...]
    where: tuple[Condition, ...] = ()
    order: tuple[str, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Sum:
    """Sums of columns by group: exact, of whatever size."""

    table: str
    group: tuple[str, ...]
    sums: tuple[str, ...]
    where: tuple[Condition, ...] = ()


Query: TypeAlias = Select | Sum
"""A row of a ``Sum`` has the group's columns, then the sums, then the number of rows."""


@dataclass(frozen=True, slots=True)
class Span:
    """Blocks of a source that were read, both inclusive."""

    source: str
    version: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class IndexedBlock:
    """A block that the index has facts of, or knows for reorganisations."""

    number: int
    hash: bytes
    parent_hash: bytes
    timestamp: int


@dataclass(frozen=True, slots=True)
class Commit:
    """What is written in one transaction for one chain: all of it or nothing.

    It is applied in the order of the members. ``rewind_to`` deletes facts, blocks and the read spans of all
    sources after that block first. ``facts`` are tables by name with the columns of their declaration, whose
    integers of 256 bits are fixed-size binaries of 32 bytes (big-endian two's complement). ``blocks`` are
    added. ``read`` are spans read now, which are joined with those that touch them. ``rollups`` are rows by
    table in the order of its columns; each replaces the row with its key. ``forget_hours_from`` deletes the
    rows of ``OF_EVENTS`` that begin there or later, before ``rollups`` are written.
    """

    chain_id: int
    rewind_to: int | None = None
    facts: Mapping[str, pa.Table] = field(default_factory=dict)
    blocks: Sequence[IndexedBlock] = ()
    read: Sequence[Span] = ()
    forget_hours_from: int | None = None
    rollups: Mapping[str, Sequence[Row]] = field(default_factory=dict)


class Reader(ABC):
    """Reads an index. Every method raises ``quoteway.UpstreamError`` when the database cannot be read."""

    @abstractmethod
    async def fetch(self, query: Query) -> list[Row]:
        """Returns the rows of a query, as of the newest commit."""

    @abstractmethod
    async def spans(self, chain_id: int) -> list[Span]:
        """Returns what was read of each source, in ascending order of blocks."""

    @abstractmethod
    async def revision(self) -> int:
        """Returns a number that grows with each commit."""

    @abstractmethod
    async def notes(self) -> Mapping[str, Any]:
        """Returns what the index process said of itself last, by chain id as text."""

    def keeps(self, table: str) -> bool:
        """Tells whether the index writes a table by hours, be it empty as yet."""
        return True

    async def close(self) -> None:
        """Releases connections."""
        return


class Store(ABC):
    """Writes an index. One process holds the lease of a chain; its methods are called from one thread.

    Every method raises ``StoreError`` when the database refuses or cannot be reached.
    """

    @abstractmethod
    def migrate(self) -> None:
        """Brings the database to this version of the schema. Raises ``StoreError`` for a newer one."""

    @abstractmethod
    def lease(self, chain_id: int, source: str, holder: str, ttl_s: float) -> bool:
        """Takes or extends the right to write a source of a chain. Returns whether ``holder`` has it now."""

    @abstractmethod
    def release(self, holder: str) -> None:
        """Gives up all leases of a holder."""

    @abstractmethod
    def commit(self, commit: Commit) -> None:
        """Writes a commit in one transaction."""

    @abstractmethod
    def spans(self, chain_id: int) -> list[Span]:
        """Returns what was read of each source, in ascending order of blocks."""

    @abstractmethod
    def blocks(self, chain_id: int, first: int, last: int) -> list[IndexedBlock]:
        """Returns the known blocks of a range, in ascending order."""

    @abstractmethod
    def fetch(self, query: Query) -> list[Row]:
        """Returns the rows of a query."""

    @abstractmethod
    def drop_source(self, chain_id: int, source: str) -> None:
        """Deletes facts, spans and rollups of a source, in one transaction: it is read again then."""

    @abstractmethod
    def drop_rollup(self, chain_id: int, table: str) -> int:
        """Deletes the rows of a rollup by hours, and how far it is computed, in one transaction.

        It is computed anew then. Returns how many rows it had.
        """

    @abstractmethod
    def prune(self, table: str, before: int) -> int:
        """Deletes the rows of a table whose time is before ``before``. Returns how many."""

    @abstractmethod
    def note(self, chain_id: int, text: str) -> None:
        """Keeps what the index process says of a chain, for ``Reader.notes``: a JSON text."""

    @abstractmethod
    def close(self) -> None:
        """Closes the database."""


class StoreError(Exception):
    """The database refused or cannot be reached. Its text has no credentials."""


class StoreBusyError(StoreError):
    """Another process writes the database, which only one can."""
