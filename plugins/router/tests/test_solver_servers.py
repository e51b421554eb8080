"""Solver processes of a served gateway: each worker and isolated plugin has its own, and none is left."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

PLUGIN = """
    import asyncio, contextlib, os, sys
    from pathlib import Path

    import test_solver_processes as tests
    from quoteway import hookimpl

    @hookimpl
    @contextlib.asynccontextmanager
    async def quoteway_lifespan(context):
        async with tests.SolverProcesses(2, "solver_functions:obeys") as solvers:
            snapshot = tests.snapshot_of()
            assert await solvers.solve(snapshot, tests.order(), 60)
            await tests.until(lambda: len(tests.children()) == 2 and solvers._idle == 2)
            loops = solvers.solve(snapshot, tests.order("it did not answer in time "), 1)
            working = asyncio.create_task(loops)
            told = Path(__file__).with_name(f"{os.getpid()}.pids")
            told.with_suffix(".new").write_text(" ".join(map(str, tests.children())))
            told.with_suffix(".new").rename(told)
            yield
"""
ENTRY = "[quoteway.v1]\nsolving = solving\n"
CONFIG = """
[server]
port = 0
workers = {workers}
[plugins]
load = ["solving"]
isolate = {isolate}
startup_timeout_s = 120
[quotes]
keys = [{{id = "k", secret = {{env = "TEST_KEY"}}}}]
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize(("workers", "isolate"), [(2, []), (1, ["solving"])], ids=["workers", "isolated"])
def test_no_solver_process_outlives_the_server(tmp_path, workers, isolate, end):
    (tmp_path / "solving.py").write_text(textwrap.dedent(PLUGIN))
    facts = tmp_path / "solving-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: solving\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(ENTRY)
    (tmp_path / "quoteway.toml").write_text(CONFIG.format(workers=workers, isolate=isolate))
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parent)])
    server = subprocess.Popen(
        [sys.executable, "-m", "quoteway", "serve", "--config", str(tmp_path / "quoteway.toml")],
        env={**os.environ, "PYTHONPATH": paths, "TEST_KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"},
    )
    try:
        wait_for(lambda: len([*tmp_path.glob("*.pids")]) == workers)
        pids = [pid for told in tmp_path.glob("*.pids") for pid in told.read_text().split()]
        assert len(pids) == 2 * workers
        server.send_signal(end)
        assert server.wait(60) == (0 if end == signal.SIGTERM else -end)
        wait_for(lambda: not any(is_solver(pid) for pid in pids))
    finally:
        server.kill()
        server.wait()


def is_solver(pid):
    try:
        return bool(re.search(rb"solver_worker", Path(f"/proc/{pid}/cmdline").read_bytes()))
    except OSError:
        return False


def wait_for(condition):
    ends_at = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < ends_at, "it did not happen in time"
        time.sleep(0.05)
