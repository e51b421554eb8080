"""The index process: alone, beside another one, as the child of a server, and killed."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from index_chain import CHAIN_ID, Traffic, contents, kill_trials
from index_process import command, configure, environment, running, until
from quoteway_indexer.stores.duckdb import DuckDBStore


@pytest.fixture
def configured(fresh_devnet, tmp_path):
    """A folder with the configuration of a deployment that indexes the first chain of the devnet."""
    configure(tmp_path, fresh_devnet)
    return tmp_path


def once(folder):
    done = subprocess.run(
        command("index", "--once"), cwd=folder, env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


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


def answer_of(url, path):
    """The status and the body of an answer."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url + path, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.status, json.loads(error.read())


def ready(url, path="/v2/index/status"):
    """The first answer of a server that has started."""
    return until(
        lambda: answer if "service is starting" not in json.dumps(answer := answer_of(url, path)[1]) else None
    )


def index_status(url):
    status, body = answer_of(url, "/v2/index/status?network=devnet")
    return body if status == 200 else None


def children(process):
    return [
        int(each)
        for each in os.listdir("/proc")
        if each.isdigit() and _parent(each) == process.pid and b"index" in _command_line(each).split(b"\0")
    ]


def _parent(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


def _command_line(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as line:
        return line.read()
    return b""


@pytest.fixture
def temporary():
    """A folder for temporary files. Its path is short: that of a socket in it has at most 104 characters."""
    with tempfile.TemporaryDirectory(prefix="index-") as folder:
        yield Path(folder)


@pytest.fixture
def unconfigured(fresh_devnet, temporary):
    """The environment of a server without a configuration, over chains that run already.

    A test asks more often than the default limits allow.
    """
    return {
        "TMPDIR": str(temporary),
        "QUOTEWAY_LIMITS__ENABLED": "false",
        "QUOTEWAY_SERVER__PORT": "0",
        "QUOTEWAY_PLUGIN__DEVNET__START": "false",
        "QUOTEWAY_PLUGIN__DEVNET__PORT": str(fresh_devnet.ports["devnet"]),
        "QUOTEWAY_PLUGIN__DEVNET__L2_PORT": str(fresh_devnet.ports["devnet-l2"]),
    }


@pytest.mark.slow
def test_an_index_that_starts_says_so_and_series_are_those_of_the_chain(unconfigured, tmp_path):
    with running(tmp_path, "serve", **unconfigured) as (_, log):
        url = until(lambda: _url(log.read_text()))
        rows = ready(url)["data"]
        assert [(row["network"], row["state"], row["percent"]) for row in rows] == [
            ("devnet", "starting", 0.0),
            ("devnet-l2", "starting", 0.0),
        ]
        assert all(row["indexedBlock"] is None and row["sources"] == [] for row in rows)
        pool = until(lambda: answer_of(url, "/v2/pools?network=devnet&limit=1")[1].get("data"))[0]["id"]
        seen = []

        def followed():
            status, body = answer_of(url, "/v2/index/status")
            assert status == 200, body
            status, series = answer_of(url, f"/v2/pools/{pool}/volume?interval=1h")
            assert status == 200, series
            seen.append([row["state"] for row in body["data"]])
            assert len(seen[-1]) == 2
            return seen[-1] == ["following"] * 2

        until(followed)
    assert "Fatal Python error" not in log.read_text()


@pytest.mark.slow
def test_an_index_that_cannot_start_is_an_error(unconfigured, tmp_path):
    folder = tmp_path / ("long" * 25)  # more than the path of a socket may have
    folder.mkdir()
    with running(tmp_path, "serve", **{**unconfigured, "TMPDIR": str(folder)}) as (_, log):
        url = until(lambda: _url(log.read_text()))
        ready(url)

        def failed():
            status, body = answer_of(url, "/v2/index/status")
            assert (status == 502) == ("the index process ended" in log.read_text()), body
            return status == 502 and body

        assert until(failed)["error"]["code"] == "upstream_error"


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc"), reason="finds processes in /proc")
def test_a_server_without_configuration_has_an_index_of_its_own(
    unconfigured, fresh_devnet, temporary, tmp_path
):
    traffic = Traffic(fresh_devnet, 5)
    with running(tmp_path, "serve", **unconfigured) as (server, log):
        url = until(lambda: _url(log.read_text()))

        def followed():
            answer = index_status(url)
            (row,) = answer["data"] if answer else [None]
            return row if row and row["state"] == "following" and row["lagBlocks"] == 0 else None

        row = until(followed)
        assert (row["network"], row["chainId"], row["percent"]) == ("devnet", CHAIN_ID, 100.0)
        assert all(source["spans"] == [{"from": 0, "to": row["indexedBlock"]}] for source in row["sources"])
        traffic.mine(3)
        until(lambda: (now := followed()) and now["indexedBlock"] == row["indexedBlock"] + 3)
        # The child is started again when it ends, and ends when the server is killed.
        (child,) = children(server)
        os.kill(child, signal.SIGKILL)
        (child,) = until(lambda: [each for each in children(server) if each != child])
        until(followed)
        server.kill()
        until(lambda: not os.path.exists(f"/proc/{child}"))
    assert not list(temporary.glob("quoteway-index-*"))
    traffic.close()


def _url(text):
    found = re.search(r"is serving on (http://[\d.:]+)", text)
    return found and found[1]
