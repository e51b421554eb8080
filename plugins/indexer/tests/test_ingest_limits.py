"""Nodes that limit, cut off or delay logs: the index is that of a node without limits, for few more calls."""

import json

import pytest
from index_chain import Traffic, chain_at, clean_contents, only_pairs
from limited_index import index_behind
from limited_node import LimitedNode


@pytest.fixture
def busy_chain(fresh_devnet):
    """The devnet with blocks of which most have logs."""
    traffic = Traffic(fresh_devnet, 9)
    traffic.mine(120, most=3)
    traffic.close()
    return fresh_devnet


@pytest.mark.parametrize(
    "limits",
    [
        {"blocks": 20},
        {"blocks": 20, "delay_s": 0.1},
        {"results": 40},
        {"results": 40, "truncates": True},
        {"blocks": 50, "results": 60},
    ],
    ids=json.dumps,
)
@pytest.mark.slow
async def test_an_index_behind_limits_is_that_of_a_node_without(busy_chain, tmp_path, limits):
    url, declared = busy_chain.urls["devnet"], only_pairs(busy_chain.chains["devnet"])
    async with chain_at(url) as chain:
        expected = await clean_contents(chain, declared, tmp_path / "clean")
    node = LimitedNode(url, **limits)
    async with node.node.running() as proxy, chain_at(proxy.address) as limited:
        assert await clean_contents(limited, declared, tmp_path / "limited") == expected
    assert expected[0]["share_transfer"]


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({"most_blocks": 1_000}, 1.3),
        ({"most_blocks": 1_000, "most_results": 2_000}, 1.3),
        # How many logs the next blocks have is not known: ranges are made for less than the limit.
        ({"most_results": 1_000}, 1.7),
    ],
    ids=json.dumps,
)
@pytest.mark.slow
async def test_a_long_chain_behind_limits_takes_few_more_calls_than_the_fewest(limits, most):
    measured = await index_behind(20_000, **limits)
    assert measured.log_calls <= most * measured.minimum


@pytest.mark.slow
async def test_answers_that_are_cut_off_silently_are_found():
    """Nothing tells the limit: it is found by what lacks, and each range is looked at again."""
    measured = await index_behind(2_000, most_results=300, truncates=True)
    assert measured.log_calls <= 8 * measured.minimum
