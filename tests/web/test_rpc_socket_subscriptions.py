"""Subscriptions over WebSocket: what is told, in which order, and when it ends."""

import asyncio

import pytest
from quoteway.errors import UpstreamError
from socket_room import PATH, RICH


async def test_new_heads_and_logs(serve_sockets):
    room = await serve_sockets()
    client = await room.connect()
    heads = await client.result("eth_subscribe", "newHeads")
    logs = await client.result("eth_subscribe", "logs", {"address": room.weth})
    others = await client.result("eth_subscribe", "logs", {"address": RICH})
    receipts = await room.deposit(7, times=2)
    await client.until(lambda: len(client.told.get(heads, ())) == len(client.told.get(logs, ())) == 2)
    blocks = [await room.rpc("eth_getBlockByHash", receipt["blockHash"], False) for receipt in receipts]
    assert [head["hash"] for head in client.told[heads]] == [block["hash"] for block in blocks]
    assert client.told[heads][0] == {name: blocks[0][name] for name in client.told[heads][0]}
    assert {"parentHash", "logsBloom", "baseFeePerGas", "stateRoot", "nonce"} <= set(client.told[heads][0])
    assert "transactions" not in client.told[heads][0]
    assert client.told[logs] == [{**log, "removed": False} for each in receipts for log in each["logs"]]
    assert others not in client.told
    assert room.node.asked.count("eth_getLogs") == 2


async def test_a_reorganisation_is_told(serve_sockets):
    room = await serve_sockets()
    room.devnet.diverge()
    client = await room.connect()
    heads = await client.result("eth_subscribe", "newHeads")
    logs = await client.result("eth_subscribe", "logs")
    await room.deposit()
    await client.until(lambda: client.told.get(logs))
    await room.rpc("anvil_reorg", 1, [])
    await client.until(lambda: len(client.told[logs]) == 2 and len(client.told[heads]) == 2)
    (first, second), (there, gone) = client.told[heads], client.told[logs]
    assert first["number"] == second["number"]
    assert first["parentHash"] == second["parentHash"]
    assert gone == {**there, "removed": True}


async def test_an_ended_subscription_tells_no_more(serve_sockets):
    room = await serve_sockets()
    client = await room.connect()
    first = await client.result("eth_subscribe", "newHeads")
    second = await client.result("eth_subscribe", "newHeads")
    assert first != second
    assert await room.metric('quoteway_socket_subscriptions{kind="newHeads"}') == 2
    assert await client.result("eth_unsubscribe", first) is True
    assert await client.result("eth_unsubscribe", first) is False
    assert await client.result("eth_unsubscribe", "0x1") is False
    await room.rpc("evm_mine")
    await client.until(lambda: client.told.get(second))
    assert first not in client.told


@pytest.mark.parametrize(
    "params",
    [
        [],
        ["newPendingTransactions"],
        ["syncing"],
        [5],
        [["newHeads"]],
        ["newHeads", {"a": 1}],
        ["logs", {"address": "0x1"}],
        ["logs", {"fromBlock": "0x1"}],
        ["logs", {}, {}],
    ],
)
async def test_other_subscriptions_are_refused(serve_sockets, params):
    room = await serve_sockets()
    client = await room.connect()
    assert await client.code("eth_subscribe", *params) == -32602


@pytest.mark.parametrize("params", [[], [5], [None], ["0x1", "0x2"]])
async def test_other_ends_of_subscriptions_are_refused(serve_sockets, params):
    room = await serve_sockets()
    client = await room.connect()
    assert await client.code("eth_unsubscribe", *params) == -32602


async def test_over_http_there_are_no_subscriptions(serve_sockets):
    room = await serve_sockets()
    answer = await room.api.post(
        PATH, {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}
    )
    assert "result" not in answer.body


async def test_the_number_of_subscriptions_is_limited(serve_sockets):
    room = await serve_sockets({"subscriptions": 3})
    client = await room.connect()
    ids = [await client.result("eth_subscribe", kind) for kind in ("newHeads", "logs", "logs")]
    assert await client.code("eth_subscribe", "newHeads") == -32005
    assert await client.result("eth_unsubscribe", ids[0]) is True
    assert await client.result("eth_subscribe", "newHeads")


async def test_a_subscription_begins_or_fails_at_once(serve_sockets):
    room = await serve_sockets()
    client = await room.connect()
    room.node.broken = UpstreamError("No node answered.")
    assert await client.code("eth_subscribe", "newHeads") == -32603
    room.node.broken = None
    heads = await client.result("eth_subscribe", "newHeads")
    await room.rpc("evm_mine")
    await client.until(lambda: client.told.get(heads))


async def test_many_clients_cost_one_read_and_leave_nothing_behind(serve_sockets):
    room = await serve_sockets({"connections_per_caller": 100})
    clients = [await room.connect() for _ in range(50)]
    ids = [await client.result("eth_subscribe", "logs") for client in clients]
    await room.deposit()
    for client, each in zip(clients, ids, strict=True):
        await client.until(lambda client=client, each=each: client.told.get(each))
    assert room.node.asked.count("eth_getLogs") == 1
    assert await room.metric("quoteway_sockets") == 50
    for client in clients:
        await client.ws.close()

    async def all_gone():
        return await room.metric("quoteway_sockets") == 0

    await room.until(all_gone)
    assert await room.metric('quoteway_socket_subscriptions{kind="logs"}') == 0
    assert await room.metric('quoteway_sockets_closed_total{cause="client"}') == 50
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith(("blocks of", "socket:"))]
