"""The index process: alone, beside another one, as the child of a server, and killed."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from index_chain import CHAIN_ID, Traffic, contents, kill_trials
from quoteway_indexer.stores.duckdb import DuckDBStore

KEY = "31f0c1d5a7e94b2c8d6f7a1b3c5e9d0f2a4b6c8e0d1f3a5b7c9e2d4f6a8b0c1d"


@pytest.fixture
def configured(fresh_devnet, tmp_path):
    """A folder with the configuration of a deployment that indexes the first chain of the devnet."""
    (tmp_path / "quoteway.toml").write_text(
        f"""
        [quotes]
        keys = [{{id = "k1", secret = {{env = "INDEX_TEST_KEY"}}}}]
        [plugin.devnet]
        enabled = true
        start = false
        port = {fresh_devnet.ports["devnet"]}
        l2_port = {fresh_devnet.ports["devnet-l2"]}
        [plugin.indexer]
        enabled = true
        path = "index.duckdb"
        networks = ["devnet"]
        """
    )
    return tmp_path


def environment(**more):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
    return {**inherited, "INDEX_TEST_KEY": KEY, **more}


def command(*words):
    return [sys.executable, "-m", "quoteway", *words]


def once(folder):
    done = subprocess.run(
        command("index", "--once"), cwd=folder, env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@contextlib.contextmanager
def running(folder, *words, **more):
    """A process, and the file that it writes to. It is killed when it does not end."""
    log = folder / f"log-{random.randbytes(4).hex()}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command(*words), cwd=folder, env=environment(**more), stdout=output, stderr=output
        )
    try:
        yield process, log
    finally:
        process.terminate()
        try:
            process.wait(20)
        finally:
            process.kill()


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def stored(folder):
    store = DuckDBStore(folder / "index.duckdb", memory_mb=256, threads=1)
    try:
        return contents(store)
    finally:
        store.close()


@pytest.mark.slow
def test_once_indexes_all_and_ends(configured):
    said = once(configured)
    assert "devnet: complete, head" in said
    facts, _, spans = stored(configured)
    assert {name for name, rows in facts.items() if rows} >= {"pool_created", "liquidity", "contract_created"}
    assert {first for _, _, first, _ in spans} == {0}


@pytest.mark.slow
def test_a_second_process_waits_for_the_first_and_goes_on(configured):
    with running(configured, "index") as (first, log):
        until(lambda: "devnet: complete" in log.read_text())
        with running(configured, "index") as (_, other):
            until(lambda: "open in another process" in other.read_text())
            first.terminate()
            assert first.wait(20) == 0
            until(lambda: "devnet: complete" in other.read_text())


def test_without_an_index_in_the_configuration_it_says_what_to_do(configured):
    file = configured / "quoteway.toml"
    file.write_text(file.read_text().replace("[plugin.indexer]\n        enabled = true", "[plugin.indexer]"))
    done = subprocess.run(
        command("index"), cwd=configured, env=environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "set `enabled = true` in [plugin.indexer]" in done.stderr


@pytest.mark.slow
def test_killed_at_any_time_it_has_no_gap_and_no_duplicate(fresh_devnet, tmp_path):
    assert kill_trials(fresh_devnet, tmp_path, 10) == 10


def index_status(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/v2/index/status?network=devnet", timeout=30) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        # 404 while the server does not know its networks yet.
        return None if error.status in (404, 502, 503) else error.status


def children(process):
    return [
        int(each)
        for each in os.listdir("/proc")
        if each.isdigit() and _parent(each) == process.pid and b"index" in _command_line(each)
    ]


def _parent(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


def _command_line(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as line:
        return line.read()
    return b""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc"), reason="finds processes in /proc")
def test_a_server_without_configuration_has_an_index_of_its_own(fresh_devnet, tmp_path):
    settings = {
        "TMPDIR": str(tmp_path),
        "QUOTEWAY_SERVER__PORT": "0",
        "QUOTEWAY_PLUGIN__DEVNET__START": "false",
        "QUOTEWAY_PLUGIN__DEVNET__PORT": str(fresh_devnet.ports["devnet"]),
        "QUOTEWAY_PLUGIN__DEVNET__L2_PORT": str(fresh_devnet.ports["devnet-l2"]),
    }
    traffic = Traffic(fresh_devnet, 5)
    with running(tmp_path, "serve", **settings) as (server, log):
        url = until(lambda: _url(log.read_text()))

        def followed():
            answer = index_status(url)
            return (
                answer and answer["data"] and answer["data"][0]["state"] == "following" and answer["data"][0]
            )

        row = until(followed)
        assert (row["network"], row["chainId"], row["percent"], row["lagBlocks"]) == (
            "devnet",
            CHAIN_ID,
            100.0,
            0,
        )
        assert all(source["spans"] == [{"from": 0, "to": row["indexedBlock"]}] for source in row["sources"])
        traffic.mine(3)
        until(lambda: followed()["indexedBlock"] == row["indexedBlock"] + 3)
        # The child is started again when it ends, and ends when the server is killed.
        (child,) = children(server)
        os.kill(child, signal.SIGKILL)
        (child,) = until(lambda: [each for each in children(server) if each != child])
        until(followed)
        server.kill()
        until(lambda: not os.path.exists(f"/proc/{child}"))
    assert not list(tmp_path.glob("quoteway-index-*"))
    traffic.close()


def _url(text):
    found = re.search(r"is serving on (http://[\d.:]+)", text)
    return found and found[1]
