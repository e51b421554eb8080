"""How near flows over separate paths of the Vault are to the best, and what proves it: checked from the chain."""

import pytest
from balancer_venue import body_of, networks, sections, serve
from quoteway.config.model import Config
from quoteway.testing.certificates import certified_quote, check_verified


@pytest.mark.slow
async def test_a_flow_is_verified_from_the_chain(venue, monkeypatch, tmp_path):
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    config = Config(networks=networks(venue), plugin_sections=sections(venue, 1))
    async with serve(venue, processes=1) as api:
        for sold, bought, dollars in (("MKR", "USDC", 120_000), ("ETH", "MKR", 9_000), ("USDC", "DAI", 500)):
            body = body_of(venue, sold, bought, venue.amount(sold, dollars))
            answer = await certified_quote(api, body)
            told = answer["optimality"]
            paths = answer["route"]["paths"]
            assert told["method"] == ("split" if len(paths) > 1 else "single_path")
            assert int(told["bound"]) >= int(answer["toAmount"])
            used = {leg["pool"] for leg in answer["route"]["legs"]}
            named = [pool["pool"] for pool in told["certificate"]["pools"]]
            assert len(named) == told["pools"]
            # Also pools count that the paths had to leave out.
            assert used < set(named)
            await check_verified(config, answer, venue.devnet.urls["devnet"], tmp_path)
