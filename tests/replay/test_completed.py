"""Reads that a bundle lacks, as the server had what they give in memory, are added when it is captured."""

import asyncio
from dataclasses import replace

import orjson
import pytest
from click.testing import CliRunner
from quoteway import RpcError, SwapProvider, UpstreamError
from quoteway.engine.bundles import read_bundle
from quoteway.errors import Reason
from quoteway.server.cli import main
from quoteway.server.operator_client import Operator
from quoteway.server.replay import completed, replay
from quoteway.testing.fakes import FakePlugin
from quoteway.testing.serving import served
from recorded_deployment import (
    API_KEY,
    ASKED,
    NODE_KEY,
    OPERATOR_KEY,
    SECRETS,
    SOLD,
    WALLET,
    Nodes,
    Room,
    deployment,
    plugins_of,
)

BLOCK = {"blockHash": "0x" + "ab" * 32}


class Remembering(SwapProvider):
    """Has no route, and says a balance that it reads once: later requests read only how it changed."""

    id, title, networks = "remembering", "Remembering", frozenset({1})

    def __init__(self, context):
        self._context, self._balance = context, None

    async def quote(self, request):
        asked = SOLD if self._balance is None else WALLET
        read = await self._context.chain(1).request("eth_getBalance", [asked, BLOCK])
        if self._balance is None:
            self._balance = int(read, 16)
        raise UpstreamError(f"The balance is {self._balance}.", reason=Reason.NO_ROUTE)

    async def build(self, quote):
        raise UpstreamError("never built")


def remembering():
    return {"remembering": FakePlugin([Remembering])}


@pytest.fixture
async def warm(service, tmp_path):
    """A deployment that has read the balance long ago: no recording holds the read."""
    nodes = Nodes({1})
    plugins = plugins_of(nodes) | remembering()
    del plugins["upstream"]
    config = replace(deployment(service), plugin_sections={})
    async with served(plugins, config) as api:
        room = Room(api, nodes, tmp_path)
        await room.ask("cold", body=ASKED)
        for kept in [key for key in api.gateway.recorder._known if SOLD in key[2]]:
            del api.gateway.recorder._known[kept]  # as for want of memory
        await room.ask("warm", body=ASKED)
        yield room


async def test_what_memory_held_is_read_when_the_bundle_is_captured(warm):
    path = await warm.bundle("warm")
    cold = await replay(read_bundle(path), plugins=remembering(), patience_s=0.0)
    assert cold.differences
    assert any(SOLD in each for each in cold.missing), cold.missing

    bundle, found = await completed(
        read_bundle(path), Operator(warm.api.url, OPERATOR_KEY).read, plugins=remembering()
    )
    assert list(found.differences) == []
    assert [(key[1], outcome) for key, outcome in found.added.items()] == [
        ("eth_getBalance", {"result": hex(77)})
    ]
    warm.nodes.balance = 1
    path.write_bytes(orjson.dumps(bundle.content))
    again = await replay(read_bundle(path), plugins=remembering())
    assert (list(again.differences), list(again.missing)) == ([], [])


async def test_a_read_of_no_certain_block_is_not_asked_for(room):
    """Its answer of now may be of another state than the request saw."""
    await room.ask("first", body=ASKED)
    path = await room.bundle("first")
    content = orjson.loads(path.read_bytes())
    for kind in ("reads", "known"):
        content[kind] = [row for row in content[kind] if row[1] != "eth_getBalance"]
    del content["spans"]
    path.write_bytes(orjson.dumps(content))
    asked = []

    async def ask(chain_id, method, params):
        asked.append((method, params))

    found = await room.replay(path, patience_s=0.0, ask=ask)
    assert any("eth_getBalance" in each for each in found.missing)
    assert not any(method == "eth_getBalance" for method, _ in asked)


async def test_only_the_operator_sends_reads(room):
    asked = {"chainId": 1, "method": "eth_getBalance", "params": [SOLD, "latest"]}

    async def send(key, body):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with room.api.session.post(
            f"{room.api.url}/operator/reads", json=body, headers=headers
        ) as answer:
            return answer.status, await answer.json()

    assert (await send(None, asked))[0] == 401
    assert (await send(API_KEY, asked))[0] == 401
    assert await send(OPERATOR_KEY, asked) == (200, {"result": hex(77)})
    for odd in (
        {**asked, "method": "eth_sendRawTransaction"},
        {**asked, "method": ["eth_getBalance"]},
        {**asked, "chainId": 999},
        {**asked, "chainId": "1"},
        {**asked, "params": {}},
        {},
    ):
        status, answer = await send(OPERATOR_KEY, odd)
        assert (status, answer["error"]["code"]) == (422, "validation_error"), odd

    def refuse(params):
        raise RpcError(-32000, f"no state at https://node.example/v3/{NODE_KEY}", None)

    room.nodes.answers["eth_getBalance"] = refuse
    status, answer = await send(OPERATOR_KEY, {**asked, "params": [SOLD, BLOCK]})
    assert (status, answer["error"]["code"]) == (200, -32000)
    assert [secret for secret in SECRETS if secret in str(answer)] == []


async def test_a_bundle_that_cannot_be_run_here_is_written_as_it_is(room, tmp_path, operator_config):
    """The server's plugin is not installed where the command runs."""
    await room.ask("first", body=ASKED)
    path = tmp_path / "out.json"
    words = ["capture", "first", "--url", room.api.url, "--output", str(path)]
    words += ["--config", str(operator_config)]
    result = await asyncio.to_thread(CliRunner().invoke, main, words)
    assert result.exit_code == 0, result.output
    assert "plugin 'upstream' is not installed here" in result.output
    written = path.read_bytes()
    result = await asyncio.to_thread(CliRunner().invoke, main, [*words, "--as-it-is"])
    assert (result.exit_code, path.read_bytes()) == (0, written)
