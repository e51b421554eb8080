"""A page subscribes in headless Chromium, and programs subscribe through nginx before two workers."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import sys

import aiohttp
import pytest
from aiohttp import web

pytest.importorskip("quoteway_rpc", reason="subscriptions go through its nodes")
pytestmark = pytest.mark.services

DEADLINE_S = 240
RICH = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
BROWSER = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--remote-debugging-port=0",
)
PAGE = """
<!doctype html><meta charset="utf-8"><body><script>
const said = {heads: [], logs: []};
const tell = (path) => fetch(path, {method: "POST", body: JSON.stringify(said)});
const socket = new WebSocket("%(gateway)s");
const call = (id, method, params) => socket.send(JSON.stringify({jsonrpc: "2.0", id, method, params}));
const ids = {};
socket.onopen = () => {
  call("chain", "eth_chainId", []);
  call("heads", "eth_subscribe", ["newHeads"]);
  call("logs", "eth_subscribe", ["logs", {address: "%(weth)s"}]);
};
socket.onerror = () => tell("/blocked");
socket.onmessage = (event) => {
  const message = JSON.parse(event.data);
  if (message.id === "chain") said.chain = message.result;
  else if (message.id) ids[message.result] = message.id;
  else said[ids[message.params.subscription]].push(message.params.result);
  if (message.id && Object.keys(ids).length === 2 && said.chain) tell("/subscribed");
  if (said.heads.length === 3 && said.logs.length === 3) tell("/done");
};
</script></body>
"""
CONFIG = """
plugins.load = ["rpc"]
quotes.keys = [{{id = "a", secret = {{env = "KEY"}}}}]
[server]
workers = 2
cors_origins = ["{origin}"]
trusted_proxies = ["127.0.0.1/32"]
[networks.devnet]
chain_id = 31337
name = "Devnet"
native_symbol = "ETH"
head_poll_s = 0.1
rpc = ["{node}"]
"""
NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  map $http_upgrade $connection_upgrade {{
    default upgrade;
    '' '';
  }}
  server {{
    listen 127.0.0.1:{port};
    location /v2/rpc/ {{
      proxy_pass http://127.0.0.1:{upstream};
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_read_timeout 5m;
    }}
  }}
}}
"""


async def until(look):
    async with asyncio.timeout(DEADLINE_S):
        while not (found := look()):
            await asyncio.sleep(0.05)
        return found


async def deposit(devnet, times):
    """Mines blocks with one log each; returns their hashes."""
    weth = devnet.chains["devnet"].contracts["WETH9"]

    def send():
        with devnet.rpc("devnet") as rpc:
            sent = {"from": RICH, "to": weth, "data": "0xd0e30db0", "value": "0x1"}
            return [rpc.send(sent)["blockHash"] for _ in range(times)]

    return await asyncio.to_thread(send)


class Deployment:
    """``quoteway serve`` with two workers, and nginx before it on ``port``."""

    def __init__(self, folder, stack):
        self.folder, self.log, self._stack = folder, folder / "serve.log", stack

    async def start(self, devnet, origin):
        text = CONFIG.format(origin=origin, node=devnet.urls["devnet"])
        (self.folder / "quoteway.toml").write_text(text)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
        environment["KEY"] = "4f1c9a07e2d85b36c0a7914ed3f8625b"
        command = [sys.executable, "-m", "quoteway", "serve", "--port", "0"]
        with self.log.open("wb") as sink:
            self.gateway = await asyncio.create_subprocess_exec(
                *command, cwd=self.folder, env=environment, stderr=sink, stdout=sink
            )
        self._stack.push_async_callback(self.end, self.gateway)
        upstream = (await until(lambda: self.said(r"listening on http://127\.0\.0\.1:(\d+)", 2)))[0]
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        config = self.folder / "nginx.conf"
        config.write_text(NGINX.format(folder=self.folder, port=self.port, upstream=upstream))
        nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
        assert nginx is not None, "install nginx"
        proxy = await asyncio.create_subprocess_exec(nginx, "-p", self.folder, "-c", config)
        self._stack.push_async_callback(self.end, proxy)

    def said(self, pattern, count=1):
        found = re.findall(pattern, self.log.read_text())
        return found if len(found) >= count else []

    async def end(self, process):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(DEADLINE_S):
            await process.wait()


@pytest.fixture
async def site(fresh_devnet, tmp_path):
    """A web server with ``page``, which keeps what the page posts by path."""
    said = {}

    async def page(request):
        return web.Response(text=PAGE % said["place"], content_type="text/html")

    async def hear(request):
        said[request.path] = json.loads(await request.text())
        return web.Response()

    app = web.Application(client_max_size=1 << 20)
    app.add_routes([web.get("/", page), web.post("/{said}", hear)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}", said
    await runner.cleanup()


@pytest.fixture
async def deployment(tmp_path):
    async with contextlib.AsyncExitStack() as stack:
        yield Deployment(tmp_path, stack)


@contextlib.asynccontextmanager
async def browser(page, folder):
    chromium = shutil.which("chromium")
    assert chromium is not None, "install chromium"
    quiet = {"stdout": asyncio.subprocess.DEVNULL, "stderr": asyncio.subprocess.DEVNULL}
    process = await asyncio.create_subprocess_exec(
        chromium, *BROWSER, f"--user-data-dir={folder}", page, **quiet
    )
    try:
        yield
    finally:
        process.kill()
        await process.wait()


async def test_a_page_of_an_allowed_origin_subscribes(deployment, site, fresh_devnet, tmp_path):
    origin, said = site
    await deployment.start(fresh_devnet, origin)
    weth = fresh_devnet.chains["devnet"].contracts["WETH9"]
    said["place"] = {"gateway": f"ws://127.0.0.1:{deployment.port}/v2/rpc/31337", "weth": weth}
    await until_open(deployment.port)
    async with browser(origin, tmp_path / "profile"):
        await until(lambda: "/subscribed" in said or "/blocked" in said)
        assert "/blocked" not in said
        mined = await deposit(fresh_devnet, 3)
        await until(lambda: "/done" in said)
    told = said["/done"]
    assert told["chain"] == "0x7a69"
    assert [head["hash"] for head in told["heads"]] == [log["blockHash"] for log in told["logs"]] == mined


async def test_a_page_of_another_origin_is_blocked(deployment, site, fresh_devnet, tmp_path):
    origin, said = site
    await deployment.start(fresh_devnet, "https://wallet.example")
    said["place"] = {"gateway": f"ws://127.0.0.1:{deployment.port}/v2/rpc/31337", "weth": RICH}
    await until_open(deployment.port)
    async with browser(origin, tmp_path / "profile"):
        await until(lambda: "/blocked" in said or "/subscribed" in said)
    assert "/subscribed" not in said


async def until_open(port):
    """Waits until each of several connections in a row is taken: they go to either worker."""
    async with asyncio.timeout(DEADLINE_S), aiohttp.ClientSession() as session:
        taken = 0
        while taken < 20:
            try:
                async with session.ws_connect(f"ws://127.0.0.1:{port}/v2/rpc/31337"):
                    taken += 1
            except aiohttp.ClientError:
                taken = 0
                await asyncio.sleep(0.1)


async def test_subscribers_of_both_workers_are_told_and_see_the_end(deployment, fresh_devnet):
    await deployment.start(fresh_devnet, "https://wallet.example")
    await until_open(deployment.port)
    async with aiohttp.ClientSession() as session, contextlib.AsyncExitStack() as stack:
        url = f"ws://127.0.0.1:{deployment.port}/v2/rpc/31337"
        clients = [await stack.enter_async_context(session.ws_connect(url)) for _ in range(12)]
        for client in clients:
            call = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}
            await client.send_json(call)
            assert "result" in await client.receive_json(timeout=DEADLINE_S)
        mined = await deposit(fresh_devnet, 3)
        for client in clients:
            told = [await client.receive_json(timeout=DEADLINE_S) for _ in mined]
            assert [each["params"]["result"]["hash"] for each in told] == mined
        deployment.gateway.send_signal(signal.SIGTERM)
        for client in clients:
            last = await client.receive(timeout=DEADLINE_S)
            assert (last.type, last.data) == (aiohttp.WSMsgType.CLOSE, 1001)
        assert await asyncio.wait_for(deployment.gateway.wait(), DEADLINE_S) == 0
