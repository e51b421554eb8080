"""The plugin over a real socket: quotes, executed swaps, and what an operator sees."""

import json

import pytest
from quoteway.testing.serving import served
from solidly_exchange import PLUGINS

OWN = {"protocols": ["aerodrome-routes"]}


@pytest.mark.slow
async def test_a_quote_over_http_is_executed_to_the_wei(exchange):
    async with served(PLUGINS, exchange.config(exchange.row())) as api:
        ends = exchange.token("DAI").address, exchange.token("USDC").address
        body = {"network": "devnet", "fromToken": ends[0], "toToken": ends[1], **OWN}
        body |= {"amount": str(12_345 * 10**18 + 6_789), "address": exchange.account, "slippageBps": 30}
        quote = await api.post("/v2/swaps/quote", body)
        assert quote.status == 200, quote.body
        assert '"aerodrome"' in json.dumps(quote.body["route"])
        action = await api.post(f"/v2/swaps/{quote.body['quoteId']}/action")
        assert action.status in (200, 201), action.body
        before = exchange.held(ends[1])
        for transaction in action.body["transactions"]:
            exchange.pay(transaction)
        assert exchange.held(ends[1]) - before == int(quote.body["toAmount"])


@pytest.mark.slow
async def test_without_rows_nothing_is_offered(exchange):
    async with served(PLUGINS, exchange.config()) as api:
        listed = (await api.get("/v2/providers")).body["data"]
        assert not [row for row in listed if row["plugin"] == "solidly"]
        assert not [row for row in listed if row["id"].startswith("aerodrome")]


@pytest.mark.slow
async def test_providers_show_that_it_is_not_compared_with_its_makers_contracts(exchange):
    async with served(PLUGINS, exchange.config(exchange.row())) as api:
        rows = {row["id"]: row for row in (await api.get("/v2/providers")).body["data"]}
        assert rows["aerodrome-routes"]["enabled"]
        assert rows["aerodrome-routes"]["name"] == "Aerodrome (not compared with its makers' contracts)"
