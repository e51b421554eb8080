"""Serving: one process on a socket, or a small supervisor over several that share one port."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from quoteway.config.model import Config
from quoteway.errors import ConfigError
from quoteway.host.states import NotEnabled
from quoteway.server.stopping import Stopping

if TYPE_CHECKING:
    from aiohttp import web

    from quoteway.engine.gateway import Gateway

log = logging.getLogger("quoteway.server.serve")

STOP_SIGNALS = tuple(name for name in signal.Signals if name.name in ("SIGTERM", "SIGINT", "SIGHUP"))
"""Each ends the service gracefully. SIGHUP, which a closing terminal sends, does not reload."""
STOP_AT_EOF = "QUOTEWAY_STOP_AT_EOF"
"""With this environment variable the process stops gracefully when its standard input ends. The kernel closes
a pipe when the process at its other end is gone, after SIGKILL too, so no child outlives its parent."""
GC_THRESHOLDS = 10_000, 20, 20
"""The defaults collect after each 700 new objects, which cost an eighth of a call that is passed on, and a
quarter of the time that long lists take."""
BACKLOG = 1_024
"""The most connections that wait to be accepted."""
UNUSABLE_CONFIG = 2
"""The exit status of the command after a ``ConfigError``."""
MAX_BACKOFF_S = 30.0
STEADY_S = 10.0
"""A worker that lived this long starts again without delay."""


# --- one process -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Serving:
    """How one process serves. ``announce`` is called with the URL when the plugins are up, ``prepare`` with
    the gateway before any plugin is imported. ``listener`` is a socket that listens already.
    """

    announce: Callable[[Gateway, str], None] | None = None
    prepare: Callable[[Gateway], None] | None = None
    listener: socket.socket | None = None


def run(config: Config, serving: Serving) -> None:
    """Serves until SIGTERM, SIGINT or SIGHUP. Raises ``ConfigError`` when the socket cannot be had."""
    # Requests get the timeout, and then the lifespans of plugins.
    with Stopping(2 * config.server.shutdown_timeout_s) as stopping:
        served = _serve(config, serving, stopping)
        try:
            import uvloop
        except ImportError:  # Windows
            asyncio.run(served)
        else:
            uvloop.run(served)


async def _serve(config: Config, serving: Serving, stopping: Stopping) -> None:
    from quoteway.engine.gateway import Gateway
    from quoteway.web.app import make_app

    gc.set_threshold(*GC_THRESHOLDS)
    stopping.listen(unignored(STOP_SIGNALS))
    if STOP_AT_EOF in os.environ:
        threading.Thread(target=_stop_at_eof, args=(stopping,), daemon=True).start()
    gateway = Gateway(config)
    if serving.prepare is not None:
        serving.prepare(gateway)
    runner = make_runner(make_app(gateway, run_gateway=False), config)
    await runner.setup()
    gateway.watchdog.start()
    try:
        url = await _listen(runner, config, serving.listener)
        log.info("listening on %s", url)
        # Only now: importing plugins takes longer than all of the above, and /healthz answers meanwhile.
        await gateway.start()
        settling = asyncio.create_task(_settle(gateway, url, serving.announce), name="serve:settle")
        stop = asyncio.create_task(stopping.requested.wait(), name="serve:stop")
        await asyncio.wait([settling, stop], return_when=asyncio.FIRST_COMPLETED)
        if settling.done():
            settling.result()
        settling.cancel()
        await stop
        log.info("stopping: requests under way get %g s", config.server.shutdown_timeout_s)
    finally:
        await runner.cleanup()
        await gateway.stop()
        gateway.watchdog.stop()
        stopping.served()


def unignored(signals: Sequence[signal.Signals]) -> list[signal.Signals]:
    """The signals that this process does not ignore from its start (``nohup`` ignores SIGHUP)."""
    return [name for name in signals if signal.getsignal(name) is not signal.SIG_IGN]


def _stop_at_eof(stopping: Stopping) -> None:
    """Stops the service when standard input ends. A thread, since a plugin may block the event loop."""
    with contextlib.suppress(OSError):
        while os.read(0, 4_096):
            pass
    stopping.request()


def make_runner(app: web.Application, config: Config) -> web.AppRunner:
    """The runner with this deployment's limits and the envelope for what aiohttp answers by itself."""
    from quoteway.web.http.limits import Callers
    from quoteway.web.http.protocol import EnvelopeRunner

    server = config.server
    most = _most_connections() if server.max_connections is None else server.max_connections
    of_one = server.max_connections_per_address
    return EnvelopeRunner(
        app,
        access_log=None,
        keepalive_timeout=server.keepalive_timeout_s,
        max_line_size=server.max_line_bytes,
        max_field_size=server.max_line_bytes,
        lingering_time=1.0,
        send_timeout_s=server.request_timeout_s,
        shutdown_timeout=server.shutdown_timeout_s,
        max_connections=most,
        # With few files to open, one address still leaves three quarters of them to others.
        max_per_address=of_one if most is None else max(min(of_one, most // 4), 1),
        unlimited=Callers(server.trusted_proxies).connects_for_others,
    )


def _most_connections() -> int | None:
    """Three quarters of the files that the process may open: nodes, stores and logs need the others."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if most_files == resource.RLIM_INFINITY else most_files * 3 // 4


async def _listen(runner: web.AppRunner, config: Config, listener: socket.socket | None) -> str:
    from aiohttp import web

    server = config.server
    site: web.BaseSite
    if listener is not None:
        site = web.SockSite(runner, listener, backlog=BACKLOG)
    else:
        shared = is_worker() or None
        site = web.TCPSite(runner, server.host, server.port, backlog=BACKLOG, reuse_port=shared)
    try:
        await site.start()
    except OSError as error:
        raise no_socket(server.host, server.port, error) from None
    host, port = runner.addresses[0][:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


async def _settle(gateway: Gateway, url: str, announce: Callable[[Gateway, str], None] | None) -> None:
    """Waits until the plugins are up. Raises ``ConfigError`` when they cannot start."""
    await gateway.started()
    if not gateway.ready:
        raise ConfigError("start-up failed: see the log")
    if gateway.config.embedded and not gateway.runtime.networks:
        # Without a configuration there is nothing to serve but what the plugins bring by themselves.
        failed = [p for p in gateway.registry.plugins if p.reason is NotEnabled.STARTUP_FAILED]
        if failed:
            raise ConfigError("; ".join(f"plugin {p.name} did not start: {p.detail}" for p in failed))
    freeze_what_stays()
    if announce is not None:
        announce(gateway, url)


def freeze_what_stays() -> None:
    """Takes modules and plugins out of collections: to walk them costs a tenth of a cached answer."""
    gc.collect()
    gc.freeze()


def is_worker() -> bool:
    """Whether this process is one of several on one port."""
    return "QUOTEWAY_WORKER" in os.environ


def no_socket(host: str, port: int, error: OSError) -> ConfigError:
    """Returns why a server cannot listen, with the remedy."""
    if error.errno == errno.EADDRINUSE:
        return ConfigError(
            f"port {port} on {host} is taken: stop what listens there, or choose another with --port "
            "(0 for any free one)"
        )
    if error.errno == errno.EACCES:
        return ConfigError(f"port {port} on {host} needs privileges this user lacks: choose one above 1023")
    return ConfigError(f"cannot listen on {host} port {port}: {error.strerror or error}")


# --- several processes -------------------------------------------------------------------------------------


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
    _stopping: bool = False
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
                while not self._stopping:
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
        self._stopping = True

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
        running = [worker.process for worker in self._workers if worker.process is not None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + 2 * self.config.server.shutdown_timeout_s + 5
        for process in running:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.error("a worker did not stop in time: killed")
                process.kill()
                process.wait()


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
