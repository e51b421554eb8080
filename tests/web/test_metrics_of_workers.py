"""The metrics of several workers are right after one was killed, and after all were replaced."""

import os
import re
import signal
import time

import pytest
from test_serving import get, serve, worker_pids  # noqa: F401

pytestmark = pytest.mark.slow


def value(url, series):
    """The value of a series; None while there is none."""
    found = re.search(
        rf"^{re.escape(series)} (\S+)$", get(f"{url}/metrics", Connection="close")[1], re.MULTILINE
    )
    return None if found is None else float(found[1])


def until(url, series, expected, seconds=60):
    """Waits for the value of a series. Returns how long it took."""
    started = time.monotonic()
    while (found := value(url, series)) != expected:
        assert time.monotonic() - started < seconds, f"{series} is {found}, not {expected}"
        time.sleep(0.05)
    return time.monotonic() - started


def test_ended_workers_leave_their_counts_and_no_state(serve):  # noqa: F811
    served = serve("--workers", "2")
    url = served.url(workers=2)
    until(url, "quoteway_workers_ready", 2)
    assert value(url, "quoteway_ready") == 1
    for _ in range(20):
        assert get(f"{url}/v2/networks", Connection="close")[0] == 200
    route = 'quoteway_http_requests_total{method="GET",route="/v2/networks",status="200"}'
    assert value(url, route) == 20

    os.kill(min(worker_pids(served.process.pid)), signal.SIGKILL)
    served.lines("worker . ended with status -9")
    until(url, "quoteway_workers_ready", 1, seconds=5)
    assert value(url, "quoteway_workers") == 2
    served.lines("listening on", 3)
    until(url, "quoteway_workers_ready", 2)
    until(url, "quoteway_ready", 1, seconds=10)
    assert value(url, route) == 20, "what it counted is not lost"
    memory = re.findall(r"quoteway_process_resident_memory_bytes\{(.*)\}", get(f"{url}/metrics")[1])
    assert sorted(memory) == ['worker="0"', 'worker="1"']

    served.process.send_signal(signal.SIGHUP)
    served.lines('"reloaded"')
    # The old ones were not ready when they ended: they drained.
    until(url, "quoteway_workers_ready", 2, seconds=10)
    until(url, "quoteway_ready", 1, seconds=10)
