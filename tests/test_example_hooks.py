"""The small examples of hooks, each loaded as a plugin: a node, a relay, a page, a log, series, pools."""

import asyncio
import contextlib
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from click.testing import CliRunner
from quoteway import Capability, Network, SwapRequest, Token, UpstreamError
from quoteway.config.model import Config
from quoteway.engine.gateway import Gateway
from quoteway.evm.abi import encode_call
from quoteway.models import NATIVE
from quoteway.server import plugin_checks
from quoteway.server.plugin_commands import PluginCommandRunner
from quoteway.testing.conformance import RpcConformance
from quoteway.testing.conformance.listing import check_pool
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, HttpRpc, MemoryRpc
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.networks import devnet_networks

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "examples"))


@contextlib.asynccontextmanager
async def answering(answer):
    """The URL of a server that gives what ``answer`` returns for each body: an object, bytes, or a status."""

    async def handle(request):
        found = answer(await request.json())
        if isinstance(found, int):
            return web.Response(status=found)
        if isinstance(found, bytes):
            return web.Response(body=found, content_type="application/json")
        return web.json_response(found)

    app = web.Application()
    app.router.add_post("/canary", handle)
    async with TestServer(app) as server:
        yield str(server.make_url("/canary"))


ODD_ANSWERS = [
    *(b"", b"<html>", b"[" * 100_000, 500, [], None, 7, "text", {}, {"error": None}, {"error": "no"}),
    *({"error": {}}, {"error": {"code": "?", "message": 7}}, {"result": {"canary": 1}}),
]


# --- one_node: quoteway_networks, quoteway_rpc_upstreams ---------------------------------------------------


@pytest.fixture
def one_node(make_gateway, monkeypatch):
    async def gateway(url, chain_id=31337):
        import one_node

        monkeypatch.setenv("NODE_URL", url)
        section = {"url": {"env": "NODE_URL"}, "chain_id": chain_id}
        return await make_gateway({"one-node": one_node}, plugin_sections={"one-node": section})

    return gateway


class TestOneNode(RpcConformance):
    provider_id = "one-node"

    @pytest.fixture
    async def gateway(self, one_node, devnet):
        return await one_node(devnet.urls["devnet"])


async def test_the_network_is_served_and_read_by_the_core(one_node, devnet):
    gateway = await one_node(devnet.urls["devnet"])
    (network,) = gateway.runtime.networks
    assert (network.slug, network.chain_id, network.native_symbol) == ("my-chain", 31337, "COIN")
    chain = gateway.runtime.chain(31337)
    usdc = devnet.chains["devnet"].token("USDC").address
    assert (await gateway.tokens.find(31337, usdc)).symbol == "USDC"
    assert await chain.code(usdc)


async def test_a_node_that_answers_oddly_is_an_upstream_that_failed(one_node):
    answers = iter(ODD_ANSWERS[:-1])
    async with answering(lambda body: next(answers)) as url:
        gateway = await one_node(url)
        provider = gateway.registry.get(Capability.RPC, "one-node")
        (network,) = gateway.runtime.networks
        for _ in ODD_ANSWERS[:-1]:
            with pytest.raises(UpstreamError) as refusal:
                await provider.forward(network, "eth_chainId", [], timeout_s=5)
            assert type(refusal.value) is UpstreamError
            assert "canary" not in refusal.value.message


# --- private_relay: quoteway_relays ------------------------------------------------------------------------


@pytest.fixture
def relaying(signing_client):
    """A client of a gateway whose relay is the endpoint at a URL, and a signed transaction for it."""

    async def make(url):
        import private_relay

        section = {"endpoints": {"devnet": url}}
        here = await signing_client(plugins={"private-relay": (private_relay, section)})
        transaction, tx_id, _ = await here.action()
        path, raw = f"/v2/transactions/{tx_id}/submit", await here.sign(transaction)
        return here, raw, lambda: here.api.post(path, {"signedPayload": raw})

    return make


async def test_a_transaction_goes_through_the_private_endpoint(fresh_devnet, relaying, contract):
    bodies = []

    def forward(body):
        bodies.append(body)
        with fresh_devnet.rpc("devnet") as rpc:
            return {"jsonrpc": "2.0", "id": body["id"], "result": rpc(body["method"], *body["params"])}

    async with answering(forward) as url:
        here, raw, submit = await relaying(url)
        body = contract.check("submitTransaction", await submit())
    assert (body["broadcast"], body["verified"]) == (True, True)
    assert [(each["method"], each["params"]) for each in bodies] == [("eth_sendRawTransaction", [raw])]
    assert (await here.mined(body["hash"]))["status"] == "0x1"


async def test_a_relay_that_answers_oddly_is_no_success_and_its_url_is_not_shown(relaying, refused):
    answers = iter(ODD_ANSWERS)
    async with answering(lambda body: next(answers, {"result": "0x" + "00" * 32})) as url:
        _, _, submit = await relaying(url)
        for _ in (*ODD_ANSWERS, "the hash of another transaction"):
            answer = await submit()
            refused(answer, 502, "upstream_error")
            assert b"canary" not in answer.raw


async def test_a_relay_of_an_unknown_network_costs_itself(make_gateway, devnet):
    import private_relay

    chains = FakePlugin([HttpRpc], networks=devnet_networks(devnet.ports))
    for endpoints, told in (
        ({"devnett": "https://relay.example"}, "endpoints: network 'devnett' is unknown"),
        ({"devnet": "ftp://relay.example"}, "expected an http(s) URL"),
    ):
        gateway = await make_gateway(
            {"chains": chains, "private-relay": private_relay},
            plugin_sections={"private-relay": {"endpoints": endpoints}},
        )
        (entry,) = (each for each in gateway.registry.plugins if each.name == "private-relay")
        assert (entry.reason, told in entry.detail) == ("config_invalid", True), entry.detail


# --- own_site: quoteway_site ------------------------------------------------------------------------------


async def test_a_folder_of_files_is_the_page_for_browsers(make_config, serve_app, tmp_path):
    import own_site

    (tmp_path / "index.html").write_text("<!doctype html><title>Ours</title>")
    sections = {"own-site": {"folder": str(tmp_path)}}
    config = replace(make_config(site="own-site"), plugin_sections=sections)
    api = await serve_app({"own-site": own_site}, config=config)
    page = await api.get("/", headers={"Accept": "text/html"})
    assert page.raw == b"<!doctype html><title>Ours</title>"


# --- chain_heads: quoteway_routes, quoteway_commands -------------------------------------------------------


def _heads(devnet):
    found = {}
    for slug in devnet.urls:
        with devnet.rpc(slug) as rpc:
            found[slug] = int(rpc("eth_blockNumber"), 16)
    return found


@pytest.fixture
def chains_and_a_dead_one(devnet):
    import chain_heads

    class Dead(MemoryRpc):
        async def forward(self, network, method, params, *, timeout_s):
            raise UpstreamError("No node answers.")

    dead = FakePlugin([Dead({7})], networks=[Network("dead", 7, "Dead")])
    chains = FakePlugin([HttpRpc], networks=devnet_networks(devnet.ports))
    return {"chains": chains, "dead": dead, "chain-heads": chain_heads}


async def test_the_page_shows_the_head_of_each_network(serve_app, devnet, chains_and_a_dead_one):
    api = await serve_app(chains_and_a_dead_one)
    answer = await api.get("/x/chain-heads/")
    assert (answer.status, answer.body) == (200, {"dead": None, **_heads(devnet)})


def test_the_command_prints_the_same(monkeypatch, devnet, chains_and_a_dead_one):
    import chain_heads

    monkeypatch.setattr(
        "quoteway.engine.gateway.Gateway",
        lambda config: Gateway(Config(), plugins=chains_and_a_dead_one, discover=False),
    )
    done = CliRunner().invoke(chain_heads.heads, obj=PluginCommandRunner())
    assert done.exit_code == 0, done.output
    lines = [line for line in done.output.splitlines() if not line.startswith("{")]
    assert lines == ["dead unreachable", *(f"{slug} {number}" for slug, number in _heads(devnet).items())]


# --- slow_calls: quoteway_observe --------------------------------------------------------------------------


async def test_failed_calls_of_a_provider_are_logged(make_gateway, caplog):
    import slow_calls

    class Fails(FixedRateSwap):
        async def quote(self, request):
            raise UpstreamError("The upstream is down.")

    networks = [Network("seven", 7, "Seven")]
    plugin = FakePlugin([MemoryRpc({7}), Fails], networks=networks, calls=[FAKE_CALLS])
    gateway = await make_gateway({"fake": plugin, "slow-calls": slow_calls})
    user = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
    request = SwapRequest(7, 7, Token(7, NATIVE, 18), Token(7, "0x" + "1" * 40, 6), 10**18, user, user, 50)
    with pytest.raises(UpstreamError):
        await gateway.quoting.quote(Capability.SWAP, request)
    async with asyncio.timeout(30):
        while "quote of fixed-rate: failed after" not in caplog.text:
            await asyncio.sleep(0.01)
    assert "reason provider_error" in caplog.text


def test_slow_calls_are_logged_and_quick_ones_are_not(caplog):
    import slow_calls

    event = {"provider": "dex", "capability": "swap", "method": "quote", "outcome": "quoted", "reason": None}
    for duration_s in (0.2, 1.0, 1.5):
        slow_calls.quoteway_observe({**event, "duration_s": duration_s})
    assert [record.getMessage() for record in caplog.records] == [
        "quote of dex: quoted after 1.50 s, reason None"
    ]


# --- kept_series: quoteway_metrics_providers, quoteway_lifespan, quoteway_doctor_checks ---------------------

HOUR = 3_600
FIRST = 1_700_006_400  # the beginning of an hour


@pytest.fixture
def kept_series(serve_app, make_config, fake_plugin, tmp_path):
    async def serve(*rows, table="point", path="a b?%23.db"):
        import kept_series

        with contextlib.closing(sqlite3.connect(tmp_path / "a b?%23.db")) as database, database:
            database.execute(f"CREATE TABLE {table} (resource, metric, unit, at, value)")
            database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", rows)
        config = replace(make_config(), plugin_sections={"kept-series": {"path": str(tmp_path / path)}})
        return await serve_app({"fakes": fake_plugin, "kept-series": kept_series}, config=config)

    return serve


async def test_series_are_the_last_points_of_the_file(kept_series, fake_plugin):
    pool = f"31337:{fake_plugin.weth}"
    api = await kept_series(
        (pool, "tvl", "usd", FIRST + 60, 1.0),
        (pool, "tvl", "usd", FIRST + 120, 2.5),
        (pool, "tvl", "usd", FIRST + 2 * HOUR, None),
        (pool, "tvl", "usd", FIRST + 3 * HOUR, 4),
        (pool, "fees", "usd", FIRST, 99.0),
        ("31337:another", "tvl", "usd", FIRST, 99.0),
    )
    asked = f"from={FIRST - 1}&to={FIRST + 4 * HOUR}&interval=1h"
    answer = await api.get(f"/v2/pools/{pool}/tvl?{asked}")
    assert answer.status == 200, answer.body
    assert (answer.body["source"], answer.body["unit"], answer.body["current"]) == ("kept-series", "usd", 4)
    assert [point["value"] for point in answer.body["points"]] == [2.5, None, None, 4]
    # Of what the file does not have, the pool's own provider is asked.
    own = await api.get(f"/v2/pools/{pool}/apr?{asked}")
    assert own.body["source"] == "chain"


async def test_a_file_without_the_table_leaves_the_series_of_others(kept_series, fake_plugin):
    api = await kept_series(table="wrong")
    answer = await api.get(f"/v2/pools/31337:{fake_plugin.weth}/tvl?from={FIRST}&to={FIRST + HOUR}")
    assert (answer.status, answer.body["source"]) == (200, "chain")


async def test_a_file_that_is_missing_is_named_to_the_operator(kept_series, fake_plugin):
    api = await kept_series(path="missing.db")
    (entry,) = (each for each in api.gateway.registry.plugins if each.name == "kept-series")
    assert entry.reason == "startup_failed"
    assert "missing.db cannot be opened" in entry.detail


async def test_the_doctor_counts_the_points_of_the_file(tmp_path):
    import kept_series

    def check(path):
        (found,) = kept_series.quoteway_doctor_checks(SimpleNamespace(settings={"path": str(path)}))
        return plugin_checks.asked("plugin.kept-series.path", found)

    path = tmp_path / "a b?%23.db"
    missing = await check(path)
    assert f"{path} cannot be opened" in missing.text
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE points (resource, metric, unit, at, value)")
    assert "no such table: point. Until it can be used, providers of pools" in (await check(path)).text
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("ALTER TABLE points RENAME TO point")
        database.execute("INSERT INTO point VALUES ('31337:pool', 'tvl', 'usd', 0, 1.0)")
    found = await check(path)
    assert (found.mark, found.text) == ("ok", "1 points")


# --- pair_pools: quoteway_pool_providers, quoteway_event_sources -------------------------------------------


@pytest.fixture
def pair_pools(serve_app, make_config, devnet):
    async def serve(pairs):
        import pair_pools

        chains = FakePlugin([HttpRpc], networks=devnet_networks(devnet.ports))
        config = replace(make_config(), plugin_sections={"pair-pools": {"pairs": pairs}})
        return await serve_app({"chains": chains, "pair-pools": pair_pools}, config=config)

    return serve


@pytest.fixture
def pairs(devnet):
    return [pool for pool in devnet.chains["devnet"].pools if "v2" in pool.protocol][:3]


async def test_the_pairs_are_listed_with_their_tokens(pair_pools, pairs, devnet):
    assert len(pairs) == 3
    api = await pair_pools({"devnet": [pair.id for pair in pairs]})
    provider = api.gateway.registry.get(Capability.POOL, "pair-pools")
    for pool in await provider.pools(31337):
        check_pool(api.gateway, provider, pool)
    assert await provider.pools(31338) == []
    for pair in pairs:
        answer = await api.get(f"/v2/pools/31337:{pair.id}")
        tokens = [token["address"] for token in answer.body["tokens"]]
        assert (answer.status, tokens) == (200, [pair.token0, pair.token1]), answer.body
    usdc = devnet.chains["devnet"].token("USDC").address
    assert (await api.get(f"/v2/pools/31337:{usdc}")).status == 404


def swap_coin_for_usdc(devnet, value):
    """Swaps through the pair of WETH and USDC in a transaction of its own."""
    chain, sender = devnet.chains["devnet"], ACCOUNTS[0].address
    path = [chain.contracts["WETH9"], chain.token("USDC").address]
    signature = "swapExactETHForTokens(uint256,address[],address,uint256)"
    data = "0x" + encode_call(signature, [1, path, sender, 2**40]).hex()
    sent = {"from": sender, "to": chain.contracts["UniswapV2Router02"], "data": data, "value": hex(value)}
    with devnet.rpc("devnet") as rpc:
        assert rpc.send(sent | {"gas": hex(400_000)})["status"] == "0x1"


async def test_an_indexer_makes_rows_of_their_swaps(pair_pools, pairs, fresh_devnet):
    decoding = pytest.importorskip("quoteway_indexer.ingest.decoding", reason="an indexer decodes the events")
    from quoteway_indexer.ingest.logs import read_logs

    pair = next(pair for pair in pairs if pair.pair == "WETH/USDC")
    api = await pair_pools({"devnet": [pair.id]})
    (source,) = api.gateway.runtime.event_sources
    decoder = decoding.compile_source(source)
    swap_coin_for_usdc(fresh_devnet, 10**15)
    with fresh_devnet.rpc("devnet") as rpc:
        last = int(rpc("eth_blockNumber"), 16)
        wanted = {"address": list(source.addresses), "topics": [sorted(decoder.topics)]}
        logs = rpc("eth_getLogs", wanted | {"fromBlock": hex(last), "toBlock": hex(last)})
    batch = read_logs(logs, last, last)
    decoded = decoding.decode([decoder], batch, dict.fromkeys(batch.numbers, 0), lambda source_id: None)
    assert not decoded.skipped
    (row,) = decoded.facts["swap"].to_pylist()
    gained = {
        token: int.from_bytes(row[name], signed=True)
        for token, name in ((pair.token0, "amount0"), (pair.token1, "amount1"))
    }
    weth = fresh_devnet.chains["devnet"].contracts["WETH9"]
    assert ("0x" + row["pool"].hex(), gained.pop(weth)) == (pair.id.lower(), 10**15)
    assert next(iter(gained.values())) < 0
