"""How near routes through one router are to the best, and what proves it: checked from the chain."""

from dataclasses import replace

import pytest
from quoteway.testing.certificates import certified_quote, check_verified
from quoteway.testing.serving import served
from quoteway_devnet.accounts import ACCOUNTS
from solidly_exchange import PLUGINS


@pytest.mark.slow
async def test_a_route_is_verified_from_the_chain(exchange, monkeypatch, tmp_path):
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    plain = exchange.config(exchange.row())
    sections = {**plain.plugin_sections, "router": {"solver_processes": 1}}
    config = replace(plain, plugin_sections=sections)
    async with served(PLUGINS, config) as api:
        for sold, bought, dollars, hops in (("USDC", "DAI", 90_000, 1), ("ETH", "DAI", 12_345, 2)):
            body = {
                "network": "devnet",
                "fromToken": exchange.token(sold).address,
                "toToken": exchange.token(bought).address,
                "amount": str(exchange.units(sold, dollars)),
                "address": ACCOUNTS[4].address,
                "protocols": ["aerodrome-routes"],
                "acknowledge": ["high_price_impact"],
            }
            answer = await certified_quote(api, body)
            told = answer["optimality"]
            assert len(answer["route"]["legs"]) == hops
            assert (told["method"], told["families"]) == ("single_path", ["aerodrome"])
            assert int(told["bound"]) >= int(answer["toAmount"])
            assert len(told["certificate"]["pools"]) == told["pools"] >= 2
            await check_verified(config, answer, exchange.devnet.urls["devnet"], tmp_path)
