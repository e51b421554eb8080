"""Requests of the chain client: shared while under way, ended in time, and of the right chain."""

import asyncio
import gc

import pytest
from devnet_nodes import NOBODY, Node
from quoteway.errors import Reason, RpcError, UpstreamError
from quoteway.evm.arrivals import request_arrival
from quoteway.evm.single_flight import SingleFlight
from quoteway.networks import Network


@pytest.mark.looptime
async def test_identical_concurrent_reads_are_one_request(make_chain):
    node = Node()
    node.answers["eth_gasPrice"] = "0x5"
    chain = make_chain(node)
    await chain.request("eth_gasPrice")
    node.asked.clear()
    node.gate = asyncio.Event()
    reads = [asyncio.create_task(chain.request("eth_gasPrice")) for _ in range(1000)]
    await asyncio.sleep(0.01)
    reads[0].cancel()  # the one that started the request
    reads[500].cancel()
    await asyncio.sleep(0)
    node.gate.set()
    outcomes = await asyncio.gather(*reads, return_exceptions=True)
    assert node.asked == ["eth_gasPrice"]
    assert outcomes.count("0x5") == 998
    assert sum(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes) == 2
    await chain.request("eth_gasPrice")
    assert len(node.asked) == 2, "an old answer is not given to a later read"


async def test_reads_at_latest_are_shared_within_one_request_only(make_chain):
    node = Node()
    codes = iter(range(1, 100))
    node.answers["eth_getCode"] = lambda params: hex(next(codes))
    chain = make_chain(node)
    node.gate = asyncio.Event()

    async def request():
        with request_arrival():
            return await asyncio.gather(*(chain.request("eth_getCode", [NOBODY, "latest"]) for _ in range(3)))

    one, two = asyncio.create_task(request()), asyncio.create_task(request())
    await asyncio.sleep(0.01)
    node.gate.set()
    assert sorted(await one) + sorted(await two) == ["0x1"] * 3 + ["0x2"] * 3


@pytest.mark.parametrize("params", [[NOBODY, "latest"], [NOBODY]], ids=["latest", "omitted"])
async def test_a_call_of_a_client_is_not_answered_by_an_earlier_one(make_chain, params):
    """The second client's transaction may have been mined in between."""
    node = Node()
    node.answers["eth_getBalance"] = "0x1"
    chain = make_chain(node)
    await chain.request("eth_getBalance", params)
    node.gate = asyncio.Event()
    node.asked.clear()
    calls = []
    for _ in range(2):
        calls.append(asyncio.create_task(chain.request("eth_getBalance", params, public=True)))
        await asyncio.sleep(0.01)
    node.gate.set()
    await asyncio.gather(*calls)
    assert node.asked == ["eth_getBalance"] * 2


async def test_different_reads_are_not_mixed_up(make_chain):
    node = Node()
    node.answers["eth_getCode"] = lambda params: params[0]
    chain = make_chain(node)
    codes = await asyncio.gather(
        *(chain.request("eth_getCode", [f"0x{at:02x}", "latest"]) for at in range(50))
    )
    assert codes == [f"0x{at:02x}" for at in range(50)]


@pytest.mark.looptime
async def test_a_read_nobody_waits_for_is_given_up():
    flights, cancelled = SingleFlight(), asyncio.Event()

    async def never():
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    waiters = [asyncio.create_task(flights.run("key", never)) for _ in range(2)]
    await asyncio.sleep(0)
    waiters[0].cancel()
    await asyncio.sleep(0.01)
    assert not cancelled.is_set()
    waiters[1].cancel()
    await asyncio.wait_for(cancelled.wait(), 60)
    assert await asyncio.gather(*waiters, return_exceptions=True)


@pytest.mark.slow
@pytest.mark.looptime
async def test_a_failure_nobody_waits_for_is_no_noise():
    flights, noise = SingleFlight(), []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: noise.append(context))

    async def fails_when_cancelled():
        try:
            await asyncio.Event().wait()
        finally:
            raise UpstreamError("down")

    waiter = asyncio.create_task(flights.run("key", fails_when_cancelled))
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    await asyncio.sleep(0.01)
    gc.collect()
    assert not noise


async def test_every_waiter_gets_the_error(make_chain):
    node = Node()
    chain = make_chain(node)
    node.broken = RpcError(3, "execution reverted", "0x")
    outcomes = await asyncio.gather(
        *(chain.request("eth_gasPrice") for _ in range(5)), return_exceptions=True
    )
    assert all(isinstance(outcome, UpstreamError) for outcome in outcomes)


@pytest.mark.looptime
async def test_a_dispatcher_that_hangs_costs_no_more_than_the_deadline(make_chain):
    async def hangs(method, params, timeout_s):
        while True:
            try:
                await asyncio.sleep(3)
                return "0x7a69"
            except asyncio.CancelledError:
                return "0x7a69"

    chain = make_chain(hangs)
    started = asyncio.get_running_loop().time()
    with pytest.raises(UpstreamError) as failure:
        await chain.request("eth_gasPrice", timeout_s=0.2)
    assert failure.value.reason is Reason.PROVIDER_TIMEOUT
    assert asyncio.get_running_loop().time() - started < 0.3


async def test_a_node_of_another_chain_is_refused(make_chain, node):
    chain = make_chain(node, network=Network("ethereum", 1, "Ethereum"))
    for _ in range(2):
        with pytest.raises(UpstreamError, match="31337"):
            await chain.request("eth_gasPrice")
    node.answers["eth_chainId"] = "0x1"
    assert await chain.request("eth_gasPrice")
    assert node.asked.count("eth_chainId") >= 2
    asked = node.asked.count("eth_chainId")
    await chain.request("eth_gasPrice")
    assert node.asked.count("eth_chainId") == asked, "a proven chain is not asked again"
