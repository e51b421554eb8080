"""What an index has of the rollups that the settings name, and of facts that are not kept for ever."""

import logging
import subprocess
from unittest.mock import AsyncMock

import pytest
from computed_hours import Context
from history_rows import (
    COIN,
    COIN_TEXT,
    HOUR,
    START,
    USDX,
    StoreReader,
    computed,
    created,
    pool_hour,
    token_hour,
    write,
)
from index_process import command, configure, environment
from index_rows import CHAIN, POOL, row
from quoteway import EventRule, EventSource
from quoteway.evm.address import checksum
from quoteway_indexer import metrics as metrics_module
from quoteway_indexer.chosen_rollups import ChosenRollups
from quoteway_indexer.metrics import IndexMetrics
from quoteway_indexer.retention import Retention
from quoteway_indexer.store import Condition, Select
from quoteway_indexer.store_settings import DAY_S, StoreSettings
from quoteway_indexer.stores.duckdb import DuckDBStore
from quoteway_indexer.tables import BY_HOUR, ROLLUPS
from quoteway_indexer.writing import Writer

VAULT = bytes.fromhex("bb" * 20)
UNTIL = START + 3 * HOUR
RULES = (EventRule("Sync(uint112 a)", "reserves", {}), EventRule("Swap(uint112 a)", "swap", {}))
SOURCE = EventSource("dex", CHAIN, 1, RULES)


@pytest.fixture
def filled(duckdb_store):
    """An index with rows of every rollup."""
    hours = range(START, UNTIL, HOUR)
    moved = {"principal0": 10**18, "principal1": 10**6, "volume0": 10**18}
    assets = {"asset": USDX, "block": 1, "total_assets": 1, "total_supply": 1, "assets_of_unit": 10**18}
    write(
        duckdb_store,
        facts={"pool_created": created(COIN, USDX)},
        pool_hour=[pool_hour(hour, **moved) for hour in hours],
        token_hour=[token_hour(token, hour, 2.0) for token in (COIN, USDX) for hour in hours],
        vault_hour=[
            row("vault_hour", vault=VAULT, hour=hour, timestamp=hour + HOUR, unit_exponent=18, **assets)
            for hour in hours
        ],
        computed=[computed("pools:dex", UNTIL), computed("prices", UNTIL)],
    )
    return duckdb_store


@pytest.mark.parametrize(
    "chosen", [BY_HOUR, ("pool_hour", "token_hour"), ("pool_hour",), ("vault_hour",), ("pool_token_hour",)]
)
async def test_what_was_not_chosen_is_not_read_though_it_is_there(filled, chosen):
    metrics = IndexMetrics(Context(UNTIL), ChosenRollups(StoreReader(filled), chosen), frozenset({CHAIN}))
    asked = START, UNTIL, "1h"
    pool, vault = (f"{CHAIN}:{checksum('0x' + each.hex())}" for each in (POOL, VAULT))
    volume = await metrics.series(pool, "volume", *asked)
    assert (volume is not None) == ("pool_hour" in chosen)
    if volume is not None:
        assert volume.amounts["volume0"] == 3 * 10**18
        values = [value for _, value in volume.points]
        assert values == ([2.0] * 3 if "token_hour" in chosen else [None] * 3)
    assert (await metrics.series(vault, "apy", *asked) is not None) == ("vault_hour" in chosen)
    candles = await metrics.price_history(CHAIN, COIN_TEXT, *asked)
    assert (candles is not None) == ("token_hour" in chosen)
    (prices,) = await metrics.hour_prices(CHAIN, [COIN_TEXT], START, UNTIL)
    assert len(prices.hours) == (3 if "token_hour" in chosen else 0)


async def test_price_histories_of_the_same_intervals_are_read_once_and_few_candles_are_kept(
    filled, monkeypatch
):
    monkeypatch.setattr(metrics_module, "_MOST_CANDLES", 20)
    reader = ChosenRollups(StoreReader(filled), BY_HOUR)
    metrics = IndexMetrics(Context(UNTIL), reader, frozenset({CHAIN}))
    read, reads = reader.fetch, []

    async def fetch(select):
        reads.append(select)
        return await read(select)

    monkeypatch.setattr(reader, "fetch", fetch)
    whole = await metrics.price_history(CHAIN, COIN_TEXT, START, UNTIL, "1h")
    asked = len(reads)
    assert len(whole.candles) == 3
    assert asked
    for late_s in (0, 1, 2):
        same = await metrics.price_history(CHAIN, COIN_TEXT, START - late_s, UNTIL - late_s, "1h")
        assert (same.start, same.end) == (START - late_s, UNTIL - late_s)
        assert same.candles == whole.candles
    assert len(reads) == asked
    later = await reader.revision() + 1
    monkeypatch.setattr(reader, "revision", AsyncMock(return_value=later))
    again = await metrics.price_history(CHAIN, COIN_TEXT, START, UNTIL, "1h")
    assert (again, len(reads)) == (whole, 2 * asked)
    assert [revision for revision, _ in metrics._histories.values()] == [later], "the one before is gone"
    for earlier in range(20):
        await metrics.price_history(CHAIN, COIN_TEXT, START - earlier * 3600, UNTIL, "1h")
    kept = [1 + len(history.candles) for _, history in metrics._histories.values()]
    assert kept
    assert sum(kept) <= 20


async def test_rows_of_what_was_not_chosen_are_deleted_once(filled, caplog):
    caplog.set_level(logging.INFO)
    settings = StoreSettings().load({"rollups": ["pool_hour"]})
    retention = Retention(settings, Writer(filled), logging.getLogger("test"))
    await retention.begin(CHAIN, [SOURCE], UNTIL)
    await retention.begin(CHAIN, [SOURCE], UNTIL)
    left = {name for name in ROLLUPS if filled.fetch(Select(name, ("chain_id",)))}
    assert left == {"pool_hour", "computed"}
    assert filled.fetch(Select("computed", ("part",))) == [("pools:dex",)]
    assert caplog.text.count("rows of token_hour of chain 31337: `rollups` does not name it") == 1
    assert "deleted 6 rows of token_hour" in caplog.text


async def test_an_index_says_since_when_all_facts_of_a_source_are_there(duckdb_store):
    def kept():
        where = (Condition("part", "=", "kept:dex"),)
        return [since for (since,) in duckdb_store.fetch(Select("computed", ("timestamp",), where))]

    async def note(now, **retention_days):
        settings = StoreSettings().load({"retention_days": retention_days})
        await Retention(settings, Writer(duckdb_store), logging.getLogger("test")).note(CHAIN, [SOURCE], now)
        return kept()

    now, margin = 1_000 * DAY_S, 2 * HOUR
    assert await note(now) == []
    assert await note(now, pool_hour=3, transfer=5) == []
    assert await note(now, swap=30, reserves=60) == [now - 30 * DAY_S + margin]
    # What was deleted stays so, however long rows are kept from now on.
    assert await note(now + DAY_S, swap=300) == await note(now + DAY_S) == [now - 30 * DAY_S + margin]
    assert await note(now + DAY_S, swap=30) == [now - 29 * DAY_S + margin]


def index_once(folder, rollups):
    """Runs the index process until the history is complete. Returns its exit status and what it said."""
    configuration = folder / "quoteway.toml"
    text = configuration.read_text().split("\nrollups")[0]
    configuration.write_text(f"{text}\nrollups = {rollups}\n".replace("'", '"'))
    done = subprocess.run(
        command("index", "--once"), cwd=folder, env=environment(), capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stderr


def rows_of(folder):
    """Returns the rows of all rollups in an index, by table."""
    store = DuckDBStore(folder / "index.duckdb", memory_mb=256, threads=1)
    try:
        return {
            name: store.fetch(Select(name, tuple(column.name for column in table.columns), order=table.key))
            for name, table in ROLLUPS.items()
        }
    finally:
        store.close()


@pytest.mark.slow
def test_a_rollup_that_is_named_again_is_what_it_is_in_a_new_index(fresh_devnet, tmp_path):
    configure(tmp_path, fresh_devnet)
    assert index_once(tmp_path, list(BY_HOUR))[0] == 0
    whole = rows_of(tmp_path)
    assert whole["pool_hour"]
    assert whole["token_hour"]
    status, said = index_once(tmp_path, ["pool_hour"])
    assert status == 0
    assert f"deleted {len(whole['token_hour'])} rows of token_hour" in said
    pools = rows_of(tmp_path)
    assert pools["pool_hour"] == whole["pool_hour"]
    assert pools["token_hour"] == []
    status, said = index_once(tmp_path, [])
    assert status == 0
    assert f"deleted {len(whole['pool_hour'])} rows of pool_hour" in said
    assert not any(rows_of(tmp_path).values())
    assert index_once(tmp_path, list(BY_HOUR))[0] == 0
    assert rows_of(tmp_path) == whole


def test_an_unknown_rollup_is_an_error_at_the_start(fresh_devnet, tmp_path):
    configure(tmp_path, fresh_devnet)
    status, said = index_once(tmp_path, ["pool_hour", "candles"])
    assert status == 2
    assert "candles is no rollup, known are: pool_hour, pool_token_hour, vault_hour, token_hour" in said
