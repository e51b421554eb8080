"""Amounts that replicas hold together in one Valkey or Redis: exact, and by the server's clock."""

import asyncio
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quoteway.engine import held_amounts
from quoteway.engine.held_amounts import HeldAmounts, Hold, StoreUnavailable
from shared_server import server_at

pytestmark = pytest.mark.services
HOUR = 3_600
BIG = 2**256 - 1
CLOCK = "redis.call('time')"
ONE_REPLICA = """
import asyncio, sys
from quoteway.engine.held_amounts import HeldAmounts, Hold

async def main():
    amounts = HeldAmounts(sys.argv[1], "desk", 3600)
    hold = [Hold("usdc", 10**30, 40 * 10**30, 3600)]
    asked = (amounts.hold(f"{sys.argv[2]} {n}", 60, b"", hold) for n in range(32))
    print(sum(answer.is_held for answer in await asyncio.gather(*asked)))
    await amounts.close()

asyncio.run(main())
"""


@pytest.fixture
async def store(tmp_path, unused_tcp_port):
    """The URL of a Valkey or Redis server."""
    process = await server_at(unused_tcp_port, tmp_path)
    yield f"redis://127.0.0.1:{unused_tcp_port}/0"
    process.terminate()
    await process.wait()


@pytest.fixture
async def amounts(store):
    made = HeldAmounts(store, "desk", HOUR)
    yield made
    await made.close()


@pytest.fixture
async def server(store):
    from valkey.asyncio import Valkey

    async with Valkey.from_url(store.replace("redis", "valkey", 1)) as client:
        yield client


async def test_replicas_hold_together_no_more_than_the_limit(store):
    """Two processes ask 32 times each at once: of 64 actions exactly the 40 that fit are held."""
    replicas = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", ONE_REPLICA, store, name, stdout=asyncio.subprocess.PIPE
        )
        for name in ("one", "other")
    ]
    held = [int((await replica.communicate())[0]) for replica in replicas]
    assert sum(held) == 40


async def test_an_amount_of_256_bits_is_added_exactly(amounts):
    hold = [Hold("a", BIG - 1, BIG, HOUR)]
    assert (await amounts.hold("1", 0, b"", hold)).is_held
    over = await amounts.hold("2", 0, b"", [Hold("a", 2, BIG, HOUR)])
    assert (over.is_held, over.used) == (False, (BIG - 1,))
    assert (await amounts.hold("2", 0, b"", [Hold("a", 1, BIG, HOUR)])).is_held
    assert (await amounts.hold("3", 0, b"", [Hold("a", 0, BIG, HOUR)])).used == (BIG,)


async def test_an_action_is_held_in_all_its_counters_or_in_none(amounts):
    assert (await amounts.hold("1", 0, b"", [Hold("day", 5, 10, HOUR)])).is_held
    both = [Hold("hour", 5, 10, HOUR), Hold("day", 6, 10, HOUR)]
    answer = await amounts.hold("2", 0, b"", both)
    assert (answer.is_held, answer.used) == (False, (0, 5))
    assert await amounts.held("hour") == []


async def test_an_action_that_is_asked_for_again_counts_once_with_its_first_note(amounts):
    hold = [Hold("a", 6, 10, HOUR)]
    for note in (b"first", b"second"):
        assert (await amounts.hold("1", 0, note, hold)).used == (0,)
    (held,) = await amounts.held("a")
    assert (held.amount, held.note) == (6, b"first")
    assert not (await amounts.hold("2", 0, b"", hold)).is_held
    # A greater amount counts, a smaller one frees nothing.
    assert not (await amounts.hold("1", 0, b"", [Hold("a", 11, 10, HOUR)])).is_held
    assert (await amounts.hold("1", 0, b"", [Hold("a", 10, 10, HOUR)])).is_held
    assert (await amounts.hold("1", 0, b"", [Hold("a", 1, 10, HOUR)])).is_held
    assert (await amounts.held("a"))[0].amount == 10


async def test_only_the_entry_that_was_looked_at_is_released(amounts):
    hold = [Hold("a", 6, 10, HOUR)]
    await amounts.hold("1", 0, b"note", hold)
    (held,) = await amounts.held("a")
    await amounts.hold("1", 500, b"note", hold)  # issued again: it may be executed later now
    assert not await amounts.release("a", held)
    (held,) = await amounts.held("a")
    assert await amounts.release("a", held)
    assert not await amounts.release("a", held)
    assert (await amounts.hold("2", 0, b"", [Hold("a", 10, 10, HOUR)])).is_held


async def test_a_counter_has_a_bounded_number_of_actions(amounts, monkeypatch):
    monkeypatch.setattr(held_amounts, "MOST_HELD", 3)
    hold = [Hold("a", 0, 10, HOUR)]
    assert [(await amounts.hold(str(n), 0, b"", hold)).is_held for n in range(4)] == [True] * 3 + [False]
    assert (await amounts.hold("3", 0, b"", hold)).full
    assert (await amounts.hold("2", 0, b"", hold)).is_held


async def test_counters_are_of_one_deployment_and_do_not_stay_for_ever(store, server, amounts):
    other = HeldAmounts(store, "another", HOUR)
    hold = [Hold("a", 10, 10, HOUR)]
    assert (await amounts.hold("1", 60, b"", hold)).is_held
    assert (await other.hold("2", 60, b"", hold)).is_held
    await other.close()
    ttl_ms = await server.pttl("quoteway/policy/{desk}/counter/a")
    assert HOUR * 1_000 < ttl_ms <= (HOUR + 60) * 1_000
    await amounts.tell("1/0xab", 7, "0x01", 60)
    assert await amounts.told("1/0xab", [6, 7]) == {7: "0x01"}
    assert 0 < await server.ttl("quoteway/policy/{desk}/sent/1/0xab") <= 60


async def test_a_server_that_lost_its_data_is_not_believed(server, amounts, caplog):
    hold = [Hold("a", 10, 10, HOUR)]
    assert (await amounts.hold("1", 0, b"", hold)).is_held
    await server.flushall()
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="lost"):
            await amounts.hold("2", 0, b"", hold)
    assert caplog.text.count("has lost its data") == 1
    # The window passes: the mark of the new data is as old.
    seconds, _ = await server.time()
    await server.set("quoteway/policy/{desk}/mark", (seconds - HOUR) * 1_000)
    assert (await amounts.hold("3", 0, b"", [Hold("b", 10, 10, HOUR)])).is_held


async def test_a_server_that_does_not_answer_is_an_error_soon(unused_tcp_port, caplog):
    async def silent(reader, writer):
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", unused_tcp_port)
    async with server:
        amounts = HeldAmounts(f"redis://:secret@127.0.0.1:{unused_tcp_port}", "desk", HOUR)
        async with asyncio.timeout(20):
            with pytest.raises(StoreUnavailable, match="does not answer"):
                await amounts.hold("1", 0, b"", [Hold("a", 1, 1, HOUR)])
        await amounts.close()
    assert "secret" not in caplog.text


# --- a model ------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("hold"),
            st.integers(0, 5),
            st.integers(0, 20),
            st.sampled_from([0, 1, 10**7, 10**14 - 1, 10**40, BIG // 3]),
            st.sets(st.sampled_from(["a", "b"]), min_size=1),
        ),
        st.tuples(st.just("wait"), st.integers(1, 30)),
    ),
    max_size=30,
)
MOST = {"a": BIG // 2, "b": 3 * 10**40}
WINDOW_S = {"a": 60, "b": 10}


@pytest.fixture
def moved_clock(monkeypatch):
    """The server's clock is a key of the server, which the test moves."""
    assert HeldAmounts._HOLD.count(CLOCK) == 1
    script = HeldAmounts._HOLD.replace(CLOCK, "{redis.call('get', 'now'), 0}")
    monkeypatch.setattr(HeldAmounts, "_HOLD", script)


@pytest.mark.usefixtures("moved_clock")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_it_holds_what_a_simple_model_holds(server, store, steps):
    await server.flushall()
    now, model = 1_700_000_000, {"a": {}, "b": {}}
    await server.set("now", now)
    amounts = HeldAmounts(store, "desk", 60)
    for step in steps:
        if step[0] == "wait":
            now += step[1]
            await server.set("now", now)
            continue
        _, action, left_s, amount, counters = step
        holds = [Hold(name, amount, MOST[name], WINDOW_S[name]) for name in sorted(counters)]
        answer = await amounts.hold(str(action), left_s, b"", holds)
        counting, wanted = {}, {}
        for name in sorted(counters):
            alive = {key: each for key, each in model[name].items() if each[1] > now}
            own_amount, own_end = alive.pop(action, (0, 0))
            wanted[name] = max(amount, own_amount), max(now + left_s + WINDOW_S[name], own_end)
            counting[name] = sum(each for each, _ in alive.values())
        fits = all(counting[name] + wanted[name][0] <= MOST[name] for name in wanted)
        assert (answer.is_held, answer.used) == (fits, tuple(counting.values()))
        if fits:
            for name, entry in wanted.items():
                model[name][action] = entry
    await amounts.close()
