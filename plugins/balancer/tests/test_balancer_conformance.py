"""The sources pass the framework's suite."""

from typing import ClassVar

import pytest
from balancer_v3_venue import VenueV3
from balancer_venue import Venue, networks, plugins, sections, venue_on
from quoteway.testing.conformance import LiquidityConformance

PAIRS = (("MKR", "WETH"), ("UNI", "LINK"), ("USDC", "WETH"), ("WETH", "wstETH"))


class OfVenue(LiquidityConformance):
    make: ClassVar[type]

    @pytest.fixture(scope="class")
    def venue(self, request, devnet):
        with venue_on(devnet, make=request.cls.make) as made:
            yield made

    @pytest.fixture
    async def gateway(self, venue, make_gateway):
        return await make_gateway(plugins(), networks=networks(venue), plugin_sections=sections(venue))

    @pytest.fixture
    def pairs(self, venue):
        return [(31337, *map(venue.token, pair)) for pair in PAIRS]

    def test_an_exact_output_is_given_for_its_input(self, pools):
        """The contracts round either kind of swap against the caller, powers at 14 digits."""
        for pool in pools:
            for zero_for_one in (True, False):
                reserve = pool.pool.balances[pool.j if zero_for_one else pool.i]
                for digits in range(1, 26):
                    got, _ = pool.exact_in(zero_for_one, 10**digits) or (0, 0)
                    needed = pool.exact_out(zero_for_one, got) if got else None
                    if needed is not None:
                        given, _ = pool.exact_in(zero_for_one, needed[0])
                        assert got - given <= reserve // 10**13 + 1, (pool, zero_for_one, got)


@pytest.mark.slow
class TestV2(OfVenue):
    provider_id = "balancer"
    make = Venue


@pytest.mark.slow
class TestV3(OfVenue):
    provider_id = "balancer-v3"
    make = VenueV3
