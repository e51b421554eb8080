"""``quoteway trace``: a recorded request as a tree of calls, reads and exchanges with their times."""

import asyncio

import orjson
import pytest
from click.testing import CliRunner
from quoteway.engine.bundles import BundleError, read_bundle
from quoteway.server.cli import main
from quoteway.server.trace import document_of, lines_of
from recorded_deployment import API_KEY, ASKED, SECRETS


def trace(*words):
    return asyncio.to_thread(CliRunner().invoke, main, ["trace", *map(str, words)])


def walk(steps):
    for step in steps:
        yield step
        yield from walk(step["parts"])


async def test_what_a_provider_asked_is_below_its_call(room):
    await room.ask("first", body=ASKED)
    path = await room.bundle("first")
    document = orjson.loads(document_of(read_bundle(path)))
    (call,) = (each for each in document["steps"] if each["kind"] == "call")
    assert (call["name"], call["outcome"]) == ("swap upstream-swap.quote", "no_route")
    exchange, read = call["parts"]
    assert (exchange["kind"], exchange["name"], exchange["outcome"]) == ("exchange", "POST", "answered")
    assert exchange["asked"].startswith("127.0.0.1")
    assert (read["name"], read["outcome"]) == ("eth_getBalance on mainnet", "answered")
    (upstream,) = read["parts"]
    assert (upstream["kind"], upstream["outcome"]) == ("upstream", "answered")
    for outer, inner in ((call, exchange), (call, read), (read, upstream)):
        assert outer["atMs"] <= inner["atMs"]
        assert inner["atMs"] + inner["tookMs"] <= outer["atMs"] + outer["tookMs"] + 0.01
    assert call["atMs"] + call["tookMs"] <= document["tookMs"]
    assert exchange["atMs"] + exchange["tookMs"] <= read["atMs"], "the plugin waits for one before the other"


async def test_the_tree_is_printed_with_the_answer(room):
    await room.ask("first", body=ASKED)
    result = await trace(await room.bundle("first"))
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].startswith("POST /v2/swaps/quote: 502 in ")
    assert lines[1] == "request first"
    (call,) = (line for line in lines if "call swap upstream-swap.quote: no_route" in line)
    below = lines[lines.index(call) + 1]
    assert below.startswith("│  ├─ +"), below
    assert "exchange 127.0.0.1" in below
    assert any(line.startswith("└─ error upstream_error: ") for line in lines), lines
    assert "upstream-swap no_route no_route" in lines[-1]
    assert [secret for secret in SECRETS if secret in result.output] == []


async def test_a_failed_node_is_named_with_its_reason(room):
    room.nodes.failures = 1
    await room.ask("failed", body=ASKED)
    document = orjson.loads(document_of(read_bundle(await room.bundle("failed"))))
    (read,) = (each for each in walk(document["steps"]) if each["name"] == "eth_getBalance on mainnet")
    assert read["outcome"] == "provider_timeout"
    assert [each["outcome"] for each in read["parts"]] == ["provider_timeout"]


async def test_calls_at_the_same_time_keep_their_own_reads(room):
    """Requests that overlap, each with its own tree: none has a read of another."""
    ids = [f"r{number}" for number in range(3)]
    await asyncio.gather(*(room.ask(each, body=ASKED) for each in ids))
    for each in ids:
        document = orjson.loads(document_of(read_bundle(await room.bundle(each))))
        names = [step["name"] for step in walk(document["steps"])]
        assert names.count("eth_getBalance on mainnet") == 1
        assert names.count("swap upstream-swap.quote") == 1


async def test_a_request_that_the_server_still_keeps_is_traced_by_its_id(room, operator_config, monkeypatch):
    await room.ask("first", body=ASKED)
    result = await trace("first", "--url", room.api.url, "--config", operator_config, "--json")
    assert result.exit_code == 0, result.output
    assert orjson.loads(result.output)["request"]["id"] == "first"
    result = await trace("unknown", "--url", room.api.url, "--config", operator_config)
    assert (result.exit_code, "no recording of request 'unknown'" in result.output) == (2, True)
    monkeypatch.setenv("CAPTURE_KEY", API_KEY)
    result = await trace("first", "--url", room.api.url, "--config", operator_config)
    assert (result.exit_code, "refuses the key" in result.output) == (2, True)


async def test_a_bundle_of_an_earlier_version_shows_its_answer(room):
    await room.ask("first", body=ASKED)
    path = await room.bundle("first")
    content = orjson.loads(path.read_bytes())
    del content["spans"], content["tookMs"]
    path.write_bytes(orjson.dumps(content))
    lines = list(lines_of(read_bundle(path)))
    assert lines[0] == "POST /v2/swaps/quote: 502"
    assert lines[2].startswith("└─ error upstream_error")
    assert (await room.replay(path)).differences == []


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *(("parent", 99), ("parent", "0"), ("read", -1), ("read", 10**6), ("name", None), ("kind", 5)),
        *(("atMs", "soon"), ("tookMs", []), ("outcome", {})),
    ],
)
async def test_a_damaged_bundle_is_refused(room, member, value):
    await room.ask("first", body=ASKED)
    path = await room.bundle("first")
    content = orjson.loads(path.read_bytes())
    content["spans"][0][member] = value
    path.write_bytes(orjson.dumps(content))
    with pytest.raises(BundleError, match="damaged"):
        read_bundle(path)
    result = await trace(path)
    assert (result.exit_code, "capture it again" in result.output) == (2, True)


async def test_what_others_wrote_cannot_control_the_terminal(room):
    """Answers repeat texts of tokens, nodes and services."""
    await room.ask("first", body=ASKED)
    path = await room.bundle("first")
    content = orjson.loads(path.read_bytes())
    content["answer"]["body"]["error"]["message"] = "\x1b[2J\u202e\nrequest forged" + "x" * 10_000
    content["spans"][0]["name"] = "\x9b31m"
    path.write_bytes(orjson.dumps(content))
    result = await trace(path)
    assert result.exit_code == 0
    assert all(line.isprintable() and len(line) < 1_200 for line in result.output.splitlines())
    assert not any(line.startswith("request forged") for line in result.output.splitlines())
