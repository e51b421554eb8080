"""The index of the embedded default: the server runs the index process as its child.

The child gets the networks through its standard input, which stays open as long as its parent lives. When it
ends, by SIGKILL of the parent too, the child ends.
"""

from __future__ import annotations

import asyncio
import base64
import math
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from quoteway import Context, Network

CHILD: Final = "QUOTEWAY_INDEX_CHILD"
"""With this environment variable a process is the child."""
_DEFAULT_PATH: Final = "quoteway-index.duckdb"
STARTING_S: Final = 60.0
"""How long after the start of the server its child may take to answer: 10 seconds on two busy cores."""
_STARTING_UNTIL: Final = "starting_until"
_FIRST_HEADS_S: Final = 20.0
_POLL_S: Final = 0.1
_STEADY_S: Final = 30.0
_LONGEST_RETRY_S: Final = 60.0
_END_S: Final = 10.0
_POLITE: Final = 5
"""The niceness of the child: the server answers first."""


def is_child() -> bool:
    """Returns whether this process is the child of a server."""
    return CHILD in os.environ


def is_parent(context: Context) -> bool:
    """Returns whether this process is a server of the embedded default, which has an index of its own."""
    settings = context.settings
    is_default = settings["store"] == "duckdb" and settings["path"] == _DEFAULT_PATH
    return context.config.embedded and is_default and settings["enabled"] is not False and not is_child()


def settings_of(context: Context) -> Mapping[str, Any]:
    """Returns the settings of the plugin, in the embedded default with a temporary place for the index."""
    if not is_parent(context):
        return context.settings
    folder = _folder(context)
    return {**context.settings, "path": str(folder / "index.duckdb"), "socket": str(folder / "index.sock")}


def _folder(context: Context) -> Path:
    """Returns a folder that all workers know. It is deleted when the server ends."""
    shared = os.environ.get("QUOTEWAY_RUN_FOLDER")
    if shared is not None:
        return Path(shared)
    if "folder" not in context.state:
        context.state["folder"] = tempfile.TemporaryDirectory(prefix="quoteway-index-")
    return Path(context.state["folder"].name)


# --- in the server -----------------------------------------------------------------------------------------


@asynccontextmanager
async def child_running(context: Context) -> AsyncIterator[None]:
    """Keeps the child of a server running meanwhile. The start of the server does not wait for it."""
    if is_parent(context):
        context.state[_STARTING_UNTIL] = time.monotonic() + STARTING_S
    if not is_parent(context) or context.config.worker != 0:
        yield
        return
    keeping = asyncio.create_task(_keep(context), name="indexer: child")
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])
        folder = context.state.pop("folder", None)
        if folder is not None:
            folder.cleanup()


def is_starting(context: Context) -> bool:
    """Returns whether the child is being started for the first time: it has neither answered nor ended yet.

    Only the worker that runs the child knows that it has ended; the others wait ``STARTING_S`` for it.
    """
    until: float = context.state.get(_STARTING_UNTIL, -math.inf)
    return time.monotonic() < until


def has_started(context: Context) -> None:
    """Takes note that the child has answered or ended: from now on it is expected to answer."""
    context.state.pop(_STARTING_UNTIL, None)


async def _keep(context: Context) -> None:
    """Starts the child, and again when it ends, later each time."""
    await _first_heads(context)
    loop, failures = asyncio.get_running_loop(), 0
    while True:
        began = loop.time()
        status = await _run(context)
        has_started(context)
        failures = 0 if loop.time() - began > _STEADY_S else failures + 1
        delay_s = min(_LONGEST_RETRY_S, 0.5 * 2**failures)
        text = "the index process ended with status %s; starting it again in %.1f s"
        context.log.warning(text, status, delay_s)
        await asyncio.sleep(delay_s)


async def _first_heads(context: Context) -> None:
    """Waits until the server has read the heads of its networks: it is ready then, and its chains run."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_FIRST_HEADS_S):
            for network in context.networks:
                while context.chain(network).known_head is None:  # noqa: ASYNC110 - nothing tells it
                    await asyncio.sleep(_POLL_S)


async def _run(context: Context) -> int:
    """Runs the child until it ends. Returns its exit status."""
    settings = settings_of(context)
    environment = {
        **os.environ,
        CHILD: "1",
        "QUOTEWAY_PLUGIN__INDEXER__PATH": settings["path"],
        "QUOTEWAY_PLUGIN__INDEXER__SOCKET": settings["socket"],
        # The chains run in the server.
        "QUOTEWAY_PLUGIN__DEVNET__ENABLED": "false",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "quoteway", "index"), env=environment, stdin=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    try:
        with suppress(ConnectionError):
            process.stdin.write(base64.b64encode(pickle.dumps(tuple(context.networks))) + b"\n")
            await process.stdin.drain()
        return await process.wait()
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_END_S):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


# --- in the child ------------------------------------------------------------------------------------------


def given_networks(context: Context) -> Iterable[Network]:
    """Returns in the child the networks of its parent; none elsewhere."""
    if not is_child():
        return ()
    line = sys.stdin.buffer.readline()
    networks: tuple[Network, ...] = pickle.loads(base64.b64decode(line))  # noqa: S301 - from our own parent
    return networks


def end_with_parent(context: Context) -> None:
    """Makes the child end when its parent is gone, and leaves the processor to the server."""
    os.nice(_POLITE)
    watch = threading.Thread(target=_end_at_eof, args=(context,), name="index-parent", daemon=True)
    watch.start()


def _end_at_eof(context: Context) -> None:
    # Not through the buffer: its lock would abort the interpreter when the process ends by itself.
    while os.read(sys.stdin.fileno(), 1 << 16):
        pass
    context.state["is_orphan"] = True
    os.kill(os.getpid(), signal.SIGTERM)


def clean_up(context: Context) -> None:
    """Deletes the index of a parent that is gone and could not do it itself."""
    if not context.state.get("is_orphan"):
        return
    path = Path(context.settings["path"])
    for each in path.parent.glob(f"{path.stem}.*"):
        each.unlink(missing_ok=True)
    with suppress(OSError):
        path.parent.rmdir()
