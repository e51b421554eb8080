"""The plugin over a real socket: quotes, executed swaps, and what an operator sees."""

import random

import pytest
from curve_exchange import PLUGINS
from quoteway.testing.serving import served

OWN = {"protocols": ["curve-routes"]}
TITLE = "Curve StableSwap (not compared with its makers' contracts)"


@pytest.mark.slow
async def test_quotes_over_http_are_executed_to_the_wei(exchange):
    chance = random.Random(11)
    async with served(PLUGINS, exchange.config()) as api:
        for _ in range(6):
            sold, bought = chance.sample(("DAI", "USDC", "USDT", "GHO"), 2)
            amount = exchange.units(sold, 10 ** chance.uniform(-2, 5))
            ends = exchange.address(sold), exchange.address(bought)
            body = {"network": "devnet", "fromToken": ends[0], "toToken": ends[1], "amount": str(amount)}
            body |= {"address": exchange.account, "slippageBps": 30, **OWN}
            quote = await api.post("/v2/swaps/quote", body)
            assert quote.status == 200, quote.body
            action = await api.post(f"/v2/swaps/{quote.body['quoteId']}/action")
            assert action.status in (200, 201), action.body
            before = exchange.held(ends[1])
            for transaction in action.body["transactions"]:
                exchange.pay(transaction)
            assert exchange.held(ends[1]) - before == int(quote.body["toAmount"])


@pytest.mark.slow
async def test_without_rows_nothing_is_offered(exchange):
    async with served(PLUGINS, exchange.config({})) as api:
        listed = (await api.get("/v2/providers")).body["data"]
        assert not [row for row in listed if row["plugin"] == "curve"]
        assert not [row for row in listed if row["id"].startswith("curve")]


@pytest.mark.slow
async def test_providers_show_that_it_is_not_compared_with_its_makers_contracts(exchange):
    async with served(PLUGINS, exchange.config()) as api:
        rows = {row["id"]: row for row in (await api.get("/v2/providers")).body["data"]}
        assert rows["curve-routes"]["enabled"]
        assert rows["curve-routes"]["name"] == TITLE
