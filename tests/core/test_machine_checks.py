"""What ``quoteway doctor`` says of ports, the clock and the shared store, and its exit codes."""

import json
import socket
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from quoteway.config.model import Config, LimitsConfig, ServerConfig, StoreConfig
from quoteway.secrets import Secret
from quoteway.server import doctor, machine_checks
from quoteway.server.cli import main
from quoteway.server.findings import Finding

CANARY = "canary-store-5d1"


def node(block_s):
    async def newest_block_s():
        return block_s

    return SimpleNamespace(newest_block_s=newest_block_s)


@pytest.mark.parametrize(
    ("blocks_s", "mark"),
    [([1_000, None], "ok"), ([999, 1_002], "ok"), ([1_003], "fail"), ([1, 2_000], "fail"), ([1], "ok")],
)
async def test_a_clock_behind_the_newest_block_is_found(blocks_s, mark):
    found = await machine_checks.clock([node(each) for each in blocks_s], now_s=1_000)
    assert found.mark == mark
    if mark == "fail":
        assert f"{max(blocks_s) - 1_000} s behind the newest block" in found.text


async def test_without_an_answer_nothing_is_said_of_the_clock():
    assert await machine_checks.clock([node(None)]) is None
    assert await machine_checks.clock([]) is None


def test_a_taken_port_and_an_address_of_another_machine_are_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = ServerConfig(port=port, metrics_port=port, metrics_host="192.0.2.1")
        busy, foreign = machine_checks.ports(Config(server=server))
    assert (busy.mark, busy.subject) == ("warn", "server.port")
    assert f"127.0.0.1 port {port}: address already in use" in busy.text
    assert (foreign.mark, foreign.subject) == ("warn", "server.metrics_port")
    assert "192.0.2.1" in foreign.text
    (free,) = machine_checks.ports(Config(server=ServerConfig(port=port)))
    assert (free.mark, free.text) == ("ok", f"127.0.0.1 port {port} is free")
    assert list(machine_checks.ports(Config(server=ServerConfig(port=0)))) == []


async def test_stores_that_do_not_answer_are_found_and_their_addresses_kept(unused_tcp_port):
    url = Secret(f"redis://user:{CANARY}@127.0.0.1:{unused_tcp_port}/0")
    config = Config(limits=LimitsConfig(store=url), store=StoreConfig(url=url))
    limits, kept = await machine_checks.stores(config)
    assert (limits.mark, limits.subject) == ("fail", "limits.store")
    assert "each replica counts a share of its own" in limits.text
    assert (kept.mark, kept.subject) == ("fail", "store.url")
    assert CANARY not in limits.text + kept.text
    assert str(unused_tcp_port) not in limits.text + kept.text
    without = replace(config, limits=replace(config.limits, enabled=False), store=StoreConfig())
    assert await machine_checks.stores(without) == []
    assert await machine_checks.stores(Config()) == []


async def test_a_file_of_what_plugins_keep_is_tried(tmp_path):
    config = Config(store=StoreConfig(url="kept.sqlite3"), path=tmp_path / "quoteway.toml")
    (found,) = await machine_checks.stores(config)
    assert (found.mark, found.subject) == ("ok", "store.url")
    (tmp_path / "kept.sqlite3").write_bytes(b"no database" * 1_000)
    (found,) = await machine_checks.stores(config)
    assert (found.mark, found.subject) == ("fail", "store.url")


@pytest.mark.parametrize(
    ("marks", "code"), [((), 0), (("ok",), 0), (("warn", "ok"), 1), (("warn", "fail"), 2)]
)
def test_the_exit_code_is_the_worst_finding_in_text_and_json(monkeypatch, marks, code):
    async def examine(config_path, url):
        return [Finding(mark, f"subject {number}", "a text") for number, mark in enumerate(marks)]

    monkeypatch.setattr(doctor, "examine", examine)
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == code
    assert len(done.stdout.splitlines()) == len(marks)
    done = CliRunner().invoke(main, ["doctor", "--json"])
    assert done.exit_code == code
    told = json.loads(done.stdout)
    assert told["worst"] == ("ok", "warn", "fail")[code]
    assert [finding["mark"] for finding in told["findings"]] == list(marks)
