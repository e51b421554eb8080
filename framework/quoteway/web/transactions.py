"""Transactions: what became of one that a ``txId`` commits to. Clients broadcast themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from marshmallow import fields

from quoteway.competition import ask_all
from quoteway.errors import NotFound, ProviderUnavailable, Reason, UpstreamError
from quoteway.evm.address import checksum, keccak256
from quoteway.evm.chain import Chain
from quoteway.models import Capability
from quoteway.providers import BridgeProvider, Relay
from quoteway.sealing import TransactionCommitment
from quoteway.web import shapes
from quoteway.web.fields import HexField
from quoteway.web.operation import Call, Operation
from quoteway.web.schema import RequestSchema, ResponseSchema
from quoteway.web.signed_transaction import SignedTransaction, decode_signed

TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""keccak-256 of ``Transfer(address,address,uint256)`` (EIP-20)."""


class SubmitBody(RequestSchema):
    signed_payload = HexField(60, 131_072, required=True)


class HashBody(RequestSchema):
    hash = HexField(32, 32, required=True)


class Submitted(ResponseSchema):
    tx_id = shapes.sure(fields.String)
    hash = shapes.sure(fields.String)
    broadcast = shapes.sure(fields.Boolean)
    verified = shapes.sure(fields.Boolean)


class Difference(ResponseSchema):
    member = shapes.sure(fields.String)
    expected = shapes.maybe(fields.String)
    actual = shapes.maybe(fields.String)


class Realized(ResponseSchema):
    asset_changes = shapes.some(shapes.AssetChange)
    gas_used = shapes.sure(fields.String)
    vs_quote_bps = shapes.maybe(fields.Integer)


class HashReport(ResponseSchema):
    tx_id = shapes.sure(fields.String)
    hash = shapes.sure(fields.String)
    chain_id = shapes.sure(fields.Integer)
    match = shapes.sure(fields.String, enum=["match", "mismatch", "not_found"])
    differences = shapes.some(Difference)
    status = shapes.sure(fields.String, enum=["pending", "confirmed", "reverted", "unknown"])
    block_number = shapes.maybe(fields.Integer)
    confirmations = shapes.maybe(fields.Integer)
    realized = shapes.one_or_null(Realized)


class TrackedRefund(ResponseSchema):
    chain_id = shapes.sure(fields.Integer)
    token = shapes.sure(shapes.AddressText)
    address = shapes.sure(shapes.AddressText)
    amount = shapes.sure(shapes.AmountText)


class Tracked(ResponseSchema):
    tx_id = shapes.sure(fields.String)
    hash = shapes.sure(fields.String)
    status = shapes.sure(
        fields.String,
        enum=[
            *("origin_pending", "origin_confirmed", "fill_pending", "filled"),
            *("refund_pending", "refunded", "action_required", "unknown"),
        ],
        description="unknown never means failed: the nodes do not know the transaction now",
    )
    origin_chain_id = shapes.maybe(fields.Integer)
    destination_chain_id = shapes.maybe(fields.Integer)
    deposit_id = shapes.maybe(fields.String)
    fill_deadline = shapes.maybe(fields.Integer)
    fill_hash = shapes.maybe(fields.String)
    refund_hash = shapes.maybe(fields.String)
    refund = shapes.one_or_null(TrackedRefund)
    reason = shapes.maybe(fields.String, description="what action_required is about")


_TRACKED = (
    *("originChainId", "destinationChainId", "depositId", "fillDeadline"),
    *("fillHash", "refundHash", "refund", "reason"),
)


async def submit(call: Call) -> dict[str, Any]:
    tx_id = call.path["txId"]
    commitment = call.gateway.spine.open_transaction(tx_id)
    relays = call.gateway.registry.enabled(Capability.RELAY, commitment.chain_id)
    if not relays:
        raise ProviderUnavailable(
            "This deployment broadcasts nothing: send the signed transaction through your own node.",
            reason=Reason.RELAY_UNSUPPORTED,
            retryable=False,
        )
    raw: bytes = call.body["signed_payload"]
    decode_signed(raw).require(commitment)
    relay = cast(Relay, relays[0])
    tx_hash = await relay.submit(commitment.chain_id, raw)
    return {"txId": tx_id, "hash": tx_hash, "broadcast": True, "verified": True}


async def submit_hash(call: Call) -> dict[str, Any]:
    tx_id = call.path["txId"]
    commitment = call.gateway.spine.open_transaction(tx_id)
    chain = call.gateway.runtime.chains.get(commitment.chain_id)
    if chain is None:
        raise ProviderUnavailable("No RPC upstream serves this chain.", reason=Reason.CAPABILITY_DISABLED)
    tx_hash = "0x" + call.body["hash"].hex()
    found, receipt = await asyncio.gather(
        chain.request("eth_getTransactionByHash", [tx_hash]),
        chain.request("eth_getTransactionReceipt", [tx_hash]),
    )
    report: dict[str, Any] = {
        "txId": tx_id,
        "hash": tx_hash,
        "chainId": commitment.chain_id,
        "match": "not_found",
        "differences": [],
        "status": "unknown",
        "blockNumber": None,
        "confirmations": None,
        "realized": None,
    }
    if not isinstance(found, Mapping):
        return report
    try:
        differences = _differences(commitment, found)
        report |= {
            "match": "mismatch" if differences else "match",
            "differences": differences,
            "status": "pending",
        }
        if isinstance(receipt, Mapping):
            report |= await _outcome(chain, commitment.sender, receipt)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise UpstreamError(
            "The chain's node answered with a transaction that cannot be read.", reason=Reason.RPC_ERROR
        ) from error
    return report


def _differences(commitment: TransactionCommitment, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the broadcast transaction has otherwise than the one that was built."""
    data = bytes.fromhex(found["input"][2:])
    sent = SignedTransaction(
        chain_id=int(found["chainId"], 16) if found.get("chainId") else commitment.chain_id,
        to=checksum(found["to"]) if found.get("to") else None,
        value=int(found["value"], 16),
        data_hash="0x" + keccak256(data).hex(),
        sender=checksum(found["from"]),
    )
    return sent.differences(commitment)


async def _outcome(chain: Chain, sender: str, receipt: Mapping[str, Any]) -> dict[str, Any]:
    number = int(receipt["blockNumber"], 16)
    head = await chain.head()
    succeeded = int(receipt["status"], 16) == 1
    changes: dict[str, int] = {}
    for entry in receipt["logs"]:
        topics = entry["topics"]
        if len(topics) != 3 or topics[0] != TRANSFER_TOPIC:
            continue
        moved = int(entry["data"], 16) if len(entry["data"]) > 2 else 0
        origin, target = (checksum("0x" + topic[-40:]) for topic in topics[1:])
        token = checksum(entry["address"])
        changes[token] = changes.get(token, 0) + moved * ((target == sender) - (origin == sender))
    return {
        "status": "confirmed" if succeeded else "reverted",
        "blockNumber": number,
        "confirmations": max(1, head.number - number + 1),
        "realized": {
            "assetChanges": [
                {"account": sender, "token": token, "delta": str(delta)}
                for token, delta in changes.items()
                if delta
            ],
            "gasUsed": str(int(receipt["gasUsed"], 16)),
            # the txId commits to the transaction, not to the quote's outputs
            "vsQuoteBps": None,
        },
    }


async def track(call: Call) -> dict[str, Any]:
    """The state of a bridge transfer by its origin transaction."""
    tx_id = call.path["txId"]
    commitment = call.gateway.spine.open_transaction(tx_id)
    registry = call.gateway.registry
    bridges = registry.enabled(Capability.BRIDGE, commitment.chain_id)
    if not bridges:
        raise ProviderUnavailable("No enabled provider tracks transfers.", reason=Reason.CAPABILITY_DISABLED)
    tx_hash = "0x" + call.query["hash"].hex()
    outcomes = await ask_all(
        bridges,
        lambda p: cast(BridgeProvider, p).track(commitment.chain_id, tx_hash),
        timeout_s=call.gateway.config.quotes.competition_timeout_s,
        verb="track",
        observe=registry.observe,
    )
    answers = [outcome.value for outcome in outcomes if outcome.value is not None]
    known = [answer for answer in answers if answer["status"] != "unknown"]
    if known:
        return {**dict.fromkeys(_TRACKED), **known[0], "txId": tx_id, "hash": tx_hash}
    failed = next((outcome for outcome in outcomes if outcome.kind in ("failed", "timeout")), None)
    if failed is not None:
        raise UpstreamError("The transfer could not be looked up.", reason=failed.reason, retryable=True)
    if answers:
        # Nobody's nodes have it: that says nothing about whose it is.
        return {**dict.fromkeys(_TRACKED), **answers[0], "txId": tx_id, "hash": tx_hash}
    raise NotFound("No enabled bridge knows this transaction.")


OPERATIONS = (
    Operation(
        "POST",
        "/v2/transactions/{txId}/submit",
        "submitTransaction",
        "transactions",
        "Broadcast a signed transaction, where a relay is enabled",
        submit,
        Submitted,
        group="quotes",
        body=SubmitBody,
        errors=(400, 404, 422, 429, 502, 503),
    ),
    Operation(
        "POST",
        "/v2/transactions/{txId}/submit-hash",
        "submitTransactionHash",
        "transactions",
        "Compare a broadcast transaction with the one that was built",
        submit_hash,
        HashReport,
        group="quotes",
        body=HashBody,
        errors=(400, 404, 422, 429, 502, 503),
    ),
    Operation(
        "GET",
        "/v2/transactions/{txId}",
        "trackTransaction",
        "transactions",
        "Where a bridge transfer is",
        track,
        Tracked,
        query=HashBody,
        errors=(404, 422, 429, 502, 503),
    ),
)
