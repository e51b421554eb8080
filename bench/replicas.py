"""JSON-RPC requests of 1, 2 and 4 replicas at one rate of quotes and 2 s blocks, with ``[shared]`` and
without, and the quotes a second of one and two workers.

All replicas read a look-alike of Ethereum through a proxy that counts. Each block has a transaction. The
first blocks, which replicas read to know anything at all, do not count. Nor does asking for the code of
contracts that the look-alike lacks: replicas do that in growing pauses, and on the network itself not at all.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import re
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import orjson
from aiohttp import web

from bench.report import Report, counts
from bench.server import free_port, process, wait_for
from bench.speed import WALLET

if TYPE_CHECKING:
    from quoteway_devnet.chains import Devnet

BLOCK_S: Final = 2.0
QUOTES_PER_BLOCK: Final = 10
"""5 quotes a second."""
WARM_BLOCKS: Final = 5
MOST_WARM_UPS: Final = 6
MOST_TRIES: Final = 3
QUICK_S, WARM_S = 0.5, 60.0
_ANEW: Final = re.compile(r'^quoteway_plugin_events{event="anew",.*} (\S+)$', re.MULTILINE)
COUNTED_BLOCKS: Final = 15
GOAL_RATIO: Final = 1.2
CLIENTS: Final = 16
RATE_S: Final = 8.0
RATE_TURNS: Final = 3
_USDC: Final = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
_SOLD: Final = "0x" + "51" * 20
"""An account that trades in each block, which anvil lets send without its key."""
CLIENT_VERSION: Final = "Geth/v1.16.0-stable"
"""What the proxy says that the node is: answers of development nodes are not kept, since they change."""


class CountingNode:
    """A proxy before a node that counts requests by method; ``absent`` those for code that is not there."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.methods: Counter[str] = Counter()
        self.absent = 0
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, method: str, *params: Any) -> Any:
        """Asks the node itself, uncounted."""
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return orjson.loads(await self._sent(body)).get("result")

    async def _sent(self, body: bytes) -> bytes:
        assert self._session is not None
        headers = {"Content-Type": "application/json"}
        async with self._session.post(self._url, data=body, headers=headers) as answer:
            return await answer.read()

    async def _forward(self, request: web.Request) -> web.Response:
        body = await request.read()
        call = orjson.loads(body)
        method = call["method"]
        if method == "web3_clientVersion":
            answer = orjson.dumps({"jsonrpc": "2.0", "id": call["id"], "result": CLIENT_VERSION})
        else:
            answer = await self._sent(body)
        if method == "eth_getCode" and orjson.loads(answer).get("result") == "0x":
            self.absent += 1
        else:
            self.methods[method] += 1
        return web.Response(body=answer, content_type="application/json")

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Serves the proxy and yields its URL."""
        app = web.Application(client_max_size=1 << 24)
        app.router.add_post("/", self._forward)
        runner = web.AppRunner(app)
        await runner.setup()
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        async with aiohttp.ClientSession() as self._session:
            try:
                yield f"http://127.0.0.1:{port}/"
            finally:
                await runner.cleanup()


@contextlib.asynccontextmanager
async def valkey() -> AsyncIterator[str]:
    """Runs a Valkey or Redis server and yields its URL. Raises ``RuntimeError`` where none is installed."""
    server = shutil.which("valkey-server") or shutil.which("redis-server")
    if server is None:
        raise RuntimeError("install redis-server (Debian) or valkey-server")
    port = free_port()
    async with process(server, "--port", str(port), "--save", "", "--bind", "127.0.0.1"):
        ends_at = time.monotonic() + 60
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            except OSError:
                if time.monotonic() > ends_at:
                    raise
                await asyncio.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"


@contextlib.asynccontextmanager
async def served(
    node_urls: Sequence[str],
    shared_url: str | None,
    *,
    key: str,
    workers: int = 1,
    waits: str = "timeout_s = 5\nwait_s = 5",
    more: str = "",
) -> AsyncIterator[str]:
    """Runs ``quoteway serve`` over the look-alike and yields its URL when it is ready.

    ``waits`` are settings of ``[shared]``: long ones by default, since a busy machine is slow, not wrong.
    """
    port = free_port()
    shared = "" if shared_url is None else f'[shared]\nurl = "{shared_url}"\n{waits}\n'
    text = f"""
[server]
port = {port}
workers = {workers}
[quotes]
keys = [{{ id = "bench", secret = {{ env = "BENCH_KEY" }} }}]
competition_timeout_s = 30
[limits]
enabled = false
[plugins]
load = ["rpc", "router", "uniswap"]
[plugin.rpc]
# A busy machine is slow, not wrong, and hedges are no matter of replicas.
attempt_timeout_s = 30
total_timeout_s = 60
hedge_share = 0
[networks.ethereum]
rpc = {json.dumps(list(node_urls))}
block_time_s = {BLOCK_S}
head_poll_s = {BLOCK_S / 2}
{shared}{more}
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quoteway.toml"
        path.write_text(text)
        command = str(Path(sys.executable).with_name("quoteway"))
        async with process(command, "serve", "--config", str(path), environ={"BENCH_KEY": key}) as child:
            url = f"http://127.0.0.1:{port}"
            await wait_for(f"{url}/readyz", child)
            yield url


@contextlib.contextmanager
def look_alike() -> Iterator[Devnet]:
    """Runs the look-alike of Ethereum, which mines when it is told to."""
    from quoteway_devnet.public_chains import public_chain
    from quoteway_uniswap.public_networks import ROWS

    with public_chain("ethereum", 1, ROWS[1][0]) as chain, chain.rpc("ethereum") as rpc:
        rpc("evm_setAutomine", False)
        rpc("anvil_setBalance", _SOLD, hex(10**24))
        rpc("anvil_impersonateAccount", _SOLD)
        yield chain


@dataclass
class Load:
    """Quotes at a fixed rate and blocks at a fixed time, over some replicas in turns."""

    node: CountingNode
    urls: Sequence[str]
    weth: str
    session: aiohttp.ClientSession
    quotes: int = 0
    failures: list[str] = field(default_factory=list)
    _next_url: Iterator[str] = field(init=False)

    def __post_init__(self) -> None:
        self._next_url = itertools.cycle(self.urls)

    async def blocks(self, count: int) -> Counter[str]:
        """Makes blocks and quotes, and returns the requests meanwhile by method."""
        before = self.node.methods.copy()
        loop = asyncio.get_running_loop()
        began = loop.time()
        self.failures = []
        for number in range(count):
            await self._mine()
            for quote in range(QUOTES_PER_BLOCK):
                due = began + BLOCK_S * (number + quote / QUOTES_PER_BLOCK)
                await asyncio.sleep(max(due - loop.time(), 0.0))
                # One at a time: quotes that overlap share reads within a replica.
                try:
                    await self.quote(next(self._next_url))
                except RuntimeError as error:
                    self.failures.append(str(error))
            await asyncio.sleep(max(began + BLOCK_S * (number + 1) - loop.time(), 0.0))
        return self.node.methods - before

    async def until_quick(self, url: str) -> None:
        """Makes quotes of one replica alone, until one is quick: the first ones read much."""
        ends_at = time.monotonic() + WARM_S
        while time.monotonic() < ends_at:
            began = time.monotonic()
            with contextlib.suppress(RuntimeError):
                await self.quote(url)
                if time.monotonic() - began < QUICK_S:
                    return

    async def read_anew(self) -> int:
        """Returns at how many blocks replicas knew nothing of pools, in place of taking the block's logs."""
        total = 0
        for url in self.urls:
            async with self.session.get(f"{url}/metrics") as answer:
                text = await answer.text()
            total += sum(int(float(count)) for count in _ANEW.findall(text))
        return total

    async def _mine(self) -> None:
        """Mines a block in which the wrapped coin's contract, but no pool, has a log."""
        await self.node.ask(
            "eth_sendTransaction", {"from": _SOLD, "to": self.weth, "value": "0x1", "gas": "0x30d40"}
        )
        await self.node.ask("evm_mine")

    async def quote(self, url: str) -> Mapping[str, Any]:
        """Makes a quote. Raises ``RuntimeError`` when it fails."""
        self.quotes += 1
        body = {
            "network": "ethereum",
            "fromToken": "native",
            "toToken": _USDC,
            "amount": str(10**17 + self.quotes * 10**13),
            "address": WALLET,
        }
        async with self.session.post(f"{url}/v2/swaps/quote", json=body) as answer:
            if answer.status != 200:
                raise RuntimeError(f"quote answered {answer.status}: {await answer.text()}")
            made: Mapping[str, Any] = await answer.json()
            return made


async def requests_of(
    chain: Devnet, replicas: int, *, shared: bool, blocks: int = COUNTED_BLOCKS, nodes: int = 1
) -> Counter[str]:
    """Returns the requests of so many replicas during ``blocks`` blocks, by method.

    A replica that was too slow to take the logs of blocks in time reads pools anew for some minutes, which
    says nothing of replicas: then it is tried again. Raises ``RuntimeError`` when that does not help.
    """
    for _ in range(MOST_TRIES):
        found = await _tried(chain, replicas, shared=shared, blocks=blocks, nodes=nodes)
        if found is not None:
            return found
    raise RuntimeError("this machine is too busy: replicas cannot follow the logs of pools")


async def _tried(
    chain: Devnet, replicas: int, *, shared: bool, blocks: int, nodes: int
) -> Counter[str] | None:
    node, key = CountingNode(chain.urls["ethereum"]), secrets.token_hex(32)
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        # Endpoints that differ, so that each counts as one more.
        node_url = await enter(node.running())
        node_urls = [f"{node_url}?{number}" for number in range(nodes)]
        shared_url = await enter(valkey()) if shared else None
        # One after the other: a start takes a whole processor.
        urls = [await enter(served(node_urls, shared_url, key=key)) for _ in range(replicas)]
        session = await enter(aiohttp.ClientSession())
        load = Load(node, urls, chain.chains["ethereum"].contracts["WETH9"], session)
        for url in urls:
            await load.until_quick(url)
        for _ in range(MOST_WARM_UPS):
            anew = await load.read_anew()
            await load.blocks(WARM_BLOCKS)
            if not load.failures and await load.read_anew() == anew:
                break
        anew = await load.read_anew()
        found = await load.blocks(blocks)
        return found if not load.failures and (not shared or await load.read_anew() == anew) else None


async def quotes_per_s(chain: Devnet, workers: int, shared_url: str | None) -> float:
    """Returns the quotes a second that a server with so many workers answers."""
    node = CountingNode(chain.urls["ethereum"])
    async with (
        served([chain.urls["ethereum"]], shared_url, key=secrets.token_hex(32), workers=workers) as url,
        node.running(),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session,
    ):
        load = Load(node, [url], chain.chains["ethereum"].contracts["WETH9"], session)
        for _ in range(20):
            await load.quote(url)
        began, answered = time.perf_counter(), 0

        async def client() -> None:
            nonlocal answered
            while time.perf_counter() - began < RATE_S:
                await load.quote(url)
                answered += 1

        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        return answered / (time.perf_counter() - began)


async def measure(report: Report, options: argparse.Namespace) -> None:
    with look_alike() as chain:
        minute = 60 / (COUNTED_BLOCKS * BLOCK_S)
        for nodes in (1, 3):
            alone = 0
            for replicas, shared in ((1, False), (1, True), (2, False), (2, True), (4, False), (4, True)):
                methods = await requests_of(chain, replicas, shared=shared, nodes=nodes)
                total = sum(methods.values())
                alone = alone or total
                name = f"{nodes} node(s), {replicas} replica(s), {'shared' if shared else 'each for itself'}"
                report.baseline(f"{name}: RPC requests a minute", f"{total * minute:.0f}")
                report.say(f"{name}: {counts(sorted(methods.items()))}")
                if shared:
                    report.at_most(f"{name}: to one replica", total / alone, GOAL_RATIO, "times", digits=2)
                else:
                    report.baseline(f"{name}: to one replica", f"{total / alone:.2f} times")
        async with valkey() as shared_url:
            for turn in range(RATE_TURNS):
                rates = [await quotes_per_s(chain, workers, shared_url) for workers in (1, 2)]
                text = f"{rates[0]:.1f}/s, {rates[1]:.1f}/s, {rates[1] / rates[0]:.2f} times"
                report.baseline(f"quotes of 1 and 2 workers, turn {turn + 1}", text)
