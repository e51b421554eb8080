"""Rows of hours for tests of series and prices, and a reader of a store in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from index_rows import CHAIN, POOL, facts, row
from quoteway import EventRule, EventSource, hookimpl
from quoteway.evm.address import checksum
from quoteway_indexer.metrics import IndexMetrics
from quoteway_indexer.store import Commit, Query, Reader, Row, Span, Store

HOUR = 3_600
DAY = 24 * HOUR
START = 1_700_006_400 // DAY * DAY
"""Midnight."""
Q96 = 1 << 96


def place(number: int) -> tuple[bytes, str]:
    """Returns an address as bytes and as text."""
    raw = number.to_bytes(20)
    return raw, checksum("0x" + raw.hex())


USDX, USDX_TEXT = place(0x1111)
USDY, USDY_TEXT = place(0x2222)
COIN, COIN_TEXT = place(0x3333)
WRAPPED, WRAPPED_TEXT = place(0x4444)


class StoreReader(Reader):
    """Reads a store directly, and counts the queries."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.number = 0
        self.queries: list[Query] = []

    async def fetch(self, query: Query) -> list[Row]:
        self.queries.append(query)
        return self.store.fetch(query)

    async def spans(self, chain_id: int) -> list[Span]:
        return self.store.spans(chain_id)

    async def revision(self) -> int:
        return self.number

    async def notes(self) -> Mapping[str, Any]:
        return {}


def created(token0: bytes, token1: bytes, at: int = START, *, pool: bytes = POOL, block: int = 1) -> Any:
    """Returns the fact of a pool's creation."""
    return facts(
        "pool_created",
        {"block": block, "pool": pool, "token0": token0, "token1": token1, "timestamp": at},
    )


def pool_hour(hour: int, *, pool: bytes = POOL, price: float = 1.0, **values: Any) -> Row:
    """Returns an hour of a pool that stands at a price, in base units, unless ``values`` says otherwise."""
    root = int(price**0.5 * Q96)
    named = {
        "pool": pool,
        "hour": hour,
        "source": "dex",
        "swaps": 0,
        **{f"{name}{side}": 0 for name in FLOWS for side in (0, 1)},
        **{f"{name}{side}": 0 for name in ("principal", "uncollected") for side in (0, 1)},
        "tick_seconds": tick_of(price) * HOUR,
        "seconds": HOUR,
        **{f"{name}_sqrt_price_x96": root for name in ("open", "high", "low", "close")},
        "liquidity": None,
        "inexact": 0,
        **values,
    }
    for side in (0, 1):
        named.setdefault(f"principal_seconds{side}", named[f"principal{side}"] * HOUR)
    return row("pool_hour", **named)


FLOWS = ("volume", "washed", "lp_fee", "protocol_fee", "flash_fee", "donated")


def tick_of(price: float) -> int:
    """Returns the tick of a price in base units."""
    import math

    return math.floor(math.log(price) / math.log(1.0001))


def token_hour(token: bytes, hour: int, mean: float | None, close: float | None = None) -> Row:
    """Returns the price of a token in an hour."""
    close = mean if close is None else close
    prices = {"open_usd": mean, "high_usd": close, "low_usd": mean, "close_usd": close, "mean_usd": mean}
    return row("token_hour", token=token, hour=hour, depth_usd=1e6, confidence=0.9, **prices)


def computed(part: str, until: int, basis: str = "1") -> Row:
    """Returns how far a part is computed."""
    return row("computed", part=part, block=1, timestamp=until, basis=basis)


def write(store: Store, **rollups: Any) -> None:
    """Commits rows by table; ``facts`` are facts by table."""
    written = rollups.pop("facts", {})
    store.commit(Commit(CHAIN, facts=written, rollups=rollups))


class Indexing:
    """Declares the source of the pools of these tests, and reads the index through ``reader``."""

    def __init__(self, reader):
        self.reader = reader

    @hookimpl
    def quoteway_event_sources(self, context):
        rule = EventRule("Sync(uint112 a, uint112 b)", "reserves", {"pool": "@"})
        return [EventSource("dex", CHAIN, 1, (rule,))]

    @hookimpl
    def quoteway_metrics_providers(self, context):
        return [IndexMetrics(context, self.reader, frozenset({CHAIN}))]
