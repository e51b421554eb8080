"""CoinMarketCap's API on loopback, by its documented schema, with faults that tests choose."""

import asyncio
import contextlib
import json

from aiohttp import web

KEY = "b54bcf4d-1bca-4e8e-9a24-hunter2"
PLATFORM = {"id": 1027, "name": "Ethereum", "symbol": "ETH", "slug": "ethereum"}


def listing(ucid, rank, symbol, address=None, **more):
    """A row of the ranking, with the members that the documentation shows."""
    return {
        "id": ucid,
        "name": f"{symbol} coin",
        "symbol": symbol,
        "slug": symbol.lower(),
        "num_market_pairs": 500,
        "date_added": "2018-10-08T00:00:00.000Z",
        "tags": ["stablecoin", "asset-backed"],
        "max_supply": None,
        "circulating_supply": 61234567890.12345678901234567,
        "total_supply": 61300000000,
        "infinite_supply": False,
        "platform": None if address is None else {**PLATFORM, "token_address": address},
        "cmc_rank": rank,
        "self_reported_circulating_supply": None,
        "self_reported_market_cap": None,
        "tvl_ratio": None,
        "last_updated": "2026-11-24T10:00:00.000Z",
        "quote": {
            "USD": {
                "price": 1.0001,
                "volume_24h": 7155680000.5,
                "volume_change_24h": -0.15,
                "percent_change_1h": 0.01,
                "percent_change_24h": -0.25,
                "percent_change_7d": 0.0,
                "market_cap": 61240000000.25,
                "market_cap_dominance": 2.1,
                "fully_diluted_market_cap": 61310000000.75,
                "last_updated": "2026-11-24T10:00:00.000Z",
            }
        },
        **more,
    }


def info(ucid, *contracts, **more):
    """What is told of a coin: its contracts as (platform name, ucid of its coin, address)."""
    return {
        "id": ucid,
        "name": "A coin",
        "symbol": "COIN",
        "category": "token",
        "description": "A  stablecoin\nof dollars.",
        "slug": "coin",
        "logo": f"https://static.example.org/{ucid}.png",
        "subreddit": "",
        "notice": "",
        "tags": ["stablecoin"],
        "tag-names": ["Stablecoin"],
        "tag-groups": ["CATEGORY"],
        "urls": {
            "website": ["https://coin.example.org"],
            "twitter": ["https://twitter.com/coin", "javascript:alert(1)"],
            "message_board": [],
            "chat": ["https://discord.com/invite/coin"],
            "facebook": [],
            "explorer": ["https://etherscan.io/token/0x1"],
            "reddit": ["https://reddit.com/r/coin"],
            "technical_doc": ["https://coin.example.org/paper.pdf"],
            "source_code": [],
            "announcement": [],
        },
        "platform": None,
        "date_added": "2018-10-08T00:00:00.000Z",
        "is_hidden": 0,
        "contract_address": [
            {
                "contract_address": address,
                "platform": {
                    "name": name,
                    "coin": {"id": str(coin), "name": name, "symbol": "X", "slug": "x"},
                },
            }
            for name, coin, address in contracts
        ],
        **more,
    }


def answer(data, error_code=0):
    status = {
        "timestamp": "2026-11-24T10:00:00.000Z",
        "error_code": error_code,
        "error_message": None if not error_code else "a message with hunter2",
        "elapsed": 10,
        "credit_count": 1,
        "notice": None,
    }
    return {"status": status} if data is None else {"status": status, "data": data}


class FakeCoinMarketCap:
    """``listings`` and ``details`` are what it knows; ``fault``, when set, answers every request."""

    def __init__(self):
        self.listings, self.details, self.fault = [], {}, None
        self.asked = []
        self.running = self.most_running = 0

    async def handle(self, request):
        self.asked.append((asyncio.get_running_loop().time(), request.path_qs))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            if request.headers.get("X-CMC_PRO_API_KEY") != KEY:
                return web.json_response(answer(None, 1001), status=401)
            if self.fault is not None:
                return await self.fault(request)
            if request.path.endswith("/listings/latest"):
                start, limit = int(request.query["start"]), int(request.query["limit"])
                assert request.query["convert"] == "USD"
                return self._json(answer(self.listings[start - 1 : start - 1 + limit]))
            ids = request.query["id"].split(",")
            return self._json(answer({each: self.details[each] for each in ids if each in self.details}))
        finally:
            self.running -= 1

    @staticmethod
    def _json(body):
        return web.Response(text=json.dumps(body), content_type="application/json")


@contextlib.asynccontextmanager
async def fake_coinmarketcap():
    fake = FakeCoinMarketCap()
    app = web.Application()
    app.router.add_get("/v1/cryptocurrency/listings/latest", fake.handle)
    app.router.add_get("/v2/cryptocurrency/info", fake.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield fake
    finally:
        await runner.cleanup()
