"""Four bad plugins installed beside honest ones: the real server starts, names each, and quotes in time."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "core"))
from distributions import install, install_bad_four
from quoteway.evm.calls.registry import digest_of
from quoteway.testing.fakes import FAKE_CALLS

HONEST = """
    from quoteway import Network, Token
    from quoteway.testing.fakes import FAKE_CALLS, FixedRateSwap, ListedTokens, MemoryRpc, FakePlugin

    TOKEN = Token(4242, "0x1111111111111111111111111111111111111111", 6, "USD", "A dollar")
    plugin = FakePlugin(
        [MemoryRpc({4242}, tokens=[TOKEN]), FixedRateSwap, ListedTokens([TOKEN])],
        networks=[Network("testnet", 4242, "Testnet")],
        calls=[FAKE_CALLS],
    )
"""
CONFIG = """
[server]
port = 0
[plugins]
load = ["bad-import", "bad-version", "bad-start", "bad-quote", "honest"]
startup_timeout_s = 30
[quotes]
competition_timeout_s = 1.0
keys = [{id = "k", secret = {env = "TEST_KEY"}}]
[calls]
pinned = ["%s"]
"""
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.status, json.load(answer)


def wait_for(condition, seconds=120):
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


@pytest.fixture
def server(tmp_path):
    """Address and log of a running ``quoteway serve`` with the bad four and an honest plugin installed."""
    install_bad_four(tmp_path)
    module = install(tmp_path, "honest", HONEST, target="fake_fake_honest_honest:plugin")
    assert module == "fake_fake_honest_honest"
    (tmp_path / "quoteway.toml").write_text(CONFIG % digest_of([FAKE_CALLS]))
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "quoteway", "serve", "--config", str(tmp_path / "quoteway.toml")],
            env={**os.environ, "PYTHONPATH": str(tmp_path), "TEST_KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"},
            stdout=sink,
            stderr=subprocess.STDOUT,
        )

    def address():
        assert process.poll() is None, log.read_text()
        found = re.search(r"http://127\.0\.0\.1:[0-9]+", log.read_text())
        return found and found[0]

    def ready():
        try:
            return ask(f"{url}/readyz")[0] == 200
        except OSError:
            return False

    try:
        url = wait_for(address)
        wait_for(ready)
        yield url, log
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_four_bad_plugins_together_are_named_and_quotes_come_in_time(server):
    url, log = server
    _, providers = ask(f"{url}/v2/providers")
    rows = {row["plugin"]: row for row in providers["data"]}
    reasons = {name: rows[name]["reason"] for name in rows if name.startswith("bad-")}
    assert reasons == {
        "bad-import": "import_failed",
        "bad-version": "incompatible",
        "bad-start": "startup_failed",
        "bad-quote": None,
    }
    assert rows["honest"]["enabled"] is True
    assert rows["bad-start"]["enabled"] is False
    body = {
        "fromToken": "native",
        "toToken": "0x1111111111111111111111111111111111111111",
        "amount": "1000000",
        "address": WALLET,
        "network": "testnet",
    }
    for _ in range(3):
        status, quote = ask(f"{url}/v2/swaps/quote", body)
        assert status == 200
        assert quote["provider"] == "fixed-rate"
        assert {attempt["provider"]: attempt["outcome"] for attempt in quote["attempts"]} == {
            "fixed-rate": "quoted",
            "stubborn": "timeout",
        }
    # What a plugin raised is for the operator's log only.
    assert "hunter2" not in json.dumps(providers)
    assert "hunter2" in log.read_text()
    assert "never retrieved" not in log.read_text()
    assert "was destroyed" not in log.read_text()
