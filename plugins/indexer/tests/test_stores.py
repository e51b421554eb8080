"""What every back end does alike."""

from __future__ import annotations

import itertools
import operator
import random
from dataclasses import replace

import pyarrow as pa
import pytest
from index_rows import CHAIN, POOL, facts, row
from quoteway_indexer.store import Commit, Condition, IndexedBlock, Select, Span, StoreError, Sum
from quoteway_indexer.tables import TABLES

AMOUNTS = ("amount0", "amount1", "in0", "liquidity")
EDGES = [
    0,
    1,
    2**64 - 1,
    2**64,
    10**38 - 1,
    10**38,
    2**127 - 1,
    2**127,
    2**128 - 1,
    2**128,
    2**192,
    2**255 - 1,
]


def swaps(*rows, **given):
    return {"swap": facts("swap", *({"pool": POOL, **one} for one in rows), **given)}


def blocks(first, last, salt=b"\0"):
    return [
        IndexedBlock(
            number, salt * 16 + number.to_bytes(16), salt * 16 + (number - 1).to_bytes(16), number * 12
        )
        for number in range(first, last + 1)
    ]


def all_of(store, table, *columns, order=("block", "log_index")):
    return store.fetch(Select(table, columns, order=order))


def test_every_integer_of_256_bits_comes_back(store):
    signed = sorted({sign * edge for edge in EDGES for sign in (1, -1)} | {-(2**255), -(10**38) - 1})
    unsigned = [*EDGES, 2**255, 2**256 - 1]
    rows = [{"block": 1, "amount0": one, "liquidity": None} for one in signed]
    rows += [{"block": 2, "amount0": None, "liquidity": one} for one in unsigned]
    store.commit(Commit(CHAIN, facts=swaps(*rows)))
    found = all_of(store, "swap", "amount0", "liquidity")
    assert found == [(one, None) for one in signed] + [(None, one) for one in unsigned]


def test_the_order_of_integers_is_that_of_numbers_and_null_is_the_least(store):
    values = [*EDGES, *(-edge for edge in EDGES[1:]), -(2**255), None]
    random.Random(1).shuffle(values)
    store.commit(Commit(CHAIN, facts=swaps(*({"block": 1, "amount0": one} for one in values))))
    known = sorted(one for one in values if one is not None)
    assert all_of(store, "swap", "amount0", order=("amount0",)) == [(None,), *((one,) for one in known)]
    newest = store.fetch(Select("swap", ("amount0",), order=("-amount0",), limit=3))
    assert newest == [(one,) for one in reversed(known[-3:])]


def test_comparisons_of_integers_of_256_bits(store):
    values = [*EDGES, *(-edge for edge in EDGES[1:]), -(2**255), None]
    store.commit(Commit(CHAIN, facts=swaps(*({"block": 1, "amount0": one} for one in values))))
    holds = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    edges = [0, 5, -5, 10**38, -(10**38), 2**130, -(2**130), 2**255 - 1, -(2**255)]
    for sign, edge in itertools.product(holds, edges):
        query = Select("swap", ("amount0",), (Condition("amount0", sign, edge),), ("amount0",))
        expected = sorted(one for one in values if one is not None and holds[sign](one, edge))
        assert store.fetch(query) == [(one,) for one in expected]


def test_sums_are_exact_of_whatever_size(store):
    draw = random.Random(2)
    rows = []
    for index in range(400):
        bits = draw.choice([0, 1, 63, 64, 65, 126, 127, 128, 200, 255])
        size = draw.randrange(1 << bits) if bits else 0
        rows.append(
            {
                "block": 1 + index % 3,
                "amount0": size * draw.choice([1, -1]),
                "amount1": draw.choice([2**255 - 1, -(2**255)]),
                "in0": draw.choice([None, 2 * size + 1]),
                "liquidity": 2**256 - 1,
                "tick": draw.choice([None, -887272, 887272]),
            }
        )
    store.commit(Commit(CHAIN, facts=swaps(*rows)))
    names = (*AMOUNTS, "tick")
    found = sorted(store.fetch(Sum("swap", ("block",), names)))
    expected = []
    for block in (1, 2, 3):
        group = [one for one in rows if one["block"] == block]
        sums = [sum(one[name] for one in group if one[name] is not None) for name in names]
        expected.append((block, *sums, len(group)))
    assert found == expected
    assert all(type(value) is int for one in found for value in one)


def test_a_sum_of_nothing_known_is_null(store):
    store.commit(Commit(CHAIN, facts=swaps({"block": 1}, {"block": 1})))
    assert store.fetch(Sum("swap", ("pool",), ("amount0", "in0"))) == [(POOL, None, None, 2)]
    unknown = (Condition("block", "=", 9),)
    assert store.fetch(Sum("swap", ("pool",), ("amount0",), unknown)) == []
    assert store.fetch(Sum("swap", (), ("amount0", "tick"), unknown)) == [(None, None, 0)]


def test_conditions_and_order_of_other_columns(store):
    other = bytes.fromhex("bb" * 32)
    rows = [
        {"block": block, "pool": POOL if block % 2 else other, "tick": None if block == 3 else block}
        for block in range(9)
    ]
    store.commit(Commit(CHAIN, facts=swaps(*rows)))

    def found(*where):
        return [block for (block,) in store.fetch(Select("swap", ("block",), where, ("block",)))]

    assert found(Condition("pool", "=", POOL)) == [1, 3, 5, 7]
    assert found(Condition("pool", "in", (POOL, other)), Condition("block", ">=", 7)) == [7, 8]
    assert found(Condition("block", "in", ())) == []
    assert found(Condition("tick", "=", None)) == [3]
    assert found(Condition("tick", "in", (None, 4))) == [3, 4]
    assert found(Condition("source", "=", "dex'; DROP TABLE swap; --")) == []
    newest = store.fetch(Select("swap", ("pool", "block"), (), ("pool", "-block"), 2))
    assert newest == [(POOL, 7), (POOL, 5)]


WITHOUT_MEANING = [
    Select("nothing", ("a",)),
    Select("swap", ("nothing",)),
    Select("swap", ("block",), (Condition("nothing", "=", 1),)),
    Select("swap", ("block",), order=("-nothing",)),
    Select("swap", ("block",), (Condition("block", "; DROP", 1),)),
    Select("swap", ("block",), (Condition("block", "<", None),)),
    Select("swap", ("block",), (Condition("block", "=", (1,)),)),
    Select("swap", ("block",), (Condition("amount0", "=", "1"),)),
    Select("swap", ("block",), (Condition("liquidity", ">", -1),)),
    Select("swap", ("block",), (Condition("block", "<", 2**63),)),
    Select("swap", ("block",), (Condition("pool", "=", "0xaa"),)),
    Select("swap", ()),
    Sum("swap", ("pool",), ("source",)),
]


def test_queries_without_meaning_are_refused(store):
    for query in WITHOUT_MEANING:
        with pytest.raises((KeyError, ValueError)):
            store.fetch(query)


def test_what_is_committed_twice_is_there_once(store):
    commit = Commit(
        CHAIN,
        facts=swaps({"block": 5, "tick": 1}, {"block": 6, "tick": 2}),
        blocks=blocks(5, 6),
        read=[Span("dex", 1, 5, 6)],
    )
    store.commit(commit)
    store.commit(commit)
    assert all_of(store, "swap", "block", "tick") == [(5, 1), (6, 2)]
    assert store.blocks(CHAIN, 0, 100) == blocks(5, 6)
    # The same log again, in a commit that does not say what it read.
    store.commit(Commit(CHAIN, facts=swaps({"block": 5, "tick": 3})))
    assert all_of(store, "swap", "block", "tick") == [(5, 3), (6, 2)]


def test_blocks_that_are_read_again_lose_the_rows_of_the_source(store):
    store.commit(
        Commit(CHAIN, facts=swaps({"block": 5}, {"block": 6}, {"block": 7}), read=[Span("dex", 1, 5, 7)])
    )
    other = facts("swap", {"block": 6, "log_index": 9, "pool": POOL}, source="other")
    store.commit(Commit(CHAIN, facts={"swap": other}, read=[Span("other", 1, 6, 6)]))
    store.commit(Commit(CHAIN, read=[Span("dex", 2, 6, 9)]))
    assert all_of(store, "swap", "source", "block") == [("dex", 5), ("other", 6)]


def test_spans_are_joined_where_they_touch_and_by_version(store):
    for first, last in [(10, 19), (30, 39), (20, 29), (50, 60), (55, 70), (1, 1)]:
        store.commit(Commit(CHAIN, read=[Span("dex", 1, first, last)]))
    store.commit(Commit(CHAIN, read=[Span("dex", 2, 2, 9), Span("vaults", 1, 2, 9)]))
    store.commit(Commit(1, read=[Span("dex", 1, 40, 49)]))
    assert store.spans(CHAIN) == [
        Span("dex", 1, 1, 1),
        Span("dex", 2, 2, 9),
        Span("vaults", 1, 2, 9),
        Span("dex", 1, 10, 39),
        Span("dex", 1, 50, 70),
    ]
    assert store.spans(1) == [Span("dex", 1, 40, 49)]


def test_a_reorganisation_takes_back_what_came_after_the_block(store):
    read = [Span("dex", 1, 1, 9), Span("late", 1, 8, 9)]
    store.commit(
        Commit(
            CHAIN, facts=swaps(*({"block": block} for block in range(1, 10))), blocks=blocks(1, 9), read=read
        )
    )
    hours = [row("pool_hour", pool=POOL, hour=hour, swaps=1) for hour in (0, 3600, 7200)]
    prices = [row("token_hour", token=POOL, hour=hour, mean_usd=1.5) for hour in (0, 3600, 7200)]
    vaults = [row("vault_hour", vault=POOL, hour=hour, block=block) for hour, block in ((0, 3), (3600, 7))]
    several = [
        row("pool_token_hour", pool=POOL, hour=hour, place=place) for hour in (0, 3600) for place in (0, 1)
    ]
    of_tokens = {"pool_token_hour": several, "token_hour": prices}
    store.commit(Commit(CHAIN, rollups={"pool_hour": hours, "vault_hour": vaults, **of_tokens}))
    store.commit(
        Commit(
            CHAIN,
            rewind_to=6,
            facts=swaps({"block": 7, "tick": 7}),
            blocks=blocks(7, 7, b"\1"),
            read=[Span("dex", 1, 7, 7)],
            forget_hours_from=3600,
            rollups={"pool_hour": [row("pool_hour", pool=POOL, hour=3600, swaps=5)]},
        )
    )
    assert all_of(store, "swap", "block", "tick") == [*((block, None) for block in range(1, 7)), (7, 7)]
    assert store.blocks(CHAIN, 0, 100) == blocks(1, 6) + blocks(7, 7, b"\1")
    assert store.spans(CHAIN) == [Span("dex", 1, 1, 7)]
    assert all_of(store, "pool_hour", "hour", "swaps", order=("hour",)) == [(0, 1), (3600, 5)]
    found = all_of(store, "pool_token_hour", "hour", "place", order=("hour", "place"))
    assert found == [(0, 0), (0, 1)]
    assert all_of(store, "token_hour", "hour", "mean_usd", order=("hour",)) == [(0, 1.5)]
    assert all_of(store, "vault_hour", "hour", order=("hour",)) == [(0,)]


def test_a_reorganisation_of_one_chain_leaves_the_others(store):
    for chain_id in (1, CHAIN):
        store.commit(
            Commit(
                chain_id,
                facts=swaps({"block": 5}, chain_id=chain_id),
                blocks=blocks(5, 5),
                read=[Span("dex", 1, 5, 5)],
                rollups={"pool_hour": [row("pool_hour", chain_id=chain_id, pool=POOL, hour=0)]},
            )
        )
    store.commit(Commit(CHAIN, rewind_to=4, forget_hours_from=0))
    assert all_of(store, "swap", "chain_id", "block") == [(1, 5)]
    assert all_of(store, "pool_hour", "chain_id", order=()) == [(1,)]
    assert store.blocks(1, 0, 9) == blocks(5, 5)
    assert store.spans(1) == [Span("dex", 1, 5, 5)]
    assert (store.blocks(CHAIN, 0, 9), store.spans(CHAIN)) == ([], [])


def test_a_row_of_a_rollup_replaces_that_with_its_key(store):
    first = [row("pool_hour", pool=POOL, hour=hour, swaps=1, volume0=2**255) for hour in (0, 3600)]
    store.commit(Commit(CHAIN, rollups={"pool_hour": first}))
    changed = [
        row("pool_hour", pool=POOL, hour=3600, swaps=2, volume0=7),
        row("pool_hour", pool=b"\1" * 20, hour=3600, swaps=3),
    ]
    store.commit(Commit(CHAIN, rollups={"pool_hour": changed}))
    found = store.fetch(Select("pool_hour", ("hour", "pool", "swaps", "volume0"), order=("hour", "-pool")))
    assert found == [(0, POOL, 1, 2**255), (3600, POOL, 2, 7), (3600, b"\1" * 20, 3, None)]


@pytest.mark.parametrize("block", [3, 5, 8])
def test_a_state_replaces_that_of_another_block(store, block):
    for at, text in ((5, "old"), (block, "new")):
        rows = [row("replay_state", pool=pool, source="dex", block=at, state=text) for pool in (POOL, b"")]
        store.commit(Commit(CHAIN, rollups={"replay_state": rows}))
    found = all_of(store, "replay_state", "pool", "block", "state", order=("pool",))
    assert found == [(b"", block, "new"), (POOL, block, "new")]


def test_every_column_of_every_table_keeps_its_values(store):
    samples = {
        "int32": -5,
        "int64": 2**62,
        "float": 0.1,
        "text": "ünï'code",
        "bytes": b"\0\1",
        "address": b"\2" * 20,
    }
    samples |= {"bytes32": b"\3" * 32, "int256": -(2**200), "uint256": 2**200}
    for table in TABLES.values():
        values = {column.name: samples[column.type] for column in table.columns} | {"chain_id": CHAIN}
        if table.kind == "fact":
            store.commit(Commit(CHAIN, facts={table.name: facts(table.name, values, source=samples["text"])}))
        else:
            store.commit(Commit(CHAIN, rollups={table.name: [row(table.name, **values)]}))
        names = tuple(column.name for column in table.columns)
        assert store.fetch(Select(table.name, names)) == [tuple(values[name] for name in names)]


REFUSED = [
    Commit(CHAIN, facts={"nothing": facts("flash", {"block": 1})}),
    Commit(CHAIN, facts={"swap": facts("flash", {"block": 1})}),
    Commit(1, facts=swaps({"block": 1})),
    Commit(CHAIN, facts=swaps({"block": 1, "log_index": 4}, {"block": 1, "log_index": 4})),
    Commit(CHAIN, rollups={"swap": [row("swap", block=1)]}),
    Commit(CHAIN, rollups={"pool_hour": [(CHAIN, POOL)]}),
    Commit(1, rollups={"pool_hour": [row("pool_hour", pool=POOL, hour=0)]}),
    Commit(CHAIN, rollups={"pool_hour": [row("pool_hour", pool=POOL)]}),
    Commit(CHAIN, rollups={"pool_hour": [row("pool_hour", pool=POOL, hour=0)] * 2}),
    Commit(CHAIN, rollups={"pool_hour": [row("pool_hour", pool=POOL, hour=0, volume0=-1)]}),
    Commit(CHAIN, rollups={"pool_hour": [row("pool_hour", pool=POOL, hour=0, tick_seconds=2**255)]}),
]


def test_commits_that_cannot_be_kept_are_refused_whole(store):
    for refused in REFUSED:
        with pytest.raises(StoreError):
            store.commit(replace(refused, blocks=blocks(1, 2)))
        assert store.blocks(refused.chain_id, 0, 9) == []
    assert all_of(store, "swap", "block") == []


def test_facts_may_come_in_chunks_and_slices(store):
    whole = facts("swap", *({"block": 1, "pool": POOL, "amount0": 2**200 * one - 1} for one in range(-5, 5)))
    chunks = pa.concat_tables([whole.slice(0, 3), whole.slice(3, 0), whole.slice(3)])
    store.commit(Commit(CHAIN, facts={"swap": chunks, "flash": facts("flash")}))
    assert all_of(store, "swap", "amount0") == [(2**200 * one - 1,) for one in range(-5, 5)]
    store.commit(Commit(CHAIN, facts={"swap": whole.slice(4, 2)}))
    assert len(all_of(store, "swap", "block")) == 10


def test_an_index_is_opened_with_all_that_it_had(store, opened):
    store.commit(
        Commit(
            CHAIN,
            facts=swaps({"block": 5, "amount0": -(2**254)}),
            blocks=blocks(5, 5),
            read=[Span("dex", 1, 5, 5)],
        )
    )
    store.note(CHAIN, '{"lag": 1}')
    store = opened()
    store.migrate()
    assert all_of(store, "swap", "block", "amount0") == [(5, -(2**254))]
    assert store.blocks(CHAIN, 5, 5) == blocks(5, 5)
    assert store.spans(CHAIN) == [Span("dex", 1, 5, 5)]
