"""Prices of tokens by hour: from pools' hours in a store to ``token_hour``, and attacks on them."""

import logging
import math

import pytest
from history_rows import (
    COIN,
    COIN_TEXT,
    DAY,
    HOUR,
    Q96,
    START,
    USDX,
    USDX_TEXT,
    USDY,
    USDY_TEXT,
    WRAPPED,
    WRAPPED_TEXT,
    computed,
    created,
    place,
    pool_hour,
    tick_of,
    write,
)
from index_rows import CHAIN
from quoteway import NATIVE, Block, EventSource, Network, Token, UpstreamError
from quoteway_indexer.computing import Frontier
from quoteway_indexer.prices import TokenPrices
from quoteway_indexer.store import IndexedBlock, Select
from quoteway_indexer.writing import Writer

E18 = 10**18
USDZ, USDZ_TEXT = place(0x5555)
FAKE, FAKE_TEXT = place(0x6666)
DECIMALS = {
    **dict.fromkeys((USDX_TEXT, USDY_TEXT, USDZ_TEXT), 6),
    **dict.fromkeys((COIN_TEXT, WRAPPED_TEXT, FAKE_TEXT), 18),
}


class Chain:
    """A chain whose newest final block is at ``final``."""

    network = Network("devnet", CHAIN, "Devnet", wrapped_native=WRAPPED_TEXT)

    def __init__(self):
        self.final = START
        self.fails = False

    async def block(self, number):
        if self.fails:
            raise UpstreamError("down")
        return Block(number, "0x", self.final)


class Context:
    """What the computation needs of a context."""

    log = logging.getLogger("test")

    def __init__(self, usd=(USDX_TEXT, USDY_TEXT, USDZ_TEXT)):
        self.event_sources = [EventSource("dex", CHAIN, 1, (), usd_tokens=usd)]

    async def token(self, chain_id, address):
        return Token(chain_id, address, DECIMALS[address], "T", "T") if address in DECIMALS else None


class Market:
    """Pools in a store, and the computation of prices from them."""

    def __init__(self, store, usd=(USDX_TEXT, USDY_TEXT, USDZ_TEXT)):
        self.store, self.chain, self.context = store, Chain(), Context(usd)
        self.prices = TokenPrices(self.context, self.chain, Writer(store))
        self.pools = 0

    def pool(self, token0, token1, price, dollars, *, since=START, at=None, usd0=1.0, **values):
        """Adds a pool that holds so many dollars of each token, with token0 worth ``usd0``.

        ``price`` is whole token1 per whole token0.
        """
        self.pools += 1
        pool = self.pools.to_bytes(20)
        one, other = (DECIMALS.get(text_of(token), 18) for token in (token0, token1))
        raw = price * 10.0 ** (other - one)
        held = int(dollars / usd0 * 10**one), int(dollars * price / usd0 * 10**other)
        write(self.store, facts={"pool_created": created(token0, token1, since, pool=pool, block=self.pools)})
        self.hour(pool, since // HOUR * HOUR if at is None else at, raw, held, **values)
        return pool, raw, held

    def hour(self, pool, hour, raw, held, **values):
        values = {"principal0": held[0], "principal1": held[1], **values}
        write(self.store, pool_hour=[pool_hour(hour, pool=pool, price=raw, **values)])

    async def advance(self, until, final=None):
        """Computes up to a time; blocks until ``final`` are final."""
        self.chain.final = until if final is None else final
        write(self.store, computed=[computed("pools:dex", until)])
        head = IndexedBlock(100, b"\0" * 32, b"\0" * 32, until)
        await self.prices.advance(Frontier(CHAIN, head, 90, {}))

    def known(self, token, column="mean_usd"):
        """The prices of a token by hour."""
        rows = self.store.fetch(Select("token_hour", ("token", "hour", column), (), ("hour",)))
        return {hour: price for each, hour, price in rows if each == token}


def text_of(token):
    from quoteway.evm.address import checksum

    return checksum("0x" + token.hex())


def dollars(market, dollars=1e7, **peers):
    """Adds pools between the dollar tokens."""
    market.pool(USDX, USDY, peers.get("xy", 1.0), dollars)
    market.pool(USDX, USDZ, peers.get("xz", 1.0), dollars)
    market.pool(USDY, USDZ, peers.get("yz", 1.0), dollars)


@pytest.fixture
def market(store):
    return Market(store)


async def test_prices_follow_pools_from_their_second_day_and_are_carried(market):
    dollars(market)
    pool, _, held = market.pool(COIN, USDX, 2.0, 1e7, usd0=2.0)
    market.hour(pool, START + 30 * HOUR, 3.0e-12, held)
    await market.advance(START + 40 * HOUR + 10)
    known = market.known(COIN)
    assert sorted(known) == [START + number * HOUR for number in range(24, 41)]
    for hour, price in known.items():
        assert price == pytest.approx(2.0 if hour < START + 30 * HOUR else 3.0, rel=1e-4)
    # Exactly the price of the pool while it stands.
    assert known[START + 35 * HOUR] == pytest.approx(3.0, rel=1e-12)
    assert market.known(USDX)[START + 30 * HOUR] == pytest.approx(1.0, rel=1e-12)


async def test_the_mean_is_that_of_the_ticks_by_time(market):
    dollars(market)
    pool, raw, held = market.pool(COIN, USDX, 2.0, 1e7, usd0=2.0)
    high = int(math.sqrt(1.2 * raw) * Q96)
    values = {
        "tick_seconds": tick_of(raw) * 3000 + tick_of(1.2 * raw) * 600,
        "high_sqrt_price_x96": high,
        "close_sqrt_price_x96": high,
    }
    market.hour(pool, START + 30 * HOUR, raw, held, **values)
    await market.advance(START + 40 * HOUR)
    hour = START + 30 * HOUR
    assert market.known(COIN)[hour] == pytest.approx(2.0 * 1.2 ** (1 / 6), rel=2e-4)
    found = [market.known(COIN, f"{name}_usd")[hour] for name in ("open", "high", "low", "close")]
    assert found == pytest.approx([2.0, 2.4, 2.0, 2.4], rel=1e-9)


async def test_the_price_is_the_median_by_depth_through_any_base_token(market):
    dollars(market)
    market.pool(WRAPPED, USDX, 2000.0, 5e7, usd0=2000.0)
    market.pool(WRAPPED, USDY, 2010.0, 4e7, usd0=2000.0)
    market.pool(WRAPPED, USDZ, 1000.0, 1e5, usd0=2000.0)
    market.pool(COIN, WRAPPED, 0.001, 1e7, usd0=2.0)
    await market.advance(START + 30 * HOUR)
    hour = START + 25 * HOUR
    assert market.known(WRAPPED)[hour] == pytest.approx(2000.0, rel=1e-9)
    assert market.known(COIN)[hour] == pytest.approx(2.0, rel=1e-9)


async def test_v4_pools_of_the_native_coin_price_its_wrapped_token(market):
    dollars(market)
    native = bytes(20)
    assert text_of(native) == NATIVE
    market.pool(native, USDX, 2000.0, 5e7, usd0=2000.0)
    await market.advance(START + 30 * HOUR)
    assert market.known(WRAPPED)[START + 25 * HOUR] == pytest.approx(2000.0, rel=1e-9)


async def test_a_dollar_token_off_its_peg_is_told_from_the_others(market):
    dollars(market, xy=0.9, xz=0.9)  # one X buys 0.9 Y and 0.9 Z
    await market.advance(START + 30 * HOUR)
    hour = START + 25 * HOUR
    found = [market.known(token)[hour] for token in (USDX, USDY, USDZ)]
    assert found == pytest.approx([0.9, 1.0, 1.0], rel=1e-9)


async def test_two_dollar_tokens_that_disagree_have_no_price_nor_has_anything_else(store):
    market = Market(store, usd=(USDX_TEXT, USDY_TEXT))
    market.pool(USDX, USDY, 0.95, 1e7)
    market.pool(COIN, USDX, 2.0, 1e7, usd0=2.0)
    await market.advance(START + 30 * HOUR)
    assert market.known(COIN) == {}
    # On the first day nothing compares them yet.
    assert max(market.known(USDX)) == START + 23 * HOUR
    assert set(market.known(USDX, "confidence").values()) == {0.5}


async def test_a_lone_dollar_token_says_so_by_its_confidence(store):
    market = Market(store, usd=(USDX_TEXT,))
    market.pool(COIN, USDX, 2.0, 1e8, usd0=2.0)
    await market.advance(START + 30 * HOUR)
    hour = START + 25 * HOUR
    assert market.known(USDX, "confidence")[hour] == 0.5
    assert market.known(USDX, "depth_usd")[hour] is None
    assert market.known(COIN, "confidence")[hour] <= 0.5


async def test_pushes_of_blocks_young_pools_narrow_ranges_and_thin_pools_price_nothing(market):
    dollars(market)
    pool, raw, held = market.pool(COIN, USDX, 2.0, 2e7, usd0=2.0)
    hour = START + 30 * HOUR
    # Ten blocks of 12 s at a hundred times the price.
    pushed = tick_of(raw) * (3600 - 120) + tick_of(100 * raw) * 120
    roof = int(math.sqrt(100 * raw) * Q96)
    market.hour(pool, hour, raw, held, tick_seconds=pushed, high_sqrt_price_x96=roof)
    market.hour(pool, hour + HOUR, raw, held)
    # A deep pool at another price that is some hours old.
    market.pool(COIN, USDY, 50.0, 1e9, usd0=50.0, since=hour - 5 * HOUR)
    # Much liquidity in a narrow range, and much liquidity for a minute, at another price.
    market.pool(COIN, USDZ, 50.0, 100.0, usd0=50.0, liquidity=10**30)
    moment = {f"principal_seconds{side}": 60 for side in (0, 1)}
    market.pool(COIN, USDZ, 50.0, 1e9, usd0=50.0, at=hour, **moment)
    await market.advance(hour + HOUR)
    known = market.known(COIN)
    assert known[hour] == pytest.approx(2.0, rel=1e-9)
    assert known[hour - HOUR] == pytest.approx(2.0, rel=1e-9)
    # A made-up token whose pools hold next to nothing.
    market.pool(FAKE, USDX, 5000.0, 2000.0, usd0=5000.0)
    await market.advance(hour + 3 * HOUR)
    assert market.known(FAKE) == {}


@pytest.mark.parametrize("factor", [1.05, 1.2, 1.5, 3.0, 121.0])
async def test_a_push_over_the_end_of_an_hour_moves_little_or_takes_the_price(market, factor):
    dollars(market)
    pool, raw, held = market.pool(COIN, USDX, 2.0, 2e8, usd0=2.0)
    hour = START + 30 * HOUR
    ticks = tick_of(raw) * (3600 - 60) + tick_of(factor * raw) * 60
    root, roof = (int(math.sqrt(price) * Q96) for price in (raw, factor * raw))
    market.hour(
        pool, hour, raw, held, tick_seconds=ticks, high_sqrt_price_x96=roof, close_sqrt_price_x96=roof
    )
    market.hour(
        *(pool, hour + HOUR, raw, held),
        tick_seconds=ticks,
        high_sqrt_price_x96=roof,
        open_sqrt_price_x96=roof,
        close_sqrt_price_x96=root,
    )
    await market.advance(hour + 3 * HOUR)
    known = market.known(COIN)
    for moment in (hour, hour + HOUR):
        assert known.get(moment) is None or known[moment] == pytest.approx(2.0, rel=5e-3)
    assert (known.get(hour) is None) == (factor > 1.25)
    assert known[hour + 2 * HOUR] == pytest.approx(2.0, rel=1e-9)


async def test_a_push_of_one_of_three_pools_moves_nothing(market):
    dollars(market)
    for other in (USDX, USDY, USDZ):
        pool, raw, held = market.pool(COIN, other, 2.0, 1e7, usd0=2.0)
    hour = START + 30 * HOUR
    market.hour(pool, hour, raw * 30, held)
    await market.advance(hour + HOUR)
    found = market.known(COIN).get(hour)
    assert found is None or found == pytest.approx(2.0, rel=5e-3)


async def test_a_pool_without_events_for_three_months_says_nothing(market):
    pool, raw, held = market.pool(USDX, USDY, 1.0, 1e7)
    for day in range(0, 160, 40):
        market.hour(pool, START + day * DAY, raw, held)
    market.pool(COIN, USDX, 2.0, 1e7, usd0=2.0)
    await market.advance(START + 95 * DAY)
    assert max(market.known(COIN)) == START + 90 * DAY
    assert max(market.known(USDX)) == START + 95 * DAY


def grown(store):
    """A market with a pool whose price grows every seventh hour."""
    market = Market(store)
    dollars(market)
    pool, raw, held = market.pool(COIN, USDX, 2.0, 1e7, usd0=2.0)
    for number in range(26, 100, 7):
        market.hour(pool, START + number * HOUR, raw * (1 + number / 50), held)
    return market


async def test_a_restart_goes_on_and_gives_what_one_run_gives(store, tmp_path):
    from quoteway_indexer.stores.duckdb import DuckDBStore

    grown(store)
    for until in (30, 31, 55, 100):
        parts = Market(store)  # as of a new process
        await parts.advance(START + until * HOUR + 100)
    other = DuckDBStore(tmp_path / "other.duckdb", memory_mb=256)
    other.migrate()
    once = grown(other)
    await once.advance(START + 100 * HOUR + 100)
    for column in ("mean_usd", "open_usd", "high_usd", "low_usd", "close_usd", "depth_usd", "confidence"):
        assert parts.known(COIN, column) == once.known(COIN, column)
    assert len(once.known(COIN)) == 77
    other.close()


async def test_hours_that_are_not_final_are_computed_again(market):
    dollars(market)
    pool, raw, held = market.pool(COIN, USDX, 2.0, 1e7, usd0=2.0)
    final = START + 30 * HOUR
    await market.advance(final + 2 * HOUR, final)
    assert market.known(COIN)[final + HOUR] == pytest.approx(2.0)
    market.hour(pool, final + HOUR, 3 * raw, held)
    market.prices.rewind(95)
    await market.advance(final + 2 * HOUR, final)
    assert market.known(COIN)[final + HOUR] == pytest.approx(6.0, rel=1e-3)
    assert market.known(COIN)[final] == pytest.approx(2.0)
    # The liquidity leaves: the price of the same hour is taken back.
    market.hour(pool, final + HOUR, 3 * raw, (0, 0))
    market.prices.rewind(95)
    await market.advance(final + 2 * HOUR, final)
    assert market.known(COIN)[final + HOUR] is None


async def test_another_source_of_pools_changes_the_prices_of_all_hours(market, store):
    dollars(market)
    market.pool(COIN, USDX, 2.0, 1e7, usd0=2.0)
    await market.advance(START + 40 * HOUR)
    assert market.known(COIN)[START + 30 * HOUR] == pytest.approx(2.0)
    market.pool(COIN, USDX, 2.1, 1e8, usd0=2.0)
    write(store, computed=[computed("pools:more", START + 41 * HOUR)])
    await market.advance(START + 41 * HOUR)
    assert market.known(COIN)[START + 30 * HOUR] == pytest.approx(2.1)
    # A source far behind the head does not hold the others up.
    write(store, computed=[computed("pools:late", START + HOUR), computed("pools:more", START + 50 * HOUR)])
    await market.advance(START + 50 * HOUR)
    assert START + 48 * HOUR in market.known(COIN)


async def test_a_node_that_is_down_delays_prices_and_breaks_nothing(market, caplog):
    dollars(market)
    market.pool(COIN, USDX, 2.0, 1e7, usd0=2.0)
    market.chain.fails = True
    await market.advance(START + 40 * HOUR)
    assert market.known(COIN) == {}
    market.chain.fails = False
    await market.advance(START + 41 * HOUR)
    assert len(market.known(COIN)) == 17 + 1
