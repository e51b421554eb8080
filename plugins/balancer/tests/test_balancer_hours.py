"""Hours of pools in an index, beside the Vault's own numbers at the blocks of a devnet."""

from dataclasses import dataclass, replace

import pytest
from balancer_v3_venue import ODD_RATE, VenueV3
from balancer_venue import ONE, Managed, Venue, event_sources_of, venue_on
from chain_state import MAX_UINT256, calldata
from test_balancer_event_sources import charge_protocol_fees

pytest.importorskip("computed_hours", reason="needs the quoteway-indexer distribution")

from balancer_trading import TradingV2, TradingV3
from computed_hours import computed

HOURS = 24
MOVED = ("volume", "washed")
FEES = ("lp_fee", "protocol_fee", "donated")
STOOD = ("principal", "principal_seconds")


@dataclass
class Made:
    """A pool of v3: its id, its tokens in the Vault's order, and the block that made it."""

    id: str
    tokens: tuple
    made: int


def as_rows(found, names):
    """Returns rows by name of the pool and hour, of all tokens."""
    rows = {}
    for row in sorted(found, key=lambda row: row["place"]):
        own = rows.setdefault((names["0x" + row["pool"].hex()], row["hour"]), [])
        assert row["place"] == len(own)
        own.append(row)
    return rows


async def rows_of(trading, source, path):
    """Returns what the index has of the pools: rows by name and hour, and series by id and metric."""
    names = {pool.id.lower(): name for name, pool in trading.pools.items()}
    found, shown = await computed(trading.rpc, source, path, trading.time(), names, "pool_token_hour")
    return as_rows(found, names), shown


async def compare(trading, source, path, exact, fees):
    """Compares hours of the index with the Vault's, of pools ``exact``. Returns both, and the series."""
    expected = trading.expected(trading.time())
    rows, shown = await rows_of(trading, source, path)
    assert rows.keys() == expected.keys()
    for key, row in rows.items():
        name, _ = key
        tokens = ["0x" + each["token"].hex() for each in row]
        assert tokens == [token.lower() for token in trading.pools[name].tokens][: len(tokens)]
        compared = ("swaps", *MOVED, *(STOOD if name in exact else ()), *(FEES if fees else ()))
        for column in compared:
            assert [each[column] for each in row] == expected[key][column][: len(row)], (key, column)
        assert len({each["inexact"] for each in row}) == 1
        if name in exact:
            assert row[0]["inexact"] == 0
    for name, pool in trading.pools.items():
        own = [expected[key] for key in sorted(expected) if key[0] == name]
        series = {metric: shown[pool.id.lower(), metric] for metric in ("volume", "fees", "tvl", "apr")}
        for side in range(len(pool.tokens)):
            assert series["volume"].amounts[f"volume{side}"] == sum(row["volume"][side] for row in own)
            assert series["volume"].amounts[f"washed{side}"] == sum(row["washed"][side] for row in own)
            for shown_as, column in (("lp", "lp_fee"), ("protocol", "protocol_fee"), ("donated", "donated")):
                amount = sum(row[column][side] for row in own) if fees else None
                assert series["fees"].amounts[f"{shown_as}{side}"] == amount
            if name in exact:
                assert series["tvl"].amounts[f"principal{side}"] == own[-1]["principal"][side]
    return rows, expected, shown


@pytest.mark.slow
async def test_hours_of_v3_are_what_the_vault_says(fresh_devnet, tmp_path):
    with venue_on(fresh_devnet, fill=False, make=VenueV3) as venue, venue.sending():
        pools = {}
        rates = {f"0x{rate:040x}": rate for rate in (ODD_RATE, ODD_RATE + 1)}
        for name, shares, more in (
            ("three", {"WETH": 50, "UNI": 30, "LINK": 20}, {"donations": True}),
            ("two", {"WETH": 60, "DAI": 40}, {}),
            ("free", {"wstETH": 50, "WETH": 50}, {"rates": {"wstETH": ODD_RATE}, "pays_yield_fees": False}),
            ("yield", {"wstETH": 50, "WETH": 50}, {"rates": {"wstETH": ODD_RATE + 1}}),
        ):
            before = int(venue.transactions.rpc("eth_blockNumber"), 16)
            pool = venue.add(name, shares, 5_000_000, 2 * 10**15, **more)
            venue._send(pool.id, calldata("approve(address,uint256)", venue.router, MAX_UINT256))
            pools[name] = Made(pool.id, pool.tokens, before + 1)
        trading = TradingV3(venue, pools, 7, rates)
        changes = ("add", "donate", "remove", "remove_one", "share", "recovery", "grow")
        kinds = ("swap", "swap", "swap", "back", *changes)
        trading.trade(HOURS // 3, [kind for kind in kinds if kind != "recovery"])
        trading.trade(HOURS - HOURS // 3, kinds)
        exact = {"three", "two", "free"}
        (source,) = event_sources_of([venue.row()])
        rows, expected, shown = await compare(trading, source, tmp_path / "known.duckdb", exact, fees=True)
        assert trading.kinds.keys() == set(kinds) - {"grow"}
        assert len(rows) > HOURS
        # Fees of yield are in no log: what such a pool has is at most what its events say.
        untold = [key for key in rows if key[0] == "yield"]
        assert sum(row["inexact"] for key in untold for row in rows[key]) > len(untold)
        last = max(untold)
        told = [row["principal"] for row in rows[last]]
        assert all(map(int.__ge__, told, expected[last]["principal"]))
        assert told != expected[last]["principal"]
        # Without the controller's logs, how fees were divided is not known before the first change.
        (source,) = event_sources_of([venue.row(fee_controllers=[])])
        rows, shown = await rows_of(trading, source, tmp_path / "unknown.duckdb")
        for key, row in rows.items():
            assert [each["volume"] for each in row] == expected[key]["volume"]
            fees = [each["lp_fee"] for each in row]
            assert fees in (expected[key]["lp_fee"], [None] * len(fees))
        unknown = [key for key, row in rows.items() if row[0]["lp_fee"] is None]
        assert unknown
        assert all(rows[key][0]["principal"] is rows[key][0]["principal_seconds"] is None for key in unknown)
        three = pools["three"].id.lower()
        assert shown[three, "fees"].amounts["lp0"] is shown[three, "tvl"].amounts["principal0"] is None
        assert shown[three, "volume"].amounts["volume0"] > 0


@pytest.mark.slow
async def test_hours_of_v2_are_what_the_vault_says(fresh_devnet, tmp_path):
    with venue_on(fresh_devnet, fill=False, make=Venue) as venue, venue.sending():
        charge_protocol_fees(venue)
        venue.add_weighted("three", {"WETH": 50, "UNI": 30, "LINK": 20}, 2_000_000, 2 * 10**15)
        venue.add_weighted("first", {"WETH": 60, "DAI": 40}, 5_000_000, 123_456_789_012_345, True)
        venue.add_stable("stable", {"USDC": ONE, "DAI": 0, "USDT": 0}, 4_000_000)
        pools = {name: replace(pool, id=pool.id.lower()) for name, pool in venue.pools.items()}
        managed = Managed(venue)
        trading = TradingV2(venue, {**pools, "managed": managed}, 11)
        kinds = ("swap", "swap", "shares", "back", "join", "exit", "manage")
        trading.trade(HOURS // 2, kinds)
        with venue.sending():
            managed.add_token(venue)
        trading.trade(HOURS // 2, kinds)
        (source,) = event_sources_of([venue.row()])
        rows, _, shown = await compare(trading, source, tmp_path / "index.duckdb", set(trading.pools), False)
        assert trading.kinds.keys() == set(kinds)
        assert len(rows) > HOURS
        assert all(each[name] is None for row in rows.values() for each in row for name in FEES)
        assert {len(row) for (name, _), row in rows.items() if name == "managed"} == {2, 3}
        assert all(value is None for _, value in shown[pools["three"].id, "apr"].points)
