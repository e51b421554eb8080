"""Calls of ``/v2/rpc`` beside nginx and a bare aiohttp proxy before the same node, in turns in one run.

The gateway runs with its default limits (raised only so that they are not reached), policy, metrics and logs.
Every call of the pass-through differs from all others, so that none is shared or kept. A storm of long
answers then shows what a caller of ``/healthz`` notices, and the memory of the process.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import secrets
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from bench.report import Report, percentile
from bench.server import free_port, process, wait_for

TURNS = 5
SECONDS = 2
CONNECTIONS = 32
STORM_CALLS = 24
LONG_BYTES = 31 << 20

NODE = """
import asyncio, re, sys, uvloop
LOG = b'{"address":"0x' + b"a1" * 20 + b'","topics":["0x' + b"b2" * 32 + b'"],"data":"0x' + b"00" * 96 + b'"}'
LONG = b"[" + b",".join([LOG] * (int(sys.argv[2]) // (len(LOG) + 1))) + b"]"
BLOCK = (
    b'{"number":"0x100","hash":"0x' + b"c3" * 32 + b'","parentHash":"0x' + b"d4" * 32
    + b'","timestamp":"0x1"}'
)
ID = re.compile(rb'"id": ?(\\d+)')
HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n"
class Node(asyncio.Protocol):
    def connection_made(self, transport): self.transport, self.got = transport, b""
    def data_received(self, data):
        self.got += data
        while True:
            head, end, rest = self.got.partition(b"\\r\\n\\r\\n")
            found = re.search(rb"content-length: *(\\d+)", head, re.I)
            size = int(found[1]) if found else 0
            if not end or len(rest) < size: return
            body, self.got = rest[:size], rest[size:]
            number = ID.search(body)
            result = LONG if b"eth_getBlockReceipts" in body else b'"0x' + b"2a" * 32 + b'"'
            if b"eth_chainId" in body: result = b'"0x1"'
            if b"eth_getBlockByNumber" in body: result = BLOCK
            if b"web3_clientVersion" in body: result = b'"Geth/v1.16.0"'
            answer = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (number[1] if number else b"1", result)
            self.transport.write(HEAD % len(answer) + answer)
async def main():
    server = await asyncio.get_running_loop().create_server(Node, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()
uvloop.run(main())
"""
BARE = """
import sys, uvloop, aiohttp
from aiohttp import web
async def pass_on(request):
    async with request.app["http"].post(sys.argv[2], data=await request.read()) as answer:
        return web.Response(body=await answer.read(), content_type="application/json")
async def session(app):
    app["http"] = aiohttp.ClientSession()
    yield
    await app["http"].close()
app = web.Application()
app.cleanup_ctx.append(session)
app.router.add_post("/{rest:.*}", pass_on)
app.router.add_get("/", lambda request: web.Response())
loop = uvloop.new_event_loop()
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None, loop=loop)
"""
NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log stderr crit;
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e; keepalive_requests 1000000000;
  upstream node {{ server 127.0.0.1:{node}; keepalive 64; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection ""; }}
  }}
}}
"""
SCRIPT = """
local n = {start}
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  n = n + {step}
  local call = '{{"jsonrpc":"2.0","id":' .. {id} .. ',"method":"{method}","params":{params}}}'
  return wrk.format(nil, nil, nil, call)
end
"""
DATA = "0x70a08231' .. string.format('%064x', n) .. '"
CALL = f'[{{"to":"0x5fbdb2315678afecb367f032d93f642f64180aa3","data":"{DATA}"}},"0x10"]'
PASSED = {"method": "eth_call", "params": CALL, "step": 1, "id": "n"}
SAME = {"method": "eth_call", "params": CALL, "step": 0, "id": "7"}
LOCAL = {"method": "eth_chainId", "params": "[]", "step": 0, "id": "7"}


@dataclass(slots=True)
class Rate:
    """Requests per second of each turn, and the CPU time of a request in microseconds."""

    rates: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)

    def text(self) -> str:
        return f"{statistics.median(self.rates):,.0f}/s, {min(self.cpu_us):.0f} us CPU"


async def measure(report: Report, options: argparse.Namespace) -> None:
    if shutil.which("wrk") is None or shutil.which("nginx") is None:
        report.say("rpc: wrk or nginx is not installed (Debian's packages wrk and nginx-light): left out")
        return
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        node = await stack.enter_async_context(_node())
        nginx, bare = free_port(), free_port()
        conf = folder / "nginx.conf"
        conf.write_text(NGINX.format(folder=folder, node=node, port=nginx))
        nginx_child = await stack.enter_async_context(process("nginx", "-p", str(folder), "-c", str(conf)))
        bare_child = await stack.enter_async_context(
            process(sys.executable, "-c", BARE, str(bare), f"http://127.0.0.1:{node}/")
        )
        await wait_for(f"http://127.0.0.1:{bare}/", bare_child)
        url, child = await stack.enter_async_context(_gateway(node))
        targets = {
            "nginx proxy_pass": (f"http://127.0.0.1:{nginx}/", nginx_child.pid, PASSED),
            "bare aiohttp proxy": (f"http://127.0.0.1:{bare}/", bare_child.pid, PASSED),
            "pass-through": (f"{url}/v2/rpc/1", child.pid, PASSED),
            "the same call again": (f"{url}/v2/rpc/1", child.pid, SAME),
            "answered here": (f"{url}/v2/rpc/1", child.pid, LOCAL),
        }
        found = {name: Rate() for name in targets}
        for turn in range(TURNS):
            report.say(f"rpc, turn {turn + 1} of {TURNS}")
            for name, (target, pid, call) in targets.items():
                await _turn(found[name], folder, target, pid, call)
        for name, rate in found.items():
            report.baseline(f"rpc: {name}", rate.text())
        goals = {"pass-through": 0.25, "the same call again": 0.45, "answered here": 0.45}
        for name, goal in goals.items():
            pairs = zip(found[name].rates, found["nginx proxy_pass"].rates, strict=True)
            ratio = statistics.median(own / nginx for own, nginx in pairs)
            report.at_least(f"rpc: {name}, over nginx", ratio, goal)
        await _storm(report, url, child.pid)


async def _storm(report: Report, url: str, pid: int) -> None:
    """Asks for many long answers at once, and for ``/healthz`` meanwhile."""
    took: list[float] = []
    over = asyncio.Event()
    before = _memory(pid, "VmRSS")

    async def watch(session: aiohttp.ClientSession) -> None:
        while not over.is_set():
            started = time.perf_counter()
            async with session.get(f"{url}/healthz") as answer:
                await answer.read()
            took.append(time.perf_counter() - started)
            await asyncio.sleep(0.002)

    # Reading the answers must not slow down the watcher: curl does it.
    async def ask(number: int) -> tuple[int, str]:
        # Each of another block: equal calls would be one.
        call = {"jsonrpc": "2.0", "id": number, "method": "eth_getBlockReceipts", "params": [hex(number)]}
        data = str(call).replace("'", '"')
        child = await asyncio.create_subprocess_exec(
            *("curl", "-s", "-o", "/dev/null", "-w", "%{http_code} %{size_download}"),
            *("-H", "Content-Type: application/json", "-d", data, f"{url}/v2/rpc/1"),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await child.communicate()
        status, size = out.decode().split()
        return int(status), size

    async with aiohttp.ClientSession() as session:
        watcher = asyncio.create_task(watch(session))
        answers = await asyncio.gather(*(ask(number) for number in range(STORM_CALLS)))
        over.set()
        await watcher
    served = sum(status == 200 and int(size) > LONG_BYTES * 0.9 for status, size in answers)
    report.at_least(f"rpc: of {STORM_CALLS} answers of 31 MiB at once, served", served, STORM_CALLS, digits=0)
    report.at_most("rpc: /healthz meanwhile, p99", percentile(took, 0.99) * 1e3, 50, "ms")
    report.baseline("rpc: /healthz meanwhile, p50", f"{statistics.median(took) * 1e3:.1f} ms")
    peak = _memory(pid, "VmHWM")
    report.at_most("rpc: memory of the process at most", peak, 768, "MiB", digits=0)
    report.baseline("rpc: memory before the storm", f"{before:.0f} MiB")


@contextlib.asynccontextmanager
async def _node() -> AsyncIterator[int]:
    port = free_port()
    async with process(sys.executable, "-c", NODE, str(port), str(LONG_BYTES)):
        for _ in range(500):
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            await asyncio.sleep(0.02)
        yield port


@contextlib.asynccontextmanager
async def _gateway(node: int) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    port = free_port()
    environ = {
        "QUOTEWAY_SERVER__PORT": str(port),
        "QUOTEWAY_LIMITS__RPC": "9999999/minute",
        "QUOTEWAY_PLUGINS__LOAD": '["rpc"]',
        "QUOTEWAY_NETWORKS__ETHEREUM__RPC": f"http://127.0.0.1:{node}/",
        "QUOTEWAY_QUOTES__KEYS": '[{id = "bench", secret = {env = "BENCH_KEY"}}]',
        "BENCH_KEY": secrets.token_hex(32),
    }
    command = str(Path(sys.executable).with_name("quoteway"))
    async with process(command, "serve", environ=environ) as child:
        url = f"http://127.0.0.1:{port}"
        await wait_for(f"{url}/readyz", child)
        yield url, child


async def _turn(rate: Rate, folder: Path, url: str, pid: int, call: dict[str, object]) -> None:
    script = folder / "call.lua"
    script.write_text(SCRIPT.format(start=secrets.randbelow(1 << 40) if call["step"] else 7, **call))
    before = _cpu_s(pid)
    child = await asyncio.create_subprocess_exec(
        *("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", str(script), url),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await child.communicate()
    text = out.decode()
    done, per_second = re.search(r"(\d+) requests in", text), re.search(r"Requests/sec:\s+([\d.]+)", text)
    if done is None or per_second is None or "Non-2xx" in text:
        raise RuntimeError(f"wrk got errors or gave no rate: {text}")
    rate.rates.append(float(per_second[1]))
    rate.cpu_us.append((_cpu_s(pid) - before) / int(done[1]) * 1e6)


def _cpu_s(pid: int) -> float:
    """Returns the CPU time of a process and its children so far."""
    every = [pid, *(int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    ticks = 0
    for each in every:
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory(pid: int, name: str) -> float:
    """Returns a figure of ``/proc/<pid>/status`` in MiB."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0
