"""The chain client against anvil, and against a node that misbehaves on purpose."""

import asyncio
import gc
import logging
import time
from functools import partial

import aiohttp
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quoteway.errors import Reason, RpcError, UpstreamError
from quoteway.evm import batch, custom_errors, erc20, reverts
from quoteway.evm.abi import encode_call
from quoteway.evm.chain import Call, CallFailed, NativeBalance, RpcChain
from quoteway.evm.head import request_arrival
from quoteway.evm.single_flight import SingleFlight
from quoteway.models import NATIVE
from quoteway.networks import Network

RICH = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"  # anvil's first account
NOBODY = "0x00000000000000000000000000000000000000A1"
DEVNET = Network("devnet", 31337, "Devnet", head_poll_s=60)
FAST = Network("devnet", 31337, "Devnet", head_poll_s=0.05)

# Runtime code of odd contracts, put at an address with anvil_setCode.
BURNS_GAS = "0x5b600056"  # JUMPDEST PUSH1 0 JUMP
REVERTS = "0x602a60005260206000fd"
RETURNS_64_KB = "0x620100006000f3"


class Node:
    """A node in this process, or a real one behind ``url``, that counts and can be slowed or broken."""

    def __init__(self, url=None):
        self.url = url
        self.asked = []
        self.broken = None
        self.gate = None
        self.answers = {"eth_chainId": "0x7a69"}

    async def __call__(self, method, params, timeout_s):
        self.asked.append(method)
        if self.gate is not None and method != "eth_chainId":
            await self.gate.wait()
        if self.broken is not None:
            raise self.broken
        if method in self.answers:
            answer = self.answers[method]
            return answer(params) if callable(answer) else answer
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with aiohttp.ClientSession() as http, http.post(self.url, json=body) as response:
            answer = orjson.loads(await response.read())
        if "error" in answer:
            error = answer["error"]
            raise RpcError(error["code"], error["message"], error.get("data"))
        return answer["result"]


def block_answer(number):
    return {
        "number": hex(number),
        "hash": f"0x{number:064x}",
        "timestamp": hex(1000 + number),
        "baseFeePerGas": "0x7",
    }


@pytest.fixture
async def make_chain():
    chains = []

    def make(node, **options):
        chains.append(RpcChain(options.pop("network", DEVNET), node, **options))
        return chains[-1]

    yield make
    for chain in chains:
        await chain.close()
    await asyncio.sleep(0)
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert not left, "a closed chain leaves no task behind"


@pytest.fixture
def node(devnet):
    return Node(devnet.urls["devnet"])


@pytest.fixture
def chain(make_chain, node):
    return make_chain(node)


def mined(rpc, transaction):
    """anvil answers before its block is made."""
    sent = rpc("eth_sendTransaction", transaction)
    while (receipt := rpc("eth_getTransactionReceipt", sent)) is None:
        time.sleep(0.01)
    return receipt


def token(devnet, symbol):
    return next(row.address for row in devnet.chains["devnet"].tokens if row.symbol == symbol)


# --- the head -----------------------------------------------------------------------------------------------


async def test_the_head_is_known_without_asking_and_followed(fresh_devnet, make_chain, node):
    rpc, chain = fresh_devnet.rpc(), make_chain(node)
    first = await chain.head()
    sent = chain.requests
    assert await chain.head() == first
    assert chain.requests == sent
    await asyncio.to_thread(rpc, "anvil_mine", "0x1")
    assert (await chain.head(fresh=True)).number == first.number + 1
    chain = make_chain(node, network=FAST)
    await chain.head()
    await asyncio.to_thread(rpc, "anvil_mine", "0x1")
    async with asyncio.timeout(60):
        while (await chain.head()).number != first.number + 2:
            await asyncio.sleep(0.02)


@pytest.mark.looptime
async def test_polling_ends_when_nobody_asks(make_chain):
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5)
    chain = make_chain(node, network=FAST, idle_s=0.1, clock=asyncio.get_running_loop().time)
    await chain.head()
    await asyncio.sleep(0.4)
    asked = len(node.asked)
    await asyncio.sleep(0.3)
    assert len(node.asked) == asked
    assert (await chain.head()).number == 5


@pytest.mark.looptime
async def test_a_failing_node_is_logged_once_and_never_serves_an_old_head(make_chain, caplog):
    now = [0.0]
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5)
    chain = make_chain(node, network=FAST, clock=lambda: now[0])
    await chain.head()
    node.broken = UpstreamError("down", reason=Reason.RPC_ERROR)
    with caplog.at_level(logging.WARNING, "quoteway.evm"):
        await asyncio.sleep(0.4)
    assert len(caplog.records) == 1
    assert (await chain.head()).number == 5  # still within what may be served
    now[0] += 30
    with pytest.raises(UpstreamError):
        await chain.head()
    node.broken = None
    assert (await chain.head()).number == 5


# --- requests -----------------------------------------------------------------------------------------------


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


@pytest.mark.looptime
async def test_a_fresh_head_is_no_older_than_the_call(make_chain):
    node = Node()
    heads = iter([1, 2, 3])
    node.answers["eth_getBlockByNumber"] = lambda params: block_answer(next(heads))
    chain = make_chain(node)
    await chain.head()
    node.gate = asyncio.Event()
    under_way = asyncio.create_task(chain.block("latest"))
    await asyncio.sleep(0)
    fresh = asyncio.create_task(chain.head(fresh=True))
    await asyncio.sleep(0.01)
    node.gate.set()
    await under_way
    assert (await fresh).number == 3  # not 2, which was asked for before


async def test_in_a_request_the_head_is_read_once_and_after_its_arrival(make_chain):
    node = Node()
    heads = iter(range(1, 100))
    node.answers["eth_getBlockByNumber"] = lambda params: block_answer(next(heads))
    chain = make_chain(node)
    assert (await chain.head()).number == 1
    for number in (2, 3):
        with request_arrival():
            assert (await chain.head()).number == number
            with request_arrival():  # a quote inside of a request that is marked already
                assert (await asyncio.gather(*(chain.head() for _ in range(10))))[0].number == number
    assert (await chain.head()).number == 3


@pytest.mark.parametrize("under_way", ["head", "block"])
async def test_a_request_does_not_join_a_read_that_was_under_way(make_chain, under_way):
    """The node may have answered it before the block of the request's own transaction."""
    node = Node()
    heads = iter(range(1, 100))

    async def answer(method, params, timeout_s):
        read = block_answer(next(heads)) if method == "eth_getBlockByNumber" else "0x7a69"
        if node.gate is not None:  # the node has read its state, and its answer takes a while
            await node.gate.wait()
        return read

    chain = make_chain(answer)
    await chain.head()
    node.gate = asyncio.Event()
    read = {"head": partial(chain.head, fresh=True), "block": partial(chain.block, "latest")}[under_way]
    before = asyncio.create_task(read())
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    async def request():
        with request_arrival():
            return await chain.head()

    later = [asyncio.create_task(request()) for _ in range(50)]
    await asyncio.sleep(0.01)
    after = asyncio.create_task(request())
    await asyncio.sleep(0.01)
    node.gate.set()
    assert (await before).number == 2
    assert {block.number for block in await asyncio.gather(*later)} == {3}, (
        "one read for all that came together"
    )
    assert (await after).number == 4


async def test_a_request_is_not_answered_with_a_head_from_before_it_when_the_node_fails(make_chain):
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5)
    chain = make_chain(node)
    await chain.head()
    node.broken = UpstreamError("down", reason=Reason.RPC_ERROR)
    with request_arrival(), pytest.raises(UpstreamError):
        await chain.head()
    node.broken = None
    with request_arrival():
        assert (await chain.head()).number == 5


async def test_a_request_that_is_cancelled_takes_no_head_from_those_who_share_its_read(make_chain):
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5)
    chain = make_chain(node)
    await chain.head()
    node.gate = asyncio.Event()

    async def request():
        with request_arrival():
            return await chain.head()

    alone = asyncio.create_task(request())
    await asyncio.sleep(0)
    alone.cancel()  # before its read has begun
    one, two = asyncio.create_task(request()), asyncio.create_task(request())
    await asyncio.sleep(0.01)
    one.cancel()
    node.gate.set()
    assert (await two).number == 5
    assert one.cancelled()
    assert alone.cancelled()


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


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        [],
        "0x",
        {"number": 5},
        block_answer(5) | {"number": "5"},
        block_answer(5) | {"hash": "0x12"},
    ],
)
async def test_a_garbled_block_is_an_upstream_error(make_chain, answer):
    node = Node()
    node.answers["eth_getBlockByNumber"] = answer
    with pytest.raises(UpstreamError):
        await make_chain(node).head()


# --- calls --------------------------------------------------------------------------------------------------


async def test_reads_are_pinned_to_their_block(fresh_devnet, chain):
    usdc = token(fresh_devnet, "USDC")
    before = await chain.head()
    held = await erc20.balances(chain, RICH, [usdc], before)
    transfer = {"from": RICH, "to": usdc, "data": "0x" + erc20.TRANSFER.encode([NOBODY, 5]).hex()}
    await asyncio.to_thread(mined, fresh_devnet.rpc(), transfer)
    after = await chain.head(fresh=True)
    assert after.number == before.number + 1
    assert await erc20.balances(chain, RICH, [usdc], before) == held
    assert await erc20.balances(chain, RICH, [usdc], after) == [held[0] - 5]


async def test_a_node_that_refuses_block_hashes_is_asked_by_number(make_chain, devnet):
    class Old(Node):
        async def __call__(self, method, params, timeout_s):
            if any(isinstance(param, dict) and "blockHash" in param for param in params):
                self.asked.append("by hash")
                raise RpcError(-32602, "invalid argument 1: json: cannot unmarshal object")
            return await super().__call__(method, params, timeout_s)

    node = Old(devnet.urls["devnet"])
    chain = make_chain(node)
    assert await chain.call(token(devnet, "USDC"), erc20.DECIMALS.encode([])) == (6).to_bytes(32)
    assert await chain.call(token(devnet, "DAI"), erc20.DECIMALS.encode([])) == (18).to_bytes(32)
    assert node.asked.count("by hash") == 1


async def test_a_revert_is_not_mistaken_for_a_refused_block_hash(chain, node, devnet):
    with pytest.raises(RpcError) as error:
        await chain.call(token(devnet, "USDC"), erc20.TRANSFER.encode([NOBODY, 1]), sender=NOBODY)
    assert reverts.revert_data(error.value)
    assert node.asked.count("eth_call") == 1


async def test_many_reads_take_one_request_and_agree_with_single_ones(chain, devnet):
    rows = devnet.chains["devnet"].tokens
    block = await chain.head()
    calls = [
        Call(row.address, fn.encode([])) for row in rows for fn in (erc20.DECIMALS, erc20.SYMBOL, erc20.NAME)
    ]
    single = [await chain.call(call.to, call.data, block=block) for call in calls]
    sent = chain.requests
    together = await chain.call_many([NativeBalance(RICH), *calls], block=block)
    assert chain.requests == sent + 1
    assert together[1:] == single
    assert int.from_bytes(together[0]) == int(
        await chain.request("eth_getBalance", [RICH, hex(block.number)]), 16
    )


async def test_a_bad_token_costs_the_others_nothing(fresh_devnet, chain):
    rpc = fresh_devnet.rpc()
    bad = {f"0x{at:040x}": code for at, code in enumerate((BURNS_GAS, REVERTS, RETURNS_64_KB), start=0xBAD0)}
    for address, code in bad.items():
        await asyncio.to_thread(rpc, "anvil_setCode", address, code)
    block = await chain.head(fresh=True)
    decimals = Call(token(fresh_devnet, "USDC"), erc20.DECIMALS.encode([]))
    reads = [Call(address, b"\x01\x02\x03\x04") for address in bad for _ in range(10)]
    outputs = await chain.call_many([decimals, *reads, decimals], block=block)
    assert outputs[0] == outputs[-1] == (6).to_bytes(32)
    assert outputs[1] == CallFailed(b"")
    assert outputs[11] == CallFailed((42).to_bytes(32))
    assert isinstance(outputs[21], CallFailed)
    assert outputs[21].too_long


async def test_more_reads_than_one_call_holds(chain, devnet):
    decimals = Call(token(devnet, "USDC"), erc20.DECIMALS.encode([]))
    block = await chain.head()
    sent = chain.requests
    assert await chain.call_many([decimals] * 200, block=block) == [(6).to_bytes(32)] * 200
    # Identical parts are one request; the last part is shorter.
    assert chain.requests - sent == 2
    assert await chain.call_many([], block=block) == []


@pytest.mark.parametrize("answer", [None, "0x", "0x12", "0xzz", "12", 5, "0x" + "00" * 64])
async def test_a_garbled_answer_to_a_batch_is_an_upstream_error(make_chain, answer):
    node = Node()
    node.answers |= {"eth_getBlockByNumber": block_answer(5), "eth_call": answer}
    with pytest.raises(UpstreamError):
        await make_chain(node).call_many([NativeBalance(RICH)])


@pytest.mark.parametrize("member", ["number", "timestamp", "baseFeePerGas"])
@pytest.mark.parametrize("value", ["0x-1", "0x 1", "0x1_0", "0x" + "1" * 65, "0x", "1", 1])
async def test_a_number_that_is_none_is_an_upstream_error(make_chain, member, value):
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5) | {member: value}
    with pytest.raises(UpstreamError):
        await make_chain(node).head()


@pytest.mark.parametrize("member", ["number", "timestamp"])
async def test_a_block_of_the_year_10000_is_an_upstream_error(make_chain, member):
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5) | {member: hex(253_402_300_800)}
    with pytest.raises(UpstreamError):
        await make_chain(node).head()


async def test_blocks_by_number_and_tag(chain):
    head = await chain.head()
    assert await chain.block(head.number) == head
    assert (await chain.block("finalized")).number <= head.number
    with pytest.raises(UpstreamError, match="has no block"):
        await chain.block(head.number + 1000)


async def test_code(chain, devnet):
    assert await chain.code(NOBODY) == b""
    assert len(await chain.code(token(devnet, "USDC"))) > 100


@settings(max_examples=25)
@given(
    st.lists(
        st.builds(Call, st.just(NOBODY), st.binary(max_size=300), max_output=st.integers(0, 600))
        | st.just(NativeBalance(RICH)),
        max_size=300,
    )
)
def test_no_batch_exceeds_what_nodes_accept(reads):
    parts = list(batch.split(reads))
    assert [read for part in parts for read in part] == reads
    for part in parts:
        assert len(batch.program(part)) <= 49_152
        assert sum(32 + (read.max_output if isinstance(read, Call) else 32) for read in part) <= 24_576


def test_a_batch_answer_that_does_not_fit_is_refused():
    reads = [NativeBalance(RICH), NativeBalance(NOBODY)]
    one = ((1 << 255) | 32).to_bytes(32) + (7).to_bytes(32)
    assert batch.outputs(reads, one * 2) == [(7).to_bytes(32)] * 2
    for data in (b"", one, one * 3, one * 2 + b"\0", (one * 2)[:-1]):
        with pytest.raises(ValueError, match="batch"):
            batch.outputs(reads, data)


# --- tokens -------------------------------------------------------------------------------------------------


async def test_the_facts_of_every_devnet_token_in_one_round_trip(chain, devnet):
    block = await chain.head()
    for row in devnet.chains["devnet"].tokens:
        sent = chain.requests
        found = await erc20.token_facts(chain, row.address, block)
        assert (found.symbol, found.name, found.decimals) == (row.symbol, row.name, row.decimals)
        assert chain.requests == sent + 1


async def test_what_is_no_token_has_no_facts(chain, devnet):
    assert await erc20.token_facts(chain, NOBODY) is None
    assert await erc20.token_facts(chain, "0xcA11bde05977b3631167028862bE2a173976CA11") is None
    assert (await erc20.token_facts(chain, NATIVE)).symbol == "ETH"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (b"MKR".ljust(32, b"\0"), "MKR"),
        (bytes(32), None),
        (b"\xff" * 32, None),
        ((32).to_bytes(32) + (3).to_bytes(32) + b"UNI".ljust(32, b"\0"), "UNI"),
        ((32).to_bytes(32) + (3).to_bytes(32) + b"UNI", "UNI"),  # unpadded
        ((32).to_bytes(32) + (200).to_bytes(32) + b"N" * 224, "N" * 16),
        ((32).to_bytes(32) + (2**255).to_bytes(32) + b"N" * 32, None),
        ((2**255).to_bytes(32) * 2, None),
        ((32).to_bytes(32) + (4).to_bytes(32) + b"A\nB\0".ljust(32, b"\0"), None),
        ((32).to_bytes(32) + (6).to_bytes(32) + "A\u202eB".encode().ljust(32, b"\0"), None),
        (b"", None),
        (CallFailed(b""), None),
    ],
)
def test_texts_of_tokens(output, text):
    assert erc20.text(output, 16) == text


async def test_a_transfer_tax_is_measured(chain, devnet):
    assert await erc20.transfer_tax(chain, token(devnet, "TAX"), RICH, 10**6) == (10**6, 990_000)
    assert await erc20.transfer_tax(chain, token(devnet, "USDT"), RICH, 10**6) == (10**6, 10**6)
    assert await erc20.transfer_tax(chain, token(devnet, "USDC"), NOBODY, 10**6) is None


# --- reverts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "reverted without a reason"),
        ("12", "reverted with unreadable data"),
        ("08c379a0" + f"{32:064x}{5:064x}" + b"hello".hex().ljust(64, "0"), "hello"),
        ("08c379a0" + f"{32:064x}{3:064x}" + b"a\nb".hex().ljust(64, "0"), "a?b"),
        ("08c379a0" + f"{32:064x}", "custom error 0x08c379a0"),
        ("4e487b71" + f"{0x11:064x}", "arithmetic overflow or underflow (panic 0x11)"),
        ("12345678", "custom error 0x12345678"),
        # Selectors as they are seen on the chain, not computed here.
        ("39d35496", "the swap gives less than its minimum (V3TooLittleReceived)"),
        ("849eaf98", "the swap gives less than its minimum (V2TooLittleReceived)"),
        ("5bf6f916", "the deadline of the transaction has passed (TransactionDeadlinePassed)"),
        ("815e1d64", "the signature is of another account (InvalidSigner)"),
        ("d81b2f2e" + f"{1700000000:064x}", "the Permit2 allowance expired at 1700000000 (AllowanceExpired)"),
        ("f722177f", "the quote of the transfer is too old, or from the future (InvalidQuoteTimestamp)"),
        ("582e3889", "the fill deadline is too far away, or has passed (InvalidFillDeadline)"),
        (
            "8b063d73" + f"{7:064x}{5:064x}",
            "the swap gives 5, less than its minimum of 7 (V4TooLittleReceived)",
        ),
        (
            "e450d38c" + "11" * 20 + f"{5:064x}",
            "custom error 0xe450d38c",
        ),
        (
            "e450d38c" + ("11" * 20).rjust(64, "0") + f"{5:064x}{7:064x}",
            "0x1111111111111111111111111111111111111111 holds 5 of the token, 7 are needed"
            " (ERC20InsufficientBalance)",
        ),
        (
            "2c4029e9" + f"{3:064x}{64:064x}{4:064x}" + "39d35496".ljust(64, "0"),
            "command 3 failed: the swap gives less than its minimum (V3TooLittleReceived)",
        ),
    ],
)
def test_revert_reasons(data, reason):
    assert reverts.revert_reason(bytes.fromhex(data)) == reason


def test_a_revert_reason_nested_too_deep_is_cut():
    data = bytes.fromhex("39d35496")
    for _ in range(1_000):
        data = encode_call("ExecutionFailed(uint256 command, bytes reason)", [1, data])
    assert reverts.revert_reason(data).startswith("command 1 failed: command 1 failed: ")
    assert reverts.revert_reason(data).endswith("custom error 0x2c4029e9")


def test_every_known_custom_error_is_put_in_words():
    samples = {"address": "0x" + "11" * 20, "bytes": b"", "bytes4": b"\1" * 4, "bytes32": b"\1" * 32}
    errors = custom_errors.known_errors()
    assert len(errors) == len(custom_errors._WORDS), "two signatures have one selector"
    for error, _ in errors.values():
        reason = reverts.revert_reason(error.encode([samples.get(type_, 7) for type_ in error.types]))
        assert not reason.startswith("custom error"), error.signature
        assert "{" not in reason


async def test_web3_reads_through_the_chain(chain):
    from quoteway.evm.web3_bridge import async_web3

    web3 = async_web3(chain)
    assert await web3.eth.block_number == (await chain.head()).number
    sent = chain.requests
    assert await web3.eth.get_balance(RICH) > 0
    assert chain.requests == sent + 1
