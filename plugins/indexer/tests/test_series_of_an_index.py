"""Series over HTTP from the rows of an index, each number computed again from the rows."""

import asyncio
import math
import random
from fractions import Fraction

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
    Indexing,
    StoreReader,
    computed,
    created,
    pool_hour,
    token_hour,
    write,
)
from index_rows import CHAIN, POOL, row
from quoteway import Network, Token
from quoteway.evm.address import checksum
from quoteway.testing.fakes import FakePlugin, MemoryRpc
from quoteway.testing.serving import served

DAYS = 40
UNTIL = START + DAYS * DAY + HOUR // 2
PATH = f"/v2/pools/{CHAIN}:{checksum('0x' + POOL.hex())}"
VAULT = bytes.fromhex("bb" * 20)
VAULT_TEXT = checksum("0x" + VAULT.hex())
VAULT_PATH = f"/v2/vaults/{CHAIN}:{VAULT_TEXT}"
YEAR = 365 * DAY
TOKENS = (
    Token(CHAIN, COIN_TEXT, 18, "COIN", "Coin"),
    Token(CHAIN, USDX_TEXT, 6, "USDX", "Dollar"),
    Token(CHAIN, VAULT_TEXT, 6, "vUSDX", "Vault"),
)


@pytest.fixture
async def index(store):
    """The API of a gateway whose metrics come from the store, its reader, and its chain."""
    rpc = MemoryRpc({CHAIN}, tokens=TOKENS)
    reader = StoreReader(store)
    network = Network("devnet", CHAIN, "Devnet", wrapped_native=WRAPPED_TEXT)
    chain = FakePlugin([rpc], networks=[network])
    async with served({"chain": chain, "index": Indexing(reader)}) as api:
        yield api, reader, rpc


def traded(seed=1):
    """Rows of a pool of COIN (18 decimals) and USDX (6): some hours without events, one without a price."""
    choose = random.Random(seed)
    rows, prices = {}, {}
    principal = [10**24, 10**12]
    for number in range(DAYS * 24 + 1):
        hour = START + number * HOUR
        if number == 0 or choose.random() < 0.4:
            principal = [amount * choose.randint(95, 106) // 100 for amount in principal]
            flows = {f"{name}{side}": choose.randrange(10**20) for name in FLOWS for side in (0, 1)}
            flows |= {f"{name}1": choose.randrange(10**9) for name in FLOWS}
            rows[hour] = {
                **flows,
                "principal0": principal[0],
                "principal1": principal[1],
                "principal_seconds0": principal[0] * choose.randint(3000, 3600),
                "principal_seconds1": principal[1] * choose.randint(3000, 3600),
                "uncollected0": choose.randrange(10**21),
                "uncollected1": choose.randrange(10**9),
            }
        prices[hour] = choose.uniform(0.5, 2.0), choose.uniform(0.5, 2.0)
    return rows, prices


def fill(store, rows, prices, *, until=UNTIL):
    hours = [pool_hour(hour, **values) for hour, values in rows.items()]
    priced = [token_hour(COIN, hour, *price) for hour, price in prices.items()]
    priced += [token_hour(USDX, hour, 1.0, 1.0) for hour in prices]
    parts = [computed("pools:dex", until), computed("prices", until // HOUR * HOUR, "one")]
    write(
        store,
        facts={"pool_created": created(COIN, USDX)},
        pool_hour=hours,
        token_hour=priced,
        computed=parts,
    )


async def read(api, metric, interval="1d", start=START, end=UNTIL, path=PATH):
    """The series as soon as it was read: a busy machine may take longer than an answer waits."""
    async with asyncio.timeout(60):
        while True:
            answer = await api.get(f"{path}/{metric}?interval={interval}&from={start}&to={end}")
            assert answer.status == 200, answer.body
            if answer.body["source"] != "none":
                break
    await api.check(f"get{'Vault' if path == VAULT_PATH else 'Pool'}{metric.capitalize()}", answer)
    return answer.body


def dollars(amounts, prices):
    return amounts[0] / 10**18 * prices[0] + amounts[1] / 10**6 * prices[1]


@pytest.mark.parametrize(("interval", "step"), [("1h", HOUR), ("1d", DAY), ("1w", 7 * DAY)])
async def test_flows_are_the_sums_of_the_hours_at_their_prices(store, index, interval, step):
    api, _, _ = index
    rows, prices = traded()
    fill(store, rows, prices)
    for metric, names in (("volume", ["volume"]), ("fees", ["lp_fee", "protocol_fee", "donated"])):
        body = await read(api, metric, interval)
        expected = {}
        for hour, values in rows.items():
            amounts = [sum(values[f"{name}{side}"] for name in names) for side in (0, 1)]
            bucket = hour // step * step
            expected[bucket] = expected.get(bucket, 0) + dollars(amounts, (prices[hour][0], 1.0))
        assert len(body["points"]) == len(range(-(-START // step) * step, UNTIL, step))
        for point in body["points"]:
            assert point["value"] == pytest.approx(expected.get(point["timestamp"], 0), rel=1e-12)
        first = body["points"][0]["timestamp"]
        name = {"volume": "volume", "fees": "lp_fee"}[metric]
        total = sum(values[f"{name}0"] for hour, values in rows.items() if hour >= first)
        shown = {"volume": "volume0", "fees": "lp0"}[metric]
        assert body["amounts"][shown] == str(total)
        assert body["components"][shown] == total / 10**18
        day = [hour for hour in rows if UNTIL // HOUR * HOUR - DAY <= hour < UNTIL // HOUR * HOUR]
        amounts = [[sum(rows[hour][f"{n}{side}"] for n in names) for side in (0, 1)] for hour in day]
        current = sum(dollars(each, (prices[hour][0], 1.0)) for hour, each in zip(day, amounts, strict=True))
        assert body["current"] == pytest.approx(current, rel=1e-12)
        assert body["coverage"] == {"from": START, "to": UNTIL}
        assert (body["source"], body["gaps"]) == ("index", [])


async def test_what_stands_is_carried_over_hours_without_events(store, index):
    api, _, _ = index
    rows, prices = traded(2)
    fill(store, rows, prices)
    body = await read(api, "tvl", "1h", start=START + 20 * DAY, end=START + 40 * DAY)
    for point in body["points"]:
        values = rows[max(hour for hour in rows if hour <= point["timestamp"])]
        stood = [values[f"principal{side}"] + values[f"uncollected{side}"] for side in (0, 1)]
        assert point["value"] == pytest.approx(
            dollars(stood, (prices[point["timestamp"]][1], 1.0)), rel=1e-12
        )
    last = rows[max(rows)]
    assert (await read(api, "tvl", "1h", start=UNTIL - DAY))["amounts"] == {
        name: str(last[name]) for name in ("principal0", "principal1", "uncollected0", "uncollected1")
    }


async def test_apr_is_the_fees_over_the_principal_weighted_by_time(store, index):
    api, _, _ = index
    rows, prices = traded(3)
    fill(store, rows, prices)
    body = await read(api, "apr")
    end = UNTIL // HOUR * HOUR

    def rate(first, until):
        fees = held = Fraction(0)
        principal = None
        for hour in range(START, until, HOUR):
            values = rows.get(hour)
            seconds = [amount * HOUR for amount in principal] if principal else None
            if values:
                principal = [values["principal0"], values["principal1"]]
                seconds = [values["principal_seconds0"], values["principal_seconds1"]]
            if hour < first:
                continue
            price = Fraction(prices[hour][0])
            held += Fraction(seconds[0], 10**18) * price + Fraction(seconds[1], 10**6)
            if values:
                fees += Fraction(values["lp_fee0"], 10**18) * price + Fraction(values["lp_fee1"], 10**6)
        return float(fees * YEAR / held)

    for name, span in (("1d", DAY), ("7d", 7 * DAY), ("30d", 30 * DAY)):
        assert body["windows"][name] == pytest.approx(rate(end - span, end), rel=1e-12)
    assert body["current"] == body["windows"]["1d"] == body["components"]["base"]
    for point in body["points"]:
        until = min(point["timestamp"] + DAY, end)
        assert point["value"] == pytest.approx(rate(until - DAY, until), rel=1e-12)
    # A window that begins before the pool is not one.
    young = await read(api, "apr", "1h", start=START, end=START + 3 * DAY)
    assert [point["value"] is None for point in young["points"]] == [
        number + 1 < 24 for number in range(3 * 24)
    ]


async def test_what_has_no_price_is_null_and_its_amounts_are_shown(store, index):
    api, _, _ = index
    rows, prices = traded(4)
    silent = sorted(rows)[50]
    prices = {hour: price for hour, price in prices.items() if hour != silent}
    fill(store, rows, prices)
    body = await read(api, "volume", "1h", start=silent - 2 * HOUR, end=silent + 3 * HOUR)
    assert [point["value"] is None for point in body["points"]] == [False, False, True, False, False]
    assert body["gaps"] == [[silent, silent + HOUR]]
    near = [hour for hour in rows if silent - 2 * HOUR <= hour < silent + 3 * HOUR]
    assert body["amounts"]["volume0"] == str(sum(rows[hour]["volume0"] for hour in near))


async def test_nothing_is_known_before_the_pool_nor_after_what_is_computed(store, index):
    api, reader, _ = index
    rows, prices = traded(5)
    rows = {hour: values for hour, values in rows.items() if hour < START + 10 * DAY}
    fill(store, rows, prices, until=START + 12 * DAY)
    body = await read(api, "volume", "1d", start=START - 3 * DAY, end=START + 15 * DAY)
    known = [point["value"] for point in body["points"]]
    assert known[:3] == [None] * 3
    assert known[15:] == [None] * 3
    assert known[13:15] == [0.0, 0.0]  # the index knows that nothing happened
    assert body["coverage"] == {"from": START, "to": START + 12 * DAY}
    # Later, by a later revision, it knows more.
    write(
        store, computed=[computed("pools:dex", START + 14 * DAY), computed("prices", START + 14 * DAY, "one")]
    )
    reader.number += 1
    body = await read(api, "volume", "1d", start=START - 3 * DAY, end=START + 15 * DAY + 1)
    assert [point["value"] for point in body["points"]][15:17] == [0.0, 0.0]


async def test_a_pool_that_is_not_indexed_is_left_to_others(store, index):
    api, _, _ = index
    answer = await api.get(f"{PATH}/volume")
    assert answer.status == 503
    assert answer.body["error"]["code"] == "provider_unavailable"


@pytest.mark.parametrize(
    "named", [f"{CHAIN}:pool", f"{CHAIN}:0x12", "x:0x" + "11" * 20, "0x" + "11" * 20, "%D9%A1:0x" + "11" * 20]
)
async def test_what_is_no_id_of_a_contract_is_left_to_others(store, index, named):
    api, _, _ = index
    answer = await api.get(f"/v2/pools/{named}/volume")
    assert answer.status in (404, 422, 503), answer.body


async def test_hours_in_memory_follow_the_index_and_cost_no_request_to_a_node(store, index):
    api, reader, rpc = index
    rows, prices = traded(6)
    fill(store, rows, prices)
    await read(api, "volume", "1h", end=UNTIL - 10 * DAY)
    asked, sent = len(reader.queries), state_reads(rpc)
    for metric in ("volume", "fees", "tvl"):
        await read(api, metric, "1d", start=START + DAY)
    assert (len(reader.queries), state_reads(rpc)) == (asked, sent)
    changed = {**rows[max(rows)], "volume0": 5 * 10**20}
    write(store, pool_hour=[pool_hour(max(rows), **changed)])
    reader.number += 1
    body = await read(api, "volume", "1h", start=START + 2 * DAY)
    rows[max(rows)] = changed
    total = sum(values["volume0"] for hour, values in rows.items() if hour >= START + 2 * DAY)
    assert body["amounts"]["volume0"] == str(total)
    assert state_reads(rpc) == sent


def state_reads(rpc):
    """The calls to the node but those for its head, which the gateway follows in the background."""
    return sum(method != "eth_getBlockByNumber" for method, _ in rpc.calls)


async def test_a_reorganisation_and_another_index_replace_what_is_in_memory(store, index):
    api, reader, _ = index
    rows, prices = traded(7)
    fill(store, rows, prices)
    await read(api, "volume", "1d")
    store.drop_source(CHAIN, "dex")
    reader.number += 1
    stale = await read(api, "volume", "1d", start=START + DAY)  # while it is computed again
    assert stale["points"][-1]["value"] is not None
    others, prices = traded(8)
    fill(store, others, prices)
    reader.number = 0
    body = await read(api, "volume", "1d", start=START + 2 * DAY)
    total = sum(values["volume1"] for hour, values in others.items() if hour >= START + 2 * DAY)
    assert body["amounts"]["volume1"] == str(total)


def vault_hours(prices, first=0):
    return [
        row(
            "vault_hour",
            vault=VAULT,
            hour=START + (first + number) * HOUR,
            asset=USDX,
            block=1000 + number,
            timestamp=START + (first + number + 1) * HOUR - 7,
            total_assets=10**12 + number,
            total_supply=10**12,
            assets_of_unit=price,
            unit_exponent=18,
        )
        for number, price in enumerate(prices)
        if price is not None
    ]


async def test_yields_of_vaults_have_both_ends(store, index):
    api, _, _ = index
    prices = [10**18 + 10**12 * number for number in range(40 * 24)]
    write(
        store,
        vault_hour=vault_hours(prices),
        token_hour=[token_hour(USDX, START + (40 * 24 - 1) * HOUR, 0.9, 0.98)],
        computed=[computed("prices", START, "one")],
    )
    body = await read(api, "apy", path=VAULT_PATH)
    last = 40 * 24 - 4
    assert [each["window"] for each in body["endpoints"]] == ["1d", "7d", "30d", "start"]
    for each, span in zip(body["endpoints"], (24, 7 * 24, 30 * 24, last), strict=True):
        begins = last - span
        assert each["to"] == {
            "block": 1000 + last,
            "timestamp": START + (last + 1) * HOUR - 7,
            "price": f"1.{prices[last] - 10**18:018d}".rstrip("0"),
        }
        assert each["from"]["block"] == 1000 + begins
        expected = Fraction(prices[last], prices[begins])
        rate = math.expm1(math.log(expected) * YEAR / (span * HOUR))
        assert body["windows"][each["window"]] == pytest.approx(rate, abs=1e-12)
    assert body["current"] == body["windows"]["7d"]
    tvl = await read(api, "tvl", path=VAULT_PATH)
    assert (tvl["unit"], tvl["amounts"]) == ("USDX", {"assets": str(10**12 + 40 * 24 - 1)})
    assert tvl["components"]["usd"] == pytest.approx((10**12 + 40 * 24 - 1) / 10**6 * 0.98)
    assert tvl["points"][0]["value"] == (10**12 + 23) / 10**6


async def test_missing_hours_of_vaults_stay_missing(store, index):
    api, reader, _ = index
    prices = [10**18 + 10**12 * number for number in range(20 * 24)]
    prices[5 * 24 : 8 * 24] = [None] * (3 * 24)
    write(store, vault_hour=vault_hours(prices))
    body = await read(api, "tvl", path=VAULT_PATH, end=START + 20 * DAY)
    assert [point["value"] is None for point in body["points"]] == [5 <= day < 8 for day in range(20)]
    # Older hours are found later.
    write(store, vault_hour=vault_hours([9 * 10**17] * 48, first=-48))
    reader.number += 1
    body = await read(api, "tvl", path=VAULT_PATH, start=START - 3 * DAY, end=START + 20 * DAY)
    assert [point["value"] is None for point in body["points"]][:4] == [True, False, False, False]


async def test_candles_have_nulls_where_no_price_is_known(store, index):
    api, _, _ = index
    hours = {START + number * HOUR: 1.0 + number / 1000 for number in range(72) if not 24 <= number < 48}
    rows = [token_hour(COIN, hour, mean, mean + 0.5) for hour, mean in hours.items()]
    write(
        store,
        facts={"pool_created": created(COIN, USDX)},
        token_hour=[*rows, token_hour(COIN, START + 30 * HOUR, None)],
        pool_hour=[pool_hour(START)],
        computed=[computed("prices", START + 3 * DAY, "one")],
    )
    query = f"network=devnet&token={COIN_TEXT}&interval=1d&from={START}&to={START + 4 * DAY}"
    answer = await api.get(f"/v2/prices/history?{query}")
    await api.check("getPriceHistory", answer)
    candles = answer.body["candles"]
    assert [candle["mean"] is None for candle in candles] == [False, True, False, True]
    assert [candle["hours"] for candle in candles] == [24, 0, 24, 0]
    first = candles[0]
    assert (first["open"], first["close"], first["low"]) == (1.0, 1.523, 1.0)
    assert first["high"] == 1.523
    assert first["mean"] == pytest.approx(sum(1 + number / 1000 for number in range(24)) / 24, rel=1e-12)
    assert (first["confidence"], first["depthUsd"]) == (0.9, 1e6)
    assert answer.body["coverage"] == {"from": START, "to": START + 3 * DAY}
    many = await api.get(
        f"/v2/prices/history?{query.replace('interval=1d', 'interval=1h')}".replace(f"from={START}", "from=0")
    )
    assert many.refused(422, "validation_error", member="interval")


async def test_a_new_index_has_a_history_without_prices(store, index):
    api, _, _ = index
    query = f"network=devnet&token={COIN_TEXT}&interval=1d&from={START}&to={START + 2 * DAY}"
    answer = await api.get(f"/v2/prices/history?{query}")
    await api.check("getPriceHistory", answer)
    assert [candle["mean"] for candle in answer.body["candles"]] == [None, None]
    assert answer.body["coverage"] is None
