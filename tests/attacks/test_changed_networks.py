"""Attack: a node answers for one network when it is asked for its chain id, and for another one afterwards.

A balancer before many nodes may do so by mistake. On the other network the same addresses can be other
contracts.
"""

import pytest
import pytest_asyncio
from cheating import attempt, client_with_a_cheat, nothing_to_sign, wanted
from direct_client import FarNode
from quoteway_rpc import upstream

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cheated(devnet):
    node = FarNode(devnet.urls["devnet"])
    async with client_with_a_cheat(devnet, node=node) as client:
        yield client


async def test_a_node_that_answers_for_another_network(client, monkeypatch):
    assert (await attempt(client)).status == 201
    quote = await client.ask("/v2/swaps/quote", wanted(client))
    monkeypatch.setattr(upstream, "VERIFIED_S", 0.0)
    client.node.asked.clear()
    assert (await client.api.post(f"/v2/swaps/{quote['quoteId']}/action")).status == 201
    assert client.node.asked["eth_chainId"] > 0
    monkeypatch.setattr(client.node, "url", client.devnet.urls["devnet-l2"])
    nothing_to_sign(await client.api.post(f"/v2/swaps/{quote['quoteId']}/action"), "rpc_error")
    # That the nodes do not have the head yet, where it was asked for while the node was refused.
    nothing_to_sign(await client.api.post("/v2/swaps/quote", wanted(client)), None)
    monkeypatch.undo()
    assert (await attempt(client)).status == 201


async def test_the_chain_id_is_not_asked_with_every_request(client):
    client.node.asked.clear()
    for _ in range(5):
        assert (await attempt(client)).status == 201
    # On a busy machine more connections are opened, and each is compared.
    assert 2 * client.node.asked["eth_chainId"] < client.node.asked.total()
