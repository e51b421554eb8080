"""Attack: an id, token, quote, signature or node of one network used for another one.

The two networks of the devnet share accounts and the addresses of contracts: what is meant for one would
often execute on the other.
"""

from dataclasses import replace

import pytest
from cheating import attempt, nothing_to_sign, wanted
from direct_client import USER, FarNode, client_of
from quoteway import Capability

pytestmark = pytest.mark.asyncio(loop_scope="module")


def deposit(client, slug="devnet"):
    """The path below a vault and the body of a deposit."""
    vault = next(vault for vault in client.devnet.chains[slug].vaults if vault.kind == "plain")
    body = {"action": "deposit", "amount": "1000", "asset": client.token("USDC", slug), "address": USER}
    return vault.address, body


async def refused(client, path, body, status, code, reason=None, member=None):
    answer = await client.api.post(path, body)
    answer.refused(status, code, reason, member)
    assert set(answer.body) == {"error"}


async def test_a_node_of_another_network(devnet):
    """It has the same accounts, and contracts at the same addresses: its answers would look right."""
    node = FarNode(devnet.urls["devnet-l2"])
    async with client_of(devnet, 0.0, node=node) as client:
        vault, body = deposit(client)
        for path, asked in (
            ("/v2/swaps/quote", wanted(client, provider="uniswap")),
            (f"/v2/vaults/31337:{vault}/action", body),
        ):
            answer = await client.api.post(path, asked)
            assert answer.status in (502, 503), answer.body
            assert set(answer.body) == {"error"}
    assert set(node.asked) == {"eth_chainId"}


NETWORKS = [
    ({"toChain": "devnet-l2"}, "toChain"),
    ({"fromChain": "devnet-l2"}, "fromChain"),
    ({"fromChain": "eip155:31338"}, "fromChain"),
    ({"network": "eip155:1"}, "network"),
    ({"network": "1"}, "network"),
    ({"network": "DEVNET-L2\u200b"}, "network"),
]


@pytest.mark.parametrize(("change", "member"), NETWORKS, ids=range(len(NETWORKS)))
async def test_members_that_name_different_networks(client, change, member):
    await refused(client, "/v2/swaps/quote", wanted(client, **change), 422, "validation_error", None, member)


async def test_a_token_of_another_network(client):
    """Where no token has that address, there is nothing to sell or to buy."""
    foreign = "0x" + "77" * 20
    for member in ("fromToken", "toToken"):
        body = wanted(client, **{member: foreign})
        await refused(client, "/v2/swaps/quote", body, 422, "validation_error", "unsupported_token", member)


@pytest.mark.parametrize("chain_id", ["1", "031337", "0x7a69", "31337\u200b", "9" * 20])
async def test_an_id_with_another_network(client, chain_id):
    vault, body = deposit(client)
    pool = client.pool("v3", "WETH/USDC").id
    for path, asked in (
        (f"/v2/vaults/{chain_id}:{vault}", body),
        (f"/v2/pools/{chain_id}:{pool}", {**body, "action": "add"}),
    ):
        for end in ("quote", "action"):
            answer = await client.api.post(f"{path}/{end}", asked)
            assert answer.status in (404, 422), answer.body
            assert set(answer.body) == {"error"}


async def test_a_quote_of_another_network(client):
    vault, body = deposit(client)
    far, far_body = deposit(client, "devnet-l2")
    quote = await client.ask(f"/v2/vaults/31337:{vault}/quote", body)
    path = f"/v2/vaults/31338:{far}/action"
    await refused(
        client, path, {**far_body, "quoteId": quote["quoteId"]}, 422, "validation_error", "conflict"
    )


async def test_a_provider_that_takes_or_pays_on_another_network(client):
    for side in ("inputs", "outputs"):

        def elsewhere(quote, side=side):
            (leg,) = getattr(quote, side)
            return replace(quote, **{side: (replace(leg, token=replace(leg.token, chain_id=31338)),)})

        client.cheat.quote_lie = elsewhere
        nothing_to_sign(await attempt(client), "unsafe_answer")


@pytest.mark.parametrize("chain_id", [1, 31338])
async def test_a_signature_for_another_network(client, monkeypatch, chain_id):
    provider = client.api.gateway.registry.get(Capability.SWAP, "uniswap")
    honest = provider.build

    async def build(sealed):
        made = await honest(sealed)
        (signature,) = made.signatures
        typed = signature.typed_data
        typed = {**typed, "domain": {**typed["domain"], "chainId": chain_id}}
        return replace(made, signatures=(replace(signature, typed_data=typed),))

    monkeypatch.setattr(provider, "build", build)
    answer = await attempt(client, provider="uniswap", approvalMode="permit2-signature")
    nothing_to_sign(answer, "unsafe_answer", "no Permit2 PermitSingle of this chain")


async def test_every_transaction_names_its_network(client):
    for provider in ("cheat", "uniswap"):
        action = (await attempt(client, provider=provider)).body
        assert {action["chainId"], *(each["chainId"] for each in action["transactions"])} == {31337}
        assert action["walletSendCalls"]["chainId"] == hex(31337)


async def test_the_proxy_answers_for_the_network_of_its_path(client):
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
    for chain_id in (31337, 31338):
        answer = await client.api.post(f"/v2/rpc/{chain_id}", call)
        assert int(answer.body["result"], 16) == chain_id
    for odd in ("0x7a69", "031337", "31337.0", "devnet", "-1"):
        await refused(client, f"/v2/rpc/{odd}", call, 422, "validation_error")
