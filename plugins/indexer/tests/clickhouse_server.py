"""ClickHouse's engine behind its HTTP interface, as far as ``clickhouse-connect`` and an index need it.

The engine is chDB's, in a process of its own: it can have one path open, and ends with a signal as a server
does. It runs one statement at a time. What a server adds to the engine (users, TLS, compression, progress,
parallel statements) is not here.
"""

from __future__ import annotations

import base64
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from quoteway import Secret

USER = "index"
_TRANSPORT = (
    "query",
    "database",
    "default_format",
    "query_id",
    "wait_end_of_query",
    "client_protocol_version",
)
_FROM_BODY = re.compile(rb"\s*(INSERT INTO \S+ \([^)]*\)) FORMAT ArrowStream\n")


@contextmanager
def clickhouse_server(folder: Path) -> Iterator[str]:
    """Runs a server of the data in a folder. Yields its address. It is killed in the end."""
    command = [sys.executable, __file__, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline()
        try:
            assert port, "install chdb-core"
            yield f"127.0.0.1:{port.strip()}"
        finally:
            process.kill()


def clickhouse_settings(address: str, numbers: Iterator[int]) -> dict[str, Any]:
    """Makes a database, and returns the settings of an index in it."""
    from quoteway_indexer.stores.clickhouse_connection import Connection

    database = f"index_{next(numbers)}"
    admin = Connection(f"clickhouse://{USER}@{address}/default", timeout_s=60)
    admin.execute(f"CREATE DATABASE {database}")
    admin.close()
    return settings_of(address, database)


def settings_of(address: str, database: str) -> dict[str, Any]:
    """Returns the settings of an index in a database."""
    return {"store": "clickhouse", "url": Secret(f"clickhouse://{USER}@{address}/{database}")}


class _Engine:
    def __init__(self, folder: str) -> None:
        import chdb

        self._connection = chdb.connect(folder)
        self._lock = threading.Lock()
        self._settings: dict[str, str] = {}

    def run(self, parameters: dict[str, str], body: bytes) -> bytes:
        statement = parameters.get("query", "").encode()
        body = statement + b"\n" + body if statement else body
        with self._lock:
            self._connection.query(f"USE {parameters.get('database', 'default')}", "TabSeparated")
            for name, value in parameters.items():
                if name not in _TRANSPORT and self._settings.get(name) != value:
                    self._connection.query(f"SET {name} = '{value}'", "TabSeparated")
                    self._settings[name] = value
            inserted = _FROM_BODY.match(body)
            if inserted is None:
                kind = parameters.get("default_format", "TabSeparated")
                return bytes(self._connection.query(body.decode(), kind).bytes() or b"")
            with tempfile.NamedTemporaryFile() as file:
                file.write(body[inserted.end() :])
                file.flush()
                text = f"{inserted[1].decode()} FROM INFILE '{file.name}' FORMAT ArrowStream"
                self._connection.query(text, "TabSeparated")
            return b""


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer goes out as one: a part of it would wait for the client's acknowledgement
    engine: _Engine

    def do_POST(self) -> None:
        parameters = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        expected = "Basic " + base64.b64encode(f"{USER}:".encode()).decode()
        if self.headers.get("Authorization") != expected:
            self._refuse(403, "Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)")
            return
        try:
            answer = self.engine.run(parameters, body)
        except Exception as error:  # what chDB raises has no type of its own
            self._refuse(500, str(error))
            return
        self._answer(200, answer, {"X-ClickHouse-Summary": "{}"})

    def _refuse(self, status: int, text: str) -> None:
        code = re.search(r"Code: (\d+)", text)
        self._answer(status, text.encode(), {"X-ClickHouse-Exception-Code": code[1] if code else "1002"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        return


def _serve(folder: str) -> None:
    _Request.engine = _Engine(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Request)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server.serve_forever()


if __name__ == "__main__":
    # The folder of this file has modules that others must not find by their names.
    sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
    _serve(sys.argv[1])
