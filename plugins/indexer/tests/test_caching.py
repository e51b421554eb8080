"""What a server keeps of an index: never a row that is not in it any more."""

from __future__ import annotations

import asyncio
import random

import pytest
from back_ends import WITH_TRANSACTIONS
from index_rows import CHAIN, POOL, facts, row
from quoteway import UpstreamError
from quoteway_indexer.caching import CachedReader
from quoteway_indexer.changes import Change, ChangeLog, Changes, Committed, Mark
from quoteway_indexer.reading import SocketReader
from quoteway_indexer.serving import ReadServer
from quoteway_indexer.store import Commit, Condition, Select, Span, Sum
from quoteway_indexer.stores import open_reader, served
from quoteway_indexer.windows import window_of

OTHER = bytes.fromhex("bb" * 20)
COLUMNS = ("hour", "source", "swaps", "volume0")


def hours_of(pool, *where, order=("hour",), limit=None):
    of = Condition("chain_id", "=", CHAIN), Condition("pool", "=", pool)
    return Select("pool_hour", COLUMNS, (*of, *where), order, limit)


def since(hour):
    return Condition("hour", ">=", hour)


def hour_rows(pool, hours, swaps=1, source="dex"):
    return [
        row("pool_hour", pool=pool, hour=hour, swaps=swaps, volume0=2**200, source=source) for hour in hours
    ]


class Counted(SocketReader):
    """Notes the queries that reach the index, and waits before each when a test asks for it."""

    def __init__(self, path):
        super().__init__(path)
        self.queries, self.gate, self.broken = [], asyncio.Event(), False
        self.gate.set()

    async def read(self, query):
        self.queries.append(query)
        found = await super().read(query)
        await self.gate.wait()
        if self.broken:
            raise UpstreamError("broken")
        return found


@pytest.fixture
async def counted(duckdb_store, tmp_path):
    server = ReadServer(duckdb_store.reads, tmp_path / "index.sock")
    server.start()
    reader = Counted(tmp_path / "index.sock")
    yield reader
    await reader.close()
    server.close()


@pytest.fixture
def cached(counted):
    return CachedReader(counted, memory_mb=8)


@pytest.mark.parametrize("settings", WITH_TRANSACTIONS, indirect=True)
@pytest.mark.parametrize("seed", range(2))
async def test_reads_equal_the_store_whatever_was_written(store, settings, seed):
    draw = random.Random(seed)
    pools = [POOL, OTHER]
    block = 10

    def written():
        nonlocal block
        kind = draw.randrange(10)
        hour = draw.randrange(20)
        if kind == 0:
            store.commit(Commit(CHAIN, rewind_to=draw.randrange(5, block), forget_hours_from=hour))
        elif kind == 1:
            store.drop_source(CHAIN, draw.choice(["dex", "fork"]))
        elif kind == 2:
            store.prune("pool_hour", hour // 3)
        elif kind == 3:
            state = row("replay_state", pool=POOL, block=block, state=str(draw.random()))
            store.commit(Commit(CHAIN, rollups={"replay_state": [state]}))
        elif kind == 4:
            block += 1
            created = facts("pool_created", {"block": block, "pool": draw.choice(pools)})
            read = [Span("dex", 1, block, block)]
            store.commit(Commit(CHAIN, facts={"pool_created": created}, read=read))
        elif kind == 5:
            store.commit(Commit(CHAIN, read=[Span("dex", 2, draw.randrange(1, block), block)]))
        elif kind == 6:
            store.commit(Commit(CHAIN, rollups=others(hour)))
        else:
            rows = hour_rows(
                draw.choice(pools), range(hour, hour + 3), draw.randrange(99), draw.choice(["dex", "fork"])
            )
            store.commit(Commit(CHAIN, rollups={"pool_hour": rows}))

    def others(hour):
        price = draw.choice([None, 1, 2.5])
        tokens = [row("token_hour", token=POOL, hour=each, mean_usd=price) for each in (hour, hour + 1)]
        vaults = [
            row("vault_hour", vault=OTHER, hour=hour, block=block, total_assets=draw.choice([0, 2**255]))
        ]
        parts = [row("computed", part=draw.choice(["prices", "pools:dex"]), block=block, timestamp=hour)]
        return {"token_hour": tokens, "vault_hour": vaults, "computed": parts}

    def asked():
        chain = Condition("chain_id", "=", CHAIN)
        token, vault = Condition("token", "=", POOL), Condition("vault", "=", OTHER)
        hour, pool = draw.randrange(22), draw.choice(pools)
        before = Condition("hour", draw.choice(["<", "<="]), hour)
        return [
            hours_of(pool, since(hour)),
            hours_of(pool, since(hour - 5), before),
            hours_of(pool, since(hour), order=("-hour",), limit=1),
            hours_of(pool, before, order=("-hour",), limit=1),
            hours_of(pool, order=("hour",), limit=1),
            hours_of(pool, Condition("source", "=", "dex"), since(hour)),
            hours_of(pool, before, Condition("hour", "in", (1, 2, 3))),
            Select("pool_hour", ("pool", "hour", "swaps"), (chain, since(hour)), ("hour", "pool", "source")),
            Sum("pool_hour", ("pool",), ("volume0", "swaps"), (since(hour),)),
            Select("replay_state", ("block", "state"), (chain,), ("block",)),
            Select("pool_created", ("pool", "block"), (chain,), ("block",)),
            Select(
                "pool_hour", ("hour", "swaps"), (chain, Condition("pool", "=", pool), since(hour)), ("hour",)
            ),
            Select("token_hour", ("mean_usd", "hour"), (chain, token, since(hour)), ("hour",)),
            Select("vault_hour", ("hour", "total_assets"), (chain, vault), ("hour",)),
            Select("vault_hour", ("hour", "block"), (chain, vault, Condition("block", ">", 12), since(0))),
            Select("computed", ("part", "timestamp"), (chain,)),
            Select("computed", ("timestamp",), (chain, Condition("part", "in", ("prices",)))),
        ]

    with served(store, settings):
        reader = open_reader(settings)
        for _ in range(40):
            written()
            for query in draw.sample(asked(), 6):
                found, expected = await reader.fetch(query), store.fetch(query)
                if len(query.where) and query.table == "pool_hour" and isinstance(query, Select):
                    key = query.columns.index("hour")
                    assert [one[key] for one in found] == [one[key] for one in expected]
                    if query.limit:
                        continue  # one of two rows of an hour
                assert sorted(map(repr, found)) == sorted(map(repr, expected))
        await reader.close()


async def test_nothing_stays_of_what_is_deleted(duckdb_store, cached):
    chain = Condition("chain_id", "=", CHAIN)
    queries = [
        hours_of(POOL, since(0)),
        Select("vault_hour", ("hour", "block"), (chain, Condition("vault", "=", POOL), since(0)), ("hour",)),
        Select("pool_created", ("pool",), (chain,)),
    ]
    vault = row("vault_hour", vault=POOL, hour=5, block=9)
    deletions = [
        (lambda: duckdb_store.prune("pool_hour", 4), (6, 1, 1)),
        (lambda: duckdb_store.commit(Commit(CHAIN, forget_hours_from=3)), (3, 1, 1)),
        (lambda: duckdb_store.commit(Commit(CHAIN, rewind_to=8)), (10, 0, 0)),
        (lambda: duckdb_store.commit(Commit(CHAIN, read=[Span("dex", 2, 9, 9)])), (10, 1, 0)),
        (lambda: duckdb_store.drop_source(CHAIN, "dex"), (0, 1, 0)),
    ]
    for delete, left in deletions:
        created = facts("pool_created", {"block": 9, "pool": POOL})
        rollups = {"pool_hour": hour_rows(POOL, range(10)), "vault_hour": [vault]}
        read = [Span("dex", 1, 9, 9)]
        duckdb_store.commit(Commit(CHAIN, facts={"pool_created": created}, read=read, rollups=rollups))
        assert [len(await cached.fetch(query)) for query in queries] == [10, 1, 1]
        delete()
        assert tuple([len(await cached.fetch(query)) for query in queries]) == left


async def test_written_rows_are_not_read_and_only_deleted_hours_are_read_again(duckdb_store, counted, cached):
    duckdb_store.commit(Commit(CHAIN, rollups={"pool_hour": hour_rows(POOL, range(10))}))
    assert len(await cached.fetch(hours_of(POOL, since(2)))) == 8
    assert len(await cached.fetch(hours_of(POOL, since(5), Condition("hour", "<", 7)))) == 2
    assert len(counted.queries) == 1
    duckdb_store.commit(Commit(CHAIN, rollups={"pool_hour": hour_rows(OTHER, range(10))}))
    duckdb_store.commit(Commit(CHAIN, facts={"swap": facts("swap", {"block": 1, "pool": POOL})}))
    duckdb_store.note(CHAIN, "{}")
    await cached.fetch(hours_of(POOL, since(2)))
    assert len(counted.queries) == 1
    duckdb_store.commit(Commit(CHAIN, rollups={"pool_hour": hour_rows(POOL, [9, 10], swaps=7)}))
    assert [one[2] for one in await cached.fetch(hours_of(POOL, since(8)))] == [1, 7, 7]
    assert len(counted.queries) == 1
    duckdb_store.commit(Commit(CHAIN, forget_hours_from=10))
    assert [one[2] for one in await cached.fetch(hours_of(POOL, since(8)))] == [1, 7]
    assert counted.queries[1:] == [hours_of(POOL, since(10))]
    many = hour_rows(POOL, range(9, 9 + 2_001), swaps=8)
    duckdb_store.commit(Commit(CHAIN, rollups={"pool_hour": many}))
    assert len(await cached.fetch(hours_of(POOL, since(8)))) == 2_002
    assert counted.queries[2:] == [hours_of(POOL, since(9))]
    assert await cached.revision() == await counted.revision()


async def test_equal_reads_at_once_are_one_query_and_rows_belong_to_the_caller(duckdb_store, counted, cached):
    duckdb_store.commit(Commit(CHAIN, rollups={"pool_hour": hour_rows(POOL, range(4))}))
    for query in (hours_of(POOL, since(0)), Sum("pool_hour", ("pool",), ("swaps",))):
        counted.queries.clear()
        found = await asyncio.gather(*(cached.fetch(query) for _ in range(20)))
        assert counted.queries == [query]
        first = list(found[0])
        found[0].clear()
        assert await cached.fetch(query) == first == found[1]


async def test_a_commit_while_rows_are_read_is_seen_by_the_next_read(duckdb_store, counted, cached):
    duckdb_store.commit(Commit(CHAIN, rollups={"pool_hour": hour_rows(POOL, [1])}))
    counted.gate.clear()
    early = asyncio.create_task(cached.fetch(hours_of(POOL, since(0))))
    while not counted.queries:
        await asyncio.sleep(0)
    await counted.revision()  # answered after the query was
    duckdb_store.commit(Commit(CHAIN, rollups={"pool_hour": hour_rows(POOL, [1], swaps=2)}))
    late = asyncio.create_task(cached.fetch(hours_of(POOL, since(0))))
    await counted.revision()
    counted.gate.set()
    assert [one[2] for one in await late] == [2]
    assert len(await early) == 1


async def test_a_reader_that_is_given_up_or_fails_leaves_nothing_behind(duckdb_store, counted, cached):
    duckdb_store.commit(Commit(CHAIN, rollups={"pool_hour": hour_rows(POOL, [1])}))
    query = hours_of(POOL, since(0))
    counted.gate.clear()
    given_up, other = (asyncio.create_task(cached.fetch(query)) for _ in range(2))
    while not counted.queries:
        await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])
    counted.gate.set()
    assert len(await other) == 1
    duckdb_store.commit(Commit(CHAIN, forget_hours_from=0))
    counted.broken = True
    for _ in range(2):
        with pytest.raises(UpstreamError):
            await cached.fetch(query)
    counted.broken = False
    assert await cached.fetch(query) == []


async def test_another_index_at_the_same_place_is_read_anew(duckdb_store, tmp_path, counted, cached):
    duckdb_store.commit(Commit(CHAIN, rollups={"pool_hour": hour_rows(POOL, [1])}))
    assert len(await cached.fetch(hours_of(POOL, since(0)))) == 1
    from quoteway_indexer.stores.duckdb import DuckDBStore

    other = DuckDBStore(tmp_path / "other.duckdb", memory_mb=256)
    other.migrate()
    server = ReadServer(other.reads, tmp_path / "index.sock")
    server.start()
    await counted.close()
    assert await cached.fetch(hours_of(POOL, since(0))) == []
    server.close()
    other.close()
    await counted.close()
    with pytest.raises(UpstreamError):
        await cached.fetch(hours_of(POOL, since(0)))


async def test_memory_is_bounded(duckdb_store, counted):
    cached = CachedReader(counted, memory_mb=1)
    duckdb_store.commit(Commit(CHAIN, rollups={"pool_hour": hour_rows(POOL, range(500))}))
    for hour in range(120):
        await cached.fetch(hours_of(POOL, Condition("hour", "in", tuple(range(hour, hour + 100)))))
    assert cached._size <= cached._most
    assert cached._size == sum(kept.size for kept in cached._kept.values())
    assert len(await cached.fetch(hours_of(POOL, since(0)))) == 500


def test_changes_that_are_not_known_any_more_are_everything():
    log = ChangeLog()
    start, changes = log.since(Mark("", 0))
    assert changes is None
    commits = [Committed(revision, [Change("pool_hour", 1, POOL, 7)]) for revision in (5, 6)]
    for commit in commits:
        log.add(commit)
    mark, changes = log.since(start)
    assert changes == commits
    assert log.since(mark) == (mark, [])
    assert log.since(Mark(mark.log, 5))[1] == commits[1:]
    for revision in range(7, 10):
        log.add(Committed(revision, [Change("pool_hour", 1)] * 10_000))
    assert log.since(mark)[1] is None
    assert ChangeLog().since(mark)[1] is None
    rows = Change("pool_hour", 1, POOL, 7, b"0" * (9 << 20))
    for revision in (10, 11):
        log.add(Committed(revision, [rows]))
    assert log.since(Mark(mark.log, 10))[1] == [Committed(11, [rows])]
    assert log.since(Mark(mark.log, 9))[1] is None
    newest, _ = log.since(mark)
    log.clear()
    assert log.since(newest)[1] is None


async def test_a_change_of_a_chain_that_no_query_named_is_not_lost():
    class Told(Counted):
        def __init__(self):
            self.changed, self.queries, self.number = [], [], 1

        async def read(self, query):
            self.queries.append(query)
            return self.number, [(len(self.queries),)]

        async def changes(self, mark):
            changed, self.changed = self.changed, []
            self.number += bool(changed)
            return Changes(Mark("a", self.number), self.number, [Committed(self.number, changed)])

        async def close(self):
            pass

    told = Told()
    cached = CachedReader(told, memory_mb=8)
    query = Sum("pool_hour", (), ("swaps",))
    assert await cached.fetch(query) == await cached.fetch(query) == [(1,)]
    told.changed = [Change("pool_hour", 5, POOL, 9)]
    assert await cached.fetch(query) == [(2,)]
    told.changed = [Change("token_hour", None)]
    assert await cached.fetch(query) == [(2,)]
    await cached.close()


async def test_rows_that_nobody_reads_are_forgotten(counted, duckdb_store):
    now = [0.0]
    cached = CachedReader(counted, memory_mb=8, clock=lambda: now[0])
    duckdb_store.commit(Commit(CHAIN, rollups={"pool_hour": hour_rows(POOL, range(5))}))
    used, unused = hours_of(POOL, since(0)), hours_of(OTHER, since(0))
    for number in range(50):
        await cached.fetch(hours_of(OTHER, Condition("source", "=", str(number)), order=()))
    await cached.fetch(unused)
    with_all = cached._size
    for minute in range(1, 7):
        now[0] = minute * 60.0
        assert len(await cached.fetch(used)) == 5
    assert list(cached._kept) == [window_of(used).key]
    assert 0 < cached._size < with_all / 20
    asked = len(counted.queries)
    assert len(await cached.fetch(used)) == 5
    assert len(counted.queries) == asked
    assert await cached.fetch(unused) == []
    assert len(counted.queries) == asked + 1
