"""The process of an isolated plugin ends with the server, however that ends."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "core"))
from distributions import install
from processes import runs

STUBBORN = """
    import asyncio, contextlib, os, signal, threading, time
    from quoteway import hookimpl
    from quoteway.testing.fakes import FixedRateSwap

    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)

    @hookimpl
    @contextlib.asynccontextmanager
    async def quoteway_lifespan(context):
        with open({pid!r}, "w") as file:
            file.write(str(os.getpid()))
        {start}
        try:
            yield
        finally:
            {stop}
"""
CONFIG = """
[server]
port = 0
shutdown_timeout_s = 10
[plugins]
load = ["stubborn"]
isolate = ["stubborn"]
startup_timeout_s = 120
[quotes]
keys = [{id = "k", secret = {env = "TEST_KEY"}}]
"""
PATIENCE_S = 90


def wait_for(condition):
    ends_at = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < ends_at, "it did not happen in time"
        time.sleep(0.05)
    return found


@pytest.fixture
def serve(tmp_path):
    """Starts a server with an isolated plugin of these statements; the server and the plugin's process id."""
    servers = []

    def start(start="pass", stop="pass"):
        pid = tmp_path / "pid"
        install(tmp_path, "stubborn", STUBBORN.format(pid=str(pid), start=start, stop=stop))
        (tmp_path / "quoteway.toml").write_text(CONFIG)
        server = subprocess.Popen(
            [sys.executable, "-m", "quoteway", "serve", "--config", str(tmp_path / "quoteway.toml")],
            env={**os.environ, "PYTHONPATH": str(tmp_path), "TEST_KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"},
        )
        servers.append(server)
        return server, int(wait_for(lambda: server.poll() is None and pid.exists() and pid.read_text()))

    yield start
    for server in servers:
        server.kill()
        server.wait()


BLOCKED_THREAD = "threading.Thread(target=time.sleep, args=(600,))"
BUSY = "asyncio.get_running_loop().call_later(1, exec, 'while True: pass')"


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "start", [pytest.param("pass", id="idle"), pytest.param(BUSY, id="busy loop", marks=SLOW)]
)
def test_the_process_ends_when_the_server_is_killed(serve, start):
    server, pid = serve(start)
    assert runs(pid)
    server.send_signal(signal.SIGKILL)
    server.wait()
    wait_for(lambda: not runs(pid))


@pytest.mark.parametrize(
    ("start", "stop"),
    [
        pytest.param("pass", "pass", id="idle"),
        pytest.param("pass", "await asyncio.sleep(600)", id="slow to stop", marks=SLOW),
        pytest.param("pass", "time.sleep(600)", id="blocked when stopping", marks=SLOW),
        pytest.param(f"{BLOCKED_THREAD}.start()", "pass", id="thread", marks=SLOW),
        pytest.param(BUSY, "pass", id="busy loop", marks=SLOW),
    ],
)
def test_the_server_stops_and_the_process_with_it(serve, start, stop):
    server, pid = serve(start, stop)
    server.send_signal(signal.SIGTERM)
    assert server.wait(PATIENCE_S) == 0
    assert not runs(pid)
