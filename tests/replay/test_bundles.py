"""Requests that are recorded over fake nodes, captured, and run again without them."""

import asyncio
import subprocess
import sys
from dataclasses import replace

import orjson
import pytest
from click.testing import CliRunner
from quoteway import RpcError
from quoteway.config.model import ServerConfig
from quoteway.engine.bundles import BundleError, read_bundle
from quoteway.server.cli import main
from quoteway.server.replay import replay
from quoteway.testing.serving import served
from recorded_deployment import (
    API_KEY,
    ASKED,
    CALLERS_KEY,
    NODE_KEY,
    SECRETS,
    SIGNING_KEY,
    Nodes,
    deployment,
    plugins_of,
)


async def test_an_error_is_answered_alike_without_nodes_and_services(room):
    status, answer = await room.ask("first", body=ASKED)
    assert (status, answer["error"]["code"]) == (502, "upstream_error")
    path = await room.bundle("first")
    room.nodes.balance = 1
    found = await room.replay(path)
    assert (found.status, list(found.differences), list(found.missing)) == (502, [], [])


async def test_a_request_gets_the_outcomes_of_its_own_time(room):
    """Later requests change what memory knows, and must not change an earlier recording."""
    await room.ask("first", body=ASKED)
    room.nodes.balance = 12_345
    await room.ask("second", body=ASKED)
    content = orjson.loads((await room.bundle("first")).read_bytes())
    balances = [row[3] for row in content["reads"] if row[1] == "eth_getBalance"]
    assert balances == [{"result": hex(77)}]
    known = [row[3] for row in content["known"] if row[1] == "eth_getBalance"]
    assert known == [{"result": hex(77)}]


async def test_a_changed_outcome_is_a_difference_by_member(room):
    """A bundle that was edited gives another answer: the comparison is no tautology."""
    await room.ask("first", body=ASKED)
    path = await room.bundle("first")
    content = orjson.loads(path.read_bytes())
    content["answer"]["body"]["error"]["details"]["reason"] = "reverted"
    content["answer"]["status"] = 422
    path.write_bytes(orjson.dumps(content))
    found = await room.replay(path, patience_s=0.0)
    assert [line.partition(":")[0] for line in found.differences] == ["status", "error.details.reason"]


async def test_a_read_that_was_not_recorded_is_named(room):
    await room.ask("first", body=ASKED)
    path = await room.bundle("first")
    content = orjson.loads(path.read_bytes())
    for kind in ("reads", "known"):
        content[kind] = [row for row in content[kind] if row[1] != "eth_getBalance" and row[0] != "http"]
    del content["spans"]  # they refer to reads by place
    path.write_bytes(orjson.dumps(content))
    found = await room.replay(path, patience_s=0.0)
    assert found.differences
    assert any(line.startswith("POST 127.0.0.1") for line in found.missing), found.missing


async def test_a_failed_node_fails_again(room):
    room.nodes.failures = 1
    _, answer = await room.ask("failed", body=ASKED)
    path = await room.bundle("failed")
    rows = [row[3] for row in orjson.loads(path.read_bytes())["reads"] if row[1] == "eth_getBalance"]
    assert rows == [{"error": {"kind": "upstream_error", "reason": "provider_timeout", "retryable": None}}]
    found = await room.replay(path)
    assert list(found.differences) == []
    assert found.answer == answer


async def test_refused_members_and_lists_are_replayed(room):
    assert (await room.ask("refused", body={**ASKED, "amount": "-1"}))[0] == 422
    assert (await room.replay(await room.bundle("refused"))).differences == []
    status, listed = await room.ask("listed", "GET", "/v2/tokens?network=mainnet&limit=5")
    assert (status, {row["symbol"] for row in listed["data"]}) == (
        200,
        {"SOLD", "BGHT", "ETH"} & {row["symbol"] for row in listed["data"]},
    )
    assert (await room.replay(await room.bundle("listed"))).differences == []


async def test_no_secret_enters_a_bundle(room):
    """Keys are planted where a bundle takes its content from: the service echoes its own."""
    body = {**ASKED, "apiKey": CALLERS_KEY, "note": f"https://node.example/v3/{NODE_KEY}"}
    assert (await room.ask("planted", body=body))[0] == 422
    await room.ask("path", "GET", f"/v2/tokens?api_key={CALLERS_KEY}&search={API_KEY}")
    await room.ask("quoted", body=ASKED)
    for request_id in ("planted", "path", "quoted"):
        raw = (await room.bundle(request_id)).read_bytes()
        assert [secret for secret in SECRETS if secret.encode() in raw] == []
        assert b"node.example/v3" not in raw
        assert str(sys.prefix).encode() not in raw
    assert b'"you sent' in raw or b"you sent" in raw  # what the service said is there, without the key


async def test_only_the_operator_gets_a_bundle(room):
    await room.ask("first", body=ASKED)
    assert (await room.capture("first", key=None))[0] == 401
    assert (await room.capture("first", key=API_KEY))[0] == 401
    status, raw = await room.capture("first", key="wrong" * 5)
    assert (status, b"first" in raw.replace(b'"requestId"', b"")) == (401, False)
    assert (await room.capture("first", key="wrong" * 5))[0] == 429
    assert (await room.capture("first"))[0] == 200
    status, raw = await room.capture("unknown")
    assert (status, orjson.loads(raw)["error"]["code"]) == (404, "not_found")


async def test_the_newest_requests_are_kept(room):
    for number in range(5):
        await room.ask(f"r{number}", body=ASKED)
    found = [(await room.capture(f"r{number}"))[0] for number in range(5)]
    assert found == [404, 404, 200, 200, 200]


async def test_nothing_is_recorded_unless_the_operator_asks(service):
    config = replace(deployment(service), server=ServerConfig(port=0))
    async with served(plugins_of(Nodes({1})), config) as api:
        assert api.gateway.recorder is None
        async with api.session.get(f"{api.url}/operator/captures/first") as answer:
            assert answer.status == 404


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[]", "no bundle"),
        (b"\xff", "not JSON"),
        (b'{"format":"quoteway.bundle","version":99,"quoteway":"9.9"}', "bundle format 99"),
        (b'{"format":"quoteway.bundle","version":1,"quoteway":"1"}', "damaged"),
        (b'{"format":"quoteway.bundle","version":1,"config":{},"request":{"id":1}}', "damaged"),
    ],
)
def test_other_files_are_refused(tmp_path, content, expected):
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    with pytest.raises(BundleError, match=expected):
        read_bundle(path)
    result = CliRunner().invoke(main, ["replay", str(path)])
    assert (result.exit_code, expected in result.output) == (2, True)


async def test_a_plugin_that_is_not_installed_is_named(room):
    await room.ask("first", body=ASKED)
    path = await room.bundle("first")
    with pytest.raises(BundleError, match="plugin 'upstream' is not installed here: install in-process"):
        await replay(read_bundle(path))


async def test_the_command_writes_a_bundle_that_others_cannot_read(room, tmp_path, operator_config):
    await room.ask("first", body=ASKED)
    path = tmp_path / "out.json"
    words = ["capture", "first", "--url", room.api.url, "--output", str(path)]
    words += ["--config", str(operator_config)]
    result = await asyncio.to_thread(CliRunner().invoke, main, words)
    assert result.exit_code == 0, result.output
    assert path.stat().st_mode & 0o077 == 0
    assert (await room.replay(path)).differences == []
    words[1] = "unknown"
    result = await asyncio.to_thread(CliRunner().invoke, main, words)
    assert (result.exit_code, "no recording of request 'unknown'" in result.output) == (2, True)


async def test_a_rpc_error_is_recorded_as_such(room):
    def refuse(params):
        raise RpcError(-32000, "header not found", None)

    room.nodes.answers["eth_getBalance"] = refuse
    await room.ask("rpc", body=ASKED)
    path = await room.bundle("rpc")
    rows = [
        row[3]["error"]["kind"]
        for row in orjson.loads(path.read_bytes())["reads"]
        if row[1] == "eth_getBalance"
    ]
    assert rows == ["rpc"]
    assert (await room.replay(path)).differences == []


def test_a_deployment_needs_a_key_of_operators(tmp_path, monkeypatch):
    monkeypatch.setenv("SIGNING_KEY", SIGNING_KEY)
    config = tmp_path / "quoteway.toml"
    config.write_text(
        '[quotes]\nkeys = [{id = "k", secret = {env = "SIGNING_KEY"}}]\n[server]\ncapture = 3\n'
    )
    result = CliRunner().invoke(main, ["config", "--config", str(config)])
    assert (result.exit_code, "server.capture needs server.capture_key" in result.output) == (2, True)


def test_a_server_that_does_not_run_is_told():
    result = CliRunner().invoke(main, ["capture", "x", "--url", "http://127.0.0.1:9"])
    assert (result.exit_code, "does not answer" in result.output) == (2, True)


@pytest.mark.slow
async def test_a_bundle_with_another_answer_is_a_test_that_fails(room, tmp_path):
    await room.ask("refused", body={**ASKED, "amount": "-1"})
    content = orjson.loads((await room.bundle("refused")).read_bytes())
    content["answer"]["body"]["error"]["code"] = "not_found"
    content["plugins"] = []
    folder = tmp_path / "bundles"
    folder.mkdir()
    (folder / "edited.json").write_bytes(orjson.dumps(content))
    (folder / "broken.json").write_bytes(b"{}")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    run = await asyncio.to_thread(subprocess.run, words, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 1, run.stdout
    assert "2 failed" in run.stdout
    assert 'error.code: "not_found" was recorded, "validation_error" now' in run.stdout
    assert "expected a file that `quoteway capture` wrote" in run.stdout
