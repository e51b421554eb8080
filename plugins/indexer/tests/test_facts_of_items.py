"""Facts of which one log makes several rows, in every back end."""

from __future__ import annotations

import pytest
from index_rows import CHAIN, POOL, facts
from quoteway_indexer.store import Commit, Condition, IndexedBlock, Select, Span, StoreError, Sum
from quoteway_indexer.tables import FACTS, LOG

TOKENS = (b"\1" * 20, b"\2" * 20, b"\3" * 20)


def changes(*logs, source="dex"):
    """Returns the rows of logs: each is (block, log index, amounts)."""
    rows = [
        {
            "block": block,
            "log_index": index,
            "place": place,
            "pool": POOL,
            "token": TOKENS[place],
            "amount": amount,
        }
        for block, index, amounts in logs
        for place, amount in enumerate(amounts)
    ]
    return {"token_liquidity": facts("token_liquidity", *rows, source=source)}


def kept(store):
    """Returns the rows as (block, log index, amounts by place)."""
    columns = ("block", "log_index", "place", "amount")
    rows = store.fetch(Select("token_liquidity", columns, order=columns[:3]))
    found = {}
    for block, index, place, amount in rows:
        amounts = found.setdefault((block, index), [])
        assert place == len(amounts)
        amounts.append(amount)
    return [(*key, tuple(amounts)) for key, amounts in found.items()]


def test_the_facts_of_items_are_told_apart_by_their_place():
    assert {table.name for table in FACTS.values() if table.key != LOG} == {"pool_token", "token_liquidity"}
    for name in ("pool_token", "token_liquidity"):
        assert FACTS[name].key == (*LOG, "place")


def test_the_rows_of_a_log_are_kept_and_summed(store):
    logs = [(5, 0, (2**200, -1)), (5, 3, (7, 8, -(2**255))), (6, 0, (0,))]
    store.commit(Commit(CHAIN, facts=changes(*logs), read=[Span("dex", 1, 5, 6)]))
    assert kept(store) == logs
    where = (Condition("pool", "=", POOL), Condition("block", "=", 5))
    sums = store.fetch(Sum("token_liquidity", ("token",), ("amount",), where))
    assert sorted(sums) == [
        (TOKENS[0], 2**200 + 7, 2),
        (TOKENS[1], 7, 2),
        (TOKENS[2], -(2**255), 1),
    ]


def test_what_is_committed_twice_is_there_once(store):
    logs = [(5, 0, (1, 2)), (6, 1, (3, 4, 5))]
    commit = Commit(CHAIN, facts=changes(*logs), read=[Span("dex", 1, 5, 6)])
    store.commit(commit)
    store.commit(commit)
    assert kept(store) == logs
    # The same log again, in a commit that does not say what it read.
    store.commit(Commit(CHAIN, facts=changes((6, 1, (30, 40, 50)))))
    assert kept(store) == [logs[0], (6, 1, (30, 40, 50))]


def test_blocks_that_are_read_again_lose_all_rows_of_the_source(store):
    store.commit(Commit(CHAIN, facts=changes((5, 0, (1, 2)), (6, 0, (3, 4, 5))), read=[Span("dex", 1, 5, 6)]))
    other = changes((6, 9, (6, 7)), source="other")
    store.commit(Commit(CHAIN, facts=other, read=[Span("other", 1, 6, 6)]))
    store.commit(Commit(CHAIN, facts=changes((6, 0, (8,))), read=[Span("dex", 2, 6, 6)]))
    assert kept(store) == [(5, 0, (1, 2)), (6, 0, (8,)), (6, 9, (6, 7))]
    store.drop_source(CHAIN, "dex")
    assert kept(store) == [(6, 9, (6, 7))]


def test_a_reorganisation_takes_back_all_rows_of_its_logs(store):
    block = IndexedBlock(6, b"\1" * 32, b"\0" * 32, 72)
    read = [Span("dex", 1, 5, 6)]
    facts_ = changes((5, 0, (1, 2)), (6, 0, (3, 4)))
    store.commit(Commit(CHAIN, facts=facts_, blocks=[block], read=read))
    again = changes((6, 0, (5,)))
    store.commit(Commit(CHAIN, rewind_to=5, facts=again, read=[Span("dex", 1, 6, 6)]))
    assert kept(store) == [(5, 0, (1, 2)), (6, 0, (5,))]


def test_old_rows_are_deleted_by_retention(store):
    store.commit(Commit(CHAIN, facts=changes((5, 0, (1, 2)), (6, 0, (3, 4)))))
    assert store.prune("token_liquidity", 1_700_000_000 + 12 * 6) == 2
    assert kept(store) == [(6, 0, (3, 4))]


def test_two_rows_of_one_item_are_refused(store):
    rows = [{"block": 5, "log_index": 0, "place": place, "pool": POOL} for place in (0, 1, 0)]
    with pytest.raises(StoreError, match="two rows of one item"):
        store.commit(Commit(CHAIN, facts={"token_liquidity": facts("token_liquidity", *rows)}))
    rows = [{"block": 5, "log_index": 0, "pool": POOL}]
    with pytest.raises(StoreError, match="must have a place"):
        store.commit(Commit(CHAIN, facts={"token_liquidity": facts("token_liquidity", *rows)}))
    assert kept(store) == []


def test_a_pool_without_two_tokens_takes_no_prices_with_it(store):
    """Prices come of pools of two tokens: they stay when a source of others is read again."""
    tokens = {"two": {"token0": TOKENS[0], "token1": TOKENS[1]}, "several": {}}
    for index, (source, members) in enumerate(tokens.items()):
        row = {"block": 5, "log_index": index, "pool": bytes([index]) * 20, **members}
        store.commit(Commit(CHAIN, facts={"pool_created": facts("pool_created", row, source=source)}))
    price = (CHAIN, TOKENS[0], 0, *[1.5] * 7)
    store.commit(Commit(CHAIN, rollups={"token_hour": [price]}))
    store.drop_source(CHAIN, "several")
    assert store.fetch(Select("token_hour", ("token",))) == [(TOKENS[0],)]
    assert store.fetch(Select("pool_created", ("source",))) == [("two",)]
    store.drop_source(CHAIN, "two")
    assert store.fetch(Select("token_hour", ("token",))) == []
