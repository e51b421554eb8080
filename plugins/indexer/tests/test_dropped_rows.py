"""What a store deletes with a source, and with a rollup, in every back end."""

import pytest
from index_rows import CHAIN, POOL, facts, row
from quoteway_indexer.store import Commit, Condition, Select, Span
from quoteway_indexer.tables import BY_HOUR


def test_a_dropped_source_leaves_nothing(store):
    pools = {"dex": b"\1" * 20, "other": b"\2" * 20}
    for index, (source, pool) in enumerate(pools.items()):
        place = {"block": 5, "log_index": index, "pool": pool}
        rows = {
            "pool_created": facts("pool_created", place | {"token0": POOL}, source=source),
            "swap": facts("swap", place, source=source),
        }
        flow = facts("vault_flow", {"block": 5, "log_index": index, "vault": pool}, source=source)
        hour = row("pool_hour", pool=pool, hour=0, source=source)
        rollups = {
            "pool_hour": [hour],
            "pool_token_hour": [row("pool_token_hour", pool=pool, hour=0, source=source, place=0)],
            "replay_state": [row("replay_state", pool=pool, source=source, block=5, state="{}")],
            "vault_hour": [row("vault_hour", vault=pool, hour=0, block=5)],
        }
        store.commit(
            Commit(CHAIN, facts={**rows, "vault_flow": flow}, read=[Span(source, 1, 5, 5)], rollups=rollups)
        )
    named = ("pools:dex", "pools:other", "prices", "kept:dex", "kept:other")
    parts = [row("computed", part=part, timestamp=0) for part in named]
    prices = [row("token_hour", token=POOL, hour=0, mean_usd=1.0)]
    store.commit(Commit(CHAIN, rollups={"token_hour": prices, "computed": parts}))
    store.drop_source(CHAIN, "dex")
    for table in ("pool_created", "swap", "pool_hour", "pool_token_hour", "replay_state"):
        assert store.fetch(Select(table, ("pool",))) == [(pools["other"],)]
    # The states of vaults cannot be read again.
    assert len(store.fetch(Select("vault_hour", ("vault",)))) == 2
    assert store.fetch(Select("token_hour", ("token",))) == []
    left = store.fetch(Select("computed", ("part",), order=("part",)))
    assert left == [("kept:other",), ("pools:other",)]
    assert store.spans(CHAIN) == [Span("other", 1, 5, 5)]


@pytest.mark.parametrize(
    ("dropped", "rows", "parts", "states"),
    [
        ("pool_hour", 2, {"pools:dex", "pools:it's"}, {"dex", "it's"}),
        ("pool_token_hour", 3, {"pools:more"}, {"more"}),
        ("token_hour", 2, {"prices"}, set()),
        ("vault_hour", 1, set(), set()),
    ],
)
def test_a_dropped_rollup_leaves_nothing_of_it(store, dropped, rows, parts, states):
    sources = {"dex", "it's", "more"}
    known = {"prices", "kept:dex", *(f"pools:{source}" for source in sources)}
    for chain_id in (CHAIN, 10):
        written = {
            "pool_hour": [{"pool": POOL, "hour": 0, "source": source} for source in ("dex", "it's")],
            "pool_token_hour": [{"pool": POOL, "hour": 0, "source": "more", "place": at} for at in range(3)],
            "token_hour": [{"token": POOL, "hour": hour} for hour in (0, 3600)],
            "vault_hour": [{"vault": POOL, "hour": 0}],
            "replay_state": [{"pool": POOL, "source": source, "block": 5} for source in sources],
            "computed": [{"part": part, "timestamp": 0} for part in known],
        }
        rollups = {
            name: [row(name, chain_id=chain_id, **values) for values in of_it]
            for name, of_it in written.items()
        }
        store.commit(Commit(chain_id, rollups=rollups))
    assert store.drop_rollup(CHAIN, dropped) == rows
    assert store.drop_rollup(CHAIN, dropped) == 0
    for chain_id, gone in ((CHAIN, dropped), (10, None)):
        for table in BY_HOUR:
            assert (values_of(store, chain_id, table, "hour") == []) == (table == gone)
        left = set(values_of(store, chain_id, "computed", "part"))
        assert left == (known - parts if gone else known)
        left = set(values_of(store, chain_id, "replay_state", "source"))
        assert left == (sources - states if gone else sources)


def values_of(store, chain_id, table, column):
    here = (Condition("chain_id", "=", chain_id),)
    return [value for (value,) in store.fetch(Select(table, (column,), here))]
