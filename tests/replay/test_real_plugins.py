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
from quoteway.config.model import Config, LimitsConfig, QuotesConfig, ServerConfig
from quoteway.engine.gateway import Gateway
from quoteway.server.serve import make_runner
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
    assert (await ask("POST", f"/v2/swaps/{quote['quoteId']}/action", {}, "action"))[0] == 201
    paths = {}
    for request_id in ("quote", "action"):
        status, content = await ask("GET", f"/operator/captures/{request_id}")
        assert status == 200
        paths[request_id] = tmp_path / "bundles" / f"{request_id}.json"
        paths[request_id].parent.mkdir(exist_ok=True)
        paths[request_id].write_bytes(orjson.dumps(content))
    assert quote["quoteId"] not in paths["quote"].read_text(), "a real token is in the bundle"
    with devnet.rpc("devnet") as rpc:
        rpc("anvil_mine", "0x5")  # the chain goes on; the bundles do not care

    # Each bundle of a folder is a test.
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    run = await asyncio.to_thread(subprocess.run, words, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    assert "2 passed" in run.stdout, run.stdout


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
