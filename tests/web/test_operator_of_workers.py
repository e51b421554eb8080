"""Operators of several workers: each can be asked, and new keys and their providers come by a reload."""

import hashlib
import json
import re
import signal

import pytest
from test_serving import CONFIG, get, living, serve, worker_pids  # noqa: F401

pytestmark = pytest.mark.slow

OPERATORS, CALLERS = "operators-key-0123456789abcdef", "callers-key-0123456789abcdef"


def table(name, key, more):
    return f'[[auth.keys]]\nname = "{name}"\nsha256 = "{hashlib.sha256(key.encode()).hexdigest()}"\n{more}\n'


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def workers(serve, tmp_path):  # noqa: F811
    path = tmp_path / "quoteway.toml"

    def write(more):
        path.write_text(f"operator.requests = 20\n{CONFIG}\n{more}")

    write(table("ops", OPERATORS, 'tier = "operator"'))
    served = serve("--workers", "2")
    served.url(workers=2)
    served.lines("Quoteway is serving")
    served.write = write
    return served


def shown(url, name, key=OPERATORS, **headers):
    status, body = get(f"{url}/operator/{name}", Connection="close", **bearer(key), **headers)
    return status, json.loads(body)


def test_each_worker_is_asked_whoever_gets_the_request(workers):
    url = workers.url()
    get(f"{url}/v2/networks", **bearer(OPERATORS))
    for number in (0, 1):
        for name in ("state", "requests"):
            for _ in range(6):
                status, body = shown(url, f"{name}?worker={number}")
                assert (status, body["worker"], body["workers"]) == (200, number, 2)
    kept = [shown(url, f"requests?worker={number}")[1]["data"] for number in (0, 1)]
    assert sum(map(len, kept)) == 1, "each worker keeps its own"
    assert shown(url, "state?worker=2")[0] == 422
    assert shown(url, "config?worker=1")[1]["config"]["operator"] == {"requests": 20}


def test_a_reload_brings_operators_and_the_providers_of_keys(workers):
    url, old = workers.url(), worker_pids(workers.process.pid)
    assert shown(url, "state", CALLERS)[0] == 401
    workers.write(
        table("ops", OPERATORS, 'tier = "operator"\nexpires = 2020-01-01T00:00:00Z')
        + table("new-ops", CALLERS, 'tier = "operator"\nproviders = ["nobody"]')
    )
    before = len(re.findall('"reloaded"', workers.log.read_text()))
    workers.process.send_signal(signal.SIGHUP)
    workers.lines('"reloaded"', before + 1)
    assert not living(old)
    for _ in range(10):
        assert shown(url, "state")[0] == 401
        status, body = shown(url, "config", CALLERS)
        assert (status, body["config"]["auth"]["keys"][1]["providers"]) == (200, ["nobody"])
