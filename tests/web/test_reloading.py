"""SIGHUP: a deployment of several workers takes a new configuration, and loses no request by it."""

import http.client
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))
from distributions import install
from test_serving import CONFIG, KEY, get, living, serve, worker_pids  # noqa: F401

pytestmark = pytest.mark.slow


@pytest.fixture
def running(serve, tmp_path):  # noqa: F811
    served = serve("--workers", "2")
    served.url(workers=2)
    served.lines("Quoteway is serving")

    def write(more):
        (tmp_path / "quoteway.toml").write_text(f"{more}\n{CONFIG}")

    served.write = write
    return served


def reload(served, said='"reloaded"'):
    before = len(re.findall(said, served.log.read_text()))
    served.process.send_signal(signal.SIGHUP)
    served.lines(said, before + 1)


def test_each_worker_is_replaced_by_one_with_the_new_keys(running):
    url, old = running.url(), worker_pids(running.process.pid)
    assert get(f"{url}/v2/networks")[0] == 200
    running.write('auth.keys = [{env = "KEY"}]')
    reload(running)
    assert not living(old)
    assert len(worker_pids(running.process.pid)) == 2
    for _ in range(6):
        right = {"Authorization": f"Bearer {KEY}"}
        assert get(f"{url}/v2/networks", Connection="close", **right)[0] == 200
    assert get(f"{url}/v2/networks")[0] == 401
    assert running.stop() == 0


def test_a_configuration_that_is_refused_changes_nothing(running):
    workers = worker_pids(running.process.pid)
    for more, said in (
        ("server.prot = 1", "server.prot: unknown key. Did you mean 'port'"),
        ("server.host = '127.0.0.2'", "server.host changed: restart the server"),
        ("not toml", "not valid TOML"),
    ):
        running.write(more)
        reload(running, "the configuration is not reloaded, the old one stays in force")
        assert said in running.log.read_text()
        assert sorted(living(workers)) == sorted(worker_pids(running.process.pid)) == sorted(workers)
    running.write('networks.nobody.rpc = ["http://127.0.0.1:9"]')  # which a worker refuses when it starts
    reload(running, "reloading ended: new worker 0 did not get ready")
    assert sorted(living(workers)) == sorted(workers)
    assert get(f"{running.url()}/healthz")[0] == 200
    running.write("")
    reload(running)
    assert not living(workers), "the next configuration that can be used replaces them"


def test_a_worker_that_starts_again_has_the_configuration_of_the_others(running, tmp_path):
    """What is in the file since is not in force before a reload, and may be no configuration at all."""
    listening = 2  # workers
    for change in (
        lambda: running.write('auth.keys = [{env = "KEY"}]'),
        lambda: running.write("not toml"),
        (tmp_path / "quoteway.toml").unlink,
    ):
        change()
        os.kill(worker_pids(running.process.pid)[0], signal.SIGKILL)
        listening += 1
        running.lines("listening on", listening)
        for _ in range(4):
            assert get(f"{running.url()}/v2/networks", Connection="close")[0] == 200
    reload(running, "the configuration is not reloaded, the old one stays in force")


FRAGILE = """
import os
from pathlib import Path
from quoteway import hookimpl

if os.environ["QUOTEWAY_WORKER"] == "1" and "fragile = true" in Path("quoteway.toml").read_text():
    os._exit(3)

@hookimpl
def quoteway_lifespan():
    return None
"""


def test_workers_that_were_replaced_are_taken_back_when_a_later_one_does_not_start(serve, tmp_path):  # noqa: F811
    install(tmp_path, "fragile", FRAGILE)
    config = CONFIG.replace("plugins.load = []", 'plugins.load = ["fragile"]')
    (tmp_path / "quoteway.toml").write_text(config)
    served = serve("--workers", "2", PYTHONPATH=str(tmp_path))
    url = served.url(workers=2)
    served.lines("Quoteway is serving")
    first, second = worker_pids(served.process.pid)
    (tmp_path / "quoteway.toml").write_text(f'auth.keys = [{{env = "KEY"}}]  # fragile = true\n{config}')
    reload(served, "the old configuration is in force again in all workers")
    assert "new worker 1 did not get ready" in served.log.read_text()
    assert living([first, second]) == [second], "the first one is another process of the old configuration"
    for _ in range(6):
        assert get(f"{url}/v2/networks", Connection="close")[0] == 200
    (tmp_path / "quoteway.toml").write_text(f'auth.keys = [{{env = "KEY"}}]\n{config}')
    reload(served)
    for _ in range(6):
        assert get(f"{url}/v2/networks", Connection="close")[0] == 401


def test_callers_that_never_pause_lose_nothing_while_workers_are_replaced(running):
    port = int(running.url().rpartition(":")[2])
    callers = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(16)]
    running.process.send_signal(signal.SIGHUP)
    answered, ends_at = 0, time.monotonic() + 120
    while '"reloaded"' not in running.log.read_text():
        assert time.monotonic() < ends_at, running.log.read_text()
        for connection in callers:
            connection.request("GET", "/healthz")
            assert connection.getresponse().read() == b'{"status":"ok"}'
            answered += 1
    assert answered >= 16
