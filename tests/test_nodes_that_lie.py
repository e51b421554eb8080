"""With ``quorum = 2``, no quote and no action is made from the word of one node of three."""

import logging

import pytest

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import FarNode  # noqa: E402
from liars import BEHIND, FIRST, Liar, client_of, rounds  # noqa: E402


@pytest.fixture
def aged(fresh_devnet):
    """The devnet, with more blocks than a laggard is behind."""
    with fresh_devnet.rpc() as rpc:
        rpc("anvil_mine", hex(BEHIND + 5))
    return fresh_devnet


def nodes_of(devnet, *kinds):
    return [kind(devnet.urls["devnet"]) for kind in kinds]


async def test_two_honest_nodes_of_three_are_believed(aged):
    nodes = nodes_of(aged, Liar, FarNode, FarNode)
    async with client_of(aged, nodes) as client:
        found = await rounds(client, 3, seed=1)
    assert (found.done, found.wrong, found.errors) == (3, [], [])
    assert sum(nodes[0].asked.values()) > 0


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", FIRST)
async def test_many_quotes_and_actions_behind_a_node_that_lies(aged, first):
    nodes = nodes_of(aged, FIRST[first], FarNode, FarNode)
    async with client_of(aged, nodes) as client:
        found = await rounds(client, 60, seed=first)
    assert (found.done, found.wrong, found.errors) == (60, [], [])


@pytest.mark.slow
@pytest.mark.parametrize("second", FIRST)
async def test_one_honest_node_of_three_gives_errors_and_no_lie(aged, second, caplog):
    """Without prices and lists there may be no quote at all: what matters is that none is wrong."""
    caplog.set_level(logging.WARNING)
    other = next(kind for name, kind in FIRST.items() if name != second)
    nodes = nodes_of(aged, FIRST[second], other, FarNode)
    async with client_of(aged, nodes) as client:
        found = await rounds(client, 5, seed=second)
    assert found.wrong == []
    assert found.done + len(found.errors) == 5
    assert all("nodes_disagree" in error or "rpc_error" in error for error in found.errors), found.errors


@pytest.mark.slow
async def test_without_a_quorum_the_first_node_is_believed(aged):
    """Why it is worth its calls."""
    nodes = nodes_of(aged, Liar, FarNode, FarNode)
    async with client_of(aged, nodes, quorum=1) as client:
        found = await rounds(client, 3, seed=1)
    assert found.wrong or found.errors
