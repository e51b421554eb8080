"""Serving: one process on a socket."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quoteway.config.model import Config
from quoteway.config.run_folder import RUN_FOLDER
from quoteway.errors import ConfigError
from quoteway.host.memory import keep_giving_back
from quoteway.host.states import NotEnabled
from quoteway.server.stopping import Stopping

if TYPE_CHECKING:
    from aiohttp import web

    from quoteway.engine.gateway import Gateway

log = logging.getLogger("quoteway.server.serve")

STOP_SIGNALS = tuple(name for name in signal.Signals if name.name in ("SIGTERM", "SIGINT", "SIGHUP"))
"""Each ends a process that serves. A supervisor of a deployment reloads at SIGHUP instead."""
STOP_AT_EOF = "QUOTEWAY_STOP_AT_EOF"
"""With this environment variable the process stops gracefully when its standard input ends. The kernel closes
a pipe when the process at its other end is gone, after SIGKILL too, so no child outlives its parent."""
GC_THRESHOLDS = 10_000, 20, 3
"""The defaults collect after each 700 new objects, which cost an eighth of a call that is passed on, and a
quarter of the time that long lists take. By the last one all garbage is looked for after minutes: what stays
is frozen, and the rest of a worker, some 60,000 objects, takes about 50 ms. With 20 that came after half an
hour, when garbage was a quarter of the memory and took several times as long."""
READY_FILE = "ready-{pid}"
"""What a worker writes into the folder of the run when its plugins are up."""
WARM_S = 10.0
"""How long a new worker waits at most for its first lists before it takes requests."""
BACKLOG = 1_024
"""The most connections that wait to be accepted."""
UNUSABLE_CONFIG = 2
"""The exit status of the command after a ``ConfigError``."""


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
    with Stopping(config.server.drain_s + 2 * config.server.shutdown_timeout_s) as stopping:
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
        # Importing plugins takes longer than all of the above, and /healthz answers meanwhile. But a worker
        # listens later: the kernel would give it requests that another worker or replica could answer.
        url = None if is_worker() else await _listen(runner, config, serving.listener)
        await gateway.start()
        giving_back = asyncio.create_task(keep_giving_back(), name="serve:memory")
        settling = asyncio.create_task(_settle(gateway, runner, serving, url), name="serve:settle")
        stop = asyncio.create_task(stopping.requested.wait(), name="serve:stop")
        await asyncio.wait([settling, stop], return_when=asyncio.FIRST_COMPLETED)
        if settling.done():
            settling.result()
        settling.cancel()
        await stop
        await _drain(gateway, runner, stopping)
        log.info("stopping: requests under way get %g s", config.server.shutdown_timeout_s)
        giving_back.cancel()
    finally:
        await runner.cleanup()
        await gateway.stop()
        gateway.watchdog.stop()
        stopping.served()


async def _drain(gateway: Gateway, runner: web.AppRunner, stopping: Stopping) -> None:
    """Serves on for ``drain_s`` seconds, so that callers and load balancers go elsewhere and lose nothing.

    A connection that is closed while its client sends a request costs the client that request.
    """
    from quoteway.web.http.protocol import EnvelopeServer
    from quoteway.web.resources.stream import STREAMS

    drain_s = gateway.config.server.drain_s
    assert isinstance(runner.server, EnvelopeServer)
    gateway.draining = runner.server.draining = True
    runner.app[STREAMS].drain()  # their clients connect elsewhere, and nobody waits for them
    if drain_s and not stopping.at_once.is_set():
        log.info("draining: requests are accepted for %g s more, and /readyz is 503", drain_s)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.at_once.wait(), drain_s)


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
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    log.info("listening on %s", url)
    return url


async def _settle(gateway: Gateway, runner: web.AppRunner, serving: Serving, url: str | None) -> None:
    """Waits until the plugins are up, and listens then without ``url``.

    Raises ``ConfigError`` when the plugins cannot start or the socket cannot be had.
    """
    await gateway.started()
    if not gateway.ready:
        raise ConfigError("start-up failed: see the log")
    if gateway.config.embedded and not gateway.runtime.networks:
        # Without a configuration there is nothing to serve but what the plugins bring by themselves.
        failed = [p for p in gateway.registry.plugins if p.reason is NotEnabled.STARTUP_FAILED]
        if failed:
            raise ConfigError("; ".join(f"plugin {p.name} did not start: {p.detail}" for p in failed))
    if url is None:
        await gateway.warmed(WARM_S)
        url = await _listen(runner, gateway.config, serving.listener)
    freeze_what_stays()
    _tell_supervisor()
    if serving.announce is not None:
        serving.announce(gateway, url)


def _tell_supervisor() -> None:
    """Tells the supervisor, if there is one, that this worker is ready."""
    if RUN_FOLDER in os.environ:
        Path(os.environ[RUN_FOLDER], READY_FILE.format(pid=os.getpid())).touch()


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
