"""``quoteway doctor`` measures each RPC endpoint: against a real node, and against ones with limits."""

import re
from contextlib import asynccontextmanager

import aiohttp
import orjson
import pytest
from aiohttp import web
from quoteway.server.doctor import examine

pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
CANARY = "canary-77"


@asynccontextmanager
async def node(answer):
    """A node on a loopback socket whose answers come from ``answer(body)``."""

    async def handle(request):
        if request.method == "GET":
            raise web.HTTPFound("http://127.0.0.1:9/stolen")
        return web.json_response(await answer(orjson.loads(await request.read())))

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/{CANARY}"
    finally:
        await runner.cleanup()


def limited(url, *, behind):
    """Passes calls on to the node at ``url``, refuses what hosted nodes do, and lags."""

    async def answer(body):
        if isinstance(body, list):
            return [{"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": CANARY}}]
        if body["method"] == "eth_simulateV1":
            return {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": CANARY}}
        if body["method"] == "eth_getLogs":
            asked = body["params"][0]
            if int(asked["toBlock"], 16) - int(asked["fromBlock"], 16) + 1 > 100:
                return {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": CANARY}}
        if any(isinstance(each, dict) and "blockHash" in each for each in body["params"]):
            return {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": CANARY}}
        async with aiohttp.ClientSession() as http, http.post(url, json=body) as response:
            found = orjson.loads(await response.read())
        if body["method"] == "eth_blockNumber":
            found["result"] = hex(int(found["result"], 16) - behind)
        return found

    return answer


async def doctored(tmp_path, monkeypatch, caplog, endpoints):
    caplog.set_level("CRITICAL", "quoteway")  # as the doctor does, and set back afterwards
    monkeypatch.setenv("SIGN", "4f1c9a07e2d85b36c0a7914ed3f8625b")
    path = tmp_path / "quoteway.toml"
    path.write_text(
        '[quotes]\nkeys = [{id = "k", secret = {env = "SIGN"}}]\n[plugins]\nload = ["rpc"]\n'
        f"[networks.local]\nchain_id = 31337\nblock_time_s = 1.0\nrpc = [{endpoints}]\n"
    )
    findings = await examine(path)
    assert CANARY not in repr(findings)
    return [(f.mark, f.subject[-2:], f.text) for f in findings if f.subject.startswith("rpc local")]


async def test_a_real_node_can_everything(fresh_devnet, tmp_path, monkeypatch, caplog):
    url = fresh_devnet.urls["devnet"]
    chain, measured, alone = await doctored(tmp_path, monkeypatch, caplog, f'"{url}"')
    assert alone[0] == "warn"
    assert chain == ("ok", "#1", "chain 31337")
    assert measured[0] == "ok"
    assert re.fullmatch(
        r"\d+ ms \(median of 5\), head \d+, eth_getLogs over 10,000 blocks, blockHash parameters, "
        r"eth_simulateV1, batches, WebSocket",
        measured[2],
    )


async def test_limits_lag_tier_and_cordon_are_named(fresh_devnet, tmp_path, monkeypatch, caplog):
    url = fresh_devnet.urls["devnet"]
    async with aiohttp.ClientSession() as http:
        mine = {"jsonrpc": "2.0", "id": 1, "method": "anvil_mine", "params": ["0x96"]}
        await (await http.post(url, json=mine)).read()
    async with node(limited(url, behind=40)) as lagging, node(limited(url, behind=1)) as near:
        endpoints = (
            f'"{url}", {{url = "{lagging}", tier = 1}}, {{url = "{near}", cordoned = "moves on Monday"}}, '
            '"http://127.0.0.1:9/x"'
        )
        found = await doctored(tmp_path, monkeypatch, caplog, endpoints)
    lagging = [finding for finding in found if finding[1] == "#2"]
    assert [mark for mark, _, _ in lagging] == ["ok", "ok", "warn"]
    text = "eth_getLogs over 100 blocks, no blockHash parameters, no eth_simulateV1, no batches, no WebSocket"
    assert f"{text}, tier 1" in lagging[1][2]
    assert lagging[2][2].startswith("40 blocks behind the newest endpoint")
    near = [finding for finding in found if finding[1] == "#3"]
    assert near[0] == ("warn", "#3", "cordoned: moves on Monday")
    assert [mark for mark, _, _ in near] == ["warn", "ok", "ok"], "one block is no lag"
    assert [f for f in found if f[1] == "#4"] == [("fail", "#4", "no usable answer (ClientConnectorError)")]


async def test_nodes_that_answer_nonsense_end_no_examination(tmp_path, monkeypatch, caplog):
    for nonsense in (
        [],
        5,
        None,
        {"result": {}},
        {"error": {}},
        {"error": {"code": "x"}},
        {"result": "0x7a69"},
    ):

        async def answer(body, nonsense=nonsense):
            return nonsense

        async with node(answer) as url:
            found = await doctored(tmp_path, monkeypatch, caplog, f'"{url}"')
        assert found[0][0] == ("ok" if nonsense == {"result": "0x7a69"} else "fail")


async def test_the_embedded_default_is_sound_before_it_runs(tmp_path, monkeypatch, caplog):
    caplog.set_level("CRITICAL", "quoteway")  # as the doctor does, and set back afterwards
    anvil = pytest.importorskip("quoteway_devnet.anvil", reason="the embedded default is the devnet")
    monkeypatch.chdir(tmp_path)
    for name in ("PORT", "L2_PORT"):
        monkeypatch.setenv(f"QUOTEWAY_PLUGIN__DEVNET__{name}", str(anvil.free_port()))
    found = {finding.subject: finding for finding in await examine(None)}
    assert [finding for finding in found.values() if finding.mark != "ok"] == []
    assert found.keys() >= {"node", "npm"}
    assert found["rpc devnet #1"].text == "not running: `quoteway serve` starts it"


async def test_what_the_devnet_needs_is_named_in_the_embedded_default_alone(tmp_path, monkeypatch, caplog):
    caplog.set_level("CRITICAL", "quoteway")
    pytest.importorskip("quoteway_devnet", reason="the embedded default is the devnet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = [finding for finding in await examine(None) if finding.mark == "warn"]
    assert [finding.subject for finding in found] == ["node", "npm"]
    assert all("install Node.js" in finding.text for finding in found)
    path = tmp_path / "quoteway.toml"
    path.write_text('[quotes]\nkeys = [{id = "k", secret = {env = "SIGN"}}]\n[plugins]\nload = []\n')
    monkeypatch.setenv("SIGN", "4f1c9a07e2d85b36c0a7914ed3f8625b")
    assert not {"node", "npm"} & {finding.subject for finding in await examine(path)}


async def test_a_policy_is_told_and_one_that_cannot_be_used_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("SIGN", "4f1c9a07e2d85b36c0a7914ed3f8625b")
    path, policy = tmp_path / "quoteway.toml", tmp_path / "policy.toml"
    path.write_text(
        '[policy]\nfile = "policy.toml"\n[plugins]\nload = []\n'
        '[quotes]\nkeys = [{id = "k", secret = {env = "SIGN"}}]\n'
    )
    policy.write_text('[[rules]]\nname = "treasury"\n')
    (found,) = [finding for finding in await examine(path) if finding.subject == "policy"]
    assert (found.mark, found.text.endswith("rules: treasury")) == ("ok", True)
    policy.write_text('[[rules]]\nname = "treasury"\nnetworks = ["nowhere"]\n')
    (found,) = [finding for finding in await examine(path) if finding.mark == "fail"]
    assert "rule 'treasury': network 'nowhere' is unknown" in found.text


async def test_databases_and_stores_of_plugins_are_asked(tmp_path, monkeypatch, caplog, unused_tcp_port):
    pytest.importorskip("quoteway_indexer", reason="needs the quoteway-indexer distribution")
    caplog.set_level("CRITICAL", "quoteway")
    monkeypatch.setenv("SIGN", "4f1c9a07e2d85b36c0a7914ed3f8625b")
    monkeypatch.setenv("DATABASE", f"postgresql://index:{CANARY}@127.0.0.1:{unused_tcp_port}/index")
    monkeypatch.setenv("STORE", f"redis://:{CANARY}@127.0.0.1:{unused_tcp_port}")
    path = tmp_path / "quoteway.toml"
    path.write_text(
        '[quotes]\nkeys = [{id = "k", secret = {env = "SIGN"}}]\n[plugins]\nload = ["rpc", "indexer"]\n'
        '[plugin.rpc]\ncache_store = {env = "STORE"}\n'
        '[plugin.indexer]\nenabled = true\nstore = "postgres"\nurl = {env = "DATABASE"}\n'
    )
    findings = await examine(path)
    assert CANARY not in repr(findings)
    asked = {f.subject: (f.mark, f.text) for f in findings if f.subject.startswith("plugin.")}
    assert asked == {
        "plugin.rpc.cache_store": (
            "fail",
            "no answer: ConnectionError. Until it can be used, replicas do not share what they answer "
            "clients",
        ),
        "plugin.indexer.url": (
            "fail",
            "PostgreSQL cannot be reached: ConnectionRefusedError. Until it can be used, the index is "
            "neither written nor read",
        ),
    }
