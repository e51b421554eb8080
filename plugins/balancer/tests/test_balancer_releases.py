"""Pools of other releases of the factories: the same formulas, read in the same way."""

import random
from itertools import combinations

import pytest
from balancer_chain import GIVEN_IN
from balancer_venue import ODD_RATE, ONE, networks, plugins, sections, venue_on
from quoteway.evm.address import checksum
from test_balancer_states import compare, read


@pytest.fixture(scope="module")
def venue(devnet):
    """The factories of 20220908 (weighted) and 20221122 (composable stable) in the place of later ones."""
    with venue_on(devnet, fill=False) as made:
        with made.sending():
            deploy = made.transactions.deploy
            made.weighted_v3 = deploy(
                "BalancerWeightedPoolFactoryV2", "(address,address)", made.vault, made.fees
            )
            settings = "(address,address,string,string)", made.vault, made.fees, "", ""
            made.stable = deploy("BalancerComposableStablePoolFactoryV2", *settings)
            made.add_weighted("80/20", {"MKR": 80, "WETH": 20}, 3_000_000, 3 * 10**15)
            made.add_weighted("50/50", {"WETH": 50, "USDC": 50}, 8_000_000, 10**15)
            made.add_weighted("odd", {"WETH": 37, "UNI": 40, "LINK": 23}, 2_000_000, 2 * 10**15)
            made.add_stable("stable", {"USDC": ONE, "DAI": 0, "USDT": 0}, 4_000_000)
            made.add_stable("rates", {"wstETH": ODD_RATE, "WETH": 0}, 6_000_000, 50, cached_s=86_400)
        yield made


async def test_their_pools_swap_as_their_states_say(venue, make_gateway):
    gateway = await make_gateway(plugins(), networks=networks(venue), plugin_sections=sections(venue))
    pairs = await read(gateway, venue)
    assert {pair.id for pair in pairs} == {pool.id for pool in venue.pools.values()}
    compare(venue, pairs, 7, 60)


async def test_what_they_execute_is_what_their_states_say(venue, make_gateway):
    gateway = await make_gateway(plugins(), networks=networks(venue), plugin_sections=sections(venue))
    rng = random.Random(8)
    for pool in venue.pools.values():
        i, j = rng.choice([*combinations(range(len(pool.tokens)), 2)])
        states = {pair.id: pair.pool for pair in await read(gateway, venue)}
        state = states[pool.id]
        amount = state.balances[i] // rng.randint(20, 400)
        with venue.sending():
            done = venue.swap(pool, GIVEN_IN, i, j, amount)
        assert done == (amount, state.exact_in(i, j, amount))
    assert checksum(venue.stable) in venue.row()["factories"]
