"""Signed transactions handed in for broadcast: read, compared with what was built, and sent by a relay."""

import contextlib

import pytest
import rlp
from eth_account import Account
from hypothesis import given
from hypothesis import strategies as st
from quoteway.errors import InvalidRequest, UpstreamError
from quoteway.testing.fakes import NodeRelay
from quoteway.web.resources.transactions import decode_signed
from signing_client import FRIEND, OTHER, SIGNER, TYPES


@pytest.mark.parametrize("kind", TYPES)
async def test_a_true_signed_transaction_is_validated_and_then_there_is_no_relay(
    signing_client, refused, kind
):
    here = await signing_client()
    transaction, tx_id, _ = await here.action()
    path = f"/v2/transactions/{tx_id}/submit"
    answer = await here.api.post(path, {"signedPayload": await here.sign(transaction, kind)})
    refused(answer, 503, "provider_unavailable", "relay_unsupported")


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    ("change", "members"),
    [
        ({"to": FRIEND}, ["to"]),
        ({"value": 1}, ["value"]),
        ({"data": "0xdeadbeef"}, ["data"]),
        ({"chainId": 31338}, ["chainId"]),
        ({"chainId": 1, "to": FRIEND, "value": 9, "data": "0x"}, ["chainId", "to", "value", "data"]),
        ({"by": OTHER}, ["from"]),
    ],
)
async def test_a_tampered_signed_transaction_is_refused_relay_or_not(
    signing_client, refused, kind, change, members
):
    for more in ((), (NodeRelay,)):
        here = await signing_client(*more)
        transaction, tx_id, _ = await here.action()
        payload = {"signedPayload": await here.sign(transaction, kind, **change)}
        sent_before = await here.rpc("eth_getTransactionCount", SIGNER.address, "pending")
        answer = await here.api.post(f"/v2/transactions/{tx_id}/submit", payload)
        details = refused(answer, 422, "validation_error", "conflict")
        assert [difference["member"] for difference in details["differences"]] == members
        assert details["fields"][0]["path"] == "signedPayload"
        assert await here.rpc("eth_getTransactionCount", SIGNER.address, "pending") == sent_before


@pytest.mark.parametrize("kind", TYPES)
async def test_with_a_relay_it_is_broadcast_once_it_is_what_was_built(signing_client, contract, kind):
    here = await signing_client(NodeRelay)
    transaction, tx_id, _ = await here.action()
    payload = {"signedPayload": await here.sign(transaction, kind)}
    answer = await here.api.post(f"/v2/transactions/{tx_id}/submit", payload)
    body = contract.check("submitTransaction", answer)
    assert (answer.status, body["broadcast"], body["verified"]) == (200, True, True)
    await here.mined(body["hash"])
    assert (await here.report(tx_id, body["hash"], contract))["match"] == "match"


async def test_a_relay_that_fails_hangs_or_lies_is_never_a_success(signing_client, refused):
    class Bad(NodeRelay):
        def __init__(self, context, does):
            super().__init__(context)
            self.does = does

        async def submit(self, chain_id, signed_payload):
            return await self.does()

    async def fails():
        raise UpstreamError("The relay refused it.")

    async def breaks():
        raise RuntimeError("secret")

    async def lies():
        return "0x" + "12" * 32

    for does in (fails, breaks, lies):
        here = await signing_client(lambda context, does=does: Bad(context, does))
        transaction, tx_id, _ = await here.action()
        payload = {"signedPayload": await here.sign(transaction)}
        answer = await here.api.post(f"/v2/transactions/{tx_id}/submit", payload)
        refused(answer, 502, "upstream_error")
        assert "secret" not in answer.raw.decode()


async def test_bad_submissions(signing_client, refused):
    here = await signing_client()
    transaction, tx_id, _ = await here.action(approved=False)
    path = f"/v2/transactions/{tx_id}/submit"
    good = await here.sign(transaction)
    for payload in ({}, {"signedPayload": ""}, {"signedPayload": 5}, {"signedPayload": "0x00"}):
        refused(await here.api.post(path, payload), 422, "validation_error")
    refused(
        await here.api.post(path, data=b"{", headers={"Content-Type": "application/json"}),
        400,
        "invalid_request",
    )
    refused(await here.api.post("/v2/transactions/x/submit", {"signedPayload": good}), 404, "not_found")
    for raw in (good + "00", good[:-2], "0x03" + good[4:], "0x" + "c0" * 70, good[:4] + "00" + good[4:]):
        answer = await here.api.post(path, {"signedPayload": raw})
        refused(answer, 422, "validation_error", "invalid_format")
    path = f"/v2/transactions/{tx_id}/submit-hash"
    for body in ({}, {"hash": "0x12"}, {"hash": "12" * 32}, {"hash": "0x" + "12" * 32, "more": 1}):
        refused(await here.api.post(path, body), 422, "validation_error")


@pytest.mark.slow
@given(
    st.sampled_from(sorted(TYPES)),
    st.integers(0, 2**255),
    st.binary(max_size=200),
    st.integers(1, 2**31),
    st.booleans(),
)
def test_every_signed_transaction_is_read_as_it_was_signed(kind, value, data, chain_id, has_target):
    transaction = {"value": value, "data": data, "chainId": chain_id, "gas": 21_000, "nonce": 0}
    transaction["to"] = OTHER.address if has_target else ""
    signed = Account.sign_transaction({**transaction, **TYPES[kind]}, SIGNER.private_key)
    raw = bytes(signed.raw_transaction)
    read = decode_signed(raw)
    assert (read.chain_id, read.value, read.data) == (chain_id, value, data)
    assert read.to == (OTHER.address if has_target else None)
    signed_hash, v = read.signature[:32], int.from_bytes(read.signature[32:64])
    assert read.signature[64:] == signed.r.to_bytes(32) + signed.s.to_bytes(32)
    recovered = Account._recover_hash(signed_hash, vrs=(v, signed.r, signed.s))
    assert recovered == SIGNER.address
    # The signature of the other half of the curve is one that no chain takes (EIP-2).
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    high = raw.replace(rlp.encode(signed.s), rlp.encode(order - signed.s))
    if len(high) == len(raw):
        with pytest.raises(InvalidRequest):
            decode_signed(high)


@given(st.binary(max_size=120))
def test_no_bytes_break_the_reader(raw):
    with contextlib.suppress(InvalidRequest):
        decode_signed(raw)
