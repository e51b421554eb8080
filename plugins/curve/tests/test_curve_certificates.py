"""How near routes of Curve's router are to the best, and what proves it: checked from the chain."""

from dataclasses import replace

import pytest
from curve_exchange import PLUGINS
from quoteway.testing.certificates import certified_quote, check_verified
from quoteway.testing.serving import served
from quoteway_devnet.accounts import ACCOUNTS


@pytest.mark.slow
async def test_a_route_is_verified_from_the_chain(exchange, monkeypatch, tmp_path):
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    plain = exchange.config()
    sections = {**plain.plugin_sections, "router": {"solver_processes": 1}}
    config = replace(plain, plugin_sections=sections)
    async with served(PLUGINS, config) as api:
        for sold, bought, dollars in (("DAI", "USDC", 90_000), ("USDT", "GHO", 40_000)):
            body = {
                "network": "devnet",
                "fromToken": exchange.token(sold).address,
                "toToken": exchange.token(bought).address,
                "amount": str(exchange.units(sold, dollars)),
                "address": ACCOUNTS[4].address,
                "protocols": ["curve-routes"],
                "acknowledge": ["high_price_impact"],
            }
            answer = await certified_quote(api, body)
            told = answer["optimality"]
            assert (told["method"], told["families"]) == ("single_path", ["curve-stableswap"])
            assert int(told["bound"]) >= int(answer["toAmount"])
            named = [pool["pool"] for pool in told["certificate"]["pools"]]
            # Each pair of a pool with more tokens is one of its own.
            assert len(named) == told["pools"] > len(set(named)) > 1
            await check_verified(config, answer, exchange.devnet.urls["devnet"], tmp_path)
