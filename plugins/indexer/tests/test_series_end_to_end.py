"""Series over HTTP of an index that a process keeps of real contracts, beside a replay of the receipts."""

import asyncio
from dataclasses import replace
from decimal import Decimal, localcontext
from itertools import pairwise

import pytest
import quoteway_erc4626
import quoteway_indexer
import quoteway_uniswap
from history_pools import HOUR
from index_process import configure, running, until
from quoteway import Token
from quoteway.config.model import Config, LimitsConfig, ServerConfig
from quoteway.testing.fakes import FakePlugin, ListedTokens
from quoteway.testing.serving import served
from quoteway_devnet.networks import devnet_networks
from test_replay import KINDS
from traded_days import DAY, PRECISION, SETTLED, TradedDays
from wallet_service import CHAIN, CountingRpc

DAYS = 9
YEAR = 365 * DAY
FLOWS = {
    "volume": {"volume": "volume"},
    "fees": {"lp": "lp_fee", "protocol": "protocol_fee", "flash": "flash_fee", "donated": "donated"},
}
WHOLE = {"volume": ("volume",), "fees": ("lp_fee", "protocol_fee", "donated")}
"""What the value of a point adds up."""
WINDOWS = {"1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY}


class Service:
    """The served series of an index, and the days that it is of."""

    def __init__(self, api, rpc, days):
        self.api, self.rpc, self.days = api, rpc, days
        self.decimals = {}
        self.prices = {}

    async def get(self, path):
        """Returns a series as soon as it was read: a busy machine may take longer than an answer waits."""
        async with asyncio.timeout(60):
            while True:
                answer = await self.api.get(path)
                assert answer.status == 200, answer.body
                if answer.body.get("source") != "none":
                    return answer.body

    async def series(self, resource, metric, start, end, interval):
        kind = "vaults" if resource == self.days.vault.address else "pools"
        path = f"/v2/{kind}/{CHAIN}:{resource}/{metric}?interval={interval}&from={start}&to={end}"
        body = await self.get(path)
        assert (body["source"], body["asOfBlock"]) == ("index", None)
        assert body["method"]
        points = [(point["timestamp"], point["value"]) for point in body["points"]]
        step = {"1h": HOUR, "1d": DAY}[interval]
        assert [moment for moment, _ in points] == list(range(-(-start // step) * step, end, step))
        unknown = [moment for moment, value in points if value is None]
        assert {moment for first, last in body["gaps"] for moment in range(first, last, step)} == set(unknown)
        return body, dict(points)

    async def learn(self, token):
        """Reads the decimals of a token, and its prices by hour."""
        if token in self.prices:
            return
        self.decimals[token] = self.days.decimals(token)
        start = min(map(self.days.created, self.days.pools))
        query = f"network=devnet&token={token}&interval=1h&from={start}&to={self.days.until}"
        candles = (await self.get(f"/v2/prices/history?{query}"))["candles"]
        self.prices[token] = {each["timestamp"]: each for each in candles}

    def usd(self, pool, hour, amounts, which):
        """Returns what amounts are worth in an hour, exactly; None when one that is not zero has no price."""
        total = Decimal(0)
        for token, amount in zip(pool.tokens, amounts, strict=True):
            price = self.prices[token].get(hour, {}).get(which)
            if amount and price is None:
                return None
            if amount:
                total += Decimal(amount) / 10 ** self.decimals[token] * Decimal(price)
        return total


@pytest.fixture
async def service(fresh_devnet, tmp_path):
    days = await asyncio.to_thread(TradedDays, fresh_devnet, DAYS, 4)
    configure(tmp_path, fresh_devnet)
    (network,) = (each for each in devnet_networks(fresh_devnet.ports) if each.chain_id == CHAIN)
    # The head is read when a request asks for it, and at no other time.
    network = replace(network, head_poll_s=3_600.0, endpoints=(replace(network.endpoints[0], ws=None),))
    tokens = [Token(CHAIN, each.address, each.decimals, each.symbol) for each in days.manifest.tokens]
    rpcs = []

    def rpc(context):
        rpcs.append(CountingRpc(context))
        return rpcs[0]

    plugins = {
        "chain": FakePlugin([rpc, ListedTokens(tokens)], networks=[network]),
        "uniswap": quoteway_uniswap,
        "erc4626": quoteway_erc4626,
        "indexer": quoteway_indexer,
    }
    config = Config(
        server=replace(ServerConfig(), port=0),
        limits=LimitsConfig(quotes="100000/minute", catalog="100000/minute", rpc="100000/minute"),
        plugin_sections={"indexer": {"enabled": True, "path": str(tmp_path / "index.duckdb")}},
    )
    with running(tmp_path, "index") as (_, log):
        await asyncio.to_thread(until, lambda: "devnet: complete" in log.read_text())
        async with served(plugins, config) as api:
            yield Service(api, rpcs[0], days)
    days.close()


async def complete(service):
    """Waits until everything is computed. Blocks come meanwhile, as on any chain: they begin computations."""
    days, vault = service.days, service.days.vault
    span = f"from={days.until - DAY}&to={days.until}"
    known, begun = days.until, days.blocks[days.begun] // HOUR * HOUR
    async with asyncio.timeout(30):
        while known > begun:
            await asyncio.to_thread(days.mine)
            for pool in days.pools:
                while (await covered(service, f"pools/{CHAIN}:{pool.key}/tvl?{span}"))["to"] < days.traded:
                    pass
            known = (await covered(service, f"vaults/{CHAIN}:{vault.address}/tvl?{span}"))["from"]


async def covered(service, path):
    """Returns the coverage of a series as soon as it is of the index."""
    while (body := await service.get(f"/v2/{path}"))["source"] != "index":
        pass
    return body["coverage"]


async def quiet(service):
    """Waits until the server has filled its lists of pools and vaults, which it reads from the node."""
    async with asyncio.timeout(60):
        asked = -1
        while asked != len(service.rpc.asked):
            asked = len(service.rpc.asked)
            await asyncio.sleep(2)


async def compare_flows(service, pool, hours):
    """Compares what moved: by day and hour, in base units, and in US dollars."""
    days, compared = service.days, 0
    first, end = days.created(pool), days.until
    moved = [hour for hour in hours if any(hours[hour].get(f"volume{side}") for side in (0, 1))]
    spans = [(first, end, "1h"), (end // DAY * DAY - 5 * DAY, end, "1d")]
    spans += [(hour, hour + HOUR, "1h") for hour in moved]
    for metric, names in FLOWS.items():
        found = [service.series(pool.key, metric, *span) for span in spans]
        for (start, stop, interval), (body, points) in zip(spans, await asyncio.gather(*found), strict=True):
            step = HOUR if interval == "1h" else DAY
            grid = range(-(-start // step) * step, stop, step)
            inside = [hour for hour in hours if grid[0] <= hour < stop]
            for shown, name in names.items():
                for side in (0, 1):
                    total = sum(hours[hour].get(f"{name}{side}", 0) for hour in inside)
                    assert body["amounts"][f"{shown}{side}"] == str(total), (pool.key, shown, side, start)
            for moment, value in points.items():
                parts = [
                    service.usd(pool, hour, [hours[hour].get(f"{n}{side}", 0) for side in (0, 1)], "mean")
                    for hour in inside
                    if moment <= hour < moment + step
                    for n in WHOLE[metric]
                ]
                expected = None if None in parts else float(sum(parts))
                assert value == (None if expected is None else pytest.approx(expected, rel=1e-12, abs=1e-12))
                compared += expected is not None
            assert days.traded <= body["coverage"]["to"] <= days.until
    return compared


async def compare_standing(service, pool, hours):
    """Compares the TVL at the end of each hour; its amounts where something happened."""
    names = [f"{name}{side}" for name in ("principal", "uncollected") for side in (0, 1)]
    happened = [hour for hour in hours if hours[hour].get("swaps")]
    first, end = service.days.created(pool), service.days.until
    _, points = await service.series(pool.key, "tvl", first, end, "1h")
    for hour, value in points.items():
        parts = [
            service.usd(pool, hour, [hours[hour][f"{name}{side}"] for side in (0, 1)], "close")
            for name in ("principal", "uncollected")
        ]
        expected = None if None in parts else float(sum(parts))
        assert value == (None if expected is None else pytest.approx(expected, rel=1e-12))
    ends = [service.series(pool.key, "tvl", hour, hour + HOUR, "1h") for hour in happened]
    for hour, (body, _) in zip(happened, await asyncio.gather(*ends), strict=True):
        assert body["amounts"] == {name: str(hours[hour][name]) for name in names}, (pool.key, hour)
    return sum(value is not None for value in points.values())


async def compare_rates(service, pool, hours):
    """Compares the APR of each window and of each day."""

    def rate(first, stop):
        if first < service.days.created(pool) or not all(hour in hours for hour in range(first, stop, HOUR)):
            return None
        fees, held = [], []
        for hour in range(first, stop, HOUR):
            for name, parts in (("lp_fee", fees), ("principal_seconds", held)):
                amounts = [hours[hour].get(f"{name}{side}", 0) for side in (0, 1)]
                parts.append(service.usd(pool, hour, amounts, "mean"))
        if None in fees or None in held:
            return None
        return pytest.approx(float(sum(fees) * YEAR / sum(held)), rel=1e-12)

    end = service.days.until
    last = end // HOUR * HOUR
    body, points = await service.series(pool.key, "apr", end - 6 * DAY, end, "1d")
    assert body["windows"] == {name: rate(last - span, last) for name, span in WINDOWS.items()}
    for moment, value in points.items():
        stop = min(moment + DAY, last)
        assert value == rate(stop - DAY, stop)
    return sum(value is not None for value in points.values())


def growth(first, last):
    """Returns the yearly growth of a share price between two hours of a vault."""
    if first is None or last is None:
        return None
    with localcontext(prec=60):
        years = Decimal(YEAR) / (last.timestamp - first.timestamp)
        return pytest.approx(float((Decimal(last.price) / first.price) ** years - 1), rel=1e-12, abs=1e-12)


async def compare_vault(service):
    """Compares assets, share prices and yields of the vault with its contract at the last blocks of hours."""
    days, vault = service.days, service.days.vault
    unit = 10 ** days.decimals(vault.asset)
    hours = days.vault_hours
    first, newest = min(hours), max(hours)
    prices = [each.price for each in hours.values()]
    assert len(set(prices)) == DAYS + 1
    # None moves so much that it is not taken for settled.
    assert all(abs(b - a) * 1000 < a for a, b in pairwise(prices))
    body, points = await service.series(vault.address, "tvl", first, days.until, "1h")
    assert points == {m: hours[m].assets / unit if m in hours else None for m in points}
    assert body["coverage"]["to"] == newest + HOUR
    known = body["coverage"]["from"]
    assert known <= first  # the node had a state of earlier hours, which the test does not read
    assert body["amounts"] == {"assets": str(hours[newest].assets)}

    def ends(span, at):
        last = at - SETTLED - HOUR
        return hours.get(last - span), hours.get(last)

    body, points = await service.series(vault.address, "apy", first, days.until, "1d")
    shown = {each["window"]: each for each in body["endpoints"]}
    for window, span in WINDOWS.items():
        expected = ends(span, newest + HOUR)
        for place, hour in zip(("from", "to"), expected, strict=True):
            if hour is None:
                assert shown[window][place] is None
                continue
            assert shown[window][place]["block"] == hour.block
            assert shown[window][place]["timestamp"] == hour.timestamp
            assert Decimal(shown[window][place]["price"]) * unit * 10**PRECISION == hour.price
        assert body["windows"][window] == growth(*expected)
    assert body["current"] == body["windows"]["7d"] is not None
    assert body["windows"]["30d"] is None
    for moment, value in points.items():
        end = min(moment + DAY, newest + HOUR)
        begins = end - SETTLED - HOUR - 7 * DAY
        if moment > newest:  # no hour of the day is stored yet
            assert value is None
        elif begins >= first:
            assert value == growth(*ends(7 * DAY, end))
        elif begins < known:
            assert value is None
    assert any(value is not None for value in points.values())
    _, points = await service.series(vault.address, "apy", known - 3 * DAY, known - DAY, "1d")
    assert len(points) >= 2
    assert set(points.values()) == {None}


@pytest.mark.slow
async def test_series_are_what_receipts_and_contracts_say_and_ask_no_node(service):
    days = service.days
    assert not days.wrong  # the replay has what the contracts have at the end of each hour
    assert days.events.keys() >= KINDS
    assert days.reads > 200
    await complete(service)
    for token in {token for pool in days.pools for token in pool.tokens}:
        await service.learn(token)
    await quiet(service)
    asked, compared = len(service.rpc.asked), []
    for pool in days.pools:
        hours = days.hours(pool)
        compared.append(
            (
                await compare_flows(service, pool, hours),
                await compare_standing(service, pool, hours),
                await compare_rates(service, pool, hours),
            )
        )
    assert all(min(each) > 0 for each in compared), compared
    await compare_vault(service)
    assert service.rpc.asked[asked:] == []
    for path in (f"pools/{CHAIN}:0x{'ab' * 20}/volume", f"vaults/{CHAIN}:0x{'ab' * 20}/apy"):
        assert (await service.api.get(f"/v2/{path}")).refused(404, "not_found")
