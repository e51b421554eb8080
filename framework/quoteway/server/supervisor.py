"""A supervisor over several server processes that share one port."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

from quoteway.config.model import Config
from quoteway.server.serve import STOP_AT_EOF, STOP_SIGNALS, UNUSABLE_CONFIG, no_socket, unignored

log = logging.getLogger("quoteway.server.supervisor")

MAX_BACKOFF_S = 30.0
STEADY_S = 10.0
"""A worker that lived this long starts again without delay."""


def check_store(config: Config) -> None:
    """Raises ``ConfigError`` when the store of the limits cannot be used: every worker would refuse it."""
    from quoteway.web.http.buckets import open_store

    if config.limits.enabled:
        open_store(config.limits.store)


@dataclass(slots=True)
class _Worker:
    index: int
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    failures: int = 0
    starts: int = 0


@dataclass(slots=True)
class Supervisor:
    """Keeps ``workers`` processes on one port (SO_REUSEPORT: the kernel spreads connections over them).

    A worker that dies is started again, later each time. SIGTERM, SIGINT and SIGHUP end all of them
    gracefully. Each worker's standard input is a pipe from here, which closes when the supervisor is gone.
    """

    config: Config
    command: Sequence[str]
    environ: Mapping[str, str]
    _workers: list[_Worker] = field(default_factory=list)
    _stop: signal.Signals | None = None
    _lifeline: IO[bytes] | None = None

    def run(self) -> int:
        """Returns the exit status: 0 when stopped by a signal, 1 when workers never came up, 2 when the
        configuration cannot be used. Raises ``ConfigError`` for what no worker can be started with.
        """
        check_store(self.config)
        read_end, write_end = os.pipe()  # which children do not inherit
        with (
            open(read_end, "rb") as self._lifeline,
            open(write_end, "wb"),
            _reserved_port(self.config) as port,
            tempfile.TemporaryDirectory(prefix="quoteway-run-") as folder,
        ):
            shared = self._shared_environment(port, folder)
            self._workers = [_Worker(index) for index in range(self.config.server.workers)]
            previous = {name: signal.signal(name, self._on_signal) for name in unignored(STOP_SIGNALS)}
            try:
                while self._stop is None:
                    failure = self._tend(shared)
                    if failure is not None:
                        return failure
                    time.sleep(0.05)
                return 0
            finally:
                self._end_all()
                for name, handler in previous.items():
                    signal.signal(name, handler)

    def _on_signal(self, number: int, frame: object) -> None:
        # Ctrl-C, and any second signal, waits for no caller.
        again = self._stop is not None
        self._stop = signal.SIGINT if again else signal.Signals(number)

    def _shared_environment(self, port: int, folder: str) -> dict[str, str]:
        shared = dict(self.environ)
        shared["QUOTEWAY_SERVER__PORT"] = str(port)
        shared["QUOTEWAY_SERVER__WORKERS"] = str(self.config.server.workers)
        shared["PROMETHEUS_MULTIPROC_DIR"] = shared["QUOTEWAY_RUN_FOLDER"] = folder
        shared[STOP_AT_EOF] = "1"
        if self.config.embedded:
            # Every worker must open what another sealed. Like a single process's, this key ends with the run.
            shared["QUOTEWAY_RUN_KEY"] = secrets.token_urlsafe(32)
        return shared

    def _tend(self, shared: Mapping[str, str]) -> int | None:
        """Starts the workers that are due.

        Returns an exit status when every worker keeps failing, or when one cannot use the configuration at
        its first start: another start would end the same way.
        """
        now = time.monotonic()
        for worker in self._workers:
            status = None if worker.process is None else worker.process.poll()
            if worker.process is not None and status is None:
                continue
            if worker.process is not None:
                if status == UNUSABLE_CONFIG and worker.starts == 1:
                    return UNUSABLE_CONFIG
                self._note_death(worker, status, now)
            if now >= worker.start_at:
                worker.process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
                    list(self.command),
                    env={**shared, "QUOTEWAY_WORKER": str(worker.index)},
                    stdin=self._lifeline,
                )
                worker.started_at, worker.starts = now, worker.starts + 1
        return None if any(worker.failures < 5 for worker in self._workers) else 1

    def _note_death(self, worker: _Worker, status: int | None, now: float) -> None:
        steady = now - worker.started_at >= STEADY_S
        worker.failures = 0 if steady else worker.failures + 1
        delay_s = 0.0 if steady else min(MAX_BACKOFF_S, 0.2 * 2**worker.failures)
        worker.start_at, worker.process = now + delay_s, None
        log.error("worker %d ended with status %s; starting again in %.1f s", worker.index, status, delay_s)

    def _end_all(self) -> None:
        """Passes the signal on to the workers, and a second one too. Without a signal they end at once."""
        running = [worker.process for worker in self._workers if worker.process is not None]
        server, passed_on = self.config.server, None
        deadline = time.monotonic() + server.drain_s + 2 * server.shutdown_timeout_s + 5
        while running := [process for process in running if process.poll() is None]:
            stop = self._stop or signal.SIGINT
            if stop is not passed_on:
                passed_on = stop
                for process in running:
                    process.send_signal(stop)
            if time.monotonic() >= deadline:
                log.error("workers did not stop in time: killed")
                for process in running:
                    process.kill()
                    process.wait()
            time.sleep(0.02)


@contextlib.contextmanager
def _reserved_port(config: Config) -> Iterator[int]:
    """A free port, held for the run without listening, so that only the workers can share it.

    Raises ``ConfigError`` when it is taken. SO_REUSEPORT alone would let two deployments of one user share a
    port silently.
    """
    host, port = config.server.host, config.server.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
        held = socket.socket(family, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind((host, port))
    except OSError as error:
        raise no_socket(host, port, error) from None
    with held:
        yield int(held.getsockname()[1])
