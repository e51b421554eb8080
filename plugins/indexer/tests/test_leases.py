"""Leases: one process at a time writes a source, in every back end."""

import pytest
from index_rows import CHAIN, POOL, facts
from quoteway_indexer.store import Commit, Select, Span, StoreError
from quoteway_indexer.stores import open_store


def test_a_lease_is_held_by_one_until_it_expires_or_is_released(store, leases_expire):
    assert store.lease(CHAIN, "dex", "one", 30)
    assert not store.lease(CHAIN, "dex", "two", 30)
    assert store.lease(CHAIN, "other", "two", 30)
    assert store.lease(1, "dex", "two", 30)
    assert store.lease(CHAIN, "dex", "one", 30)
    leases_expire(store)
    assert store.lease(CHAIN, "dex", "two", 30)
    assert not store.lease(CHAIN, "dex", "one", 30)
    store.release("two")
    assert store.lease(CHAIN, "dex", "one", 30)


def test_a_process_that_lost_a_lease_writes_nothing(store, settings, leases_expire):
    other = open_store(settings)
    try:
        assert store.lease(CHAIN, "dex", "one", 30)
        assert not other.lease(CHAIN, "dex", "two", 30)
        store.commit(Commit(CHAIN, read=[Span("dex", 1, 1, 1)]))
        leases_expire(store)
        store.commit(Commit(CHAIN, read=[Span("dex", 1, 2, 2)]))
        assert other.lease(CHAIN, "dex", "two", 30)
        for _ in range(2):
            with pytest.raises(StoreError, match="another process has taken over source 'dex'"):
                store.commit(
                    Commit(
                        CHAIN,
                        facts={"swap": facts("swap", {"block": 3, "pool": POOL})},
                        read=[Span("dex", 1, 3, 3)],
                    )
                )
            other.release("two")
        assert other.spans(CHAIN) == [Span("dex", 1, 1, 2)]
        assert store.fetch(Select("swap", ("block",))) == []
        store.commit(Commit(1, read=[Span("dex", 1, 1, 1)]))
        assert store.lease(CHAIN, "dex", "one", 30)
        store.commit(Commit(CHAIN, read=[Span("dex", 1, 3, 3)]))
    finally:
        other.close()
