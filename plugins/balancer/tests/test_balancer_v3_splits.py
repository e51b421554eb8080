"""Swaps over several paths of the BatchRouter in one transaction, over HTTP."""

import pytest
from balancer_v3_venue import PROVIDER, body_of, reverted, v3_venue_on
from balancer_venue import executed, serve_with_solver
from quoteway.evm.abi import function
from quoteway.evm.calls.balancer_batch_router import SWAP_EXACT_IN

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def venue(devnet):
    with v3_venue_on(devnet) as made:
        yield made


@pytest.fixture
async def api(venue, monkeypatch):
    async with serve_with_solver(venue, monkeypatch) as api:
        yield api


async def test_a_split_over_separate_paths_pays_what_it_says(api, venue):
    for sold, bought in (("MKR", "USDC"), ("USDC", "MKR"), ("MKR", "ETH"), ("ETH", "MKR")):
        amount = venue.amount(sold, 120_000)
        with reverted(venue):
            done = await executed(api, venue, body_of(venue, sold, bought, amount))
        assert done.quote["provider"] == PROVIDER
        assert done.received == done.quoted > 0
        assert done.spent == amount
        assert len(done.quote["route"]["paths"]) > 1, (sold, bought)
        assert abs(done.gas_told / done.gas_used - 1) < 0.15, (done.hops, done.gas_told, done.gas_used)
        data = bytes.fromhex(done.action["transactions"][-1]["data"][2:])
        least = [path[3] for path in function(SWAP_EXACT_IN).decode(data)[0]]
        assert sum(least) == int(done.quote["toAmountMin"])
        assert min(least) > 0
