"""The time between SIGTERM and the end: not ready, still serving, and each answer moves its caller away."""

import http.client
import json
import signal
import time

import pytest
from test_serving import CONFIG, serve  # noqa: F401


def connected(served, count=1):
    port = int(served.url().rpartition(":")[2])
    return [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(count)]


def ask(connection, path="/healthz"):
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.getheader("Connection"), answer.read()


@pytest.fixture
def draining(tmp_path, serve):  # noqa: F811
    def start(drain_s, *arguments):
        (tmp_path / "quoteway.toml").write_text(f"server.drain_s = {drain_s}\n{CONFIG}")
        served = serve(*arguments)
        served.url(workers=int(arguments[-1]) if arguments else 1)
        served.lines("Quoteway is serving")
        return served

    return start


def test_after_sigterm_it_is_not_ready_serves_on_and_closes_each_connection_with_its_answer(draining):
    served = draining(600)
    kept, idle, light = connected(served, 3)
    for connection in (kept, idle):
        assert ask(connection) == (200, None, b'{"status":"ok"}')
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []})
    served.process.send_signal(signal.SIGTERM)
    served.lines("draining: requests are accepted for 600 s more")
    assert ask(kept, "/v2/networks")[:2] == (200, "close")
    (new,) = connected(served)
    status, ends, text = ask(new, "/readyz")
    assert (status, ends) == (503, "close")
    assert json.loads(text)["error"]["details"]["notReady"] == ["the server is stopping"]
    light.request("POST", "/v2/rpc/1", body, {"Content-Type": "application/json"})
    answer = light.getresponse()
    assert (answer.status, answer.getheader("Connection")) == (503, "close"), "no node serves the network"
    answer.read()
    assert ask(idle)[:2] == (200, "close"), "which had been idle since before the signal"
    served.process.send_signal(signal.SIGTERM)  # a second one waits for nobody
    assert served.process.wait(60) == 0


@pytest.mark.parametrize("arguments", [(), ("--workers", "2")])
def test_sigint_does_not_drain(draining, arguments):
    served = draining(600, *arguments)
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(60) == 0


@pytest.mark.slow
def test_workers_drain_and_a_second_signal_ends_them_too(draining):
    served = draining(600, "--workers", "2")
    served.process.send_signal(signal.SIGTERM)
    served.lines("draining: requests", 2)
    assert ask(connected(served)[0], "/readyz")[:2] == (503, "close")
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(60) == 0


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_callers_that_never_pause_lose_nothing(draining, workers):
    """Sixteen callers keep their connections and open a new one when told so, until nobody listens."""
    served = draining(3, "--workers", str(workers))
    callers, answered = connected(served, 16), 0
    for connection in callers:
        assert ask(connection)[0] == 200
    served.process.send_signal(signal.SIGTERM)
    ends_at = time.monotonic() + 2
    while time.monotonic() < ends_at:
        for connection in callers:
            # http.client connects again after an answer that closes; a lost request raises.
            assert ask(connection)[0] == 200
            answered += 1
    assert answered >= 16
    assert served.process.wait(120) == 0
