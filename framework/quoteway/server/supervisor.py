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
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from quoteway.config.model import Config
from quoteway.config.run_folder import (
    RUN_CONFIG,
    RUN_FOLDER,
    RUN_POLICY,
    Reload,
    failure_of,
    keep,
    write_reload,
)
from quoteway.errors import ConfigError
from quoteway.guard.policy_file import parse_policy, read_policy_file
from quoteway.server.serve import (
    READY_FILE,
    STOP_AT_EOF,
    STOP_SIGNALS,
    UNUSABLE_CONFIG,
    no_socket,
    unignored,
)

log = logging.getLogger("quoteway.server.supervisor")

MAX_BACKOFF_S = 30.0
STEADY_S = 10.0
"""A worker that lived this long starts again without delay."""
READY_WITHIN_S = 60.0
"""How much longer than its plugins may take to start a new worker has until it is ready."""
FIXED = ("host", "port", "workers", "metrics_port", "metrics_host")
"""Settings of ``[server]`` that need a restart."""


def check_store(config: Config) -> None:
    """Raises ``ConfigError`` when a store cannot be used: every worker would refuse it."""
    from quoteway.host.plugin_rows import open_rows
    from quoteway.web.http.buckets import open_store

    open_rows(config)
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
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """The configuration and the policy that it follows, also when it is started again."""


@dataclass(slots=True)
class Supervisor:
    """Keeps ``workers`` processes on one port (SO_REUSEPORT: the kernel spreads connections over them).

    A worker that dies is started again, later each time. SIGTERM and SIGINT end all of them gracefully.
    SIGHUP reads the configuration again, with ``load``, and replaces one worker after another; it ends them
    too in the embedded default, as when a terminal closes. Each worker's standard input is a pipe from here,
    which closes when the supervisor is gone.
    """

    config: Config
    command: Sequence[str]
    environ: Mapping[str, str]
    load: Callable[[], Config]
    _workers: list[_Worker] = field(default_factory=list)
    _replaced: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _measured: list[subprocess.Popen[bytes]] = field(default_factory=list)
    """The processes whose state is in the shared metrics."""
    _stop: signal.Signals | None = None
    _reload: bool = False
    _lifeline: IO[bytes] | None = None
    _lifeline_end: IO[bytes] | None = None

    def run(self) -> int:
        """Returns the exit status: 0 when stopped by a signal, 1 when workers never came up, 2 when the
        configuration cannot be used. Raises ``ConfigError`` for what no worker can be started with.
        """
        check_store(self.config)
        read_end, write_end = os.pipe()  # which children do not inherit
        with (
            open(read_end, "rb") as self._lifeline,
            open(write_end, "wb") as self._lifeline_end,
            _reserved_port(self.config) as port,
            tempfile.TemporaryDirectory(prefix="quoteway-run-") as folder,
        ):
            shared = self._shared_environment(port, folder)
            files = _files(self.config)
            self._workers = [_Worker(index, files=files) for index in range(self.config.server.workers)]
            previous = {name: signal.signal(name, self._on_signal) for name in unignored(STOP_SIGNALS)}
            rolling: Iterator[None] | None = None
            try:
                while self._stop is None:
                    self._forget_ended(shared[RUN_FOLDER])
                    failure = self._tend(shared)
                    if failure is not None:
                        return failure
                    if rolling is None and self._reload:
                        self._reload, rolling = False, self._roll(shared)
                    if rolling is not None:
                        rolling = next((rolling for _ in rolling), None)
                    time.sleep(0.05)
                return 0
            finally:
                self._end_all()
                for name, handler in previous.items():
                    signal.signal(name, handler)

    def _on_signal(self, number: int, frame: object) -> None:
        if number == signal.SIGHUP and not self.config.embedded:
            self._reload = True
            return
        # Ctrl-C, and any second signal, waits for no caller.
        again = self._stop is not None
        self._stop = signal.SIGINT if again else signal.Signals(number)

    def _shared_environment(self, port: int, folder: str) -> dict[str, str]:
        shared = dict(self.environ)
        shared["QUOTEWAY_SERVER__PORT"] = str(port)
        shared["QUOTEWAY_SERVER__WORKERS"] = str(self.config.server.workers)
        shared["PROMETHEUS_MULTIPROC_DIR"] = shared[RUN_FOLDER] = folder
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
                worker.process = self._start(worker.index, shared, worker.files)
                worker.started_at, worker.starts = now, worker.starts + 1
        return None if any(worker.failures < 5 for worker in self._workers) else 1

    def _start(
        self, index: int, shared: Mapping[str, str], files: Mapping[str, bytes | None]
    ) -> subprocess.Popen[bytes]:
        folder = shared[RUN_FOLDER]
        # Written each time: what cleans folders of temporary files may have removed a copy.
        copies = {name: "" if text is None else keep(folder, text) for name, text in files.items()}
        environ = {**shared, **copies, "QUOTEWAY_WORKER": str(index)}
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            list(self.command), env=environ, stdin=self._lifeline
        )
        self._measured.append(process)
        return process

    def _forget_ended(self, folder: str) -> None:
        """Removes the state of ended workers from the shared metrics. What they counted stays."""
        for process in [each for each in self._measured if each.poll() is not None]:
            from prometheus_client.multiprocess import mark_process_dead

            mark_process_dead(process.pid, folder)  # type: ignore[no-untyped-call]  # not annotated upstream
            self._measured.remove(process)

    def _roll(self, shared: Mapping[str, str]) -> Iterator[None]:
        """Replaces the workers by ones with the configuration as it is now. Yields while it waits.

        A configuration or policy that cannot be used, or with which a worker does not get ready, changes
        nothing: workers that were replaced before it are replaced again by ones as they were. How it ended is
        told to the workers, whose operators see it.
        """
        folder = shared[RUN_FOLDER]

        def ended(outcome: Literal["reloaded", "refused", "incomplete"], why: str | None = None) -> None:
            write_reload(folder, Reload(int(time.time()), outcome, why))

        try:
            config, files = self._loaded()
        except ConfigError as error:
            log.error("the configuration is not reloaded, the old one stays in force: %s", error)
            ended("refused", str(error))
            return
        log.info("reloading: %d workers are replaced, one after another", len(self._workers))
        replaced: list[_Worker] = []
        for worker in self._workers:
            old = worker.files
            why = yield from self._replace(worker, shared, files, config)
            if why is None:
                replaced.append(worker)
                continue
            log.error("reloading ended: %s", why)
            not_back = False
            for each in replaced:
                each.files = old
                not_back |= (yield from self._replace(each, shared, old, self.config)) is not None
            if not_back:
                log.error(
                    "a worker could not be taken back: it has the old configuration from its next start"
                )
            elif replaced:
                log.info("the old configuration is in force again in all workers")
            ended("incomplete" if not_back else "refused", why)
            return
        self.config = config
        ended("reloaded")
        log.info("reloaded")

    def _replace(
        self, worker: _Worker, shared: Mapping[str, str], files: Mapping[str, bytes | None], config: Config
    ) -> Generator[None, None, str | None]:
        """Starts a new process of a worker and ends the old one when the new one is ready.

        Returns why the new one did not get ready, after which the old one goes on. Yields while it waits.
        """
        folder = shared[RUN_FOLDER]
        new = self._start(worker.index, shared, files)
        self._replaced.append(new)
        started_at = time.monotonic()
        ready = Path(folder) / READY_FILE.format(pid=new.pid)
        most_s = config.plugins.startup_timeout_s + READY_WITHIN_S
        while not ready.exists():
            if new.poll() is not None or time.monotonic() - started_at > most_s:
                new.terminate()
                why = failure_of(folder, new.pid) or "see the log"
                return f"new worker {worker.index} did not get ready: {why}"
            yield
        self._replaced.remove(new)
        old, worker.process = worker.process, new
        worker.started_at, worker.failures, worker.files = started_at, 0, files
        if old is not None:
            self._replaced.append(old)
            old.terminate()
            while old.poll() is None:
                yield
            self._replaced.remove(old)
        return None

    def _loaded(self) -> tuple[Config, Mapping[str, bytes | None]]:
        """Returns the configuration as it is now, and the files that its workers follow.

        Raises ``ConfigError`` when it cannot be used, or needs a restart.
        """
        config = self.load()
        check_store(config)
        new, old = config.server, self.config.server
        changed = [f"server.{name}" for name in FIXED if getattr(new, name) != getattr(old, name)]
        if config.embedded:
            raise ConfigError("nothing makes this a deployment any more: restart the server")
        if changed:
            raise ConfigError(f"{', '.join(changed)} changed: restart the server")
        return config, _files(config)

    def _note_death(self, worker: _Worker, status: int | None, now: float) -> None:
        steady = now - worker.started_at >= STEADY_S
        worker.failures = 0 if steady else worker.failures + 1
        delay_s = 0.0 if steady else min(MAX_BACKOFF_S, 0.2 * 2**worker.failures)
        worker.start_at, worker.process = now + delay_s, None
        log.error("worker %d ended with status %s; starting again in %.1f s", worker.index, status, delay_s)

    def _end_all(self) -> None:
        """Ends the workers by SIGTERM; at once after SIGINT, after a second signal, and without a signal.

        That is told by the end of their standard input: a process may have inherited that it ignores SIGINT.
        """
        current = [worker.process for worker in self._workers if worker.process is not None]
        running = [process for process in (*current, *self._replaced) if process.poll() is None]
        server = self.config.server
        deadline = time.monotonic() + server.drain_s + 2 * server.shutdown_timeout_s + 5
        for process in running:
            process.terminate()
        while running:
            if self._stop in (None, signal.SIGINT) and self._lifeline_end is not None:
                self._lifeline_end.close()
            if time.monotonic() >= deadline:
                log.error("workers did not stop in time: killed")
                for process in running:
                    process.kill()
                    process.wait()
            time.sleep(0.02)
            running = [process for process in running if process.poll() is None]


def _files(config: Config) -> dict[str, bytes | None]:
    """Returns the files that workers follow until the next reload, by the variables that name their copies.

    Raises ``ConfigError`` for a file that cannot be read, and a policy that cannot be used.
    """
    files: dict[str, bytes | None] = {RUN_CONFIG: None, RUN_POLICY: None}
    if config.path is not None:
        try:
            files[RUN_CONFIG] = config.path.read_bytes()
        except OSError as error:
            raise ConfigError(f"{config.path}: cannot be read ({error.strerror})") from None
    if config.policy_file is not None:
        files[RUN_POLICY] = content = read_policy_file(config.policy_file)
        parse_policy(content, str(config.policy_file))
    return files


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
