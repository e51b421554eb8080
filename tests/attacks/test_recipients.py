"""Attack: a recipient from whom nobody gets the money back, slipped to a wallet that shows an address only.

Tokens, routers, vaults and precompiled contracts accept what they are sent and keep it. The Universal Router
reads the accounts 1 and 2 as "the sender" and "this router" (v4-periphery, ActionConstants).
"""

import itertools

import pytest
from direct_client import USER, client_of
from quoteway.evm import permit2
from quoteway.evm.address import checksum

pytestmark = pytest.mark.asyncio(loop_scope="module")
FRIEND = "0x3333333333333333333333333333333333333333"
SENDER_OF_ROUTERS, ROUTER_ITSELF, MODEXP, P256 = (f"0x{number:040x}" for number in (1, 2, 5, 0x100))


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


# --- recipients that may be right: the signer is warned -----------------------------------------------------

ACCEPTS, REVERTS = "0x00", "0x60006000fd"
DEAD = "0x000000000000000000000000000000000000dEaD"
BURNT = (DEAD, "0xdEAD000000000000000042069420694206942069", "0xDeaDBeef" + "00" * 16)
CONTRACTS = (checksum(f"0x{0xC0FFEE << 136 | number:040x}") for number in itertools.count(1))


def put(client, code, slug="devnet"):
    """A contract at an address of its own, which the gateway has not seen; its address."""
    address = next(CONTRACTS)
    with client.devnet.rpc(slug) as rpc:
        rpc("anvil_setCode", address, code)
        rpc("evm_mine")
    return address


def told(answer, account):
    """The codes of the warnings about an account."""
    return [each["code"] for each in answer["warnings"] if account in each["message"]]


@pytest.mark.parametrize("account", BURNT)
async def test_a_burn_address_is_told_in_quote_and_action(client, account):
    quote = await client.ask("/v2/swaps/quote", swap(client, toAddress=account.lower()))
    action = await client.act(quote)
    assert told(quote, checksum(account)) == told(action, checksum(account)) == ["burn_address"]


@pytest.mark.parametrize("bought", ["WETH", "ETH"])
async def test_a_contract_as_recipient_is_told_in_quote_and_action(client, bought):
    account = put(client, ACCEPTS)
    body = swap(client, toAddress=account, toToken=client.token(bought))
    quote = await client.ask("/v2/swaps/quote", body)
    action = await client.act(quote)
    assert told(quote, account) == told(action, account) == ["recipient_is_contract"]
    assert action["simulation"]["status"] == "success"


async def test_the_coin_for_a_contract_that_refuses_it(client):
    """The run pays it: a swap that can only revert is not even quoted."""
    body = swap(client, toAddress=put(client, REVERTS), toToken=client.token("ETH"))
    answer = await client.api.post("/v2/swaps/quote", body)
    answer.refused(502, "upstream_error", "reverted")
    assert "would revert" in answer.body["error"]["message"]


async def test_a_token_for_a_contract_that_refuses_the_coin_passes(client):
    quote = await client.ask("/v2/swaps/quote", swap(client, toAddress=put(client, REVERTS)))
    assert (await client.act(quote))["simulation"]["status"] == "success"


async def test_the_sender_and_an_account_with_a_key_bring_no_warning(client):
    delegated = put(client, "0xef0100" + FRIEND[2:])
    for account in (FRIEND, USER, delegated):
        quote = await client.ask("/v2/swaps/quote", swap(client, toAddress=account))
        assert told(quote, checksum(account)) == []


async def test_a_contract_that_is_the_sender_brings_no_warning(client):
    account = put(client, ACCEPTS)
    quote = await client.ask("/v2/swaps/quote", swap(client, address=account))
    assert told(quote, account) == []


async def test_the_recipient_is_looked_at_where_it_is_paid(fresh_devnet, relayer):
    async with client_of(fresh_devnet, 0.0, relayer.port) as client:
        await _looked_at_where_it_is_paid(client)


async def _looked_at_where_it_is_paid(client):
    body = {"fromChain": "devnet", "toChain": "devnet-l2", "amount": "1000000000", "address": USER}
    body |= {"fromToken": client.token("USDC"), "toToken": client.token("USDC", "devnet-l2")}
    account = put(client, ACCEPTS, "devnet-l2")
    quote = await client.ask("/v2/bridges/quote", {**body, "toAddress": account})
    assert told(quote, account) == ["recipient_is_contract"]
    quote = await client.ask("/v2/bridges/quote", {**body, "refundAddress": account})
    assert "recipient_is_contract" not in told(quote, account)


async def test_shares_and_liquidity_for_a_contract(client):
    account = put(client, ACCEPTS)
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    body = {"amount": "1000000", "asset": client.token("USDC"), "address": USER, "recipient": account}
    quote = await client.ask(f"/v2/vaults/31337:{vault.address}/quote", {**body, "action": "deposit"})
    assert told(quote, account) == ["recipient_is_contract"]
    pool = client.pool("v2", "WETH/USDC")
    quote = await client.ask(f"/v2/pools/31337:{pool.id}/quote", {**body, "action": "add"})
    assert told(quote, account) == ["recipient_is_contract"]
