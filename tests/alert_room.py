"""A gateway of two workers, which a Prometheus with the shipped alerts scrapes, and what breaks it."""

import asyncio
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp
import plugin_with_faults
from quoteway.testing.faulty_node import FaultyNode
from quoteway_devnet.anvil import Anvil, free_port
from quoteway_devnet.packages import prepare
from shared_server import server_at

sys.path.insert(0, str(Path(__file__).parent / "core"))
from distributions import install

DEPLOY = Path(__file__).parents[1] / "deploy/prometheus"
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
SECONDS_A_MINUTE = 4
"""How long the windows of rates are, for each minute of the shipped rules."""
MOST_FILES = 300
NOBODY = "http://127.0.0.1:9"
CONFIG = """
[server]
metrics_port = {metrics}
log_format = "json"
[quotes]
keys = [{{id = "k", secret = {{env = "TEST_KEY"}}}}]
competition_timeout_s = 10
[limits]
quotes = "100000/minute"
catalog = "100000/minute"
store = "redis://127.0.0.1:{store}/0"
[shared]
url = "redis://127.0.0.1:{store}/1"
[store]
url = "redis://127.0.0.1:{store}/2"
[plugins]
load = ["rpc", "faults", "apart"]
isolate = ["apart"]
[plugin.rpc]
cooldown_s = 1
"""
NETWORK = """
[networks.{name}]
chain_id = {chain_id}
block_time_s = 1
head_stale_s = {stale_s}
rpc = [{nodes}]
[networks.{name}.contracts]
{contracts}
"""


def rules():
    """The shipped rules with shorter times."""

    def shorter(found):
        return "for: 1s" if found[1] is None else f"[{int(found[1]) * SECONDS_A_MINUTE}s]"

    return re.sub(r"for: \d+m|\[(\d+)m\]", shorter, (DEPLOY / "alerts.yml").read_text())


@contextlib.contextmanager
def ended(process):
    """Ends a process after the block, whatever has become of it."""
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()


@contextlib.contextmanager
def prometheus(folder, target):
    """The URL of a Prometheus that scrapes ``target`` each half second, by the shipped files."""
    assert shutil.which("prometheus"), "install prometheus (Debian)"
    (folder / "alerts.yml").write_text(rules())
    config = re.sub(r"_interval: 15s", "_interval: 500ms", (DEPLOY / "prometheus.yml").read_text())
    config = re.sub(r"targets: \[.*\]", f'targets: ["{target}"]', config)
    (folder / "prometheus.yml").write_text(config)
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    log = folder / "prometheus.log"
    with log.open("wb") as sink, ended(subprocess.Popen(command, stdout=sink, stderr=sink)):
        yield f"http://127.0.0.1:{port}"


class Frozen:
    """A behaviour of a node that goes on to answer its newest block of now."""

    def __init__(self, number):
        self.number = hex(number)

    async def __call__(self, node, request, writer):
        if request["method"] == "eth_blockNumber":
            request = {**request, "method": "eth_getBlockByNumber", "params": [self.number, False]}
            async with aiohttp.ClientSession() as http, http.post(node.upstream, json=request) as answer:
                found = await answer.json()
            body = json.dumps({**found, "result": self.number}).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            )
            writer.write(body)
            return
        params = [self.number if each == "latest" else each for each in request.get("params", ())]
        await node.forward({**request, "params": params}, writer)


class Room:
    """``on(fault)`` and ``off(fault)`` of the plugin; nodes, the store and processes by their members.

    The network ``one`` has three nodes, the others one each. ``four`` gets new blocks while ``moves``.
    """

    def __init__(self, folder, devnet, stack):
        self.folder, self.devnet, self._stack = folder, devnet, stack
        self.flags = folder / "flags"
        self.flags.mkdir()
        self.store_port, self.metrics_port, self.port = free_port(), free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.anvil = prepare().anvil
        self.plain = {name: (4242 + number, free_port()) for number, name in enumerate(("three", "four"))}
        self.chains, self.nodes = {}, {}
        self.moves = True
        self.http = self.store = self.gateway = self.prometheus = None

    def on(self, *faults):
        for fault in faults:
            (self.flags / fault).touch()

    def off(self, *faults):
        for fault in faults:
            (self.flags / fault).unlink()

    async def open(self):
        enter = self._stack.enter_async_context
        # New connections reach both workers: what one knows of a provider, only its own calls change.
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        self.http = await enter(aiohttp.ClientSession(connector=connector))
        await self.start_store()
        self._stack.push_async_callback(self.stop_store)
        for name in self.plain:
            self.start_chain(name)
            self._stack.callback(self.stop_chain, name)
        urls = self.devnet.urls
        upstreams = {
            "bad": urls["devnet"],
            "old": urls["devnet"],
            "good": urls["devnet"],
            "two": urls["devnet-l2"],
            "three": f"http://127.0.0.1:{self.plain['three'][1]}",
            "four": f"http://127.0.0.1:{self.plain['four'][1]}",
        }
        for name, url in upstreams.items():
            self.nodes[name] = await enter(FaultyNode(url).running())
        moving = asyncio.create_task(self._move())
        self._stack.callback(moving.cancel)
        self._start_gateway()
        await self.until(lambda: self._status("/readyz"), 200)
        watching = f"127.0.0.1:{self.metrics_port}"
        self.prometheus = self._stack.enter_context(prometheus(self.folder, watching))
        await self.until(lambda: self.value("quoteway_ready"), 1)

    # --- parts --------------------------------------------------------------------------------------------

    async def start_store(self):
        self.store = await server_at(self.store_port, self.folder)

    async def stop_store(self):
        if self.store.returncode is None:
            self.store.kill()
        await self.store.wait()

    def start_chain(self, name):
        chain_id, port = self.plain[name]
        self.chains[name] = Anvil.launch(self.anvil, chain_id, port)
        self.chains[name].wait()

    def stop_chain(self, name):
        self.chains[name].stop()

    async def _move(self):
        """Makes blocks of the chain ``four`` while it ``moves``."""
        while True:
            if self.moves:
                await asyncio.to_thread(self.mine, "four")
            await asyncio.sleep(0.5)

    def mine(self, name, blocks=1):
        """Makes blocks of a plain chain, or of the devnet's first one."""
        chain = self.devnet.rpc() if name == "one" else self.chains[name].rpc()
        with chain as rpc:
            rpc("anvil_mine", hex(blocks))
            return int(rpc("eth_blockNumber"), 16)

    def _start_gateway(self):
        contracts = {slug: chain.contracts for slug, chain in self.devnet.chains.items()}
        routers = [contracts[slug]["UniswapV2Router02"] for slug in ("devnet", "devnet-l2")]
        known = [f'"{router}" = "uniswap.v2-router"' for router in routers]
        rows = (
            ("one", 31337, 0, ("bad", "old", "good"), known[0]),
            ("two", 31338, 0, ("two",), known[1]),
            ("three", 4242, 0, ("three",), ""),
            ("four", 4243, 8, ("four",), ""),
        )
        text = CONFIG.format(metrics=self.metrics_port, store=self.store_port)
        for name, chain_id, stale_s, nodes, kinds in rows:
            urls = ", ".join(f'{{url = "{self.nodes[each].address}", name = "{each}"}}' for each in nodes)
            text += NETWORK.format(name=name, chain_id=chain_id, stale_s=stale_s, nodes=urls, contracts=kinds)
        (self.folder / "quoteway.toml").write_text(text)
        (self.folder / "routers").write_text(" ".join(routers))
        module = install(self.folder, "faults", Path(plugin_with_faults.__file__).read_text())
        install(self.folder, "apart", plugin_with_faults.APART.format(module=module))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
        own = {"PYTHONPATH": str(self.folder), "TEST_KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"}
        config = str(self.folder / "quoteway.toml")
        serve = [sys.executable, "-m", "quoteway", "serve", "--config", config, "--port", str(self.port)]
        log = self._stack.enter_context((self.folder / "gateway.log").open("wb"))
        process = subprocess.Popen(
            [*serve, "--workers", "2"],
            env={**environment, **own},
            stdout=log,
            stderr=log,
            preexec_fn=_few_files,
        )
        self.gateway = self._stack.enter_context(ended(process))

    def workers(self):
        """The process ids of the workers by their index."""
        found = {}
        for pid in _children(self.gateway.pid):
            with contextlib.suppress(OSError):
                variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                found.update(
                    {int(v.partition(b"=")[2]): pid for v in variables if v[:15] == b"QUOTEWAY_WORKER"}
                )
        return found

    def signal_all(self, number):
        """Sends a signal to the supervisor and the workers."""
        for pid in (self.gateway.pid, *self.workers().values()):
            os.kill(pid, number)

    async def reload(self):
        """Replaces the workers, and waits until that is done."""
        self.gateway.send_signal(signal.SIGHUP)

        async def is_done():
            return '"event":"reloaded"' in (self.folder / "gateway.log").read_text()

        await self.until(is_done, True)

    def kill_isolated(self):
        """Kills the processes of isolated plugins."""
        for worker in self.workers().values():
            for pid in _children(worker):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    # --- what is asked ------------------------------------------------------------------------------------

    async def _status(self, path):
        async with self.http.get(self.url + path) as answer:
            return answer.status

    async def post(self, path, body):
        """The status of an answer; None when a worker ended meanwhile."""
        with contextlib.suppress(aiohttp.ClientError):
            async with self.http.post(self.url + path, json=body) as answer:
                await answer.read()
                return answer.status
        return None

    async def quote(self, network, sold="WETH", bought="USDC", amount=10**15):
        """Asks for a quote of the first or second network. Its status."""
        chain = self.devnet.chains["devnet" if network == "one" else "devnet-l2"]
        body = {
            "network": network,
            "fromToken": chain.token(sold).address,
            "toToken": chain.token(bought).address,
            "amount": str(amount),
            "address": WALLET,
        }
        return await self.post("/v2/swaps/quote", body)

    async def ask(self, expression):
        """The rows of an instant query, as pairs of labels and value."""
        where = f"{self.prometheus}/api/v1/query"
        async with self.http.get(where, params={"query": expression}) as answer:
            found = await answer.json()
        return [(row["metric"], float(row["value"][1])) for row in found["data"]["result"]]

    async def value(self, expression):
        """The value of the first row; None without one."""
        rows = await self.ask(expression)
        return rows[0][1] if rows else None

    async def until(self, read, wanted, timeout_s=300):
        """Waits until ``await read()`` is ``wanted``, or until it fulfils it where that is a function."""
        found = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while True:
                    with contextlib.suppress(aiohttp.ClientError):
                        found = await read()
                        if wanted(found) if callable(wanted) else found == wanted:
                            return found
                    await asyncio.sleep(0.1)
        log = (self.folder / "gateway.log").read_text()[-6_000:]
        raise AssertionError(f"{found}, after {timeout_s} s:\n{log}")


def _few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES, MOST_FILES))
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup, which has it ignored


def _children(pid):
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for each in threads for child in each.read_text().split()]
