"""Attack: a recipient from whom nobody gets the money back, slipped to a wallet that shows an address only.

Tokens, routers, vaults and precompiled contracts accept what they are sent and keep it. The Universal Router
reads the accounts 1 and 2 as "the sender" and "this router" (v4-periphery, ActionConstants).
"""

import pytest
from quoteway.evm import permit2

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import USER, client_of  # noqa: E402

FRIEND = "0x3333333333333333333333333333333333333333"
SENDER_OF_ROUTERS, ROUTER_ITSELF, MODEXP, P256 = (f"0x{number:040x}" for number in (1, 2, 5, 0x100))


@pytest.fixture
async def client(fresh_devnet):
    async with client_of(fresh_devnet, 0.0) as client:
        yield client


def swap(client, **more):
    ends = {"fromToken": client.token("USDC"), "toToken": client.token("WETH")}
    return {"network": "devnet", **ends, "amount": "1000000", "address": USER, **more}


def contract(client, name, slug="devnet"):
    return client.devnet.chains[slug].contracts[name]


async def refused(client, path, body, member):
    (await client.api.post(path, body)).refused(422, "validation_error", "conflict", member)


@pytest.mark.parametrize("account", [SENDER_OF_ROUTERS, ROUTER_ITSELF, MODEXP, P256, permit2.ADDRESS])
async def test_a_swap_to_an_account_of_the_protocols(client, account):
    await refused(client, "/v2/swaps/quote", swap(client, toAddress=account), "toAddress")


@pytest.mark.parametrize("symbol", ["USDC", "WETH"])
async def test_a_swap_to_one_of_its_tokens(client, symbol):
    await refused(client, "/v2/swaps/quote", swap(client, toAddress=client.token(symbol)), "toAddress")


async def test_a_swap_to_the_router(client):
    quote = await client.quote_swap()
    action = await client.act(quote)
    router = action["transactions"][-1]["to"]
    await refused(client, "/v2/swaps/quote", swap(client, toAddress=router), "toAddress")


async def test_a_swap_to_a_friend_or_to_oneself_passes(client):
    for account in (FRIEND, USER):
        quote = await client.ask("/v2/swaps/quote", swap(client, toAddress=account))
        assert quote["outputs"][0]["account"].lower() == account.lower()


@pytest.mark.parametrize(
    ("member", "slug"), [("toAddress", "devnet-l2"), ("toAddress", "devnet"), ("refundAddress", "devnet")]
)
async def test_a_transfer_to_the_bridge(client, member, slug):
    body = {"fromChain": "devnet", "toChain": "devnet-l2", "amount": "1000000000", "address": USER}
    body |= {"fromToken": client.token("USDC"), "toToken": client.token("USDC", "devnet-l2")}
    body[member] = contract(client, "SpokePool", slug)
    for path in ("/v2/bridges/quote", "/v2/swaps/quote"):
        await refused(client, path, body, member)


async def test_shares_to_the_vault_or_to_its_asset(client):
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    body = {"action": "deposit", "amount": "1000000", "asset": client.token("USDC"), "address": USER}
    for account in (vault.address, client.token("USDC"), MODEXP):
        for path in ("quote", "action"):
            wanted = body | {"recipient": account}
            await refused(client, f"/v2/vaults/31337:{vault.address}/{path}", wanted, "recipient")


async def test_liquidity_to_its_token_or_to_a_precompile(client):
    pool = client.pool("v2", "WETH/USDC")
    body = {"action": "add", "amount": "1000000", "asset": client.token("USDC"), "address": USER}
    for account in (client.token("USDC"), SENDER_OF_ROUTERS):
        await refused(client, f"/v2/pools/31337:{pool.id}/quote", body | {"recipient": account}, "recipient")
