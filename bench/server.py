"""Runs a gateway and a bare aiohttp handler as processes on free ports."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import IO

import aiohttp

READY_TIMEOUT_S = 120.0

BARE = """
import asyncio, sys, uvloop
from aiohttp import web
BODY = b'{"data":[' + b'{"id":"x","name":"a provider","enabled":true},' * 20 + b'{}],"preview":false}'
async def answer(request): return web.Response(body=BODY, content_type="application/json")
async def echo(request): return web.Response(body=await request.read(), content_type="application/json")
app = web.Application()
app.router.add_get("/", answer)
def constant(body):
    async def answer(request): return web.Response(body=body, content_type="application/json")
    return answer
for size in sys.argv[2:]: app.router.add_get("/" + size, constant(b"x" * int(size)))
app.router.add_post("/", echo)
loop = uvloop.new_event_loop()
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None, loop=loop)
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _appended(log: Path | None) -> IO[bytes]:
    return Path(log or os.devnull).open("ab")


@contextlib.asynccontextmanager
async def process(
    *command: str, environ: Mapping[str, str] | None = None, log: Path | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Runs a child during the block, in an empty directory without a configuration file.

    What it prints goes to the end of ``log``, or nowhere.
    """
    with tempfile.TemporaryDirectory() as folder, _appended(log) as output:
        child = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env={**os.environ, **(environ or {})},
            stdout=output,
            stderr=output,
        )
        try:
            yield child
        finally:
            if child.returncode is None:
                child.terminate()
                try:
                    await asyncio.wait_for(child.wait(), 15)
                except TimeoutError:
                    child.kill()
                    await child.wait()


@contextlib.asynccontextmanager
async def gateway(
    chain_ports: Mapping[str, int] | None = None,
    node_url: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    most_files: int | None = None,
) -> AsyncIterator[str]:
    """Runs ``quoteway serve`` and yields its base URL when ready.

    It starts a devnet of its own. With ``chain_ports`` (by slug) it serves a devnet that runs already, and
    reads the first chain at ``node_url``. ``environ`` adds settings. Each of its processes may open
    ``most_files`` files.
    """
    port, ports = free_port(), chain_ports or {"devnet": free_port(), "devnet-l2": free_port()}
    settings = {
        "QUOTEWAY_SERVER__PORT": str(port),
        # The limiter works as usual; only its limits are too high to reach.
        **{f"QUOTEWAY_LIMITS__{group}": "9999999/minute" for group in ("QUOTES", "CATALOG", "RPC")},
        "QUOTEWAY_PLUGIN__DEVNET__PORT": str(ports["devnet"]),
        "QUOTEWAY_PLUGIN__DEVNET__L2_PORT": str(ports["devnet-l2"]),
        # By default the one after, which an outgoing connection may have.
        "QUOTEWAY_PLUGIN__DEVNET__RELAYER_PORT": str(free_port()),
    }
    if node_url is not None:
        # A configured network makes it a deployment, which needs a signing key.
        settings |= {
            "QUOTEWAY_NETWORKS__DEVNET__RPC": node_url,
            "QUOTEWAY_PLUGIN__DEVNET__ENABLED": "true",
            "QUOTEWAY_PLUGIN__DEVNET__START": "false",
            # A busy machine is slow, not wrong.
            "QUOTEWAY_QUOTES__COMPETITION_TIMEOUT_S": "30",
            "QUOTEWAY_QUOTES__KEYS": '[{id = "bench", secret = {env = "BENCH_KEY"}}]',
            "BENCH_KEY": secrets.token_hex(32),
        }
    command = [str(Path(sys.executable).with_name("quoteway")), "serve"]
    if most_files is not None:
        command = ["/bin/sh", "-c", f'ulimit -n {most_files} && exec "$@"', "sh", *command]
    async with process(*command, environ={**settings, **(environ or {})}) as child:
        url = f"http://127.0.0.1:{port}"
        await wait_for(f"{url}/readyz", child)
        yield url


@contextlib.asynccontextmanager
async def bare_handler(*sizes: int) -> AsyncIterator[str]:
    """Runs the baseline and yields its URL: it answers constant bytes (GET) or the request's body (POST).

    For each of ``sizes`` the path ``/<size>`` answers that many bytes.
    """
    port = free_port()
    async with process(sys.executable, "-c", BARE, str(port), *map(str, sizes)) as child:
        url = f"http://127.0.0.1:{port}/"
        await wait_for(url, child)
        yield url


async def wait_for(url: str, child: asyncio.subprocess.Process) -> None:
    """Waits until the URL answers 200. Raises ``RuntimeError`` when the process ends or at the timeout."""
    deadline = asyncio.get_running_loop().time() + READY_TIMEOUT_S
    async with aiohttp.ClientSession() as session:
        while asyncio.get_running_loop().time() < deadline:
            if child.returncode is not None:
                raise RuntimeError(f"the process ended with code {child.returncode} before {url} answered")
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with session.get(url, timeout=aiohttp.ClientTimeout(total=2)) as answer:
                    if answer.status == 200:
                        return
            await asyncio.sleep(0.01)
    raise RuntimeError(f"{url} did not answer 200 within {READY_TIMEOUT_S:g} s")
