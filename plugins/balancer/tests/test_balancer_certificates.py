"""How near flows over separate paths are to the best, and what proves it: checked from the chain."""

import balancer_v3_venue
import balancer_venue
import pytest
from balancer_venue import networks, sections, serve
from quoteway.config.model import Config
from quoteway.testing.certificates import certified_quote, check_verified

pytestmark = pytest.mark.slow
TRADES = (("MKR", "USDC", 120_000), ("ETH", "MKR", 9_000), ("USDC", "WETH", 500))


async def check(venue, body_of, folder):
    config = Config(networks=networks(venue), plugin_sections=sections(venue, 1))
    methods, left_out = set(), set()
    async with serve(venue, processes=1) as api:
        for sold, bought, dollars in TRADES:
            body = body_of(venue, sold, bought, venue.amount(sold, dollars))
            answer = await certified_quote(api, body)
            told = answer["optimality"]
            methods.add(told["method"])
            assert told["method"] == ("split" if len(answer["route"]["paths"]) > 1 else "single_path")
            assert int(told["bound"]) >= int(answer["toAmount"])
            used = {leg["pool"] for leg in answer["route"]["legs"]}
            named = [pool["pool"] for pool in told["certificate"]["pools"]]
            assert len(named) == told["pools"]
            assert used <= set(named)
            left_out |= set(named) - used
            await check_verified(config, answer, venue.devnet.urls["devnet"], folder)
    assert "split" in methods
    # Also pools count that the paths had to leave out.
    assert left_out


async def test_a_flow_through_v2_is_verified_from_the_chain(venue, monkeypatch, tmp_path):
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    await check(venue, balancer_venue.body_of, tmp_path)


async def test_a_flow_through_v3_is_verified_from_the_chain(devnet, monkeypatch, tmp_path):
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    with balancer_v3_venue.v3_venue_on(devnet) as venue:
        await check(venue, balancer_v3_venue.body_of, tmp_path)
