"""How near routes through one router are to the best, and what proves it: checked from the chain."""

import asyncio
import json

import pytest
from quoteway.server.verify_quote import verify
from quoteway.testing.serving import served
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_router.swaps import splitting_of
from solidly_exchange import PLUGINS


@pytest.mark.slow
async def test_a_route_is_verified_from_the_chain(exchange, monkeypatch, tmp_path):
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    config = exchange.config(exchange.row())
    file = tmp_path / "quote.json"
    url = exchange.devnet.urls["devnet"]
    async with served(PLUGINS, config) as api:
        (entry,) = (entry for entry in api.gateway.registry.plugins if entry.name == "router")
        async with asyncio.timeout(120):
            while not splitting_of(entry.context).solvers._idle:
                await asyncio.sleep(0.05)
        for sold, bought, dollars, hops in (("USDC", "DAI", 90_000, 1), ("ETH", "DAI", 12_345, 2)):
            body = {
                "network": "devnet",
                "fromToken": "native" if sold == "ETH" else exchange.token(sold).address,
                "toToken": exchange.token(bought).address,
                "amount": str(exchange.units(sold, dollars)),
                "address": ACCOUNTS[4].address,
                "protocols": ["aerodrome-routes"],
                "acknowledge": ["high_price_impact"],
                "certificate": "full",
            }
            status, answer = await api.post("/v2/swaps/quote", body)
            assert status == 200, answer
            told = answer["optimality"]
            assert len(answer["route"]["legs"]) == hops
            assert (told["method"], told["families"]) == ("single_path", ["aerodrome"])
            assert int(told["bound"]) >= int(answer["toAmount"])
            assert len(told["certificate"]["pools"]) == told["pools"] == 2 + (hops > 1)
            file.write_text(json.dumps(answer))
            found = await verify(config, file, url)
            assert [check for check in found.checks if not check.holds] == []
            assert [check.subject for check in found.checks][-3:] == ["bound", "route", "gap"]
            told["certificate"]["pools"][0]["digest"] = "0x" + "00" * 32
            told["bound"] = str(int(told["bound"]) - 1)
            file.write_text(json.dumps(answer))
            wrong = await verify(config, file, url)
            assert [check.subject for check in wrong.checks if not check.holds][:2] == ["states", "bound"]
