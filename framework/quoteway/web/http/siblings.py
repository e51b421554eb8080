"""Lets the workers of one run ask each other, by Unix sockets in the folder of the run.

A request reaches any worker, and what an operator asks for may be with another one. Only this user can reach
the folder.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

from aiohttp import ClientError, ClientSession, ClientTimeout, UnixConnector, web

from quoteway.config.model import Config
from quoteway.config.run_folder import RUN_FOLDER
from quoteway.web.http.envelope import json_response
from quoteway.web.http.operation import NO_STORE

SIBLING_TIMEOUT_S: Final = 30.0

Answerer: TypeAlias = Callable[[str], Awaitable[bytes | None]]
"""Takes the rest of a path, as it is after quoting. Returns JSON; None: this worker does not have it."""


class Siblings:
    """The workers of this run but this one. Each answers the others by what was added with ``answer``."""

    def __init__(self, config: Config) -> None:
        self._folder = os.environ.get(RUN_FOLDER)
        self._number = config.worker
        workers = config.server.workers if self._folder is not None else 0
        self.numbers = [number for number in range(workers) if number != config.worker]
        self._answers: dict[str, Answerer] = {}

    def answer(self, name: str, answerer: Answerer) -> None:
        """Answers the others' questions for ``name``."""
        self._answers[name] = answerer

    async def ask(self, number: int, name: str, rest: str = "") -> bytes | None:
        """Returns what a worker has; None when it has nothing or does not answer. ``rest`` is quoted."""
        connector = UnixConnector(str(self._socket(number)))
        timeout = ClientTimeout(total=SIBLING_TIMEOUT_S)
        async with ClientSession(connector=connector, timeout=timeout) as session:
            try:
                async with session.get(f"http://worker/{name}/{rest}") as response:
                    return await response.read() if response.status == 200 else None
            except (ClientError, OSError, TimeoutError):
                return None  # it is starting or has ended

    def _socket(self, worker: int) -> Path:
        return Path(self._folder or "", f"worker-{worker}.sock")

    async def serve(self, app: web.Application) -> AsyncIterator[None]:
        """Answers the others while ``app`` runs, if there are any."""
        if self._folder is None:
            yield
            return

        async def show(request: web.Request) -> web.Response:
            answerer = self._answers.get(request.match_info["name"])
            found = None if answerer is None else await answerer(request.match_info["rest"])
            if found is None:
                raise web.HTTPNotFound
            return json_response(found, 200, NO_STORE)

        inner = web.Application()
        inner.router.add_get("/{name}/{rest:.*}", show)
        runner = web.AppRunner(inner, access_log=None)
        await runner.setup()
        path = self._socket(self._number)
        path.unlink(missing_ok=True)  # of a worker that was killed
        await web.UnixSite(runner, str(path)).start()
        yield
        await runner.cleanup()
