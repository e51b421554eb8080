"""Attack: another transaction than the one that was built is handed in to be broadcast.

It is decoded and compared with the signed commitment in its ``txId``: the relay gets the very transaction
that was built, signed by anybody's tools, or none.
"""

import pytest
from eth_account import Account
from quoteway.evm.address import keccak256
from quoteway.hookspecs import hookimpl
from quoteway.providers import Relay

# anvil's first default account
KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"

DYNAMIC = {"maxFeePerGas": 10**10, "maxPriorityFeePerGas": 10**9}
LEGACY = {"gasPrice": 10**10}
ACCESS = {"gasPrice": 10**10, "accessList": [{"address": WALLET, "storageKeys": ["0x" + "00" * 32]}]}


class FakeRelay:
    def __init__(self):
        self.sent = []

    @hookimpl
    def quoteway_relays(self, context):
        sent = self.sent

        class Recording(Relay):
            id, title, networks = "fake-relay", "Fake relay", frozenset({31337})

            async def submit(self, chain_id, signed_payload):
                sent.append((chain_id, signed_payload))
                return "0x" + keccak256(signed_payload).hex()

        return [Recording()]


def sign(transaction, fees, **changes):
    members = {
        **transaction,
        "value": int(transaction["value"], 16),
        "nonce": 0,
        "gas": 100_000,
        **fees,
        **changes,
    }
    return Account.sign_transaction(members, KEY).raw_transaction


@pytest.mark.parametrize("fees", [DYNAMIC, LEGACY, ACCESS], ids=["type 2", "legacy", "type 1"])
async def test_only_the_built_transaction_is_broadcast(serve_app, fake_plugin, contract, refused, fees):
    relay = FakeRelay()
    api = await serve_app({"fakes": fake_plugin, "relay": relay})
    body = {
        "network": "devnet",
        "fromToken": "native",
        "toToken": fake_plugin.weth,
        "amount": "7",
        "address": WALLET,
    }
    token = (await api.post("/v2/swaps/quote", body)).body["quoteId"]
    action = (await api.post(f"/v2/swaps/{token}/action")).body
    (transaction,), path = action["transactions"], f"/v2/transactions/{action['steps'][0]['txId']}/submit"

    raw = sign(transaction, fees)
    answer = await api.post(path, {"signedPayload": "0x" + raw.hex()})
    assert contract.check("submitTransaction", answer)["broadcast"] is True
    assert relay.sent == [(31337, raw)]

    for change in ({"value": 8}, {"to": WALLET}, {"data": "0xd0e30db1"}, {"chainId": 1}):
        other = sign(transaction, fees, **change)
        answer = await api.post(path, {"signedPayload": "0x" + other.hex()})
        details = refused(answer, 422, "validation_error", "conflict")
        assert next(iter(change)) in details["fields"][0]["message"]
    for garbled in (raw[:-1], raw + b"\0", raw[1:], b"\x05" + raw[1:], b"\xf8" * 100, b"\0" * 100):
        refused(await api.post(path, {"signedPayload": "0x" + garbled.hex()}), 422, "validation_error")
    assert len(relay.sent) == 1
