"""Attack: a plugin keeps the event loop busy, so that nobody is answered, and somebody else looks guilty.

The log, the metrics and ``GET /v2/providers`` name the plugin and its function, by what the loop's thread
runs, whoever's task it runs in.
"""

import asyncio
import itertools
import logging
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from quoteway.config.model import CallsConfig, PluginsConfig
from quoteway.engine.gateway import Gateway
from quoteway.evm.calls.registry import digest_of
from quoteway.models import Token
from quoteway.networks import Network
from quoteway.server.serve import make_runner
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc
from quoteway.web.app import make_app

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))
from distributions import install

TOKEN = Token(4242, "0x" + "1" * 40, 6, "USD", "A dollar")
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
QUOTE = {
    "fromToken": "native",
    "toToken": TOKEN.address,
    "amount": "1000000",
    "address": WALLET,
    "network": "testnet",
}
BLOCKING = """
    import asyncio, time
    from quoteway import SwapProvider, hookimpl

    def block(where):
        if where == {where!r}:
            time.sleep(0.4)

    class Blocking(SwapProvider):
        id, title = "blocking", "Blocks the loop"
        networks = frozenset({{4242}})
        async def build(self, sealed): ...
        async def quote(self, request):
            block("quote")
            Busy().spin()
            asyncio.get_running_loop().call_later(0.001, block, "callback")

    class Busy:
        def spin(self):
            ends_at = time.monotonic() + 0.4
            while {where!r} == "compute" and time.monotonic() < ends_at:
                sum(range(1000))

    @hookimpl
    def quoteway_swap_providers(context):
        block("start")
        return [Blocking()]

"""


@pytest.fixture
async def serve(tmp_path, monkeypatch, make_config):
    """``await serve(source)`` serves an installed plugin ``bad`` beside an honest one; a client of it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    runners, sessions = [], []

    async def start(source):
        install(tmp_path, "bad", source)
        honest = FakePlugin(
            [MemoryRpc({4242}, tokens=[TOKEN]), FixedRateSwap, ListedTokens([TOKEN])],
            networks=[Network("testnet", 4242, "Testnet")],
            calls=[FAKE_CALLS],
        )
        config = replace(
            make_config(),
            plugins=PluginsConfig(load=("bad", "honest"), startup_timeout_s=30),
            calls=CallsConfig((digest_of([FAKE_CALLS]),)),
        )
        gateway = Gateway(config, plugins={"honest": honest})
        runners.append(make_runner(make_app(gateway), config))
        await runners[-1].setup()
        await web.TCPSite(runners[-1], "127.0.0.1", 0).start()
        await gateway.started()
        sessions.append(aiohttp.ClientSession(f"http://127.0.0.1:{runners[-1].addresses[0][1]}"))
        return sessions[-1]

    yield start
    for session in sessions:
        await session.close()
    for runner in runners:
        await runner.cleanup()
    for module in [name for name in sys.modules if name.startswith("fake_")]:
        del sys.modules[module]


PAGE_SIZES = itertools.cycle(range(50, 200))


async def rows_by_plugin(client):
    """The rows of ``/v2/providers``; each call asks for another page size, which is not in the cache."""
    async with client.get("/v2/providers", params={"limit": next(PAGE_SIZES)}) as answer:
        return {row["plugin"]: row for row in (await answer.json())["data"]}


async def blamed(client, plugin="bad"):
    """The worst stall of a plugin once it is told: the watchdog is a thread of its own."""
    async with asyncio.timeout(30):
        while (stall := (await rows_by_plugin(client))[plugin]["worstStall"]) is None:
            await asyncio.sleep(0.05)
    return stall


@pytest.mark.parametrize(
    ("where", "function"),
    [
        ("quote", "block"),
        ("callback", "block"),
        ("start", "block"),
        ("compute", "Busy.spin"),
    ],
)
async def test_who_blocks_the_loop_is_named_by_plugin_and_function(serve, caplog, where, function):
    client = await serve(BLOCKING.format(where=where))
    async with client.post("/v2/swaps/quote", json=QUOTE) as answer:
        quote = await answer.json()
    assert (answer.status, quote["provider"]) == (200, "fixed-rate")
    stall = await blamed(client)
    assert stall["function"] == f"fake_fake_bad_bad.{function}"
    assert stall["milliseconds"] > 100
    told = [r.getMessage() for r in caplog.records if r.name == "quoteway.host.watchdog"]
    own = [text for text in told if "fake_fake_bad_bad" in text]
    assert len(own) == 1, "one line for each function, however often it blocks"
    assert re.search(rf"plugin 'bad' .*{function}", own[0])
    assert not [text for text in told if "'honest'" in text and "fake_fake_bad" in text]
    async with client.get("/metrics") as answer:
        metrics = await answer.text()
    assert float(re.search(r'quoteway_loop_stalls_total{plugin="bad"} (\S+)', metrics)[1]) >= 1
    assert float(re.search(r'quoteway_loop_stall_seconds_total{plugin="bad"} (\S+)', metrics)[1]) > 0.1


async def test_a_plugin_without_a_provider_is_named_too(serve):
    client = await serve(
        """
    import asyncio, contextlib, time
    from quoteway import hookimpl

    def block():
        time.sleep(0.4)

    @hookimpl
    @contextlib.asynccontextmanager
    async def quoteway_lifespan(context):
        asyncio.get_running_loop().call_later(0.2, block)
        yield
    """
    )
    async with asyncio.timeout(30):
        while "bad" not in (rows := await rows_by_plugin(client)):
            await asyncio.sleep(0.05)
    assert (rows["bad"]["enabled"], rows["bad"]["reason"], rows["bad"]["capabilities"]) == (True, None, [])
    assert rows["bad"]["worstStall"]["function"] == "fake_fake_bad_bad.block"


async def test_the_code_that_an_honest_plugin_waits_for_is_not_its_own(serve):
    """The bad plugin's blocking callback runs while the honest provider's task is the one that is asked."""
    client = await serve(BLOCKING.format(where="callback"))
    async with client.post("/v2/swaps/quote", json=QUOTE):
        pass
    await blamed(client)
    honest = (await rows_by_plugin(client))["honest"]["worstStall"]
    assert honest is None or "bad" not in honest["function"]


async def test_a_stall_of_the_core_is_the_cores(serve_app, monkeypatch):
    api = await serve_app({"honest": FakePlugin([MemoryRpc({4242})])})
    seen = []
    api.gateway.watchdog.listeners.append(seen.append)
    monkeypatch.setattr(api.gateway, "readiness", lambda: time.sleep(0.4) or [])
    await api.get("/readyz")
    async with asyncio.timeout(30):
        while not seen:
            await asyncio.sleep(0.02)
    assert seen[0].blame.plugin == "quoteway"
    assert seen[0].blame.function.startswith("quoteway.web.http.health.")


async def test_the_thread_ends_with_the_server_and_runs_once(serve_app):
    import threading

    def threads():
        return [thread for thread in threading.enumerate() if thread.name == "quoteway-watchdog"]

    api = await serve_app({"honest": FakePlugin([MemoryRpc({4242})])})
    assert len(threads()) == 1
    api.gateway.watchdog.start()
    assert len(threads()) == 1
    await api.runner.cleanup()
    assert not threads()


async def test_a_stall_that_does_not_end_is_told_before_its_end(serve, caplog):
    source = BLOCKING.format(where="quote").replace("time.sleep(0.4)", "time.sleep(1.5)")
    client = await serve(source)
    caplog.set_level(logging.ERROR)
    async with client.post("/v2/swaps/quote", json=QUOTE):
        pass
    await blamed(client)
    told = [r.getMessage() for r in caplog.records if r.name == "quoteway.host.watchdog"]
    own = [text for text in told if "fake_fake_bad_bad.block" in text]
    assert len(own) == 2
    assert "goes on" in own[0]
