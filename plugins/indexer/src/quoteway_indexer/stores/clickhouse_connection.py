"""Statements over ClickHouse's HTTP interface, and what its errors say."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import clickhouse_connect
import pyarrow as pa
from clickhouse_connect.driver.exceptions import Error, OperationalError

from quoteway_indexer.store import StoreError

FAILURES: Final = (Error, OSError, pa.ArrowException)
CONNECT_TIMEOUT_S: Final = 10
_SETTINGS: Final = {
    # An insert has happened when it is answered, and one that is sent again counts once.
    "async_insert": 0,
    "insert_deduplicate": 1,
    "lightweight_deletes_sync": 2,
    "output_format_arrow_string_as_string": 0,
    # Values are in the text of a statement.
    "max_query_size": 1 << 28,
    "max_ast_elements": 10_000_000,
    "max_expanded_ast_elements": 10_000_000,
}
_WORDS: Final = {
    516: "ClickHouse refuses the user or the password of the index: check its URL",
    81: "ClickHouse has no such database for the index: create it, or check the URL",
}


class Connection:
    """A database of a server. It connects when it is first used. Any thread may use it."""

    def __init__(self, url: str, *, timeout_s: float) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._client: Any = None

    def execute(self, text: str) -> None:
        """Runs a statement."""
        self._connected().command(text)

    def columns(self, text: str) -> list[list[Any]]:
        """Returns the columns of a query. Texts, and integers of 256 bits (little-endian), are bytes."""
        answer = self._connected().raw_query(text, fmt="ArrowStream")
        table = pa.ipc.open_stream(answer).read_all()
        return [column.to_pylist() for column in table.columns]

    def insert(self, table: str, rows: pa.Table) -> None:
        """Inserts rows into the columns of their names."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows)
        body = sink.getvalue().to_pybytes()
        self._connected().raw_insert(table, rows.column_names, body, fmt="ArrowStream")

    def insert_values(self, table: str, values: Mapping[str, int | str]) -> None:
        """Inserts one row; other columns have their defaults."""
        self.insert(table, pa.table({name: [value] for name, value in values.items()}))

    def close(self) -> None:
        """Closes the connections."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = clickhouse_connect.get_client(
                    dsn=self._url,
                    interface="https" if urlsplit(self._url).scheme == "clickhouses" else "http",
                    settings=dict(_SETTINGS),
                    connect_timeout=CONNECT_TIMEOUT_S,
                    send_receive_timeout=self._timeout_s,
                    autogenerate_session_id=False,
                    dedicated_pool=True,
                    client_name="quoteway-indexer",
                )
            return self._client


def server_version(url: str) -> str:
    """Returns the version of the server. Raises ``StoreError`` when it cannot be reached, or refuses."""
    connection = Connection(url, timeout_s=CONNECT_TIMEOUT_S)
    try:
        ((found,),) = connection.columns("SELECT version()")
    except FAILURES as error:
        raise StoreError(refusal(error)) from None
    finally:
        connection.close()
    return found.decode() if isinstance(found, bytes) else str(found)


def refusal(error: BaseException) -> str:
    """Returns what is wrong, without the address of the database, its user or its password."""
    if isinstance(error, Error) and error.code is not None:
        return _WORDS.get(error.code, f"ClickHouse refused: {error.code} {error.name}")
    words = "cannot be reached" if isinstance(error, OperationalError | OSError) else "was not understood"
    return f"ClickHouse {words}: {type(error).__name__}"
