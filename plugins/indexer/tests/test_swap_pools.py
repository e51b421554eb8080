"""Hours of pools that no event announces, and whose events name tokens by their places."""

import pytest
from computed_hours import Context
from index_rows import CHAIN, POOL, facts, row
from quoteway import EventSource, UpstreamError
from quoteway.evm.chain import CallFailed
from quoteway_indexer.computing import Frontier
from quoteway_indexer.metrics import IndexMetrics
from quoteway_indexer.replay.computation import PoolReplay
from quoteway_indexer.store import Commit, IndexedBlock, Select
from quoteway_indexer.writing import Writer
from small_index import StoreReader

ONE, TWO = b"\x05" * 20, b"\x06" * 20
OTHER = bytes.fromhex("bb" * 20)
SOURCE = EventSource("dex", CHAIN, 1, (), family="curve-stableswap", tokens_by="coins(uint256)")
HOUR = 3600
STEP_S = 1200
"""Seconds from a block to the next: three are in an hour."""


class Chain:
    """Tells the tokens of ``POOL``; other contracts have none."""

    def __init__(self):
        self.asked, self.fails = [], False

    async def block(self, number):
        if self.fails:
            raise UpstreamError("no node answers", reason="upstream_unreachable", retryable=True)
        return number

    async def call_many(self, calls, *, block):
        self.asked += [(call.to.lower(), block) for call in calls]
        tokens = {"0x" + POOL.hex(): (ONE, TWO)}
        found = []
        for call in calls:
            own, place = tokens.get(call.to.lower(), ()), int.from_bytes(call.data[4:])
            found.append(own[place].rjust(32, b"\0") if place < len(own) else CallFailed(b""))
        return found


class Index:
    """Sells 1,000 base units of the first token for 990 of the second in each block of ``POOL``."""

    def __init__(self, store, source=SOURCE):
        self.store, self.source, self.chain = store, source, Chain()
        self.restart()

    def restart(self):
        self.replay = PoolReplay(CHAIN, [self.source], Writer(self.store), self.chain)

    def write(self, *rows, table="token_swap"):
        at = [{"timestamp": STEP_S * row["block"], "pool": POOL, **row} for row in rows]
        self.store.commit(Commit(CHAIN, facts={table: facts(table, *at)}))

    def swap(self, *blocks, **changes):
        ends = {"place_in": 0, "place_out": 1, "amount_in": 1_000, "amount_out": 990}
        self.write(*({"block": block, **ends, **changes} for block in blocks))

    async def advance(self, last, first=0):
        head = IndexedBlock(last, last.to_bytes(32), (last - 1).to_bytes(32), STEP_S * last)
        await self.replay.advance(Frontier(CHAIN, head, last - 1, {SOURCE.id: first}))

    def hours(self):
        columns = ("hour", "place", "token", "swaps", "volume", "washed", "inexact")
        return self.store.fetch(Select("pool_token_hour", columns, order=("pool", "hour", "place")))


def hour(number, volume, swaps=None, inexact=0):
    """Returns the rows of an hour in which the first token was sold."""
    sold = (number * HOUR, 0, ONE, volume // 1_000, volume, 0, inexact)
    return [sold, (number * HOUR, 1, TWO, 0, 0, 0, inexact)]


async def test_the_first_event_begins_a_pool(duckdb_store):
    index = Index(duckdb_store)
    index.write({"block": 4, "place": 0, "amount": 7}, {"block": 4, "place": 1}, table="token_liquidity")
    index.swap(7, 8, 12)
    await index.advance(8)
    assert index.hours() == hour(1, 0) + hour(2, 2_000)
    await index.advance(13)
    assert index.hours() == hour(1, 0) + hour(2, 2_000) + hour(4, 1_000)
    assert {address for address, _ in index.chain.asked} == {"0x" + POOL.hex()}
    assert {block for _, block in index.chain.asked} == {8}


async def test_a_pool_goes_on_after_a_restart(duckdb_store):
    index = Index(duckdb_store)
    for last in range(4, 30, 2):
        index.swap(last - 1, last)
        await index.advance(last)
        index.restart()
    expected = [row for number in range(1, 9) for row in hour(number, 3_000)]
    assert index.hours() == [*expected, *hour(9, 2_000)]
    # Tokens were read before the first state was kept, and are in it.
    assert max(block for _, block in index.chain.asked) < 12


async def test_the_hour_in_which_facts_begin_is_left_out(duckdb_store):
    index = Index(duckdb_store)
    index.swap(7, 8, 9, 10, 12)
    await index.advance(13, first=8)
    assert index.hours() == hour(3, 2_000) + hour(4, 1_000)
    # Earlier blocks were read: all of it is known now.
    await index.advance(13, first=0)
    assert index.hours() == hour(2, 2_000) + hour(3, 2_000) + hour(4, 1_000)


async def test_hours_before_the_oldest_fact_that_was_kept_are_left_out(duckdb_store):
    index = Index(duckdb_store)
    index.swap(7, 8, 9, 12)
    kept = row("computed", part="kept:dex", block=0, timestamp=2 * HOUR + 1)
    duckdb_store.commit(Commit(CHAIN, rollups={"computed": [kept]}))
    await index.advance(13)
    assert index.hours() == hour(3, 1_000) + hour(4, 1_000)


async def test_volume_is_not_known_of_an_hour_with_a_swap_that_does_not_tell_it(duckdb_store):
    index = Index(duckdb_store)
    index.swap(3, 6, 9)
    index.write({"block": 7})
    await index.advance(12)
    unknown = [(2 * HOUR, place, token, None, None, None, 0) for place, token in enumerate((ONE, TWO))]
    assert index.hours() == hour(1, 1_000) + unknown + hour(3, 1_000)
    metrics = IndexMetrics(Context(STEP_S * 12), StoreReader(duckdb_store), frozenset({CHAIN}))
    asked = f"{CHAIN}:0x{POOL.hex()}", "volume"
    whole = await metrics.series(*asked, HOUR, STEP_S * 12, "1h")
    known = await metrics.series(*asked, 3 * HOUR, STEP_S * 12, "1h")
    assert (whole.coverage, whole.amounts["volume0"]) == ((HOUR, STEP_S * 12), None)
    assert "Null where the events of the pool do not tell what a swap moved." in whole.method
    assert known.amounts["volume0"] == 1_000
    assert "do not tell" not in known.method


async def test_places_that_a_pool_does_not_have_are_told_as_inexact(duckdb_store):
    index = Index(duckdb_store)
    index.swap(3)
    index.swap(4, place_in=-1)
    index.swap(5, place_out=2)
    await index.advance(9)
    assert index.hours() == hour(1, 1_000, inexact=2)


async def test_what_tells_no_tokens_has_no_hours(duckdb_store, caplog):
    index = Index(duckdb_store)
    index.swap(3, pool=OTHER)
    index.swap(4)
    await index.advance(5)
    await index.advance(6)
    assert index.hours() == hour(1, 1_000)
    assert caplog.text.count(f"0x{OTHER.hex()} of 'dex' has no hours") == 1


async def test_hours_wait_for_a_chain_that_cannot_be_read(duckdb_store, caplog):
    index = Index(duckdb_store)
    index.swap(3, 6)
    index.chain.fails = True
    await index.advance(7)
    assert index.hours() == []
    assert "hours of 'dex' wait for the next blocks: no node answers" in caplog.text
    index.chain.fails = False
    await index.advance(7)
    assert index.hours() == hour(1, 1_000) + hour(2, 1_000)


@pytest.mark.parametrize("lacks", ["tokens_by", "chain"])
async def test_without_a_way_to_the_tokens_there_are_no_hours(duckdb_store, lacks):
    source = EventSource("dex", CHAIN, 1, (), family=SOURCE.family) if lacks == "tokens_by" else SOURCE
    index = Index(duckdb_store, source)
    if lacks == "chain":
        index.chain = None
        index.restart()
    index.swap(3, 6)
    await index.advance(7)
    assert index.hours() == duckdb_store.fetch(Select("computed", ("part",))) == []
