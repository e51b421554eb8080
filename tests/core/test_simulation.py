"""The simulation against what anvil then really does."""

import asyncio
import time
from dataclasses import replace

import aiohttp
import orjson
import pytest
from quoteway.errors import RpcError, UpstreamError
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import event_topic, function
from quoteway.evm.address import checksum
from quoteway.evm.assumed_balance import assume_balance
from quoteway.evm.balance_slot import BalanceSlot
from quoteway.evm.chain import Log, RpcChain, SimulatedResult
from quoteway.models import MAX_UINT256, NATIVE, AssetChange, DecodedCall, Preview, Step
from quoteway.networks import Network
from quoteway.simulation.run import Segment, gas_limit, simulate
from quoteway.simulation.trace import ApprovalEvent, Transfer, trace_of

RICH = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"  # anvil's first account
NOBODY = "0x00000000000000000000000000000000000000A1"
SPENDER = "0x00000000000000000000000000000000000000b2"
ODD = "0x0000000000000000000000000000000000000BAD"

# Clears slots 1 to 40: PUSH1 40, JUMPDEST PUSH1 0 DUP2 SSTORE PUSH1 1 SWAP1 SUB DUP1 PUSH1 2 JUMPI, STOP
CLEARS_STORAGE = "0x60285b6000815560019003806002570000"


def step(call, to, *args, value=0):
    return Step("step", to, call.encode(args), value, 31337, call.describe(args), "", "")


def payment(to, value):
    return Step("payment", to, b"", value, 31337, DecodedCall("", ()), "", "")


def token(devnet, symbol):
    return next(row.address for row in devnet.chains["devnet"].tokens if row.symbol == symbol)


@pytest.fixture
async def open_chain(devnet):
    chains, http = [], aiohttp.ClientSession()

    def make(rewrite=None):
        async def forward(method, params, timeout_s):
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            async with http.post(devnet.urls["devnet"], json=body) as response:
                answer = orjson.loads(await response.read())
            if rewrite is not None:
                answer = rewrite(method, answer)
            if "error" in answer:
                error = answer["error"]
                raise RpcError(error["code"], error["message"], error.get("data"))
            return answer["result"]

        chains.append(RpcChain(Network("devnet", 31337, "Devnet"), forward))
        return chains[-1]

    yield make
    for chain in chains:
        await chain.close()
    await http.close()


@pytest.fixture
def chain(open_chain):
    return open_chain()


async def execute(devnet, steps, sender=RICH, gas=None):
    """Sends the steps for real, each with its gas limit, and gives the receipts."""

    def send():
        rpc, receipts = devnet.rpc(), []
        for at, each in enumerate(steps):
            transaction = {
                "from": sender,
                "to": each.to,
                "data": "0x" + each.data.hex(),
                "value": hex(each.value),
            }
            if gas is not None:
                transaction["gas"] = hex(gas[at])
            sent = rpc("eth_sendTransaction", transaction)
            for _ in range(300):
                receipt = rpc("eth_getTransactionReceipt", sent)
                if receipt:
                    break
                time.sleep(0.01)
            receipts.append(receipt)
        return receipts

    return await asyncio.to_thread(send)


async def run_of(chain, block, sender, steps, previews=(), **more):
    """Of transactions that all belong together: the run, its gas limits and what its logs say."""
    run = await simulate(chain, block, sender, [Segment(steps, previews)], **more)
    (only,) = run.segments
    assert only.simulation == run.whole
    return run.whole, run.gas_limits, only.trace


async def test_deltas_gas_and_logs_are_those_of_the_execution(fresh_devnet, chain):
    usdt, weth = token(fresh_devnet, "USDT"), token(fresh_devnet, "WETH")
    steps = [
        step(erc20.APPROVE, usdt, SPENDER, 1000),
        step(erc20.APPROVE, usdt, SPENDER, 0),
        step(erc20.TRANSFER, usdt, NOBODY, 777),
        step(function("deposit()"), weth, value=10**18),
        payment(NOBODY, 5),
    ]
    watch = [(RICH, usdt), (NOBODY, usdt), (RICH, weth), (RICH, NATIVE), (NOBODY, NATIVE)]
    block = await chain.head(fresh=True)
    sent = chain.requests
    run, limits, trace = await run_of(
        chain, block, RICH, steps, watch=watch, allowances=[(usdt, RICH, SPENDER)]
    )
    assert chain.requests == sent + 1
    assert (run.status, run.revert_reason, run.reverted_step) == ("success", None, None)
    assert (run.block, run.assumptions) == (block, ())
    assert Transfer(2, usdt, RICH, NOBODY, 777) in trace.transfers
    assert Transfer(4, NATIVE, RICH, NOBODY, 5) in trace.transfers
    assert [grant.amount for grant in trace.approvals] == [1000, 0]

    async def balances(at):
        return [(await erc20.balances(chain, account, [asset], at))[0] for account, asset in watch]

    was = await balances(block)
    receipts = await execute(fresh_devnet, steps, gas=limits)
    became = await balances(await chain.head(fresh=True))
    assert [receipt["status"] for receipt in receipts] == ["0x1"] * 5
    assert [int(receipt["gasUsed"], 16) for receipt in receipts] == list(run.gas_used)
    fees = sum(int(r["gasUsed"], 16) * int(r["effectiveGasPrice"], 16) for r in receipts)
    moved = [after - before for before, after in zip(was, became, strict=True)]
    moved[3] += fees
    assert run.asset_changes == tuple(
        AssetChange(account, asset, delta) for (account, asset), delta in zip(watch, moved, strict=True)
    )
    assert (run.allowance_changes[0].before, run.allowance_changes[0].after) == (0, 0)


async def test_each_segment_of_a_run_answers_for_itself_and_all_for_the_whole(chain, devnet):
    usdc = token(devnet, "USDC")
    block = await chain.head()
    watch, allowances = [(RICH, usdc), (NOBODY, usdc)], [(usdc, RICH, SPENDER)]
    preview = Preview(NOBODY, usdc, usdc, erc20.BALANCE_OF.encode([NOBODY]))
    segments = [
        Segment([step(erc20.TRANSFER, usdc, NOBODY, 700), step(erc20.APPROVE, usdc, SPENDER, 9)], [preview]),
        Segment([step(erc20.TRANSFER, usdc, NOBODY, 77)], [preview]),
    ]
    sent = chain.requests
    run = await simulate(chain, block, RICH, segments, watch=watch, allowances=allowances)
    assert chain.requests == sent + 1
    first, second = run.segments
    assert [change.delta for change in first.simulation.asset_changes] == [-700, 700]
    assert [change.delta for change in second.simulation.asset_changes] == [-77, 77]
    assert [change.delta for change in run.whole.asset_changes] == [-777, 777]
    granted = [(c.before, c.after) for part in (first, second) for c in part.simulation.allowance_changes]
    assert granted == [(0, 9), (9, 9)]
    assert (first.trace.previews, second.trace.previews) == ((0,), (700,))
    assert [transfer.amount for transfer in second.trace.transfers] == [77]
    assert run.whole.gas_used == first.simulation.gas_used + second.simulation.gas_used
    assert [limit is not None for limit in run.gas_limits] == [True] * 3


async def test_what_comes_after_a_reverted_segment_has_reverted_too(chain, devnet):
    usdc = token(devnet, "USDC")
    fine, broken = (step(erc20.TRANSFER, usdc, NOBODY, amount) for amount in (1, MAX_UINT256))
    segments = [Segment([fine]), Segment([fine, broken]), Segment([fine])]
    run = await simulate(chain, await chain.head(), RICH, segments, watch=[(NOBODY, usdc)])
    assert [part.simulation.status for part in run.segments] == ["success", "reverted", "reverted"]
    assert (run.whole.status, run.whole.reverted_step) == ("reverted", 2)
    assert run.gas_limits == (None,) * 4
    assert run.whole.asset_changes == ()


async def test_an_older_block_can_be_simulated_on(fresh_devnet, chain):
    usdc = token(fresh_devnet, "USDC")
    block = await chain.head(fresh=True)
    await execute(fresh_devnet, [step(erc20.TRANSFER, usdc, NOBODY, 777)])
    newer = await chain.head(fresh=True)
    back = [step(erc20.TRANSFER, usdc, RICH, 777)]
    assert (await run_of(chain, block, NOBODY, back))[0].status == "reverted"
    assert (await run_of(chain, newer, NOBODY, back))[0].status == "success"


async def test_the_gas_limit_covers_what_is_refunded_afterwards(fresh_devnet, chain):
    rpc = fresh_devnet.rpc()

    def prepare():
        rpc("anvil_setCode", ODD, CLEARS_STORAGE)
        for slot in range(1, 41):
            rpc("anvil_setStorageAt", ODD, hex(slot), "0x" + "00" * 31 + "01")

    await asyncio.to_thread(prepare)
    steps = [payment(ODD, 0)]
    run, limits, _ = await run_of(chain, await chain.head(fresh=True), RICH, steps)
    used = run.gas_used[0]
    snapshot = await asyncio.to_thread(fresh_devnet.snapshot)
    tight = await execute(fresh_devnet, steps, gas=[used * 6 // 5])
    await asyncio.to_thread(fresh_devnet.revert, snapshot)
    enough = await execute(fresh_devnet, steps, gas=limits)
    assert tight[0]["status"] == "0x0", "20 % on top of the gas used is not enough for this one"
    assert enough[0]["status"] == "0x1"
    assert int(enough[0]["gasUsed"], 16) == used


def test_gas_limits():
    assert gas_limit(SimulatedResult(True, 100_000, b"")) == 150_000
    assert gas_limit(SimulatedResult(True, 100_000, b"", peak_gas=110_000)) == 132_000
    assert gas_limit(SimulatedResult(True, 15_000_000, b"")) == 1 << 24
    assert gas_limit(SimulatedResult(True, 20_000_000, b"")) == 20_000_000


async def test_a_revert_names_its_step_and_reason(chain, devnet):
    usdc, usdt = token(devnet, "USDC"), token(devnet, "USDT")
    block = await chain.head()
    steps = [
        step(erc20.APPROVE, usdc, SPENDER, 5),
        step(erc20.TRANSFER, usdc, NOBODY, MAX_UINT256),
        step(erc20.APPROVE, usdc, SPENDER, 6),
    ]
    run, limits, _ = await run_of(chain, block, RICH, steps, watch=[(RICH, usdc)])
    assert (run.status, run.reverted_step) == ("reverted", 1)
    assert run.revert_reason
    assert limits == (None, None, None)
    changing = [step(erc20.APPROVE, usdt, SPENDER, 5), step(erc20.APPROVE, usdt, SPENDER, 6)]
    run, _, _ = await run_of(chain, block, RICH, changing)
    assert (run.status, run.reverted_step) == ("reverted", 1)


async def test_a_missing_balance_is_assumed_and_named(fresh_devnet, chain):
    block = await chain.head(fresh=True)
    for row in fresh_devnet.chains["devnet"].tokens:
        steps = [step(erc20.TRANSFER, row.address, RICH, 777)]
        lacking, _, _ = await run_of(chain, block, NOBODY, steps)
        assert lacking.status == "reverted"
        run, limits, _ = await run_of(
            chain, block, NOBODY, steps, watch=[(NOBODY, row.address)], needs={row.address: 777}
        )
        assert run.status == "success", row.symbol
        assert run.assumptions == (f"balance:{row.address}",)
        assert run.asset_changes == (AssetChange(NOBODY, row.address, -777),)
        assert limits[0]
        sent = chain.requests
        await run_of(chain, block, SPENDER, steps, needs={row.address: 777})
        assert chain.requests == sent + 1, "the slot of a token is looked for once"


async def test_missing_native_coin_is_assumed_and_named(chain):
    block = await chain.head()
    steps = [payment(SPENDER, 10**18)]
    lacking, _, _ = await run_of(chain, block, NOBODY, steps)
    assert lacking.status == "reverted"
    assert "native coin" in lacking.revert_reason
    run, _, _ = await run_of(chain, block, NOBODY, steps, watch=[(SPENDER, NATIVE)], needs={NATIVE: 10**18})
    assert (run.status, run.assumptions) == ("success", ("native_balance",))
    assert run.asset_changes == (AssetChange(SPENDER, NATIVE, 10**18),)


async def test_a_permit2_signature_is_assumed_and_named(chain, devnet):
    usdc = token(devnet, "USDC")
    block = await chain.head()
    expiration = block.timestamp + 1200
    permit = permit2.PermitSingle(usdc, 500, expiration, 0, SPENDER, expiration)
    steps = [step(permit2.PERMIT, permit2.ADDRESS, RICH, permit.as_args(), bytes(65))]
    unsigned, _, _ = await run_of(chain, block, RICH, steps)
    assert unsigned.status == "reverted"
    run, _, trace = await run_of(chain, block, RICH, [*steps, payment(SPENDER, 1)], signatures_assumed=True)
    assert (run.status, run.assumptions) == ("success", ("permit2_signature",))
    assert trace.approvals == (ApprovalEvent(0, usdc, RICH, SPENDER, 500),)


async def test_the_typed_data_is_what_permit2_accepts(fresh_devnet, chain):
    from eth_account import Account

    signer = Account.from_key("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
    assert signer.address == RICH
    usdc = token(fresh_devnet, "USDC")
    block = await chain.head(fresh=True)
    permit = permit2.PermitSingle(usdc, 500, block.timestamp + 1200, 0, SPENDER, block.timestamp + 1200)
    signature = bytes(signer.sign_typed_data(full_message=permit.typed_data(31337)).signature)
    steps = [step(permit2.PERMIT, permit2.ADDRESS, RICH, permit.as_args(), signature)]
    run, limits, _ = await run_of(chain, block, RICH, steps)
    assert (run.status, run.assumptions) == ("success", ())
    assert (await execute(fresh_devnet, steps, gas=limits))[0]["status"] == "0x1"
    granted = await chain.call(
        permit2.ADDRESS, permit2.ALLOWANCE.encode([RICH, usdc, SPENDER]), block=await chain.head(fresh=True)
    )
    assert permit2.ALLOWANCE.decode_output(granted) == (500, permit.expiration, 1)


async def test_a_balance_that_cannot_be_assumed_is_said_so(chain, devnet):
    block = await chain.head()
    multicall = "0xcA11bde05977b3631167028862bE2a173976CA11"
    run, limits, _ = await run_of(chain, block, NOBODY, [payment(RICH, 0)], needs={multicall: 5})
    assert (run.status, run.skip_reason) == ("skipped", "balance_not_assumable")
    assert limits == (None,)


async def test_a_remembered_slot_that_went_wrong_is_forgotten(chain, devnet):
    usdc = token(devnet, "USDC")
    block = await chain.head()
    assert await assume_balance(chain, usdc, NOBODY, 5, block)
    right = chain.balance_slots[usdc]
    chain.balance_slots[usdc] = replace(right, base=right.base + 40)
    needs = {usdc: 777}
    run, _, _ = await run_of(chain, block, NOBODY, [payment(RICH, 0)], needs=needs)
    assert run.status == "skipped"
    run, _, _ = await run_of(chain, block, NOBODY, [payment(RICH, 0)], needs=needs)
    assert run.status == "success"
    assert chain.balance_slots[usdc] == right


async def test_slots_are_found_without_access_lists_too(open_chain, devnet):
    def rewrite(method, answer):
        missing = {"error": {"code": -32601, "message": "the method does not exist"}}
        return missing if method == "eth_createAccessList" else answer

    chain = open_chain(rewrite)
    assert await assume_balance(chain, token(devnet, "DAI"), NOBODY, 5, await chain.head())


def test_slot_layouts():
    # keccak256(abi.encode(0, 0)) and its Vyper order are the same word here
    zero = "0xad3228b676f7d3cd4284a5443f17f1962b36e491b30a40b2405849e597ba5fb5"
    assert BalanceSlot(NOBODY, 0).of(NATIVE) == BalanceSlot(NOBODY, 0, vyper=True).of(NATIVE) == zero
    assert BalanceSlot(NOBODY, 1).of(NATIVE) != BalanceSlot(NOBODY, 1, vyper=True).of(NATIVE)


@pytest.mark.parametrize("code", [-32601, -32004])
async def test_a_node_without_simulation_is_skipped_and_not_asked_again(open_chain, code):
    def rewrite(method, answer):
        return {"error": {"code": code, "message": "no"}} if method == "eth_simulateV1" else answer

    chain = open_chain(rewrite)
    block = await chain.head()
    for _ in range(2):
        run, limits, trace = await run_of(chain, block, RICH, [payment(NOBODY, 1)])
        assert (run.status, run.skip_reason) == ("skipped", "node_has_no_simulation")
        assert (limits, trace.transfers) == ((None,), ())
        sent = chain.requests
    await run_of(chain, block, RICH, [payment(NOBODY, 1)])
    assert chain.requests == sent


async def test_a_node_that_could_a_moment_ago_has_failed_and_nothing_goes_unrun(open_chain):
    gone = []

    def rewrite(method, answer):
        missing = {"error": {"code": -32601, "message": "no"}}
        return missing if gone and method == "eth_simulateV1" else answer

    chain, now = open_chain(rewrite), [1000.0]
    chain._clock = lambda: now[0]
    block = await chain.head()
    assert (await run_of(chain, block, RICH, [payment(NOBODY, 1)]))[0].status == "success"
    gone.append(True)
    for _ in range(2):
        with pytest.raises(UpstreamError) as refusal:
            await run_of(chain, block, RICH, [payment(NOBODY, 1)])
        assert refusal.value.retryable
    gone.clear()
    assert (await run_of(chain, block, RICH, [payment(NOBODY, 1)]))[0].status == "success"
    gone.append(True)
    now[0] += 601  # so long without it, it has not got it
    assert (await run_of(chain, block, RICH, [payment(NOBODY, 1)]))[0].status == "skipped"


def word(value):
    return f"0x{value:064x}"


async def test_what_the_logs_of_other_standards_say(open_chain):
    me, other, operator = int(RICH, 16), int(NOBODY, 16), int(SPENDER, 16)
    transfer, approval, everything = (
        event_topic(signature)
        for signature in (
            "Transfer(address,address,uint256)",
            "Approval(address,address,uint256)",
            "ApprovalForAll(address,address,bool)",
        )
    )
    permit2_approval = event_topic("Approval(address,address,address,uint160,uint48)")
    all_words = "0x" + "".join(word(value)[2:] for value in (me, other, 5))
    logs = [
        ([transfer, word(me), word(other), word(123)], "0x"),  # ERC-721: the last is the token's id
        ([transfer], all_words),  # nothing indexed, as in tokens older than EIP-20's final text
        ([approval, word(me), word(operator), word(123)], "0x"),
        ([approval, word(me), word(0), word(123)], "0x"),  # ERC-721: nobody, so a revocation
        ([everything, word(me), word(operator)], word(1)),
        ([everything, word(me), word(operator)], word(0)),
        ([permit2_approval, word(me), word(other), word(operator)], all_words),  # not by Permit2: no grant
        ([transfer, word(me)], "0x"),
        ([], "0x"),
    ]

    def rewrite(method, answer):
        if method == "eth_simulateV1":
            for topics, data in logs:
                entry = {"address": ODD, "topics": topics, "data": data}
                answer["result"][0]["calls"][1]["logs"].append(entry)
        return answer

    chain = open_chain(rewrite)
    run, _, trace = await run_of(chain, await chain.head(), RICH, [payment(NOBODY, 0)])
    assert run.status == "success"
    odd = checksum(ODD)
    sent = [Transfer(0, odd, RICH, NOBODY, 1), Transfer(0, odd, RICH, NOBODY, 5)]
    assert [each for each in trace.transfers if each.token == odd] == sent
    assert [(each.spender, each.amount) for each in trace.approvals] == [
        (checksum(SPENDER), 1),
        (NATIVE, 0),
        (checksum(SPENDER), MAX_UINT256),
        (checksum(SPENDER), 0),
    ]


async def test_a_token_that_does_not_answer_has_no_delta(chain, devnet):
    usdc = token(devnet, "USDC")
    run, _, _ = await run_of(
        chain,
        await chain.head(),
        RICH,
        [payment(NOBODY, 1)],
        watch=[(RICH, NOBODY), (RICH, usdc), (RICH, usdc)],
        allowances=[(NOBODY, RICH, SPENDER)],
    )
    assert run.asset_changes == (AssetChange(RICH, usdc, 0),)
    assert run.allowance_changes == ()


async def test_the_answer_in_geths_shape(open_chain):
    """execution-apis, eth_simulateV1: revert data in ``error.data``, ``maxUsedGas`` beside ``gasUsed``."""

    def rewrite(method, answer):
        if method != "eth_simulateV1":
            return answer
        reads = {"status": "0x1", "returnData": "0x", "gasUsed": "0x1", "maxUsedGas": "0x1", "logs": []}
        good = {**reads, "gasUsed": "0x5208", "maxUsedGas": "0x6000"}
        data = "0x4e487b71" + f"{0x11:064x}"
        error = {"code": 3, "message": "execution reverted", "data": data}
        bad = {"status": "0x0", "returnData": "0x", "gasUsed": "0x5300", "logs": [], "error": error}
        return {"result": [{"number": "0x18", "calls": [reads, good, bad, reads]}]}

    chain = open_chain(rewrite)
    block = await chain.head()
    run, _, _ = await run_of(chain, block, RICH, [payment(NOBODY, 1), payment(NOBODY, 1)])
    assert (run.status, run.reverted_step) == ("reverted", 1)
    assert run.revert_reason == "arithmetic overflow or underflow (panic 0x11)"
    assert run.gas_used == (0x5208, 0x5300)


async def test_what_one_contract_keeps_many_kinds_of_is_seen_to_move_and_to_be_granted(devnet, chain):
    """ERC-6909, on the v4 PoolManager; its events are not those of ERC-20."""
    manager = devnet.chains["devnet"].contracts["PoolManager"]
    steps = [
        step(function("transfer(address receiver, uint256 id, uint256 amount)"), manager, NOBODY, 7, 0),
        step(function("setOperator(address operator, bool approved)"), manager, SPENDER, True),
        step(function("approve(address spender, uint256 id, uint256 amount)"), manager, SPENDER, 7, 9),
    ]
    run, _, trace = await run_of(chain, await chain.head(), RICH, steps)
    assert run.status == "success"
    assert trace.transfers == ()
    assert [(item.step, item.token, item.sender, item.recipient) for item in trace.items] == [
        (0, manager, RICH, NOBODY)
    ]
    assert [(grant.step, grant.token, grant.owner, grant.spender) for grant in trace.approvals] == [
        (1, manager, RICH, SPENDER),
        (2, manager, RICH, SPENDER),
    ]
    assert all(grant.amount for grant in trace.approvals)


def test_items_of_erc1155_are_seen_to_move():
    """Topics as EIP-1155 events have them on any chain."""
    single = "0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62"
    batch = "0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb"
    parties = tuple("0x" + account[2:].lower().rjust(64, "0") for account in (SPENDER, RICH, NOBODY))
    logs = [Log(SPENDER, (topic, *parties), bytes(64)) for topic in (single, batch)]
    assert [(item.sender, item.recipient) for item in trace_of([logs]).items] == [(RICH, NOBODY)] * 2
