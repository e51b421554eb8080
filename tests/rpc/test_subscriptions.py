"""Subscriptions through the rpc plugin, whose nodes come and go, and of clients with their defaults."""

import asyncio
import contextlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

for plugin in ("devnet", "rpc"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

import quoteway_rpc  # noqa: E402
from quoteway.config.network import NetworkConfig  # noqa: E402
from quoteway.networks import Endpoint  # noqa: E402
from web3 import AsyncWeb3, WebSocketProvider  # noqa: E402
from web3.utils.subscriptions import LogsSubscription, NewHeadsSubscription  # noqa: E402

CLIENTS = Path(__file__).parent / "clients"
DEADLINE_S = 120
RICH = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


class Relay:
    """A TCP relay before a node. ``die`` cuts every connection and refuses new ones until ``live``."""

    def __init__(self, port):
        self.node_port, self.port, self._server, self._writers = port, 0, None, set()

    async def live(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def die(self):
        self._server.close()
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _serve(self, reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            there, to_node = await asyncio.open_connection("127.0.0.1", self.node_port)
            self._writers |= {writer, to_node}
            await asyncio.gather(self._copy(reader, to_node), self._copy(there, writer))

    async def _copy(self, reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()
        self._writers.discard(writer)


class Subscriber:
    """A client with both subscriptions."""

    def __init__(self, ws):
        self.ws, self.heads, self.logs = ws, [], []

    async def subscribe(self, weth):
        for call_id, params in enumerate((["newHeads"], ["logs", {"address": weth}])):
            call = {"jsonrpc": "2.0", "id": call_id, "method": "eth_subscribe", "params": params}
            await self.ws.send_json(call)
        answers = [await self.ws.receive_json(timeout=DEADLINE_S) for _ in range(2)]
        ids = {answer["id"]: answer["result"] for answer in answers}
        self._kinds = {ids[0]: self.heads, ids[1]: self.logs}

    async def until(self, heads, logs):
        while len(self.heads) < heads or len(self.logs) < logs:
            given = (await self.ws.receive_json(timeout=DEADLINE_S))["params"]
            self._kinds[given["subscription"]].append(given["result"])


class Devnet:
    def __init__(self, devnet):
        self._devnet = devnet
        self.weth = devnet.chains["devnet"].contracts["WETH9"]
        self.url = devnet.urls["devnet"]
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    async def deposit(self, times):
        """Mines blocks with one log each; returns their receipts."""

        def send():
            with self._devnet.rpc("devnet") as rpc:
                sent = {"from": RICH, "to": self.weth, "data": "0xd0e30db0", "value": "0x1"}
                return [rpc.send(sent) for _ in range(times)]

        return await asyncio.to_thread(send)


@pytest.fixture
def chain(fresh_devnet):
    return Devnet(fresh_devnet)


@pytest.fixture
async def serve(serve_app, make_config):
    async def start(*urls, pushed=False, **server):
        rpc = tuple(Endpoint(url, ws=url.replace("http", "ws") if pushed else "") for url in urls)
        times = (
            {"head_poll_s": 20.0, "block_time_s": 20.0}
            if pushed
            else {"head_poll_s": 0.05, "block_time_s": 1.0}
        )
        row = NetworkConfig(rpc=rpc, chain_id=31337, name="Devnet", **times)
        config = make_config()
        config = replace(config, server=replace(config.server, **server), networks={"devnet": row})
        return await serve_app({"rpc": quoteway_rpc}, config=config)

    return start


@pytest.mark.parametrize(
    "pushed", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["polled", "pushed"]
)
async def test_nothing_is_missed_or_doubled_when_nodes_die_and_return(chain, serve, pushed):
    """``pushed``: by the nodes' WebSockets; polling is rare, it only begins anew after all were lost."""
    first, second = Relay(chain.port), Relay(chain.port)
    await first.live()
    await second.live()
    api = await serve(*(f"http://127.0.0.1:{each.port}" for each in (first, second)), pushed=pushed)
    async with api.session.ws_connect(f"{api.url}/v2/rpc/31337") as ws:
        client = Subscriber(ws)
        await client.subscribe(chain.weth)
        mined = await chain.deposit(2)
        await first.die()
        mined += await chain.deposit(3)
        await client.until(5, 5)  # the second node goes on
        await second.die()
        mined += await chain.deposit(30)
        await first.live()
        await client.until(35, 35)
        mined += await chain.deposit(1)
        await client.until(36, 36)
    assert [head["hash"] for head in client.heads] == [receipt["blockHash"] for receipt in mined]
    assert [log["transactionHash"] for log in client.logs] == [
        receipt["transactionHash"] for receipt in mined
    ]
    await first.die()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ethers", "viem"])
async def test_javascript_clients_with_their_defaults(chain, serve, name):
    if not (CLIENTS / "node_modules").exists():
        pytest.skip("needs the packages of tests/rpc/clients: run `make prepare`")
    api = await serve(chain.url)
    process = await asyncio.create_subprocess_exec(
        *("node", "subscriptions.mjs", name, f"ws{api.url[4:]}/v2/rpc/31337", chain.weth),
        cwd=CLIENTS,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(DEADLINE_S):
            assert await process.stdout.readline() == b"ready\n"
            receipts = [(await chain.deposit(1))[0] for _ in range(3)]
            told = json.loads(await process.stdout.readline())
            assert await process.wait() == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    numbers = [int(receipt["blockNumber"], 16) for receipt in receipts]
    assert [number for number in told["heads"] if number in numbers] == numbers
    assert told["logs"] == [[number, "1"] for number in numbers]


@pytest.mark.slow
async def test_web3_py_with_its_defaults(chain, serve):
    api = await serve(chain.url)
    heads, logs, enough = [], [], asyncio.Event()

    async def told(context):
        place = heads if isinstance(context.subscription, NewHeadsSubscription) else logs
        place.append(context.result)
        if len(heads) >= 3 and len(logs) >= 3:
            enough.set()

    async with AsyncWeb3(WebSocketProvider(f"ws{api.url[4:]}/v2/rpc/31337")) as w3:
        assert await w3.eth.chain_id == 31337
        await w3.subscription_manager.subscribe(
            [NewHeadsSubscription(handler=told), LogsSubscription(address=chain.weth, handler=told)]
        )
        handling = asyncio.create_task(w3.subscription_manager.handle_subscriptions(run_forever=True))
        receipts = await chain.deposit(3)
        async with asyncio.timeout(DEADLINE_S):
            await enough.wait()
        await w3.subscription_manager.unsubscribe_all()
        handling.cancel()
    assert ["0x" + head["hash"].hex() for head in heads] == [receipt["blockHash"] for receipt in receipts]
    assert [log["blockNumber"] for log in logs] == [int(receipt["blockNumber"], 16) for receipt in receipts]
