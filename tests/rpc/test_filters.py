"""Polling filters over a chain that grows and is reorganised: no gap and nothing twice."""

import asyncio

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from quoteway.engine.quote_tokens import KeyRing
from quoteway.errors import InvalidRequest
from quoteway.web.rpc import filters as rules
from quoteway.web.rpc.answers import FilterNotFound
from quoteway.web.rpc.cursors import Cursors, MemoryCursors
from reorganised_chain import CHAIN, TOPIC, ChainModel, Client, Clock, changes, new_filter, worker


async def test_the_logs_since_the_last_poll(clock, chain):
    filters = worker(clock)
    filter_id = await new_filter(filters, chain)
    assert int(filter_id, 16) > 0
    assert filter_id == hex(int(filter_id, 16)), "clients may take it for a quantity"
    assert await changes(filters, chain, filter_id) == []
    chain.mine(2)
    assert await changes(filters, chain, filter_id) == chain.blocks[-1]["logs"]
    chain.asked.clear()
    assert await changes(filters, chain, filter_id) == []
    assert chain.asked == ["eth_getBlockByNumber"], "nothing new costs one call"
    chain.mine(1), chain.mine(0), chain.mine(3)
    assert await changes(filters, chain, filter_id) == chain.logs_after(6)


async def test_criteria(clock, chain):
    filters = worker(clock)
    ours = await new_filter(filters, chain, {"topics": [TOPIC], "fromBlock": "0x7", "toBlock": "0x8"})
    others = await new_filter(filters, chain, {"topics": ["0x" + "cc" * 32]})
    for _ in range(5):
        chain.mine(1)
    assert await changes(filters, chain, others) == []
    assert [log["blockNumber"] for log in await changes(filters, chain, ours)] == ["0x7", "0x8"]


async def test_blocks(clock, chain):
    filters = worker(clock)
    filter_id = await filters.answer(chain.ask, CHAIN, "eth_newBlockFilter", [])
    for _ in range(3):
        chain.mine(0)
    assert await changes(filters, chain, filter_id) == [block["hash"] for block in chain.blocks[-3:]]
    chain.drop(2)
    for _ in range(3):
        chain.mine(0)
    assert await changes(filters, chain, filter_id) == [block["hash"] for block in chain.blocks[-3:]]
    with pytest.raises(FilterNotFound):
        await filters.answer(chain.ask, CHAIN, "eth_getFilterLogs", [filter_id])


async def test_logs_of_dropped_blocks_are_given_as_removed(clock, chain):
    filters = worker(clock)
    filter_id = await new_filter(filters, chain)
    for _ in range(3):
        chain.mine(1)
        await changes(filters, chain, filter_id)
    dropped = chain.logs_after(6)
    chain.drop(2)
    for _ in range(3):
        chain.mine(1)
    removed = [{**log, "removed": True} for log in reversed(dropped)]
    assert await changes(filters, chain, filter_id) == removed + chain.logs_after(6)


async def test_a_node_behind_gives_nothing_and_loses_nothing(clock, chain):
    filters = worker(clock)
    filter_id = await new_filter(filters, chain)
    chain.mine(1)
    await changes(filters, chain, filter_id)
    newest = chain.blocks.pop()
    assert await changes(filters, chain, filter_id) == []
    chain.blocks.append(newest)
    chain.mine(1)
    assert await changes(filters, chain, filter_id) == chain.blocks[-1]["logs"]


async def test_a_node_of_another_fork_answers_the_headers(clock, chain):
    filters = worker(clock)
    filter_id = await filters.answer(chain.ask, CHAIN, "eth_newBlockFilter", [])
    fork = ChainModel()
    fork.made = chain.made
    fork.blocks = list(chain.blocks)
    for _ in range(3):
        chain.mine(0), fork.mine(0)

    async def forked(method, params):
        return await (chain if params[0] == "latest" else fork).ask(method, params)

    assert await filters.answer(forked, CHAIN, "eth_getFilterChanges", [filter_id]) == []
    assert await changes(filters, chain, filter_id) == [block["hash"] for block in chain.blocks[-3:]]


async def test_a_node_of_another_fork_answers_the_logs(clock, chain):
    """The header is of one chain and the logs of another: nothing is given until both are of one."""
    filters, client = worker(clock), Client()
    filter_id = await new_filter(filters, chain)
    chain.mine(1), chain.mine(1)
    fork = ChainModel()
    fork.made = chain.made
    fork.blocks = chain.blocks[:-1]
    fork.mine(2)

    async def forked(method, params):
        return await (fork if method == "eth_getLogs" else chain).ask(method, params)

    assert await filters.answer(forked, CHAIN, "eth_getFilterChanges", [filter_id]) == []
    client.take(await changes(filters, chain, filter_id))
    assert list(client.logs.values()) == chain.logs_after(5)


async def test_a_chain_that_changes_while_it_is_read(clock, chain):
    """Between the header and the logs the newest blocks are replaced: the answer is of one chain."""
    filters, client = worker(clock), Client()
    filter_id = await new_filter(filters, chain)
    chain.mine(1), chain.mine(1)
    turns = 1

    async def turning(method, params):
        nonlocal turns
        if method == "eth_getLogs" and turns:
            turns -= 1
            chain.drop(2)
            chain.mine(2), chain.mine(2)
        return await chain.ask(method, params)

    client.take(await filters.answer(turning, CHAIN, "eth_getFilterChanges", [filter_id]))
    client.take(await changes(filters, chain, filter_id))
    assert list(client.logs.values()) == chain.logs_after(5)


async def test_a_long_way_is_gone_in_pages(clock, chain, monkeypatch):
    monkeypatch.setattr(rules, "CATCH_UP_BLOCKS", 10)
    monkeypatch.setattr(rules, "CATCH_UP_HASHES", 10)
    filters, client = worker(clock), Client()
    logs = await new_filter(filters, chain)
    blocks = await filters.answer(chain.ask, CHAIN, "eth_newBlockFilter", [])
    for _ in range(35):
        chain.mine(1)
    sizes = []
    for _ in range(5):
        found = await changes(filters, chain, logs)
        sizes.append(len(found))
        client.take(found)
        client.take(await changes(filters, chain, blocks))
    assert sizes == [10, 10, 10, 5, 0]
    assert list(client.logs.values()) == chain.logs_after(5)
    assert client.blocks == [block["hash"] for block in chain.blocks[6:]]


# --- ids ----------------------------------------------------------------------------------------------------


async def test_ids_that_are_not_ours(clock, chain):
    filters = worker(clock)
    ours = await new_filter(filters, chain)
    other_key = await new_filter(worker(clock, keys=KeyRing([("a", b"x" * 32)])), chain)
    changed = ours[:-1] + ("0" if ours[-1] != "0" else "1")
    for filter_id in (
        "0x1",
        "",
        5,
        None,
        {},
        "0x",
        "zz",
        changed,
        other_key,
        ours + "00",
        "0x" + "65" * 9_000,
    ):
        with pytest.raises(FilterNotFound):
            await changes(filters, chain, filter_id)
        assert await filters.answer(chain.ask, CHAIN, "eth_uninstallFilter", [filter_id]) is False
    with pytest.raises(FilterNotFound):
        await filters.answer(chain.ask, 2, "eth_getFilterChanges", [ours])


async def test_an_uninstalled_filter_is_gone(clock, chain):
    filters = worker(clock)
    filter_id = await new_filter(filters, chain)
    assert await filters.answer(chain.ask, CHAIN, "eth_uninstallFilter", [filter_id]) is True
    assert await filters.answer(chain.ask, CHAIN, "eth_uninstallFilter", [filter_id]) is False
    with pytest.raises(FilterNotFound):
        await changes(filters, chain, filter_id)


async def test_a_filter_that_is_not_polled_expires(clock, chain):
    filters = worker(clock)
    idle, polled = await new_filter(filters, chain), await new_filter(filters, chain)
    for _ in range(20):
        clock.now += rules.IDLE_S - 10
        assert await changes(filters, chain, polled) == []
    for _ in range(2):
        with pytest.raises(FilterNotFound):
            await changes(filters, chain, idle)


async def test_more_criteria_than_an_id_holds(clock, chain):
    filters = worker(clock)
    fifty = {"address": [f"0x{n:040x}" for n in range(50)]}
    assert await new_filter(filters, chain, fifty)
    with pytest.raises(InvalidRequest, match="use eth_getLogs"):
        await new_filter(filters, chain, {"address": [f"0x{n:040x}" for n in range(500)]})


# --- any history --------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("mine"), st.integers(0, 3)),
        st.tuples(st.just("mine"), st.integers(0, 3)),
        st.tuples(st.just("drop"), st.integers(1, 4)),
        st.tuples(st.just("poll"), st.integers(0, 1)),
    ),
    min_size=10,
    max_size=40,
)


@given(STEPS, st.sampled_from([2, 5, 2_000]))
@example([("mine", 1), ("mine", 1), ("poll", 0), ("drop", 1), ("mine", 1), ("mine", 1), ("poll", 1)], 2_000)
@example([("mine", 1)] * 5 + [("poll", 0)] * 2 + [("drop", 4)] + [("mine", 1)] * 5 + [("poll", 1)] * 3, 2)
def test_a_client_knows_the_chain_from_polls_alone(steps, catch_up):
    async def run():
        clock, chain, client = Clock(), ChainModel(), Client()
        for _ in range(3):
            chain.mine(1)
        memory = MemoryCursors()
        workers = [worker(clock, Cursors(memory)) for _ in range(2)]
        filter_id = await new_filter(workers[0], chain)
        start = len(chain.blocks) - 1
        for step, value in steps:
            if step == "mine":
                chain.mine(value)
            elif step == "drop":
                chain.drop(min(value, len(chain.blocks) - 1 - start))
            else:
                client.take(await changes(workers[value], chain, filter_id))
        while len(chain.blocks) < 60:  # the chain is longer than it ever was
            chain.mine(1)
        for _ in range(60 // catch_up + 2):
            client.take(await changes(workers[0], chain, filter_id))
        known = [(log["blockHash"], log["logIndex"]) for log in chain.logs_after(start)]
        assert sorted(client.logs) == sorted(known)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "CATCH_UP_BLOCKS", catch_up)
        asyncio.run(run())
