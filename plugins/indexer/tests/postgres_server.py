"""A PostgreSQL server of a test's own, of Debian's package."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
from quoteway import Secret

_SETTINGS = ("listen_addresses=", "fsync=off", "max_connections=50", "unix_socket_permissions=0777")


class PostgresServer:
    """A server in a folder of its own, which is the host of its URLs: it listens at a Unix socket there."""

    def __init__(self, *settings: str) -> None:
        self._programs = _programs()
        # PostgreSQL refuses to run as root.
        self._user = "postgres" if os.getuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="index-postgres-"))
        self._runs = False
        every = (*_SETTINGS, f"unix_socket_directories={self.folder}", *settings)
        self._options = " ".join(f"-c {one}" for one in every)

    def create(self) -> None:
        """Makes the files of the server, which does not run yet."""
        if self._user:
            shutil.chown(self.folder, self._user)
        self.folder.chmod(0o755)
        initial = ["--auth=trust", "--username=index", "--no-sync", "--encoding=UTF8", "--locale=C"]
        _run([self._programs / "initdb", *initial, f"--pgdata={self._data}"], self._user, self.folder)

    def start(self) -> None:
        """Returns when the server answers."""
        log = f"--log={self.folder / 'log'}"
        _run([*self._control, log, "start", "-o", self._options], self._user, self.folder)
        self._runs = True

    def stop(self) -> None:
        """Ends the server and its connections at once, as a crash does; nothing when it does not run."""
        if self._runs:
            self._runs = False
            _run([*self._control, "--mode=immediate", "stop"], self._user, self.folder)

    def delete(self) -> None:
        """Deletes the files of the server, which does not run any more."""
        shutil.rmtree(self.folder)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _control(self) -> list[str | Path]:
        return [self._programs / "pg_ctl", f"--pgdata={self._data}", "--wait", "--silent"]


@contextmanager
def running_postgres(*settings: str) -> Iterator[PostgresServer]:
    """Runs a server, which may be stopped and started meanwhile."""
    server = PostgresServer(*settings)
    try:
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        server.delete()


@contextmanager
def postgres_server(*settings: str) -> Iterator[str]:
    """Runs a server. Yields the folder of its Unix socket, which is the host of its URLs."""
    with running_postgres(*settings) as server:
        yield str(server.folder)


def postgres_settings(folder: str, numbers: Iterator[int]) -> dict[str, Any]:
    """Makes a database, and returns the settings of an index in it."""
    name = f"index_{next(numbers)}"
    asyncio.run(_create(folder, name))
    return {"store": "postgres", "url": Secret(_url(folder, name)), "cache_mb": 8}


async def _create(folder: str, name: str) -> None:
    connection = await asyncpg.connect(_url(folder, "postgres"))
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()


def _url(folder: str, database: str) -> str:
    return f"postgresql://index@/{database}?host={folder}"


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    path = str(found[-1]) if found else shutil.which("initdb")
    assert path is not None, "install postgresql (Debian)"
    return Path(path).parent


def _run(command: list[str | Path], user: str | None, folder: Path) -> None:
    # The server keeps what it inherits open: its output must not be a pipe.
    with (folder / "output").open("a+") as output:
        done = subprocess.run(command, user=user, cwd=folder, stdout=output, stderr=output, check=False)
        output.seek(0)
        assert done.returncode == 0, output.read()
