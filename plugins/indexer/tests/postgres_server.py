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


@contextmanager
def postgres_server(*settings: str) -> Iterator[str]:
    """Runs a server. Yields the folder of its Unix socket, which is the host of its URLs."""
    programs = _programs()
    # PostgreSQL refuses to run as root.
    user = "postgres" if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="index-postgres-"))
    data = folder / "data"
    try:
        if user:
            shutil.chown(folder, user)
        folder.chmod(0o755)
        initial = ["--auth=trust", "--username=index", "--no-sync", "--encoding=UTF8", "--locale=C"]
        _run([programs / "initdb", *initial, f"--pgdata={data}"], user, folder)
        options = " ".join(
            f"-c {one}" for one in (*_SETTINGS, f"unix_socket_directories={folder}", *settings)
        )
        control = [programs / "pg_ctl", f"--pgdata={data}", "--wait", "--silent"]
        _run([*control, f"--log={folder / 'log'}", "start", "-o", options], user, folder)
        try:
            yield str(folder)
        finally:
            _run([*control, "--mode=immediate", "stop"], user, folder)
    finally:
        shutil.rmtree(folder)


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
