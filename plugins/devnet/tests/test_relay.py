"""The relay of the devnet: signed transactions to its nodes, and what it says of those that they refuse."""

import pytest
from eth_account import Account
from quoteway import UpstreamError
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.anvil import free_port
from quoteway_devnet.relay import DevnetRelay
from quoteway_devnet.rpc import Rpc

SENDER = ACCOUNTS[7]
RECIPIENT = "0x7777777777777777777777777777777777777777"


def signed(chain_id, nonce):
    members = {"to": RECIPIENT, "value": 12_345, "data": "0x", "gas": 21_000, "nonce": nonce}
    fees = {"maxFeePerGas": 10**11, "maxPriorityFeePerGas": 10**9, "chainId": chain_id, "type": 2}
    return Account.sign_transaction(members | fees, SENDER.private_key)


async def test_a_transaction_is_sent_to_the_node_of_its_chain(fresh, slug):
    chain_id = fresh.chains[slug].chain_id
    relay = DevnetRelay({chain.chain_id: fresh.ports[slug] for slug, chain in fresh.chains.items()})
    assert relay.networks == {31337, 31338}
    with Rpc(fresh.ports[slug]) as rpc:
        nonce = int(rpc("eth_getTransactionCount", SENDER.address, "latest"), 16)
        payload = signed(chain_id, nonce)
        assert await relay.submit(chain_id, payload.raw_transaction) == payload.hash.to_0x_hex()
        rpc("evm_mine")
        assert int(rpc("eth_getBalance", RECIPIENT, "latest"), 16) == 12_345
        with pytest.raises(UpstreamError, match="nonce too low"):
            await relay.submit(chain_id, payload.raw_transaction)


async def test_a_node_that_does_not_answer_is_named_without_its_address():
    with pytest.raises(UpstreamError, match=r"^The node of the devnet does not answer\.$"):
        await DevnetRelay({31337: free_port()}).submit(31337, b"\x02")
