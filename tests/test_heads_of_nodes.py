"""Real nodes of which one lags or is on another branch, and blocks that a node pushes over its WebSocket."""

import asyncio
import contextlib

import pytest
from quoteway.config.network import NetworkConfig
from quoteway.evm.arrivals import request_arrival
from quoteway.networks import Endpoint

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

import quoteway_rpc  # noqa: E402
from direct_client import FarNode, LaggingNode  # noqa: E402
from quoteway_devnet.chains import Devnet  # noqa: E402

CHAIN_ID = 31337
RICH = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.fixture
def serve(make_gateway):
    """``async with serve(nodes, ws=url, **network) as chain``: a gateway over nodes behind proxies."""

    @contextlib.asynccontextmanager
    async def run(*nodes, ws="", **network):
        async with contextlib.AsyncExitStack() as stack:
            urls = [await stack.enter_async_context(node.running()) for node in nodes]
            endpoints = tuple(Endpoint(url, ws=ws if at == 0 else "") for at, url in enumerate(urls))
            configured = NetworkConfig(rpc=endpoints, chain_id=CHAIN_ID, block_time_s=1.0, **network)
            gateway = await make_gateway({"rpc": quoteway_rpc}, networks={"devnet": configured})
            yield gateway.runtime.chain(CHAIN_ID)

    return run


def newest(devnet):
    with devnet.rpc() as rpc:
        return rpc("eth_getBlockByNumber", "latest", False)


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def test_blocks_are_seen_without_a_read(fresh_devnet, serve):
    url = fresh_devnet.urls["devnet"]
    node = FarNode(url)
    async with serve(node, ws=url.replace("http", "ws"), head_poll_s=0.25) as chain:
        await chain.head()
        await until(lambda: chain._head._following)
        reads = node.asked["eth_getBlockByNumber"]
        for _ in range(5):
            with fresh_devnet.rpc() as rpc:
                rpc("evm_mine")
            block = newest(fresh_devnet)
            await until(lambda: chain.known_head.hash == block["hash"])  # noqa: B023
            assert (await chain.head()).number == int(block["number"], 16)
            assert chain._head._following
        # At most those after two block times without a block, on a slow machine.
        assert node.asked["eth_getBlockByNumber"] <= reads + 2
        with request_arrival():
            assert (await chain.head()).hash == newest(fresh_devnet)["hash"]


async def test_a_chain_that_was_reset_is_followed(fresh_devnet, serve):
    """As developers do with local chains."""
    url = fresh_devnet.urls["devnet"]
    async with serve(FarNode(url), ws=url.replace("http", "ws")) as chain:
        with fresh_devnet.rpc() as rpc:
            before = rpc("evm_snapshot")
            rpc("anvil_mine", "0x5")
            high = int(await chain.request("eth_blockNumber", [], public=True), 16)
            rpc("evm_revert", before)
            assert int(await chain.request("eth_blockNumber", [], public=True), 16) == high - 5
            rpc("evm_mine")
            latest = await chain.request("eth_getBlockByNumber", ["latest", False], shared=False, public=True)
            assert latest["number"] == hex(high - 4)


async def test_a_node_20_behind_as_the_first_of_three(fresh_devnet, serve):
    url = fresh_devnet.urls["devnet"]
    with fresh_devnet.rpc() as rpc:
        rpc("anvil_mine", "0x20")
    late, two, three = LaggingNode(url), FarNode(url), FarNode(url)
    block = newest(fresh_devnet)
    late.lag(int(block["number"], 16) - 20)
    async with serve(late, two, three) as chain:
        for public in (False, True):
            for _ in range(5):
                found = await chain.request(
                    "eth_getBlockByNumber", ["latest", False], shared=False, public=public
                )
                assert found["hash"] == block["hash"]
        with request_arrival():
            assert (await chain.head()).hash == block["hash"]
        calls = late.asked["eth_call"]
        await chain.request("eth_call", [{"to": RICH}, "latest"], public=True)
        assert late.asked["eth_call"] == calls


async def test_a_node_on_another_branch_as_the_first_of_three(fresh_devnet, serve):
    with Devnet.running() as fork:
        for devnet in (fork, fresh_devnet):
            with devnet.rpc() as rpc:
                rpc("anvil_mine", "0x3")
        url, block = fresh_devnet.urls["devnet"], newest(fresh_devnet)
        assert newest(fork)["hash"] != block["hash"]
        nodes = FarNode(fork.urls["devnet"]), FarNode(url), FarNode(url)
        async with serve(*nodes) as chain:
            await chain.head()
            # Blocks of the branch are told apart once the others have told theirs.
            await until(lambda: all(node.asked["eth_getBlockByNumber"] for node in nodes))
            await asyncio.sleep(0)
            for tag in ("latest", block["number"]):

                async def get(tag=tag):
                    ask = ["eth_getBlockByNumber", [tag, False]]
                    return (await chain.request(*ask, shared=False, public=True))["hash"]

                await until_equal(get, block["hash"])
                for _ in range(3):
                    assert await get() == block["hash"]


async def until_equal(get, wanted):
    async with asyncio.timeout(60):
        while await get() != wanted:
            await asyncio.sleep(0.05)
