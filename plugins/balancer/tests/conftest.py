"""Balancer's contracts on the devnet, for the tests of a module."""

import pytest
from balancer_venue import venue_on


@pytest.fixture(scope="module")
def venue(devnet):
    with venue_on(devnet) as made:
        yield made
