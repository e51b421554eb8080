"""What starts gets no request that another worker, or another replica, could answer."""

import os
import signal
import sys
from pathlib import Path

import pytest
from test_serving import get, serve, worker_pids  # noqa: F401
from waiting import until

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))
from distributions import install, works

pytestmark = pytest.mark.slow

WAITS = (
    works("waits")
    + """
    import asyncio, contextlib, os, pathlib

    @hookimpl
    @contextlib.asynccontextmanager
    async def quoteway_lifespan(context):
        pathlib.Path(f"starts-{os.getpid()}").touch()
        while not pathlib.Path("go").exists():
            await asyncio.sleep(0.02)
        yield
"""
)
CONFIG = """
plugins.load = ["waits"]
plugins.startup_timeout_s = 600
quotes.keys = [{id = "a", secret = {env = "KEY"}}]
"""
ASKED = 60


@pytest.fixture
def workers(serve, tmp_path):  # noqa: F811
    """Two workers that are ready, and a file without which no other gets ready."""
    install(tmp_path, "waits", WAITS)
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    (tmp_path / "go").touch()
    served = serve("--workers", "2", PYTHONPATH=str(tmp_path))
    served.url(workers=2)
    (tmp_path / "go").unlink()
    return served


def answers(served):
    """The statuses of requests, each over a connection of its own, which the kernel gives to any worker."""
    url = served.url()
    return {get(f"{url}/v2/networks", Connection="close")[0] for _ in range(ASKED)}


def test_a_worker_that_takes_the_place_of_a_killed_one_gets_no_request_before_it_is_ready(workers, tmp_path):
    os.kill(worker_pids(workers.process.pid)[0], signal.SIGKILL)
    until(lambda: len(list(tmp_path.glob("starts-*"))) == 3)
    assert answers(workers) == {200}
    (tmp_path / "go").touch()
    workers.lines("listening on", 3)
    assert answers(workers) == {200}
    assert workers.stop() == 0


def test_a_worker_with_a_new_configuration_gets_no_request_before_it_is_ready(workers, tmp_path):
    workers.process.send_signal(signal.SIGHUP)
    until(lambda: len(list(tmp_path.glob("starts-*"))) == 3)
    assert answers(workers) == {200}
    (tmp_path / "go").touch()
    workers.lines('"reloaded"')
    assert workers.stop() == 0
