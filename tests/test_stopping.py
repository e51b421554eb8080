"""SIGTERM ends the server in time, whatever a plugin does while it stops or starts."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "core"))
from distributions import install, works

LIFESPAN = """
    import asyncio, contextlib, threading, time

    def blocks_for_ever():
        while True:
            time.sleep(1)

    async def swallows_cancellation():
        while True:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                pass

    @hookimpl
    @contextlib.asynccontextmanager
    async def quoteway_lifespan(context):
        {start}
        yield
        {stop}
"""
FAULTS = {
    "swallows": ("pass", "await swallows_cancellation()", "task plugin:bad.lifespan", 0),
    "blocks": ("pass", "blocks_for_ever()", "blocks_for_ever", 1),
    "blocks at start": ("print('started', flush=True); blocks_for_ever()", "pass", "blocks_for_ever", 1),
    "task": (
        "globals().update(t=asyncio.create_task(swallows_cancellation(), name='mine'))",
        "pass",
        "mine",
        0,
    ),
    "thread": ("threading.Thread(target=blocks_for_ever, name='busy').start()", "pass", "busy", 0),
    "executor": ("asyncio.get_running_loop().run_in_executor(None, blocks_for_ever)", "pass", "thread", 0),
}
CONFIG = """
[server]
port = 0
shutdown_timeout_s = 1
[plugins]
load = ["bad"]
[quotes]
keys = [{id = "k", secret = {env = "TEST_KEY"}}]
"""


@pytest.mark.parametrize(
    "fault", ["swallows", *(pytest.param(each, marks=pytest.mark.slow) for each in list(FAULTS)[1:])]
)
def test_sigterm_ends_the_server_and_names_what_was_left(tmp_path, fault):
    start, stop, named, status = FAULTS[fault]
    install(tmp_path, "bad", works("bad") + LIFESPAN.format(start=start, stop=stop))
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "quoteway", "serve", "--config", str(tmp_path / "quoteway.toml")],
            env={**os.environ, "PYTHONPATH": str(tmp_path), "TEST_KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"},
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    try:
        is_up = "started" if fault == "blocks at start" else "ready: providers"
        ends_at = time.monotonic() + 120
        while not re.search(is_up, log.read_text()):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < ends_at, log.read_text()
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        # Twice the timeout and the grace are 6 s. Without the deadline it would never end.
        assert process.wait(60) == status, log.read_text()
    finally:
        process.kill()
        process.wait()
    (line,) = [line for line in log.read_text().splitlines() if "ending the process" in line]
    assert named in line


NESTED = """
import asyncio, os, signal, sys
from quoteway.server.stopping import Stopping

nested = 0

def interrupt(frame, event, arg):
    # A second signal arrives at each line of what the first one runs.
    global nested
    caller = frame
    while caller is not None and caller.f_code.co_name != "_on_signal":
        caller = caller.f_back
    if event == "line" and caller is not None and nested < 100:
        nested += 1
        signal.raise_signal(signal.SIGTERM)
    return interrupt

async def serve(stopping):
    stopping.listen([signal.SIGTERM])
    sys.settrace(interrupt)
    signal.raise_signal(signal.SIGTERM)
    await stopping.requested.wait()
    await stopping.at_once.wait()
    sys.settrace(None)
    stopping.served()

with Stopping(0.5) as stopping:
    asyncio.run(serve(stopping))
print("interrupted", nested)
"""


def test_a_signal_during_the_handling_of_another_does_not_hang_the_process():
    """As when systemd signals a whole unit, and the supervisor its workers at the same moment."""
    done = subprocess.run(
        [sys.executable, "-c", NESTED], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.removeprefix("interrupted ")) > 5
