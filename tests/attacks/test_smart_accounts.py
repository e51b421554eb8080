"""Attack on a wallet without a key: a permit that only a key can sign.

Permit2 asks the code of an account whether a signature is its own (ERC-1271), also where the code is an
EIP-7702 delegation. Sixty-five bytes of a key's signature then prove nothing, and the swap reverts. Accounts
with code get transactions instead. Safe 1.4.1, accounts of EntryPoint 0.7 and 0.8, and an EIP-7702 delegate
carry them out as one batch.
"""

import asyncio

import pytest
from direct_client import USER, client_of
from quoteway.evm import erc20
from smart_accounts import MAKERS, OWNER, Chain

AMOUNT = 10**9
SIGNED = {"approvalMode": "permit2-signature"}


@pytest.fixture
async def client(fresh_devnet):
    async with client_of(fresh_devnet, 0.0) as client:
        yield client


@pytest.fixture
def chain(fresh_devnet):
    return Chain(fresh_devnet)


def codes(issues):
    return [issue["code"] for issue in issues]


def balance(chain, token, owner):
    return chain.call(token, "balanceOf(address account) returns (uint256)", owner)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
async def test_a_smart_account_swaps_in_one_batch(client, chain, kind):
    account = await asyncio.to_thread(MAKERS[kind], chain)
    usdc, weth = client.token("USDC"), client.token("WETH")
    await asyncio.to_thread(chain.send, usdc, erc20.TRANSFER.encode([account.address, AMOUNT]), USER)
    quote = await client.quote_swap(amount=AMOUNT, **SIGNED, address=account.address)
    assert codes(quote["issues"]).count("smart_account") == 1
    assert quote["request"]["approvalMode"] == "transactions"
    action = await client.act(quote)
    assert (action["signatures"], action["simulation"]["status"]) == ([], "success")
    assert "smart_account" in codes(action["issues"])
    sent = action["walletSendCalls"]
    assert sent["from"] == account.address
    calls = [(c["to"], int(c["value"], 16), bytes.fromhex(c["data"][2:])) for c in sent["calls"]]
    before = [balance(chain, token, account.address) for token in (usdc, weth)]
    await asyncio.to_thread(account.execute, calls)
    after = [balance(chain, token, account.address) for token in (usdc, weth)]
    assert after[0] - before[0] == -AMOUNT
    assert after[1] - before[1] == int(quote["toAmount"])


async def test_an_account_that_gets_code_after_its_quote(client, chain):
    usdc = client.token("USDC")
    await asyncio.to_thread(chain.send, usdc, erc20.TRANSFER.encode([OWNER.address, AMOUNT]), USER)
    quote = await client.quote_swap(amount=AMOUNT, **SIGNED, address=OWNER.address)
    assert "smart_account" not in codes(quote["issues"])
    action = await client.act(quote)
    assert len(action["signatures"]) == 1
    await asyncio.to_thread(MAKERS["eip-7702"], chain)
    action = await client.act(quote)
    assert (action["signatures"], codes(action["issues"]).count("smart_account")) == ([], 1)
    assert [step["kind"] for step in action["steps"]][-2:] == ["permit2_approval", "swap"]
    assert action["simulation"]["status"] == "success"


async def test_a_key_still_signs(client):
    quote = await client.quote_swap(**SIGNED)
    assert "smart_account" not in codes(quote["issues"])
    action = await client.act(quote)
    assert (len(action["signatures"]), action["walletSendCalls"]) == (1, None)


async def test_a_batch_must_be_atomic_only_where_it_protects(client):
    """A wallet without atomic batches refuses a batch that must be atomic (EIP-5792)."""
    action = await client.act(await client.quote_swap())
    assert len(action["transactions"]) > 1
    assert action["walletSendCalls"]["atomicRequired"] is False


async def test_the_account_is_read_only_for_a_signature(client):
    await client.quote_swap()
    client.node.asked.clear()
    await client.quote_swap()
    assert client.node.asked["eth_getCode"] == 0
    await client.quote_swap(**SIGNED)
    assert client.node.asked["eth_getCode"] == 1
