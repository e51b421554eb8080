"""Requests that are recorded over fake nodes, captured, and run again without them."""

import asyncio
import subprocess
import sys
from dataclasses import replace

import orjson
import pytest
from aiohttp import web
from click.testing import CliRunner
from marshmallow import Schema, fields
from quoteway import Network, RpcError, SwapProvider, Token, UpstreamError, hookimpl
from quoteway.config.model import AuthConfig, Config, LimitsConfig, QuotesConfig, ServerConfig, SigningKey
from quoteway.engine.bundles import BundleError, read_bundle
from quoteway.errors import Reason
from quoteway.networks import Endpoint
from quoteway.secrets import Secret, SecretField
from quoteway.server.cli import main
from quoteway.server.replay import replay
from quoteway.testing.fakes import FakePlugin, ListedTokens, MemoryRpc
from quoteway.testing.serving import served

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
SOLD, BOUGHT = "0x" + "a1" * 20, "0x" + "b2" * 20
TOKENS = [Token(1, SOLD, 6, "SOLD", "Sold", listed=True), Token(1, BOUGHT, 18, "BGHT", "Bought", listed=True)]
ASKED = {"network": "mainnet", "fromToken": SOLD, "toToken": BOUGHT, "amount": "1000000", "address": WALLET}

OPERATOR_KEY = "Zk3vT9xQ2mB7nL5cR8wY4pH6"
API_KEY = "qJ8rW2nX5vB9mK4tL7cF3gD6"
NODE_KEY = "n0dEkEyThAtOpEnsTheNode4711"
HEADER_KEY = "h3aderKeyOfTheNodeThatNobodySees"
PLUGIN_KEY = "pLuG1nKeyOfAnUpstreamService99"
SIGNING_KEY = "5f3c8a1e9b7d2460f1c3e5a7092b4d6e8f10325476a9bcde"
CALLERS_KEY = "aCallersOwnKeyThatItSentByMistake"
SESSION = "aSessionThatAPluginHasFromItsUpstream"
SECRETS = (SESSION, OPERATOR_KEY, API_KEY, NODE_KEY, HEADER_KEY, PLUGIN_KEY, SIGNING_KEY, CALLERS_KEY)


class Upstream(SwapProvider):
    """Asks an HTTP service and the chain, and has no route: the words of both are in its failure."""

    id, title, networks = "upstream-swap", "Upstream", frozenset({1})

    def __init__(self, context):
        self._context, self._url = context, context.settings["url"]

    async def quote(self, request):
        key = self._context.settings["key"].reveal()
        headers = {"Authorization": f"Bearer {key}", "X-Session": SESSION}
        body = {"amount": str(request.amount_in), "apiKey": key}
        async with self._context.http.post(self._url, json=body, headers=headers) as response:
            answer = orjson.loads(b"".join([chunk async for chunk in response.content.iter_chunked(100)]))
        balance = await self._context.chain(1).request("eth_getBalance", [SOLD, "latest"])
        raise UpstreamError(
            f"The service says {answer['price']}, the chain {int(balance, 16)}, at {self._context.now()}.",
            reason=Reason.NO_ROUTE,
        )

    async def build(self, quote):
        raise UpstreamError("never built")


class UpstreamSettings(Schema):
    url = fields.String(required=True)
    key = SecretField(required=True)


class UpstreamPlugin(FakePlugin):
    @hookimpl
    def quoteway_settings(self):
        return UpstreamSettings


class Nodes(MemoryRpc):
    """Nodes whose balances can be changed, and which may fail once."""

    def __init__(self, networks):
        super().__init__(networks, tokens=TOKENS)
        self.balance, self.failures = 77, 0
        self.answers["eth_getBalance"] = self._balance

    def _balance(self, params):
        if self.failures:
            self.failures -= 1
            raise UpstreamError("No node answered at https://node.example.", reason=Reason.PROVIDER_TIMEOUT)
        return hex(self.balance)


@pytest.fixture
async def service():
    """An HTTP service that echoes the credentials that it gets."""
    prices = iter(range(100, 200))

    async def answer(request):
        sent = f"{request.headers['Authorization']} {request.headers['X-Session']} {request.path}"
        return web.json_response({"price": next(prices), "you sent": sent})

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v7/{PLUGIN_KEY}"
    await runner.cleanup()


def plugins_of(nodes):
    endpoint = Endpoint(f"https://node.example/v3/{NODE_KEY}", {"X-Key": HEADER_KEY}, "first")
    return {
        "upstream": UpstreamPlugin([Upstream]),
        "nodes": FakePlugin(
            [nodes, ListedTokens(TOKENS)], networks=[Network("mainnet", 1, "Mainnet", endpoints=(endpoint,))]
        ),
    }


def deployment(url, **server):
    return Config(
        server=ServerConfig(port=0, capture=3, capture_key=Secret(OPERATOR_KEY), **server),
        limits=LimitsConfig(quotes="10000/minute", catalog="10000/minute", wrong_keys="3/minute"),
        quotes=QuotesConfig(competition_timeout_s=20.0, keys=(SigningKey("k", Secret(SIGNING_KEY)),)),
        auth=AuthConfig(keys=(Secret(API_KEY),)),
        plugin_sections={"upstream": {"url": url, "key": Secret(PLUGIN_KEY)}},
        embedded=False,
    )


class Room:
    """A served deployment with its nodes, and an operator and a caller of it."""

    def __init__(self, api, nodes, folder):
        self.api, self.nodes, self.folder = api, nodes, folder

    async def ask(self, request_id, method="POST", path="/v2/swaps/quote", body=None):
        headers = {"Authorization": f"Bearer {API_KEY}", "X-Request-ID": request_id}
        async with self.api.session.request(
            method, self.api.url + path, json=body, headers=headers
        ) as answer:
            return answer.status, await answer.json()

    async def capture(self, request_id, key=OPERATOR_KEY):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        place = f"{self.api.url}/operator/captures/{request_id}"
        async with self.api.session.get(place, headers=headers) as answer:
            return answer.status, await answer.read()

    async def bundle(self, request_id):
        status, raw = await self.capture(request_id)
        assert status == 200, raw
        path = self.folder / "bundle.json"
        path.write_bytes(raw)
        return path

    async def replay(self, path, **changes):
        return await replay(read_bundle(path), plugins={"upstream": UpstreamPlugin([Upstream])}, **changes)


@pytest.fixture
async def room(service, tmp_path):
    nodes = Nodes({1})
    async with served(plugins_of(nodes), deployment(service)) as api:
        yield Room(api, nodes, tmp_path)


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


async def test_the_command_writes_a_bundle_that_others_cannot_read(room, tmp_path, monkeypatch):
    await room.ask("first", body=ASKED)
    monkeypatch.setenv("CAPTURE_KEY", OPERATOR_KEY)
    monkeypatch.setenv("SIGNING_KEY", SIGNING_KEY)
    config = tmp_path / "quoteway.toml"
    config.write_text(
        '[quotes]\nkeys = [{id = "k", secret = {env = "SIGNING_KEY"}}]\n'
        '[server]\ncapture = 3\ncapture_key = {env = "CAPTURE_KEY"}\n'
    )
    path = tmp_path / "out.json"
    words = ["capture", "first", "--url", room.api.url, "--output", str(path), "--config", str(config)]
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
