"""Quotes and actions of the real plugins over the devnet, captured, and run again without it."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import orjson
import pytest
from action_keys import pem
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from quoteway.config.model import ActionKey, ActionsConfig, Config, LimitsConfig, QuotesConfig, ServerConfig
from quoteway.engine.bundles import Bundle, read_bundle
from quoteway.engine.gateway import Gateway
from quoteway.secrets import Secret
from quoteway.server.replay import completed, replay
from quoteway.server.serve import make_runner
from quoteway.server.trace import lines_of
from quoteway.web.app import make_app

pytestmark = pytest.mark.slow
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.fixture
async def recording_server(devnet):
    """``(ask, capture)`` of a gateway over the devnet with all installed plugins."""
    import aiohttp
    from aiohttp import web

    chains = {"enabled": True, "start": False, "relayer_port": 9}
    chains |= {"port": devnet.ports["devnet"], "l2_port": devnet.ports["devnet-l2"]}
    config = Config(
        server=ServerConfig(port=0, capture=10),
        limits=LimitsConfig(enabled=False),
        quotes=QuotesConfig(competition_timeout_s=30.0),
        actions=ActionsConfig((ActionKey("k1", Secret(pem(Ed25519PrivateKey.generate()))),)),
        plugin_sections={"devnet": chains, "uniswap": {"solver_processes": 0}},
    )
    gateway = Gateway(config)
    runner = make_runner(make_app(gateway), config)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await gateway.started()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with aiohttp.ClientSession() as session:

        async def ask(method, path, body=None, request_id="none"):
            headers = {"X-Request-ID": request_id}
            async with session.request(method, url + path, json=body, headers=headers) as answer:
                return answer.status, orjson.loads(await answer.read())

        yield ask
    await runner.cleanup()


def asked_of(devnet, **changes):
    tokens = {row.symbol: row.address for row in devnet.chains["devnet"].tokens}
    pair = {"fromToken": tokens["USDC"], "toToken": tokens["WETH"]}
    return {"network": "devnet", **pair, "amount": "1000000000", "address": WALLET, **changes}


async def test_a_quote_and_its_action_replay_without_the_chain(recording_server, devnet, tmp_path):
    ask, body = recording_server, asked_of(devnet)
    for _ in range(60):  # until prices are known, as on a server that has run for a while
        _, first = await ask("POST", "/v2/swaps/quote", body)
        if first["inputs"][0]["amountUsd"] is not None:
            break
        await asyncio.sleep(0.25)
    status, quote = await ask("POST", "/v2/swaps/quote", body, "quote")
    assert status == 200, quote
    status, action = await ask("POST", f"/v2/swaps/{quote['quoteId']}/action", {}, "action")
    assert (status, action["jws"].count(".")) == (201, 2)
    paths = {}
    for request_id in ("quote", "action"):
        status, content = await ask("GET", f"/operator/captures/{request_id}")
        assert status == 200
        assert action["jws"] not in orjson.dumps(content).decode()
        assert "PRIVATE KEY" not in orjson.dumps(content).decode()
        paths[request_id] = tmp_path / "bundles" / f"{request_id}.json"
        paths[request_id].parent.mkdir(exist_ok=True)
        paths[request_id].write_bytes(orjson.dumps(content))
    assert quote["quoteId"] not in paths["quote"].read_text(), "a real token is in the bundle"
    lines = list(lines_of(read_bundle(paths["action"])))
    assert any("call swap uniswap.build: quoted" in line for line in lines), lines
    assert any("eth_simulateV1 on devnet" in line for line in lines), lines
    assert any("amountOutMin: " in line for line in lines), lines
    assert any(f"{WALLET}: -1000000000 of " in line for line in lines), lines
    with devnet.rpc("devnet") as rpc:
        rpc("anvil_mine", "0x5")  # the chain goes on; the bundles do not care

    # Each bundle of a folder is a test.
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    run = await asyncio.to_thread(subprocess.run, words, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    assert "2 passed" in run.stdout, run.stdout


MONEY = "status", "provider", "inputs[0].amount", "outputs[0].amount", "outputs[0].amountMin", "route"


async def test_a_quote_of_a_warm_server_replays_with_its_route_and_amounts(recording_server, devnet):
    """The server knows the pools already and reads little; a replay knows none of them."""
    ask, symbols = recording_server, {row.symbol: row.address for row in devnet.chains["devnet"].tokens}
    orders = [("WETH", "UNI", 18 * 10**18), ("USDC", "WETH", 900_000 * 10**6)]

    async def read(chain_id, method, params):
        asked = {"chainId": chain_id, "method": method, "params": params}
        status, outcome = await ask("POST", "/operator/reads", asked)
        return outcome if status == 200 else None

    for attempt in ("first", "again"):
        for sold, bought, amount in orders:
            body = asked_of(devnet, fromToken=symbols[sold], toToken=symbols[bought], amount=str(amount))
            status, quote = await ask("POST", "/v2/swaps/quote", body, f"{attempt}-{sold}")
            assert status == 200, quote
    for sold, _, _ in orders:
        _, content = await ask("GET", f"/operator/captures/again-{sold}")
        bundle, _ = await completed(Bundle(content), read, patience_s=2.0)
        found = await replay(bundle, patience_s=2.0)
        members = {each.partition(":")[0] for each in found.differences}
        assert members.isdisjoint(MONEY), found.differences
        assert not any(name.startswith("route.") for name in members), found.differences


def test_any_worker_has_the_recordings_of_all(tmp_path):
    """A request reaches one of two workers; a capture that reaches the other one finds it too."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    words = [sys.executable, "-m", "quoteway", "serve", "--port", str(port), "--workers", "2"]
    environ = {**os.environ, "QUOTEWAY_SERVER__CAPTURE": "5", "QUOTEWAY_PLUGINS__LOAD": "[]"}
    process = subprocess.Popen(words, cwd=tmp_path, env=environ, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while _status(f"{url}/v2/networks", "first") != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        # Each is a connection of its own, so that the kernel chooses a worker: both by 24 of 24 once in 2^23.
        found = [_status(f"{url}/operator/captures/first") for _ in range(24)]
        assert found == [200] * 24
        assert _status(f"{url}/operator/captures/unknown") == 404
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _status(url, request_id="asking"):
    try:
        request = urllib.request.Request(url, headers={"X-Request-ID": request_id})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
