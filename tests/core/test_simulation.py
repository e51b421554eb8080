"""The simulation against what anvil then really does."""

import asyncio

import pytest
from devnet_nodes import NOBODY, RICH, token
from quoteway.errors import UpstreamError
from quoteway.evm import erc20
from quoteway.evm.abi import function
from quoteway.evm.calls.meaning import CLEARER
from quoteway.evm.calls.router_commands import EXECUTE, Program, dialect
from quoteway.evm.chain import SimulatedCall, SimulatedResult
from quoteway.models import MAX_UINT256, NATIVE, AssetChange, Preview
from quoteway.simulation.run import MAX_CLEARING, Segment, gas_limit, simulate
from quoteway.simulation.trace import Transfer
from simulated_runs import ODD, SPENDER, execute, payment, run_of, step

# Clears slots 1 to 40: PUSH1 40, JUMPDEST PUSH1 0 DUP2 SSTORE PUSH1 1 SWAP1 SUB DUP1 PUSH1 2 JUMPI, STOP
CLEARS_STORAGE = "0x60285b6000815560019003806002570000"


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
        reads = [erc20.balance_read(account, asset) for account, asset in watch]
        return [erc20.word(output) for output in await chain.call_many(reads, block=at)]

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


async def test_a_run_does_not_count_what_is_cleared_before_it(fresh_devnet, chain):
    usdc, router = token(fresh_devnet, "USDC"), fresh_devnet.chains["devnet"].contracts["UniversalRouter"]

    def swept(to):
        sweep = Program(dialect("2.0").command)
        sweep.add("SWEEP", usdc, to, 0)
        return step(function(EXECUTE), router, sweep.bytes, sweep.inputs, MAX_UINT256)

    async def gains(*clearing):
        sent, watch = chain.requests, [(NOBODY, usdc), (CLEARER, usdc)]
        run, limits, trace = await run_of(chain, block, RICH, [swept(NOBODY)], watch=watch, clearing=clearing)
        assert chain.requests == sent + 1
        assert (run.status, len(run.gas_used), len(limits)) == ("success", 1, 1)
        return [change.delta for change in run.asset_changes], [each.amount for each in trace.transfers]

    await execute(fresh_devnet, [step(erc20.TRANSFER, usdc, router, 5)])
    block = await chain.head(fresh=True)
    assert await gains() == ([5, 0], [5])
    failing = usdc, erc20.TRANSFER.encode([NOBODY, 1])
    assert await gains(failing) == ([5, 0], [5])
    assert await gains(failing, (router, swept(CLEARER).data)) == ([0, 0], [])
    many = [(usdc, erc20.TRANSFER.encode([NOBODY, amount])) for amount in range(1, MAX_CLEARING + 1)]
    assert await gains(*many, (router, swept(CLEARER).data)) == ([5, 0], [5]), "no more than so many"


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
    assert gas_limit(SimulatedResult(True, 100_000, b""), 0) == 137_500
    assert gas_limit(SimulatedResult(True, 100_000, b"", peak_gas=110_000), 0) == 121_000
    assert gas_limit(SimulatedResult(True, 100_000, b"", peak_gas=100_000), 2) == 147_620
    assert gas_limit(SimulatedResult(True, 15_000_000, b""), 0) == 1 << 24
    assert gas_limit(SimulatedResult(True, 20_000_000, b""), 0) == 20_000_000


# NUMBER TIMESTAMP, each stored in memory and returned
CLOCK = "0x4360005242602052" + "60406000f3"


async def test_a_run_is_in_the_next_block_a_block_time_later(fresh_devnet, chain):
    """anvil by itself stays in the given block, where contracts skip what they do once per block."""
    await asyncio.to_thread(fresh_devnet.rpc(), "anvil_setCode", ODD, CLOCK)
    block = await chain.head(fresh=True)
    (result,) = await chain.simulate([SimulatedCall(RICH, ODD)], block=block)
    number, time_s = (int.from_bytes(result.output[at : at + 32]) for at in (0, 32))
    assert (number, time_s) == (block.number + 1, block.timestamp + 12)


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
    chain.clock = lambda: now[0]
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
