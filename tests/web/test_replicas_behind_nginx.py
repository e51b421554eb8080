"""The shipped nginx.conf in front of two replicas: one that ends, starts or reloads costs no request."""

import contextlib
import http.client
import itertools
import json
import os
import signal
import subprocess
import sys
import threading

import pytest
import shipped_nginx
from quoteway_devnet.anvil import free_port
from test_serving import KEY, heed_signals, worker_pids
from test_starting_workers import WAITS, install
from waiting import WAIT_S, until

pytestmark = pytest.mark.services

CONFIG = """
[server]
trusted_proxies = ["127.0.0.1/32"]
workers = {workers}
drain_s = {drain_s}
log_format = "json"
[plugins]
load = {load}
startup_timeout_s = 600
[limits]
enabled = false
[quotes]
keys = [{{id = "a", secret = {{env = "KEY"}}}}]
"""
CALLERS = 16


class Replica:
    """One ``quoteway serve`` on a port that it keeps over restarts."""

    def __init__(self, folder, workers=1):
        self.folder, self.workers, self.port = folder, workers, free_port()
        self.logs = itertools.count()
        folder.mkdir()
        self.start()

    def start(self, said="Quoteway is serving", load="[]"):
        """Starts it and waits until its log has ``said`` something."""
        text = CONFIG.format(workers=self.workers, drain_s=1, load=load)
        (self.folder / "quoteway.toml").write_text(text)
        self.log = self.folder / f"{next(self.logs)}.log"
        with self.log.open("wb") as sink:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "quoteway", "serve", "--port", str(self.port)],
                cwd=self.folder,
                env={**os.environ, "KEY": KEY, "PYTHONPATH": str(self.folder)},
                stderr=sink,
                preexec_fn=heed_signals,
            )
        self.says(said)

    def says(self, text, count=1):
        return until(lambda: self.log.read_text().count(text) >= count)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(WAIT_S) == 0


class Callers:
    """Callers that ask without a pause over kept connections; ``lost`` has what they did not get."""

    def __init__(self, port):
        self.port, self.answered, self.lost = port, 0, []
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(CALLERS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._ends.set()
        for thread in self._threads:
            thread.join(WAIT_S)

    def _ask(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        asked = (("GET", "/v2/networks", None, 200), ("POST", "/v2/swaps/quote", b"{}", 422))
        for method, path, body, right in itertools.cycle(asked):
            if self._ends.is_set():
                return
            text = b""
            try:
                connection.request(method, path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                status, text = answer.status, answer.read()
                json.loads(text)
            except (OSError, ValueError, http.client.HTTPException) as error:
                status = type(error).__name__
                connection.close()
            if status == right:
                self.answered += 1
            else:
                self.lost.append((method, status, text[:200]))
            self._ends.wait(0.05)


@pytest.fixture
def deployed(tmp_path):
    """``start(workers)`` gives the two replicas and the port of nginx."""
    with contextlib.ExitStack() as stack:

        def start(workers=1):
            replicas = []
            for name in ("a", "b"):
                replicas.append(Replica(tmp_path / name, workers))
                stack.callback(replicas[-1].process.wait, WAIT_S)
                stack.callback(lambda replica=replicas[-1]: replica.process.kill())
            port = free_port()
            ports = (replica.port for replica in replicas)
            nginx = subprocess.Popen(shipped_nginx.command(tmp_path, port, *ports))
            stack.callback(nginx.wait, WAIT_S)
            stack.callback(nginx.terminate)
            until(lambda: _answers(port))
            return replicas, port

        yield start


def _answers(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    with contextlib.suppress(OSError):
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200


def test_replicas_that_stop_and_start_again_cost_no_request(deployed):
    replicas, port = deployed()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    connection.request("GET", "/metrics")
    assert connection.getresponse().status == 404, "metrics are not for callers"
    with Callers(port) as callers:
        for replica in replicas:
            replica.stop()
            replica.start()
    assert callers.answered > CALLERS
    assert callers.lost == []


def test_replicas_that_reload_and_workers_that_are_killed_cost_no_request(deployed):
    replicas, port = deployed(workers=2)
    with Callers(port) as callers:
        replicas[0].process.send_signal(signal.SIGHUP)
        replicas[0].says('"reloaded"')
        os.kill(worker_pids(replicas[1].process.pid)[0], signal.SIGKILL)
        replicas[1].says("ended with status -9")
        replicas[1].says("listening on", 3)
    assert callers.answered > CALLERS
    assert callers.lost == []


def test_a_replica_of_one_process_that_starts_costs_no_request(deployed):
    """It listens before its plugins are up, and answers 503: nginx asks the other."""
    replicas, port = deployed()
    replica = replicas[0]
    install(replica.folder, "waits", WAITS)
    with Callers(port) as callers:
        replica.stop()
        replica.start("listening on", load='["waits"]')
        connection = http.client.HTTPConnection("127.0.0.1", replica.port, timeout=WAIT_S)
        connection.request("GET", "/v2/networks")
        assert connection.getresponse().status == 503
        before = callers.answered
        until(lambda: callers.answered > before + 4 * CALLERS)
        (replica.folder / "go").touch()
        replica.says("Quoteway is serving")
    assert callers.lost == []
