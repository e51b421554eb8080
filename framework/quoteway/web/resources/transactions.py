"""Transactions: submitting a signed one, and the state of a broadcast one that a ``txId`` names."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from quoteway.engine.quote_tokens import TransactionCommitment
from quoteway.engine.settlement import Settlement, settlement
from quoteway.errors import NotFound, ProviderUnavailable, Reason, UpstreamError
from quoteway.evm.address import checksum, keccak256
from quoteway.evm.chain import Chain
from quoteway.guard.findings import check_form
from quoteway.models import Capability, TransferState
from quoteway.providers import BridgeProvider, Provider, Relay
from quoteway.web.http.fields import HexField
from quoteway.web.http.operation import Call, Operation
from quoteway.web.http.schema import RequestSchema
from quoteway.web.resources.signed_transaction import (
    Difference,
    SignedTransaction,
    decode_signed,
    recover_sender,
)
from quoteway.web.wire.transactions import HashReport, Submitted, Tracked


class SubmitBody(RequestSchema):
    signed_payload = HexField("The signed transaction as it is broadcast, 0x hex", 60, 131_072, required=True)


class HashBody(RequestSchema):
    hash = HexField("The hash of the broadcast transaction", 32, 32, required=True)


async def submit(call: Call) -> dict[str, Any]:
    """Compares the transaction with the one that was built, with or without a relay, and broadcasts it."""
    tx_id = call.path["txId"]
    commitment = call.gateway.quote_tokens.open_transaction(tx_id)
    registry = call.gateway.registry
    relays = registry.enabled(Capability.RELAY, commitment.chain_id)
    raw: bytes = call.body["signed_payload"]
    signed = decode_signed(raw)
    signed.require(commitment)
    try:
        signed = replace(signed, sender=await recover_sender(_chain(call, commitment.chain_id), signed))
    except (UpstreamError, ProviderUnavailable):
        if relays:
            raise
    signed.require(commitment)
    if not relays:
        raise ProviderUnavailable(
            "This deployment broadcasts nothing: send the signed transaction through your own node.",
            reason=Reason.RELAY_UNSUPPORTED,
            retryable=False,
        )
    (outcome,) = await registry.calls.ask_all(
        relays[:1],
        lambda relay: cast(Relay, relay).submit(commitment.chain_id, raw),
        verb="submit",
    )
    tx_hash = "0x" + keccak256(raw).hex()
    if outcome.error is not None:
        raise outcome.error
    if outcome.value != tx_hash:
        # The relay was late, failed or lied; the transaction may have been broadcast all the same.
        raise UpstreamError(
            f"The relay did not confirm the broadcast. Look for {tx_hash} before signing another.",
            reason=outcome.reason or Reason.PROVIDER_ERROR,
            retryable=False,
        )
    return Submitted.of(call.networks, tx_id=tx_id, hash=tx_hash, broadcast=True, verified=True)


def _chain(call: Call, chain_id: int) -> Chain:
    chain = call.gateway.runtime.chains.get(chain_id)
    if chain is None:
        raise ProviderUnavailable("No RPC upstream serves this chain.", reason=Reason.CAPABILITY_DISABLED)
    return chain


@dataclass(frozen=True, slots=True)
class _Report:
    """What is known of a broadcast transaction; ``settled`` once it is in a block of the chain."""

    tx_id: str
    hash: str
    chain_id: int
    match: Literal["match", "mismatch", "not_found"] = "not_found"
    differences: Sequence[Difference] = ()
    status: Literal["pending", "confirmed", "reverted", "unknown"] = "unknown"
    settled: Settlement | None = None


async def submit_hash(call: Call) -> dict[str, Any]:
    tx_id = call.path["txId"]
    commitment = call.gateway.quote_tokens.open_transaction(tx_id)
    chain = _chain(call, commitment.chain_id)
    tx_hash = "0x" + call.body["hash"].hex()
    report = _Report(tx_id, tx_hash, commitment.chain_id)
    found, receipt = await _look_up(chain, tx_hash)
    if not isinstance(found, Mapping):
        elsewhere = await _on_another_chain(call, commitment.chain_id, tx_hash)
        if elsewhere is None:
            return HashReport.render(report, call.networks)
        chain, (found, receipt) = elsewhere
    try:
        differences = _differences(commitment, found, chain)
        match: Literal["match", "mismatch"] = "mismatch" if differences else "match"
        report = replace(report, match=match, differences=differences, status="pending")
        if isinstance(receipt, Mapping):
            settled = await settlement(chain, commitment, found, receipt, matches=not differences)
            known = None if settled.status == "unknown" else settled
            report = replace(report, status=settled.status, settled=known)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise UpstreamError(
            "The chain's node answered with a transaction that cannot be read.", reason=Reason.RPC_ERROR
        ) from error
    return HashReport.render(report, call.networks)


async def _look_up(chain: Chain, tx_hash: str) -> tuple[Any, Any]:
    """The transaction and its receipt, as the node has them now."""
    found, receipt = await asyncio.gather(
        chain.request("eth_getTransactionByHash", [tx_hash], shared=False),
        chain.request("eth_getTransactionReceipt", [tx_hash], shared=False),
    )
    return found, receipt


async def _on_another_chain(
    call: Call, chain_id: int, tx_hash: str
) -> tuple[Chain, tuple[Mapping[str, Any], Any]] | None:
    """The transaction where it was sent by mistake: on another network of this deployment."""
    others = [chain for other, chain in call.gateway.runtime.chains.items() if other != chain_id]
    answers = await asyncio.gather(*(_look_up(chain, tx_hash) for chain in others), return_exceptions=True)
    for chain, answer in zip(others, answers, strict=True):
        if not isinstance(answer, BaseException) and isinstance(answer[0], Mapping):
            return chain, answer
    return None


def _differences(
    commitment: TransactionCommitment, found: Mapping[str, Any], chain: Chain
) -> list[Difference]:
    """What the broadcast transaction has otherwise than the one that was built."""
    sent = SignedTransaction(
        chain_id=int(found["chainId"], 16) if found.get("chainId") else chain.network.chain_id,
        to=checksum(found["to"]) if found.get("to") else None,
        value=int(found["value"], 16),
        data=bytes.fromhex(found["input"][2:]),
        sender=checksum(found["from"]),
    )
    return sent.differences(commitment)


async def track(call: Call) -> dict[str, Any]:
    """The state of a bridge transfer by its origin transaction."""
    tx_id = call.path["txId"]
    commitment = call.gateway.quote_tokens.open_transaction(tx_id)
    registry = call.gateway.registry
    bridges = registry.enabled(Capability.BRIDGE, commitment.chain_id)
    if not bridges:
        raise ProviderUnavailable("No enabled provider tracks transfers.", reason=Reason.CAPABILITY_DISABLED)
    tx_hash = "0x" + call.query["hash"].hex()

    async def ask(bridge: Provider) -> TransferState | None:
        found = await cast(BridgeProvider, bridge).track(commitment.chain_id, tx_hash)
        if found is not None:
            check_form(bridge, found, TransferState)
        return found

    outcomes = await registry.calls.ask_all(bridges, ask, verb="track")
    answers = [outcome.value for outcome in outcomes if outcome.value is not None]
    known = [answer for answer in answers if answer.status != "unknown"]
    if known:
        return Tracked.of(call.networks, tx_id=tx_id, hash=tx_hash, state=known[0])
    failed = next((outcome for outcome in outcomes if outcome.kind in ("failed", "timeout")), None)
    if failed is not None:
        raise UpstreamError("The transfer could not be looked up.", reason=failed.reason, retryable=True)
    if answers:
        # No node has the transaction yet, so the first bridge's answer stands for all.
        return Tracked.of(call.networks, tx_id=tx_id, hash=tx_hash, state=answers[0])
    raise NotFound("No enabled bridge knows this transaction.")


OPERATIONS = (
    Operation(
        "POST",
        "/v2/transactions/{txId}/submit",
        "submitTransaction",
        "Broadcast a signed transaction, where a relay is enabled",
        submit,
        Submitted,
        group="quotes",
        body=SubmitBody,
        failures=(404, 502),
    ),
    Operation(
        "POST",
        "/v2/transactions/{txId}/submit-hash",
        "submitTransactionHash",
        "Compare a broadcast transaction with the one that was built",
        submit_hash,
        HashReport,
        group="quotes",
        body=HashBody,
        failures=(404, 502),
    ),
    Operation(
        "GET",
        "/v2/transactions/{txId}",
        "trackTransaction",
        "Where a bridge transfer is",
        track,
        Tracked,
        query=HashBody,
        failures=(404, 502),
    ),
)
