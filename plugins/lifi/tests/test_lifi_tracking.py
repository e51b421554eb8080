"""The state of a transfer, from LI.FI's ``/status``."""

import pytest
from fake_lifi import FakeLifi
from quoteway import Capability, TransferState


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ({"status": "PENDING", "substatus": "WAIT_SOURCE_CONFIRMATIONS"}, "origin_pending"),
        ({"status": "PENDING", "substatus": "WAIT_DESTINATION_TRANSACTION"}, "fill_pending"),
        ({"status": "PENDING", "substatus": "REFUND_IN_PROGRESS"}, "refund_pending"),
        ({"status": "PENDING", "substatus": "BRIDGE_NOT_AVAILABLE"}, "unknown"),
        ({"status": "PENDING"}, "unknown"),
        ({"status": "DONE", "substatus": "COMPLETED"}, "filled"),
        ({"status": "DONE", "substatus": "PARTIAL"}, "action_required"),
        ({"status": "DONE", "substatus": "REFUNDED"}, "refunded"),
        ({"status": "DONE", "substatus": ["?"]}, "unknown"),
        ({"status": "FAILED", "substatus": "OUT_OF_GAS"}, "action_required"),
        ({"status": "OF_TOMORROW"}, "unknown"),
        ({"status": "PENDING", "sending": {"txHash": "0x" + "cd" * 32}}, None),
        ({"status": "DONE", "substatus": "COMPLETED", "receiving": {"chainId": 1}}, None),
        ({"status": "NOT_FOUND"}, None),
        ({"status": "INVALID"}, None),
        ({}, None),
    ],
)
async def test_where_a_transfer_is(start, body, state):
    async with FakeLifi(lambda *_: {"body": body}) as fake:
        gateway = await start(fake)
        found = await gateway.registry.get(Capability.BRIDGE, "lifi").track(1, "0x" + "ab" * 32)
        (path, query, _), *_ = fake.asked
    assert (path, query) == ("/v1/status", {"txHash": "0x" + "ab" * 32, "fromChain": "1"})
    assert (found and found.status) == state


async def test_what_is_known_beside_a_transfers_state(start):
    receiving = {"chainId": 10, "txHash": "0x" + "cd" * 32}
    body = {"status": "DONE", "substatus": "COMPLETED", "sending": {"txHash": "0x" + "AB" * 32}}
    async with FakeLifi(lambda *_: {"body": {**body, "receiving": receiving}}) as fake:
        gateway = await start(fake)
        found = await gateway.registry.get(Capability.BRIDGE, "lifi").track(1, "0x" + "ab" * 32)
    assert found == TransferState(
        "filled", origin_chain_id=1, destination_chain_id=10, fill_hash="0x" + "cd" * 32
    )
