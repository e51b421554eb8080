"""Orders are solved in processes of their own, which nothing trusts, waits for too long or leaves behind."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import solver_functions
from quoteway_amm import (
    FREE,
    UNISWAP_GAS,
    BandsExceeded,
    ConcentratedPool,
    V2Pool,
    sqrt_ratio_at_tick,
)
from quoteway_router import solver_process, solver_processes, solver_worker
from quoteway_router.solver_messages import Order, Task
from quoteway_router.solver_process import Snapshot
from quoteway_router.solver_processes import SolverProcesses

WETH, USDC, DAI = "0xweth", "0xusdc", "0xdai"
AMOUNT = 10**18 + 7
COMMON_ENDINGS = (
    "it did not answer in time ",
    "it ended with status 3",
)
LONG_S = 20.0
"""A deadline that no answer misses, on a busy machine neither."""


def pair(number, reserve=10**24):
    return V2Pool(f"0xpair{number}", WETH, USDC, reserve + number, 3 * reserve)


def range_pool(pool_id="0xpool", word_lo=-1):
    """Returns a pool at tick 30 with as many tokens on each side, as far as its words are known."""
    ticks = tuple((60 * at, 10**18 if at <= 0 else -(10**18)) for at in range(-19, 21) if at >= 256 * word_lo)
    price = sqrt_ratio_at_tick(30)
    return ConcentratedPool("v3", pool_id, WETH, USDC, 3000, 60, price, 30, 20 * 10**18, ticks, word_lo, 0)


def snapshot_of(*pools, block="0xblock"):
    return Snapshot(1, block, pools or (pair(1), range_pool(), pair(2)))


def order(behaviour="splits", amount_in=AMOUNT, gas_price=FREE):
    return Order(behaviour, WETH, USDC, amount_in, UNISWAP_GAS, gas_price, 3, 8)


def children():
    """Returns the ids of this process's solver processes."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == os.getpid() and b"solver_worker" in command:
            found.append(int(entry.name))
    return found


@pytest.fixture
async def solvers():
    async with SolverProcesses(1, "solver_functions:obeys", memory_mb=256) as solvers:
        yield solvers
    assert not children()


async def until(condition, timeout_s=20.0):
    async with asyncio.timeout(timeout_s):
        while not condition():
            await asyncio.sleep(0.01)


async def restarted(solvers):
    """Waits until the only process is idle again."""
    await until(lambda: solvers._idle == 1)


async def test_a_flow_is_solved_in_another_process_on_the_pools_that_it_was_sent(solvers):
    snapshot = snapshot_of()
    solved = await solvers.solve(snapshot, order(), LONG_S)
    expected = solver_functions.splits(
        snapshot.pools, WETH, WETH, USDC, AMOUNT, UNISWAP_GAS, FREE, max_hops=3, max_legs=8, deadline_s=1
    )
    assert solved.hops == expected.flow.legs
    assert all(hop.pool is pool for hop, pool in zip(solved.hops, snapshot.pools, strict=True))
    assert solved.amount_out == sum(hop.amount_out for hop in solved.hops)
    told = dict(solved.optimality)
    assert (told["bound"], told["price"], told["gap_bps"]) == (2**200, "1/3", 0.5)
    assert told["pid"] in children()
    assert told["niceness"] > os.nice(0)
    assert 0.5 * LONG_S < told["deadline_s"] <= 0.9 * LONG_S


async def test_the_server_never_imports_the_solver_or_its_libraries(tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("")
    (tmp_path / "solver_of_libraries.py").write_text("import numpy\nfrom solver_functions import splits\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    async with SolverProcesses(1, "solver_of_libraries:splits") as solvers:
        assert await solvers.solve(snapshot_of(), order(), LONG_S)
    assert not {"numpy", "solver_of_libraries"} & (set(sys.modules) - before)


async def test_a_pool_is_sent_once(solvers, monkeypatch):
    sent = []
    encode = solver_process.encode_message
    monkeypatch.setattr(solver_process, "encode_message", lambda value: sent.append(value) or encode(value))
    a, b, c = pair(1), range_pool(), pair(3)
    snapshots = snapshot_of(a, b), snapshot_of(c, a, b, block="0xnext"), snapshot_of(a, c, block="0xlast")
    for snapshot, new in zip(snapshots, ([a, b], [c], []), strict=True):
        for again in (False, True):
            sent.clear()
            solved = await solvers.solve(snapshot, order(), LONG_S)
            assert {hop.pool.id for hop in solved.hops} == {pool.id for pool in snapshot.pools}
            *messages, task = sent
            pools = [pool for message in messages for pool in message.pools.values()]
            assert pools == ([] if again else new)
            assert (task.snapshot is None) is again


async def test_a_process_keeps_a_bounded_number_of_pools(solvers, monkeypatch):
    monkeypatch.setattr(solver_process, "POOLS_KEPT", 3)
    for block, (new, kept) in enumerate([(2, 2), (2, 3), (6, 6), (1, 3), (2, 3)]):
        snapshot = snapshot_of(*(pair(10 * block + at) for at in range(new)))
        solved = await solvers.solve(snapshot, order("counts"), LONG_S)
        assert {hop.pool for hop in solved.hops} == set(snapshot.pools)
        assert solved.optimality["bound"] == kept


async def test_pools_that_no_snapshot_had_for_a_while_are_forgotten(solvers, monkeypatch):
    stays = pair(1)
    for kept_s, pools, kept in (
        (300.0, [stays, pair(2), pair(3)], 3),
        (300.0, [stays, pair(4)], 4),
        (0.0, [stays, pair(5)], 2),
        (0.0, [pair(2), stays], 2),
    ):
        monkeypatch.setattr(solver_process, "POOLS_KEPT_S", kept_s)
        solved = await solvers.solve(snapshot_of(*pools), order("counts"), LONG_S)
        assert [hop.pool for hop in solved.hops] == pools
        assert solved.optimality["bound"] == kept


async def test_a_solver_may_keep_what_it_makes_of_a_snapshot():
    first, second = snapshot_of(), snapshot_of(block="0xnext")
    async with SolverProcesses(1, "solver_functions:KeepsTheSnapshot") as solvers:
        for snapshot, seen in ((first, 1), (first, 1), (second, 2), (second, 2), (first, 3)):
            solved = await solvers.solve(snapshot, order(), LONG_S)
            assert solved.optimality["bound"] == seen


async def test_a_snapshot_stays_the_same_object_while_orders_on_others_come_between(monkeypatch):
    monkeypatch.setattr(solver_process, "POOLS_KEPT", 2)
    first, second, third = (snapshot_of(pair(number)) for number in range(3))
    async with SolverProcesses(1, "solver_functions:CountsSnapshots") as solvers:
        # The third takes the place of the first, whose pool is dropped: it comes as another object.
        for snapshot, seen in ((first, 1), (second, 2), (first, 2), (second, 2), (third, 3), (first, 4)):
            solved = await solvers.solve(snapshot, order(), LONG_S)
            assert solved.optimality["bound"] == seen
            assert [hop.pool for hop in solved.hops] == list(snapshot.pools)


def test_a_worker_keeps_a_bounded_number_of_snapshots(monkeypatch):
    monkeypatch.setattr(solver_worker, "SNAPSHOTS_KEPT", 2)
    given = []
    worker = solver_worker.Worker(lambda pools, *_, **__: given.append(pools))
    worker.take({number: pair(number) for number in range(3)})
    for keys in ([0], [1], [0], None, [2], [0], [1]):
        worker.answer(Task(keys, (), order(), LONG_S))
    first, second, again, same, _, kept, anew = given
    assert first is again is same is kept
    assert anew == second
    assert anew is not second


@pytest.mark.slow
async def test_many_pools_arrive_though_they_take_longer_than_the_deadline(solvers, caplog):
    first = await solvers.solve(snapshot_of(), order(), LONG_S)
    many = snapshot_of(*(range_pool(f"0x{number}") for number in range(3_000)))
    assert await solvers.solve(many, order("fails"), 0.01) is None
    second = await solvers.solve(many, order(), LONG_S)
    assert second.optimality["pid"] == first.optimality["pid"]
    assert "the solver failed" not in caplog.text, "an order is not begun after its time"


@pytest.mark.slow
async def test_a_pool_that_cannot_be_sent_costs_its_own_orders_only(solvers, caplog):
    unsendable = range_pool()
    object.__setattr__(unsendable, "kind", lambda: None)
    await restarted(solvers)
    assert await solvers.solve(snapshot_of(unsendable), order(), LONG_S) is None
    await until(lambda: "Can't pickle" in caplog.text)
    await restarted(solvers)
    assert await solvers.solve(snapshot_of(), order(), LONG_S)


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param(ending, marks=() if ending in COMMON_ENDINGS else pytest.mark.slow)
        for ending in solver_functions.ENDINGS
    ],
)
async def test_a_process_that_fails_costs_one_order_and_is_started_again(solvers, caplog, ending):
    await restarted(solvers)
    snapshot = snapshot_of()
    asked = time.monotonic()
    deadline_s = 0.3 if "in time" in ending else LONG_S
    assert await solvers.solve(snapshot, order(ending), deadline_s) is None
    assert time.monotonic() - asked < deadline_s + 5
    await until(lambda: ending.strip() in caplog.text)
    assert "chain 1, block 0xblock" in caplog.text
    assert await solvers.solve(snapshot, order(), LONG_S) is None, "it must not be waited for"
    await restarted(solvers)
    assert await solvers.solve(snapshot, order(), LONG_S)
    assert str(AMOUNT) not in caplog.text


async def test_a_late_answer_is_not_waited_for_and_leaves_the_process_running(solvers, monkeypatch):
    monkeypatch.setattr(solver_process, "GRACE_S", LONG_S)
    snapshot = snapshot_of()
    first = await solvers.solve(snapshot, order(), LONG_S)
    assert await solvers.solve(snapshot, order("is_late"), 0.3) is None
    solvers._typical_s = 0.0
    second = await solvers.solve(snapshot, order(), LONG_S)
    assert second.optimality["pid"] == first.optimality["pid"]


async def test_a_function_that_raises_is_named_without_the_request(solvers, caplog):
    for _ in range(3):
        assert await solvers.solve(snapshot_of(), order("fails"), LONG_S) is None
    assert caplog.text.count("the solver failed on chain 1: ValueError in solver_functions.py:") == 1
    assert str(AMOUNT) not in caplog.text
    assert WETH not in caplog.text


async def test_what_a_library_prints_is_no_answer(solvers):
    assert await solvers.solve(snapshot_of(), order("prints"), LONG_S)
    assert await solvers.solve(snapshot_of(), order("finds_nothing"), LONG_S) is None


async def test_missing_ticks_are_told_of_the_own_pools():
    async with SolverProcesses(1, "solver_functions:takes_the_best_path") as solvers:
        narrow, other = range_pool("0xnarrow", word_lo=0), V2Pool("0xpair", WETH, USDC, 10**19, 10**19)
        with pytest.raises(BandsExceeded) as raised:
            await solvers.solve(snapshot_of(other, narrow), order(None, 10**19), LONG_S)
    (band,) = raised.value.exceeded
    assert band.pool is narrow
    with pytest.raises(type(band)) as own:
        narrow.exact_in(True, 10**19)
    members = ("zero_for_one", "tick", "amount_in", "amount_out", "sqrt_price_x96")
    assert [getattr(band, name) for name in members] == [getattr(own.value, name) for name in members]


async def test_orders_that_would_wait_too_long_are_not_queued(solvers):
    snapshot = snapshot_of()
    await solvers.solve(snapshot, order(), LONG_S)
    hangs = order("it did not answer in time")
    hanging = [asyncio.create_task(solvers.solve(snapshot, hangs, 2.0))]
    await until(lambda: not solvers._idle)
    solvers._typical_s = 1.1
    assert await is_refused_at_once(solvers.solve(snapshot, order(), 1.0)), "the one before it takes longer"
    solvers._typical_s = 0.0
    hanging += [asyncio.create_task(solvers.solve(snapshot, hangs, 2.0)) for _ in range(8)]
    await asyncio.sleep(0)
    assert await is_refused_at_once(solvers.solve(snapshot, order(), 1.0)), "the queue is full"
    assert await asyncio.gather(*hanging) == [None] * 9


async def is_refused_at_once(solving):
    task = asyncio.create_task(solving)
    await asyncio.sleep(0)
    return task.done() and task.result() is None


async def test_closing_ends_orders_and_processes_at_once():
    solvers = SolverProcesses(2, "solver_functions:obeys")
    snapshot = snapshot_of()
    assert await solvers.solve(snapshot, order(), LONG_S), "the first order starts them"
    await until(lambda: len(children()) == 2)
    waiting = [
        asyncio.create_task(solvers.solve(snapshot, order("it did not answer in time "), LONG_S))
        for _ in range(10)
    ]
    await asyncio.sleep(0.1)
    began = time.monotonic()
    await solvers.close()
    assert await asyncio.gather(*waiting) == [None] * 10
    assert time.monotonic() - began < LONG_S / 2
    assert not children()
    assert await solvers.solve(snapshot, order(), LONG_S) is None
    assert not children()


async def test_the_first_order_waits_for_the_first_start(tmp_path, monkeypatch):
    (tmp_path / "slow_to_load.py").write_text(
        "import time\ntime.sleep(2)\nfrom solver_functions import splits\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(solver_processes, "FIRST_START_S", LONG_S)
    async with SolverProcesses(1, "slow_to_load:splits") as solvers:
        assert await solvers.solve(snapshot_of(), order(), 1.8)
    monkeypatch.setattr(solver_processes, "FIRST_START_S", 0.01)
    async with SolverProcesses(1, "slow_to_load:splits") as solvers:
        assert await solvers.solve(snapshot_of(), order(), 0.01) is None


@pytest.mark.slow
async def test_an_idle_process_that_dies_is_replaced_before_the_next_order(solvers):
    first = await solvers.solve(snapshot_of(), order(), LONG_S)
    pid = first.optimality["pid"]
    os.kill(pid, signal.SIGKILL)
    await until(lambda: {*children()} - {pid} and solvers._idle)
    assert await solvers.solve(snapshot_of(), order(), LONG_S)


async def test_no_process_runs_when_there_are_none_to_use(caplog, monkeypatch):
    async with SolverProcesses(0) as none:
        assert await none.solve(snapshot_of(), order(), LONG_S) is None
        assert not children()
    async with SolverProcesses(1, "no_such_module:solve") as missing:
        await until(lambda: "no_such_module:solve cannot be loaded: ModuleNotFoundError" in caplog.text)
        assert await missing.solve(snapshot_of(), order(), LONG_S) is None
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    async with SolverProcesses(1) as unstartable:
        await until(lambda: "it cannot be started: No such file or directory" in caplog.text)
        assert await unstartable.solve(snapshot_of(), order(), LONG_S) is None


async def test_restarts_come_later_each_time(caplog, monkeypatch):
    monkeypatch.setattr(solver_processes, "FIRST_BACKOFF_S", 0.01)
    monkeypatch.setattr(solver_processes, "MAX_BACKOFF_S", 0.03)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    async with SolverProcesses(1):
        await until(lambda: len(caplog.records) >= 4)
    assert [record.args[0] for record in caplog.records[:4]] == [0.01, 0.02, 0.03, 0.03]


PARENT = """
    import asyncio
    import test_solver_processes as tests

    async def main():
        solvers = tests.SolverProcesses(2, "solver_functions:obeys")
        snapshot = tests.snapshot_of()
        solved = await solvers.solve(snapshot, tests.order(), 20)
        asyncio.create_task(solvers.solve(snapshot, tests.order("it did not answer in time "), 1.0))
        await asyncio.sleep(0.2)
        print(*tests.children(), flush=True)
        await asyncio.sleep(60)

    asyncio.run(main())
"""


@pytest.mark.slow
def test_processes_end_with_a_server_that_was_killed():
    """Also one that is in a loop of C code."""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PARENT)], stdout=subprocess.PIPE, env=environ, text=True
    )
    try:
        pids = parent.stdout.readline().split()
        assert len(pids) == 2
    finally:
        parent.kill()
        parent.communicate()
    until_s = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < until_s
        time.sleep(0.02)
