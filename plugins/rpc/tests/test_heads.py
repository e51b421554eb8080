"""The heads of upstreams: pushed over WebSocket, polled otherwise while in use, and never poisoned by one."""

import asyncio
import itertools
import logging

import pytest
from chain_nodes import ChainModel, Node, SocketNode, until
from fake_node import FakeNode
from quoteway import ConfigError, Endpoint
from quoteway_rpc import head_feed, heads
from quoteway_rpc.blocks import block_of
from quoteway_rpc.upstream import Upstream

FAST = {"block_time_s": 0.5, "head_poll_s": 0.25}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(head_feed, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(head_feed, "_SHORTEST_SILENCE_S", 0.5)


def views(rpc):
    return list(rpc.seen.views.values())


async def live(rpc, *nodes):
    """Starts to follow the heads, until all of ``nodes`` push them."""
    assert rpc.heads(rpc.network) is None
    for node in nodes:
        await until(node.changed.is_set)
    await until(lambda: sum(view.pushes for view in views(rpc)) == len(nodes))


async def test_heads_are_pushed_and_nothing_is_polled(gateway_of):
    async with SocketNode(ChainModel()) as node:
        rpc = gateway_of(node, ws=[node], block_time_s=60.0)
        await live(rpc, node)
        pushed = rpc.heads(rpc.network)
        await until(lambda: rpc.seen.served is not None)
        asked = len(node.seen)
        for number in range(100, 110):
            following = asyncio.ensure_future(anext(pushed))
            await asyncio.sleep(0)
            await node.mine()
            header = await following
            assert (header.block.number, header.block.hash) == (number, node.chain.hash(number))
            assert rpc.seen.newest == header
            assert rpc.known_heads.newest(1) is rpc.known_heads.newest(1) == header.block
            assert rpc.known_heads.hash_at(1, number - 1) == node.chain.hash(number - 1)
        assert len(node.seen) == asked
        await pushed.aclose()


async def test_an_upstream_that_pushes_is_no_longer_behind_before_it_is_asked(gateway_of):
    async with FakeNode(Node(ChainModel())) as late, SocketNode(ChainModel()) as node:
        rpc = gateway_of(late, node, ws=[node], block_time_s=60.0)
        await live(rpc, node)
        assert await rpc.ask("eth_blockNumber") == hex(99)
        await node.mine()
        await until(lambda: rpc.seen.served.number == 100)
        assert await rpc.ask("eth_blockNumber") == hex(100)
        assert (await rpc.read("eth_getBlockByNumber", "latest", False))["number"] == hex(100)
        assert not [call for call in late.calls if call["method"] == "eth_call"]
        await rpc.ask("eth_call", {}, "latest")
        assert not [call for call in late.calls if call["method"] == "eth_call"]


async def test_a_lost_connection_ends_the_iterator_and_is_opened_again(gateway_of, caplog):
    async with SocketNode(ChainModel()) as node:
        rpc = gateway_of(node, ws=[node], block_time_s=60.0)
        await live(rpc, node)
        pushed = rpc.heads(rpc.network)
        waiting = asyncio.ensure_future(anext(pushed, None))
        await asyncio.sleep(0)
        with caplog.at_level(logging.WARNING, "quoteway.plugin.rpc"):
            await node.drop()
            assert await waiting is None
            assert rpc.known_heads.newest(1) is None
        assert "upstream 1 of ethereum pushes no heads: closed" in caplog.text
        assert str(node.port) not in caplog.text
        await until(lambda: node.connections == 2 and views(rpc)[0].pushes)
        pushed = rpc.heads(rpc.network)
        waiting = asyncio.ensure_future(anext(pushed))
        await asyncio.sleep(0)
        await node.mine()
        assert (await waiting).block.number == 100
        await pushed.aclose()


async def test_a_subscription_that_is_silent_while_the_chain_goes_on_is_lost(gateway_of):
    async with SocketNode(ChainModel()) as node:
        rpc = gateway_of(node, ws=[node], block_time_s=0.05)
        await live(rpc, node)
        node.mute = True
        await node.mine()
        await until(lambda: node.connections >= 2)
        node.mute = False
        await until(lambda: views(rpc)[0].pushes)
        connections = node.connections
        await asyncio.sleep(1.2)
        assert node.connections == connections, "a chain without new blocks is silent too"


@pytest.mark.parametrize("fault", ["another chain", "no subscription", "no JSON", "too large", "redirect"])
async def test_a_websocket_that_gives_no_heads(gateway_of, fault, caplog, monkeypatch):
    async with SocketNode(ChainModel()) as node:
        rpc = gateway_of(node, ws=[node], block_time_s=60.0)
        answer = node.answer

        def wrong(request):
            given = answer(request)
            if request["method"] == "eth_chainId" and fault == "another chain":
                return given | {"result": "0x5"}
            if request["method"] == "eth_subscribe" and fault == "no subscription":
                return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}}
            if fault == "no JSON":
                return 5
            if fault == "too large":
                return given | {"result": "x" * 1_000_000}
            return given

        node.answer = wrong
        if fault == "redirect":
            rpc.seen.views = {
                upstream: view
                for upstream, view in rpc.seen.views.items()
                if setattr(upstream, "ws", (f"ws://127.0.0.1:{await redirecting(node.port)}", {})) is None
            }
        with caplog.at_level(logging.WARNING, "quoteway.plugin.rpc"):
            assert rpc.heads(rpc.network) is None
            await until(lambda: "pushes no heads" in caplog.text)
        assert not views(rpc)[0].pushes
        assert rpc.heads(rpc.network) is None
        assert node.connections == 0 or fault != "redirect"


async def redirecting(port):
    """The port of a server that redirects to another."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        target = f"http://127.0.0.1:{port}/".encode()
        writer.write(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + target + b"\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    return server.sockets[0].getsockname()[1]


@pytest.mark.parametrize(
    "header",
    [
        {"number": hex(10**18)},
        {"number": hex(2**255)},
        {"number": "0x1e9"},
        {"number": None},
        {"hash": "0x12"},
        {"hash": 5},
        {"timestamp": "soon"},
    ],
)
async def test_a_forged_push_is_not_the_head(gateway_of, header):
    async with SocketNode(ChainModel()) as liar, FakeNode(Node(ChainModel())) as good:
        rpc = gateway_of(liar, good, ws=[liar])
        await live(rpc, liar)
        assert await rpc.ask("eth_blockNumber") == hex(99)
        await liar.push(ChainModel().block(99) | header)
        await liar.mine()
        await until(lambda: rpc.seen.served.number == 100)
        assert rpc.seen.lag(views(rpc)[1].upstream) == 1


async def test_polls_only_while_in_use(gateway_of, monkeypatch):
    monkeypatch.setattr(heads, "IDLE_S", 0.6)
    async with FakeNode(Node(ChainModel())) as one, FakeNode(Node(ChainModel())) as two:
        rpc = gateway_of(one, two, **FAST)
        await asyncio.sleep(0.6)
        assert one.seen == two.seen == []
        await rpc.ask("eth_gasPrice")
        await until(lambda: len(two.seen) > 1)
        assert set(two.methods) == {"eth_chainId", "eth_getBlockByNumber"}
        await until(lambda: rpc.seen._watching.done())
        await asyncio.sleep(0.1)
        asked = len(one.seen), len(two.seen)
        await asyncio.sleep(1.0)
        assert (len(one.seen), len(two.seen)) == asked


async def test_websockets_are_open_only_while_in_use(gateway_of, monkeypatch):
    monkeypatch.setattr(heads, "IDLE_S", 0.6)
    async with SocketNode(ChainModel()) as node:
        rpc = gateway_of(node, ws=[node], **FAST)
        await live(rpc, node)
        await until(lambda: not node.sockets)
        connections = node.connections
        await asyncio.sleep(1.0)
        assert node.connections == connections
        await live(rpc, node)


async def test_a_node_alone_is_not_polled(gateway_of):
    async with FakeNode(Node(ChainModel())) as node:
        rpc = gateway_of(node, **FAST)
        await rpc.ask("eth_gasPrice")
        await asyncio.sleep(1.0)
        assert node.methods == ["eth_chainId", "eth_gasPrice"]


async def test_closing_ends_the_background_work(gateway_of):
    async with SocketNode(ChainModel()) as node, FakeNode(Node(ChainModel())) as other:
        rpc = gateway_of(node, other, ws=[node], **FAST)
        await live(rpc, node)
        pushed = rpc.heads(rpc.network)
        waiting = asyncio.ensure_future(anext(pushed, None))
        await asyncio.sleep(0)
        async with rpc.running():
            pass
        assert await waiting is None
        await until(lambda: not node.sockets)
        assert await rpc.ask("eth_gasPrice") == "0x2a"
        assert rpc.seen._watching.done()


async def test_the_head_of_a_quorum(gateway_of):
    numbers = (120, 100, 99)
    nodes = [FakeNode(Node(ChainModel(number + 1))) for number in numbers]
    async with nodes[0], nodes[1], nodes[2]:
        rpc = gateway_of(*nodes)
        for quorum, served in ((2, 100), (3, 99)):
            rpc.seen._quorum, rpc.seen.served = quorum, None
            for view in views(rpc):
                await rpc.seen.look(view.upstream)
            assert rpc.seen.served.number == served


async def test_a_fork_does_not_count_for_a_quorum(gateway_of):
    fork = ChainModel(100, branch="fork", fork_at=99)
    nodes = [FakeNode(Node(chain)) for chain in (fork, ChainModel(99), ChainModel(100))]
    async with nodes[0], nodes[1], nodes[2]:
        rpc = gateway_of(*nodes)
        rpc.seen._quorum = 2
        for view in views(rpc):
            await rpc.seen.look(view.upstream)
        assert (rpc.seen.served.number, rpc.seen.served.hash) == (98, ChainModel().hash(98))


async def test_lower_heads_of_all_upstreams_are_taken_at_last(gateway_of):
    now = itertools.count(0, 0)
    moment = [0.0]
    async with FakeNode(Node(ChainModel())) as one, FakeNode(Node(ChainModel())) as two:
        rpc = gateway_of(one, two, clock=lambda: moment[0] + next(now))
        for view in views(rpc):
            await rpc.seen.look(view.upstream)
        one.behaviour = two.behaviour = Node(ChainModel(50))
        for moment[0], served in ((1.0, 99), (50.0, 99), (62.0, 49)):
            for view in views(rpc):
                await rpc.seen.look(view.upstream)
            assert rpc.seen.served.number == served


async def test_an_unreachable_upstream_does_not_count(gateway_of):
    async with FakeNode() as gone:
        pass
    async with FakeNode(Node(ChainModel())) as node:
        rpc = gateway_of(gone, node)
        assert await rpc.ask("eth_blockNumber") == hex(99)
        node.behaviour = Node(ChainModel(5000))
        await until(lambda: views(rpc)[0].unreachable)
        assert await rpc.ask("eth_blockNumber") == hex(4999)


async def test_calls_do_not_wait_each_time_for_upstreams_that_are_slow(gateway_of, monkeypatch):
    monkeypatch.setattr(heads, "READY_S", 1.0)
    quick, answered = Node(ChainModel()), asyncio.Event()

    async def slow(node, request, writer):
        await answered.wait()
        await quick(node, request, writer)

    async with FakeNode(quick) as one, FakeNode(slow) as two, FakeNode(slow) as three:
        rpc = gateway_of(one, two, three, block_time_s=0.5)
        for _ in range(3):
            assert await rpc.ask("eth_blockNumber") == hex(99)
        assert [view.slow for view in views(rpc)] == [False, True, True]
        waited = []
        wait = asyncio.wait
        monkeypatch.setattr(
            asyncio, "wait", lambda *args, **limits: waited.append(args) or wait(*args, **limits)
        )
        for _ in range(5):
            assert await rpc.ask("eth_blockNumber") == hex(99)
            await asyncio.sleep(0.3)  # the head of the quick one becomes old
        assert not waited
        answered.set()
        for view in views(rpc):
            await rpc.seen.look(view.upstream)
        assert not any(view.slow for view in views(rpc))


async def test_final_blocks_are_the_lowest_told(gateway_of):
    async with FakeNode(Node(ChainModel(1000))) as one, FakeNode(Node(ChainModel(990))) as two:
        rpc = gateway_of(one, two)
        assert rpc.seen.finalized is None
        await rpc.ask("eth_blockNumber")
        for view in views(rpc):
            await rpc.seen.look(view.upstream)
            await view.upstream.ask("eth_getBlockByNumber", ["finalized", False], timeout_s=5)
        assert rpc.seen.finalized == 990 - 65


@pytest.mark.parametrize(
    ("method", "params", "block"),
    [
        ("eth_blockNumber", [], "latest"),
        ("eth_call", [{}], "latest"),
        ("eth_call", [{}, "0x10"], 16),
        ("eth_call", [{}, {"blockNumber": "0x10"}], 16),
        ("eth_call", [{}, {"blockHash": "0x" + "ab" * 32}], "0x" + "ab" * 32),
        ("eth_getStorageAt", ["0x", "0x0", "safe"], "safe"),
        ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x5"}], 5),
        ("eth_getLogs", [{}], "latest"),
        ("eth_getLogs", [{"blockHash": "0x" + "ab" * 32}], "0x" + "ab" * 32),
        ("eth_getBlockByHash", ["0x" + "ab" * 32, False], "0x" + "ab" * 32),
        ("eth_getBlockByNumber", ["0xzz", False], "0xzz"),
        ("eth_getTransactionReceipt", ["0x" + "ab" * 32], None),
        ("eth_getBalance", ["0x", 5], None),
    ],
)
def test_the_block_of_a_call(method, params, block):
    assert block_of(method, params) == block


@pytest.mark.parametrize("url", ["http://node", "wss://", "wss://[", "node"])
def test_a_websocket_url_that_is_none(url):
    with pytest.raises(ConfigError) as failure:
        Upstream(Endpoint("http://node", ws=url), 1, 0, 1000)
    assert url not in str(failure.value) or url == "node"


def test_credentials_of_a_websocket_url_move_to_the_headers():
    upstream = Upstream(Endpoint("http://node", {"X-Key": "a"}, ws="wss://me:secret@node/v3"), 1, 0, 1000)
    url, headers = upstream.ws
    assert str(url) == "wss://node/v3"
    assert headers == {"X-Key": "a", "Authorization": "Basic bWU6c2VjcmV0"}
    assert "secret" not in repr(upstream)
