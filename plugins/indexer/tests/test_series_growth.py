"""Series that are kept while an index grows, compared with those that are made at once."""

from __future__ import annotations

import random

import pytest
from history_rows import (
    COIN,
    COIN_TEXT,
    DAY,
    FLOWS,
    HOUR,
    START,
    USDX,
    USDX_TEXT,
    WRAPPED_TEXT,
    StoreReader,
    computed,
    created,
    pool_hour,
    token_hour,
    write,
)
from index_rows import CHAIN, POOL
from quoteway import EventRule, EventSource, Network, Token, hookimpl
from quoteway.evm.address import checksum
from quoteway.testing.fakes import FakePlugin, MemoryRpc
from quoteway.testing.serving import served
from quoteway_indexer.metrics import IndexMetrics
from quoteway_indexer.store import Commit

ID = f"{CHAIN}:{checksum('0x' + POOL.hex())}"
TOKENS = (Token(CHAIN, COIN_TEXT, 18, "COIN", "Coin"), Token(CHAIN, USDX_TEXT, 6, "USDX", "Dollar"))
BEGUN_H = 60
"""The hours of an index before it grows: more than a reorganisation may take back."""


class Indexing:
    """Declares the source of the pool, and gives its context away."""

    context = None

    @hookimpl
    def quoteway_event_sources(self, context):
        self.context = context
        rule = EventRule("Sync(uint112 a, uint112 b)", "reserves", {"pool": "@"})
        return [EventSource("dex", CHAIN, 1, (rule,))]


class Growing:
    """A pool of which hours and prices come, change and go, as an index process writes them."""

    def __init__(self, store, draw):
        self.store, self.draw = store, draw
        self.until = START + BEGUN_H * HOUR
        write(store, facts={"pool_created": created(COIN, USDX)}, **self.rows(START, self.until, 0.5))

    def rows(self, first, until, share):
        draw = self.draw
        hours = [hour for hour in range(first, until, HOUR) if draw.random() < share or hour == START]
        priced = [hour for hour in range(first, until, HOUR) if draw.random() < share or hour == START]
        flows = [f"{name}{side}" for name in FLOWS for side in (0, 1)]
        principal = draw.randrange(10**24)
        return {
            "pool_hour": [
                pool_hour(
                    hour,
                    principal0=principal,
                    principal1=10**12,
                    uncollected0=draw.choice([None, 1, 10**20]),
                    inexact=draw.randrange(2),
                    **{name: draw.randrange(10**20) for name in flows},
                )
                for hour in hours
            ],
            "token_hour": [
                token_hour(token, hour, draw.choice([None, draw.uniform(0.5, 2), 1.0]))
                for hour in priced
                for token in (COIN, USDX)
            ],
            "computed": [computed("pools:dex", self.until), computed("prices", self.until // HOUR * HOUR)],
        }

    def step(self):
        """Commits what may come next."""
        kind = self.draw.randrange(6)
        if kind == 0:  # a reorganisation
            self.until -= self.draw.randrange(3 * HOUR)
            self.store.commit(Commit(CHAIN, forget_hours_from=self.until // HOUR * HOUR))
        elif kind != 1:
            self.until += self.draw.choice([0, 12, HOUR // 2, HOUR, 5 * HOUR])
        back = self.draw.choice([0, HOUR, 4 * HOUR, 20 * HOUR])
        first = (self.until - back) // HOUR * HOUR
        write(self.store, **self.rows(first, self.until, self.draw.choice([0, 0.3, 1])))


@pytest.mark.parametrize("seed", range(3))
async def test_series_are_those_of_an_index_that_is_read_at_once(duckdb_store, seed):
    draw = random.Random(seed)
    indexing, rpc, reader = Indexing(), MemoryRpc({CHAIN}, tokens=TOKENS), StoreReader(duckdb_store)
    network = Network("devnet", CHAIN, "Devnet", wrapped_native=WRAPPED_TEXT)
    growing = Growing(duckdb_store, draw)
    values = 0
    async with served({"chain": FakePlugin([rpc], networks=[network]), "index": indexing}):
        kept = IndexMetrics(indexing.context, reader, frozenset({CHAIN}))
        for _ in range(25):
            growing.step()
            reader.number += 1
            fresh = IndexMetrics(indexing.context, reader, frozenset({CHAIN}))
            for _ in range(draw.randrange(5)):
                metric, interval = draw.choice(["volume", "fees", "tvl", "apr"]), draw.choice(["1h", "1d"])
                start = START + draw.randrange(-DAY, growing.until - START)
                asked = ID, metric, start, start + draw.randrange(1, 4 * DAY), interval
                series = await kept.series(*asked)
                assert series == await fresh.series(*asked)
                values += sum(value is not None for _, value in series.points)
    assert values > 100
