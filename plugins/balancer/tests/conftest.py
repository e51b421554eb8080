"""Balancer's contracts on the devnet, for the tests of a module."""

import sys
from pathlib import Path

import pytest
from balancer_venue import venue_on

# What an index keeps of logs, where that distribution is installed.
sys.path.append(str(Path(__file__).parents[2] / "indexer" / "tests"))


@pytest.fixture(scope="module")
def venue(devnet):
    with venue_on(devnet) as made:
        yield made
