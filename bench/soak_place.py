"""Where ``python -m bench soak`` runs: nodes with faults, Redis, PostgreSQL, a gateway and its index."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from bench.harness import harness
from bench.replicas import CountingNode
from bench.server import free_port, process, wait_for
from bench.soak_chain import BLOCK_S, SoakChains
from bench.soak_faults import MiningLock, NodeFaults, Outages, geth_like, in_turns

WORKERS: Final = 2
NODES: Final = 3
"""Of each network."""
FAULTS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "devnet": (
        *(("slow 2 s",), ("hang", "429"), ("reset", "slow 2 s"), ("lagging",)),
        *(("429", "reset"), ("hang",), ("slow 2 s", "hang"), ("reset", "429"), ("429",)),
    ),
    "devnet-l2": (
        *(("lying",), (), (), ("hang",), ("slow 2 s",), ("429",)),
        *(("forked",), (), (), ("lagging",), ("reset",)),
    ),
}
"""The faults of each turn by network. At least one node is well, and of the second network two, which has
``quorum = 2``: without a quorum no lie of a node's state is found.

A node lags alone: of two that are left, one of which lags, nobody can tell which is right. A node that lied
is out of use until 20 answers, one a second, agree with the others: for two turns no other one has a fault.
"""
_PLUGINS: Final = (
    *("devnet", "rpc", "router", "uniswap", "erc4626", "managedvault", "tokenlist", "indexer"),
)


@dataclass
class Usage:
    """What a process uses."""

    name: str
    pid: int
    rss_bytes: int
    fds: int
    cpu_s: float
    """Its processor time since its start."""


@dataclass
class SoakPlace:
    """All that runs. ``url`` is that of the gateway."""

    url: str
    supervisor: int
    index: int
    log: Path
    faults: Mapping[str, NodeFaults]
    chains: SoakChains
    shared: Outages = field(default_factory=Outages)
    database: Outages = field(default_factory=Outages)

    def usages(self) -> list[Usage]:
        """Returns what the processes of the gateway use, and that of the index."""
        workers = [("worker", pid) for pid in sorted(_children(self.supervisor))]
        below = [("solver", pid) for _, worker in workers for pid in sorted(_children(worker))]
        named = [("supervisor", self.supervisor), *workers, *below, ("index", self.index)]
        numbers: Counter[str] = Counter()
        found = []
        for name, pid in named:
            numbers[name] += 1
            with contextlib.suppress(OSError):  # it has ended
                found.append(_usage(f"{name} {numbers[name]}", pid))
        return found

    def errors(self) -> Counter[str]:
        """Returns the errors that the gateway and the index logged, by their texts without numbers."""
        found: Counter[str] = Counter()
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # how far the index is
            if entry.get("level") in ("error", "critical"):
                found[re.sub(r"\d+", "#", f"{entry['logger']}: {entry['event']}")[:160]] += 1
        return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for each in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, each.read_text().split())
    return found


def _usage(name: str, pid: int) -> Usage:
    status = Path(f"/proc/{pid}/status").read_text()
    if "VmRSS:" not in status:
        raise ProcessLookupError(f"process {pid} has ended")
    rss_kib = int(status.partition("VmRSS:")[2].split()[0])
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    cpu_s = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return Usage(name, pid, rss_kib * 1024, len(list(Path(f"/proc/{pid}/fd").iterdir())), cpu_s)


def _configuration(
    port: int, ports: Mapping[str, int], faults: Mapping[str, NodeFaults], shared_url: str
) -> str:
    networks = "".join(
        f"""
[networks.{slug}]
rpc = {json.dumps([{"url": node.address, "name": str(at)} for at, node in enumerate(given.nodes, 1)])}
block_time_s = {BLOCK_S}
head_poll_s = {BLOCK_S / 2}
quorum = {2 if ("lying",) in given.turns else 1}
""".replace('"url":', "url =").replace('"name":', "name =")
        for slug, given in faults.items()
    )
    return f"""
[server]
port = {port}
workers = {WORKERS}
request_timeout_s = 60
[quotes]
keys = [{{ id = "soak", secret = {{ env = "SOAK_KEY" }} }}]
competition_timeout_s = 30  # a busy machine is slow, not wrong
[limits]
store = "{shared_url}"
quotes = "9999999/minute"
catalog = "9999999/minute"
rpc = "9999999/minute"
[stream]
streams_per_caller = 1000
lifetime_s = 604800
[shared]
url = "{shared_url}"
[plugins]
load = {json.dumps(_PLUGINS)}
[plugin.devnet]
enabled = true
start = false
port = {ports["devnet"]}
l2_port = {ports["devnet-l2"]}
[plugin.rpc]
attempt_timeout_s = 5
total_timeout_s = 30
cache_store = {{ env = "SOAK_CACHE" }}
# Full before memory is compared: what grows after that is no cache.
cache_bytes = 1048576
[plugin.indexer]
enabled = true
store = "postgres"
url = {{ env = "SOAK_DATABASE" }}
cache_mb = 2
transfers = "all"
finality_blocks = 32
{networks}"""


@contextlib.asynccontextmanager
async def soak_place(
    folder: Path, seed: int, *, shared_every_s: float, database_every_s: float, down_s: float
) -> AsyncIterator[SoakPlace]:
    """Runs everything but the client. Faults, blocks and outages go on until the end of the block."""
    from quoteway_devnet.chains import Devnet

    postgres = harness("postgres_server", "indexer")
    log = folder / "gateway.log"
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        devnet = await enter(Devnet.start())
        database = await asyncio.to_thread(stack.enter_context, postgres.running_postgres())
        settings = await asyncio.to_thread(postgres.postgres_settings, str(database.folder), count(1))
        database_url = settings["url"].reveal()
        shared = await enter(_shared_server(folder))
        direct = {slug: CountingNode(url) for slug, url in devnet.urls.items()}
        for node in direct.values():
            await enter(node.running())
        faults = {slug: await _faulty_nodes(stack, slug, url) for slug, url in devnet.urls.items()}
        port = free_port()
        config = folder / "quoteway.toml"
        config.write_text(_configuration(port, devnet.ports, faults, shared.url))
        command = str(Path(sys.executable).with_name("quoteway"))
        environ = {"SOAK_KEY": secrets.token_hex(32), "SOAK_CACHE": shared.url, "SOAK_DATABASE": database_url}
        index = await enter(process(command, "index", "--config", str(config), environ=environ, log=log))
        gateway = await enter(process(command, "serve", "--config", str(config), environ=environ, log=log))
        url = f"http://127.0.0.1:{port}"
        await wait_for(f"{url}/readyz", gateway)
        locks = {slug: each.lock for slug, each in faults.items()}
        chains = SoakChains(url, direct, locks, devnet.chains, seed)
        place = SoakPlace(url, gateway.pid, index.pid, log, faults, chains)

        async def stop_database() -> None:
            await asyncio.to_thread(database.stop)

        async def start_database() -> None:
            await asyncio.to_thread(database.start)

        work = [
            chains.run(),
            *(each.run() for each in faults.values()),
            in_turns(place.shared, shared.stop, shared.start, every_s=shared_every_s, down_s=down_s),
            in_turns(place.database, stop_database, start_database, every_s=database_every_s, down_s=down_s),
        ]
        async with _together(work):
            yield place


@contextlib.asynccontextmanager
async def _together(work: Sequence[Any]) -> AsyncIterator[None]:
    """Runs tasks during the block. What one of them raises is raised at its end."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
    finally:
        failed = [task.exception() for task in tasks if task.done() and not task.cancelled()]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for error in filter(None, failed):
        raise error


async def _faulty_nodes(stack: contextlib.AsyncExitStack, slug: str, url: str) -> NodeFaults:
    lock = MiningLock()
    nodes = [await stack.enter_async_context(geth_like(url, lock).running()) for _ in range(NODES)]
    return NodeFaults(nodes, url, FAULTS[slug], lock)


class _SharedServer:
    """A Redis or Valkey server at one port, which is killed and started again, empty."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self._process: asyncio.subprocess.Process

    async def start(self) -> None:
        self._process = await harness("shared_server").server_at(self._port, self._folder)

    async def stop(self) -> None:
        self._process.kill()
        await self._process.wait()

    async def end(self) -> None:
        if self._process.returncode is None:
            await self.stop()


@contextlib.asynccontextmanager
async def _shared_server(folder: Path) -> AsyncIterator[_SharedServer]:
    server = _SharedServer(folder)
    await server.start()
    try:
        yield server
    finally:
        await server.end()
