"""What ``bench restarts`` does to a deployment: two replicas of two workers behind nginx, over one devnet.

nginx has the shipped ``deploy/nginx.conf``. Each round stops, reloads or kills something, and one replica
always serves. Blocks are mined all the time. The replicas read the chain through ``SteadyNode`` of the tests:
anvil alone answers some reads with the state of a block that it mines meanwhile, which makes quotes wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
import secrets
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from bench.harness import harness
from bench.server import free_port

if TYPE_CHECKING:
    from quoteway_devnet.chains import Devnet

RELOAD_OF_NGINX: Final = "nginx -s reload"
WORKERS: Final = 2
WAIT_S: Final = 300.0
BLOCK_S: Final = 2.0
LIFETIMES_S: Final = (180, 240)
"""Of quotes, which tell which configuration a replica has."""
PLUGINS: Final = ("devnet", "rpc", "router", "uniswap", "tokenlist", "erc4626")
BOUGHT: Final = ("WETH", "USDC", "USDT", "DAI", "WBTC", "LINK", "UNI", "wstETH")
SOLD_WEI: Final = 10**16
_RETRIED: Final = re.compile(r"\[error\].*?: \*\d+ (.+?)(?: \(\d+: .+?\))? while (\w+)")
CONFIG: Final = """
[server]
port = {port}
workers = {workers}
trusted_proxies = ["127.0.0.1/32"]
log_format = "json"
# A busy machine is slow, not wrong.
request_timeout_s = 55
[quotes]
lifetime_s = {lifetime_s}
competition_timeout_s = 50
keys = [{{ id = "bench", secret = {{ env = "BENCH_KEY" }} }}]
[limits]
enabled = false
[plugins]
load = {plugins}
[plugin.rpc]
attempt_timeout_s = 30
total_timeout_s = 50
hedge_share = 0
[plugin.router]
solver_processes = 0
[plugin.devnet]
enabled = true
start = false
port = {node_port}
l2_port = {l2_port}
[networks.devnet]
rpc = "{node_url}"
"""


async def until(condition: Callable[[], object], what: str) -> None:
    """Waits for a condition. Raises ``RuntimeError`` with ``what`` at the timeout."""
    ends_at = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > ends_at:
            raise RuntimeError(f"not within {WAIT_S:g} s: {what}")
        await asyncio.sleep(0.02)


def runs(pid: int) -> bool:
    """Whether a process has not ended. One that nobody has waited for has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@dataclass
class Replica:
    """One ``quoteway serve`` on a port that it keeps over restarts."""

    name: str
    folder: Path
    ports: dict[str, int]
    node_url: str
    key: str
    port: int = field(default_factory=free_port)
    lifetime_s: int = LIFETIMES_S[0]
    process: asyncio.subprocess.Process | None = None
    _log: Path = field(init=False)
    _starts: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def configure(self, more: str = "") -> None:
        text = CONFIG.format(
            port=self.port,
            workers=WORKERS,
            lifetime_s=self.lifetime_s,
            plugins=json.dumps(PLUGINS),
            node_url=self.node_url,
            node_port=self.ports["devnet"],
            l2_port=self.ports["devnet-l2"],
        )
        (self.folder / "quoteway.toml").write_text(text + more)

    async def start(self) -> None:
        """Starts it and waits until all its workers are ready."""
        self.configure()
        self._log = self.folder / f"{next(self._starts)}.log"
        command = str(Path(sys.executable).with_name("quoteway"))
        with self._log.open("wb") as sink:
            self.process = await asyncio.create_subprocess_exec(
                *(command, "serve", "--config", str(self.folder / "quoteway.toml")),
                cwd=self.folder,
                env={**os.environ, "BENCH_KEY": self.key},
                stdout=sink,
                stderr=sink,
                preexec_fn=_heed_signals,
                start_new_session=True,  # as a service: Ctrl-C in a terminal is for the benchmark alone
            )
        await self.says("listening on", WORKERS)

    def said(self, text: str) -> int:
        """Returns how often the log has a text since the start."""
        return self._log.read_text().count(text)

    async def says(self, text: str, times: int) -> None:
        def come() -> bool:
            if self.process is not None and self.process.returncode is not None:
                raise RuntimeError(f"replica {self.name} ended: {self._log.read_text()[-2000:]}")
            return self.said(text) >= times

        await until(come, f"{text!r} of replica {self.name}")

    def workers(self) -> list[int]:
        assert self.process is not None
        pid = self.process.pid
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    async def end(self, name: signal.Signals) -> None:
        """Ends it by a signal, and waits until its workers have ended too."""
        assert self.process is not None
        workers = self.workers()
        self.process.send_signal(name)
        await asyncio.wait_for(self.process.wait(), WAIT_S)
        self.process = None
        await until(lambda: not any(map(runs, workers)), f"workers of replica {self.name} end")


def _heed_signals() -> None:
    # Under nohup SIGHUP is ignored, and a child inherits that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@dataclass
class Proxy:
    """nginx with the shipped configuration before the replicas."""

    command: Sequence[str]
    folder: Path
    process: asyncio.subprocess.Process
    port: int

    async def reload(self) -> None:
        """Runs ``nginx -s reload`` and waits until the old workers have ended."""
        before = self._workers()
        asked = await asyncio.create_subprocess_exec(*self.command, "-s", "reload")
        if await asked.wait():
            raise RuntimeError("nginx -s reload failed")
        await until(lambda: not before & self._workers(), "the workers of nginx end")

    def _workers(self) -> set[int]:
        pid = self.process.pid
        return {int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}

    def retried(self) -> Counter[str]:
        """Returns how often nginx had to ask another connection, by what went wrong with the first."""
        found = _RETRIED.findall((self.folder / "error.log").read_text())
        return Counter(f"{what} ({doing})" for what, doing in found)


@dataclass
class Rounds:
    """The deployment, and what happens to it."""

    replicas: Sequence[Replica]
    proxy: Proxy
    devnet: Devnet
    node: Any
    """The ``SteadyNode`` that the replicas read."""
    session: aiohttp.ClientSession
    executed: int = 0
    refused: list[str] = field(default_factory=list)

    @property
    def kinds(self) -> dict[str, Callable[[Replica], Awaitable[None]]]:
        return {
            "SIGTERM and start": self._restart,
            "SIGHUP": self._reload,
            "SIGHUP, wrong file": self._reload_wrong,
            "worker SIGKILL": self._kill_worker,
            "supervisor SIGKILL": self._kill_supervisor,
            RELOAD_OF_NGINX: self._reload_proxy,
        }

    async def _restart(self, replica: Replica) -> None:
        await replica.end(signal.SIGTERM)
        await replica.start()

    async def _reload(self, replica: Replica) -> None:
        assert replica.process is not None
        replica.lifetime_s = next(each for each in LIFETIMES_S if each != replica.lifetime_s)
        replica.configure()
        times = replica.said('"reloaded"') + 1
        replica.process.send_signal(signal.SIGHUP)
        await replica.says('"reloaded"', times)

    async def _reload_wrong(self, replica: Replica) -> None:
        assert replica.process is not None
        refused = "the old one stays in force"
        times = replica.said(refused) + 1
        replica.configure("[policy]\nnonsense = 1\n")
        replica.process.send_signal(signal.SIGHUP)
        await replica.says(refused, times)
        replica.configure()

    async def _kill_worker(self, replica: Replica) -> None:
        times = replica.said("listening on") + 1
        os.kill(secrets.choice(replica.workers()), signal.SIGKILL)
        await replica.says("listening on", times)

    async def _kill_supervisor(self, replica: Replica) -> None:
        await replica.end(signal.SIGKILL)
        await replica.start()

    async def _reload_proxy(self, replica: Replica) -> None:
        await self.proxy.reload()

    async def compare(self, number: int) -> None:
        """Lets one replica build and the chain execute what the other quoted, and looks at configurations."""
        for one, other in itertools.permutations(self.replicas):
            body = order(self.devnet, BOUGHT[1 + number % (len(BOUGHT) - 1)])
            quote = await self._ask(f"{one.url}/v2/swaps/quote", body)
            # Seconds that are left, which the answer took a part of.
            if not one.lifetime_s - WAIT_S / 4 < quote.get("expiresIn", 0) <= one.lifetime_s:
                self.refused.append(f"{one.name} quoted for {quote.get('expiresIn')} s: {quote}"[:600])
                continue
            action = await self._ask(f"{other.url}/v2/swaps/{quote['quoteId']}/action", {})
            steps = action.get("transactions", [])
            status = [await self._execute({"from": body["address"], **step}) for step in steps]
            if set(status) == {"0x1"}:
                self.executed += 1
            else:
                self.refused.append(f"{other.name} built of {one.name}'s quote: {status} {action}"[:600])

    async def _ask(self, url: str, body: Any) -> dict[str, Any]:
        async with self.session.post(url, json=body) as answer:
            made: dict[str, Any] = await answer.json()
            return made

    async def _execute(self, step: dict[str, Any]) -> str:
        sent = {name: step[name] for name in ("from", "to", "data", "value")}
        with self.devnet.rpc("devnet") as rpc:
            async with self.node.mining():
                receipt = await asyncio.to_thread(rpc.send, sent)
        return str(receipt["status"])

    async def mine(self) -> None:
        """Mines a block every two seconds."""
        with self.devnet.rpc("devnet") as rpc:
            while True:
                await asyncio.sleep(BLOCK_S)
                self.node.bodies.clear()  # which it keeps for tests
                async with self.node.mining():
                    await asyncio.to_thread(rpc, "evm_mine")


def order(devnet: Devnet, bought: str) -> dict[str, str]:
    """Returns a quote's request."""
    from quoteway_devnet.accounts import ACCOUNTS

    return {
        "network": "devnet",
        "fromToken": "native",
        "toToken": devnet.chains["devnet"].token(bought).address,
        "amount": str(SOLD_WEI),
        "address": ACCOUNTS[0].address,
    }


@contextlib.asynccontextmanager
async def deployed(folder: Path) -> AsyncIterator[Rounds]:
    """Runs the devnet, two replicas and nginx."""
    from quoteway_devnet.chains import Devnet

    key, replicas = secrets.token_hex(32), list[Replica]()
    async with contextlib.AsyncExitStack() as stack:
        devnet = await stack.enter_async_context(Devnet.start())
        node = harness("fresh_rounds").SteadyNode(devnet.urls["devnet"])
        node_url = await stack.enter_async_context(node.running())
        for name in ("a", "b"):
            (folder / name).mkdir()
            replicas.append(Replica(name, folder / name, devnet.ports, node_url, key))
            stack.push_async_callback(_end, replicas[-1])
        await asyncio.gather(*(replica.start() for replica in replicas))
        port = free_port()
        command = harness("shipped_nginx").command(folder, port, *(each.port for each in replicas))
        nginx = await asyncio.create_subprocess_exec(*command)
        stack.push_async_callback(nginx.wait)
        stack.callback(nginx.terminate)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        rounds = Rounds(replicas, Proxy(command, folder, nginx, port), devnet, node, session)
        mining = asyncio.create_task(rounds.mine())
        stack.callback(mining.cancel)
        yield rounds


async def _end(replica: Replica) -> None:
    if replica.process is not None and replica.process.returncode is None:
        await replica.end(signal.SIGKILL)
