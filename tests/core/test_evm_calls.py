"""Calls and batches of calls against anvil, and against a node that answers wrongly."""

import asyncio

import pytest
from devnet_nodes import NOBODY, RICH, Node, block_answer, mined, token
from hypothesis import given, settings
from hypothesis import strategies as st
from quoteway.errors import RpcError, UpstreamError
from quoteway.evm import batch, erc20, reverts
from quoteway.evm.chain import Call, CallFailed, NativeBalance

# Runtime code of odd contracts, put at an address with anvil_setCode.
BURNS_GAS = "0x5b600056"  # JUMPDEST PUSH1 0 JUMP
REVERTS = "0x602a60005260206000fd"
RETURNS_64_KB = "0x620100006000f3"


async def test_reads_are_pinned_to_their_block(fresh_devnet, chain):
    usdc = token(fresh_devnet, "USDC")

    async def balance(block):
        (output,) = await chain.call_many([erc20.balance_read(RICH, usdc)], block=block)
        return erc20.word(output)

    before = await chain.head()
    held = await balance(before)
    transfer = {"from": RICH, "to": usdc, "data": "0x" + erc20.TRANSFER.encode([NOBODY, 5]).hex()}
    await asyncio.to_thread(mined, fresh_devnet.rpc(), transfer)
    after = await chain.head(fresh=True)
    assert after.number == before.number + 1
    assert await balance(before) == held
    assert await balance(after) == held - 5


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


async def test_web3_reads_through_the_chain(chain):
    from quoteway.evm.web3_bridge import async_web3

    web3 = async_web3(chain)
    assert await web3.eth.block_number == (await chain.head()).number
    sent = chain.requests
    assert await web3.eth.get_balance(RICH) > 0
    assert chain.requests == sent + 1
