"""Transactions: submitting a signed one, and the state of a broadcast one that a ``txId`` names.

Nothing here can sign. The RLP codec is ``rlp``, imported at first use because it brings in pydantic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from quoteway.engine.gateway import Gateway
from quoteway.engine.quote_tokens import TransactionCommitment, calldata_hash
from quoteway.engine.settlement import Settlement, settlement
from quoteway.errors import (
    FieldError,
    InvalidRequest,
    NotFound,
    ProviderUnavailable,
    Reason,
    UpstreamError,
    disabled,
)
from quoteway.evm.address import checksum, keccak256
from quoteway.evm.chain import RpcChain
from quoteway.evm.signatures import HALF_ORDER, recover
from quoteway.models import Capability, TransferState
from quoteway.providers import BridgeProvider, Provider, Relay
from quoteway.web.http.fields import HexField
from quoteway.web.http.operation import Call, ask_checked, get, post_quotes
from quoteway.web.http.schema import RequestSchema, invalid
from quoteway.web.resources import catalog
from quoteway.web.wire.transactions import HashReport, Submitted, Tracked
from quoteway.web.wire.view import Wire

# --- a signed transaction and the one that was built ------------------------------------------------------

_MEMBER = "signedPayload"

# Where to, value and data stand, and how many members there are: legacy (0), EIP-2930 (1) and EIP-1559 (2).
_LAYOUTS = {0: (3, 4, 5, 9), 1: (4, 5, 6, 11), 2: (5, 6, 7, 12)}


@dataclass(frozen=True, slots=True)
class Difference:
    """A member of a transaction that differs from what was built; ``member`` is its name on the wire."""

    member: str
    expected: str
    actual: str | None


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """The members of a signed or broadcast transaction that are compared. ``sender`` None: not recovered.

    ``signature`` is what ``recover`` takes.
    """

    chain_id: int
    to: str | None
    value: int
    data: bytes
    sender: str | None = None
    signature: bytes = b""

    @classmethod
    def broadcast(cls, found: Mapping[str, Any], chain_id: int) -> SignedTransaction:
        """A transaction as a node tells of it; ``chain_id`` is for one that leaves it out."""
        return cls(
            chain_id=int(found["chainId"], 16) if found.get("chainId") else chain_id,
            to=checksum(found["to"]) if found.get("to") else None,
            value=int(found["value"], 16),
            data=bytes.fromhex(found["input"][2:]),
            sender=checksum(found["from"]),
        )

    def differences(self, commitment: TransactionCommitment) -> list[Difference]:
        """Every member that differs from what was committed to."""
        pairs = [
            ("chainId", commitment.chain_id, self.chain_id),
            ("to", commitment.to, self.to),
            ("value", hex(commitment.value), hex(self.value)),
            ("data", commitment.data_hash, calldata_hash(self.data, commitment.blanks)),
        ]
        if self.sender is not None:
            pairs.append(("from", commitment.sender, self.sender))
        return [
            Difference(name, str(expected), None if actual is None else str(actual))
            for name, expected, actual in pairs
            if expected != actual
        ]

    def require(self, commitment: TransactionCommitment) -> None:
        """Raises ``InvalidRequest`` when this is not the transaction that was built."""
        wrong = self.differences(commitment)
        if not wrong:
            return
        names = ", ".join(difference.member for difference in wrong)
        text = f"{_MEMBER} is not the transaction that was built: {names} differ."
        refused = [FieldError(_MEMBER, Reason.CONFLICT, text)]
        raise InvalidRequest(text, reason=Reason.CONFLICT, fields=refused, differences=wrong)


def decode_signed(raw: bytes) -> SignedTransaction:
    """A raw signed transaction, legacy with EIP-155 or of type 1 or 2. Raises ``InvalidRequest``."""
    from rlp.exceptions import RLPException

    try:
        return _decoded(raw)
    except (ValueError, IndexError, TypeError, AttributeError, RecursionError, RLPException):
        raise _refused("is not a signed transaction of type 0 (EIP-155), 1 or 2") from None


def _decoded(raw: bytes) -> SignedTransaction:
    import rlp

    kind = raw[0] if raw[0] in (1, 2) else 0
    to, value, data, count = _LAYOUTS[kind]
    members = rlp.decode(raw[1:] if kind else raw)
    if not isinstance(members, list) or len(members) != count:
        raise ValueError("wrong number of members")
    *unsigned, v, r, s = members
    if kind:
        chain_id, y_parity = _integer(members[0]), _integer(v)
        signed = raw[:1] + rlp.encode(unsigned)
    else:
        chain_id, y_parity = divmod(_integer(v) - 35, 2)
        if chain_id < 0:
            raise ValueError("without a chain id it can be sent on every chain")
        signed = rlp.encode([*unsigned, chain_id, b"", b""])
    if y_parity not in (0, 1) or _integer(s) > HALF_ORDER:
        raise ValueError("not a signature that a chain accepts")
    words = (27 + y_parity, _integer(r), _integer(s))
    signature = keccak256(signed) + b"".join(word.to_bytes(32) for word in words)
    target = checksum("0x" + _bytes(members[to]).hex()) if members[to] else None
    wei = _integer(members[value])
    return SignedTransaction(chain_id, target, wei, _bytes(members[data]), signature=signature)


async def recover_sender(chain: RpcChain, transaction: SignedTransaction) -> str:
    """Who signed.

    Raises ``InvalidRequest`` when the signature has no signer, and ``UpstreamError`` when no node answers.
    """
    signer = await recover(chain, transaction.signature)
    if signer is None:
        raise _refused("has a signature from which no signer can be recovered")
    return signer


def _integer(member: Any) -> int:
    raw = _bytes(member)
    if len(raw) > 32 or raw[:1] == b"\0":
        raise ValueError("not an integer")
    return int.from_bytes(raw)


def _bytes(member: Any) -> bytes:
    if not isinstance(member, bytes):
        raise ValueError("a list instead of bytes")
    return member


def _refused(text: str) -> InvalidRequest:
    return invalid(FieldError(_MEMBER, Reason.INVALID_FORMAT, text))


# --- operations -------------------------------------------------------------------------------------------


class SubmitBody(RequestSchema):
    signed_payload = HexField("Signed transaction as it is broadcast, as 0x hex", 60, 131_072, required=True)


class HashBody(RequestSchema):
    hash = HexField("Hash of the broadcast transaction, 32 bytes as 0x hex", 32, 32, required=True)


@post_quotes(
    "/v2/transactions/{txId}/submit",
    "Broadcast a signed transaction, where a relay is enabled",
    Submitted,
    description="The transaction is compared with the one that was built, and broadcast by a relay. Without "
    "an enabled relay the answer is 503 `relay_unsupported`: nothing is ever said to be sent that was not.",
    body=SubmitBody,
)
async def submit_transaction(call: Call) -> dict[str, Any]:
    """Compares the transaction with the one that was built, with or without a relay, and broadcasts it."""
    tx_id = call.path["txId"]
    commitment = call.gateway.quote_tokens.open_transaction(tx_id)
    registry, runtime = call.gateway.registry, call.gateway.runtime
    relays = registry.enabled(Capability.RELAY, commitment.chain_id)
    raw: bytes = call.body["signed_payload"]
    signed = decode_signed(raw)
    signed.require(commitment)
    try:
        signed = replace(signed, sender=await recover_sender(runtime.chain(commitment.chain_id), signed))
    except (UpstreamError, ProviderUnavailable):
        if relays:
            raise
    signed.require(commitment)
    if not relays:
        text = "This deployment broadcasts nothing: send the signed transaction through your own node."
        raise ProviderUnavailable(text, reason=Reason.RELAY_UNSUPPORTED, retryable=False)
    (outcome,) = await registry.calls.ask_all(
        relays[:1], lambda relay: cast(Relay, relay).submit(commitment.chain_id, raw), verb="submit"
    )
    tx_hash = "0x" + keccak256(raw).hex()
    if outcome.error is not None:
        raise outcome.error
    if outcome.value != tx_hash:
        # The relay was late, failed or lied; the transaction may have been broadcast all the same.
        text = f"The relay did not confirm the broadcast. Look for {tx_hash} before signing another."
        raise UpstreamError(text, reason=outcome.reason or Reason.PROVIDER_ERROR, retryable=False)
    return Submitted.of(call.networks, tx_id=tx_id, hash=tx_hash, broadcast=True, verified=True)


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


@post_quotes(
    "/v2/transactions/{txId}/submit-hash",
    "Compare a broadcast transaction with the one that was built",
    HashReport,
    description="Looks for the transaction on its network, else on the others. `realized` "
    "is what it did beside the quote.",
    body=HashBody,
)
async def submit_transaction_hash(call: Call) -> dict[str, Any]:
    return await report_on(call.gateway, call.path["txId"], call.body["hash"])


async def report_on(gateway: Gateway, tx_id: str, hash_: bytes) -> Wire:
    """Returns what became of a broadcast transaction. Raises ``NotFound`` for an unknown ``txId``."""
    commitment = gateway.quote_tokens.open_transaction(tx_id)
    chain = gateway.runtime.chain(commitment.chain_id)
    tx_hash = "0x" + hash_.hex()
    report = _Report(tx_id, tx_hash, commitment.chain_id)
    found, receipt = await _look_up(chain, tx_hash)
    if not isinstance(found, Mapping):
        elsewhere = await _on_another_chain(gateway, commitment.chain_id, tx_hash)
        if elsewhere is None:
            return HashReport.render(report, gateway.runtime.networks)
        chain, (found, receipt) = elsewhere
    try:
        sent = SignedTransaction.broadcast(found, chain.network.chain_id)
        differences = sent.differences(commitment)
        match: Literal["match", "mismatch"] = "mismatch" if differences else "match"
        report = replace(report, match=match, differences=differences, status="pending")
        if isinstance(receipt, Mapping):
            settled = await settlement(chain, commitment, found, receipt, matches=not differences)
            known = None if settled.status == "unknown" else settled
            if known is not None and chain.network.chain_id == commitment.chain_id:
                gateway.fills.reported(commitment, tx_hash, known, matches=not differences)
                await gateway.building.custody.tell(
                    commitment, found, tx_hash, known, matches=not differences
                )
            report = replace(report, status=settled.status, settled=known)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise UpstreamError(
            "The chain's node answered with a transaction that cannot be read.", reason=Reason.RPC_ERROR
        ) from error
    return HashReport.render(report, gateway.runtime.networks)


async def _look_up(chain: RpcChain, tx_hash: str) -> tuple[Any, Any]:
    """The transaction and its receipt, as the node has them now."""
    return await asyncio.gather(
        chain.request("eth_getTransactionByHash", [tx_hash], shared=False),
        chain.request("eth_getTransactionReceipt", [tx_hash], shared=False),
    )


async def _on_another_chain(
    gateway: Gateway, chain_id: int, tx_hash: str
) -> tuple[RpcChain, tuple[Mapping[str, Any], Any]] | None:
    """The transaction where it was sent by mistake: on another network of this deployment."""
    others = [chain for other, chain in gateway.runtime.chains.items() if other != chain_id]
    answers = await asyncio.gather(*(_look_up(chain, tx_hash) for chain in others), return_exceptions=True)
    for chain, answer in zip(others, answers, strict=True):
        if not isinstance(answer, BaseException) and isinstance(answer[0], Mapping):
            return chain, answer
    return None


@get(
    "/v2/transactions/{txId}",
    "Where a bridge transfer is",
    Tracked,
    description="By the transaction on the network that it left: `txId` of the step, and the hash sent.",
    query=HashBody,
    failures=(404, 502),
)
async def track_transaction(call: Call) -> dict[str, Any]:
    """The state of a bridge transfer by its origin transaction."""
    return await where_is(call.gateway, call.path["txId"], call.query["hash"])


async def where_is(gateway: Gateway, tx_id: str, hash_: bytes) -> Wire:
    """Returns the state of a transfer. Raises ``NotFound`` for an unknown ``txId``, and for a transaction
    that is no transfer.
    """
    commitment = gateway.quote_tokens.open_transaction(tx_id)
    bridges = bridges_from(gateway, commitment.chain_id)
    tx_hash = "0x" + hash_.hex()
    outcomes = await ask_checked(
        gateway,
        bridges,
        TransferState | None,
        lambda bridge: cast(BridgeProvider, bridge).track(commitment.chain_id, tx_hash),
        verb="track",
    )
    answers: list[TransferState] = [o.value for o in outcomes if o.value is not None]
    known = [answer for answer in answers if answer.status != "unknown"]
    if not known:
        catalog.require_all(outcomes, "The transfer could not be looked up.")
    if not answers:
        raise NotFound("No enabled bridge knows this transaction.")
    # Where no node has the transaction yet, the first bridge's answer stands for all.
    state = (known or answers)[0]
    return Tracked.of(gateway.runtime.networks, tx_id=tx_id, hash=tx_hash, state=state)


def bridges_from(gateway: Gateway, chain_id: int) -> Sequence[Provider]:
    """Returns the bridges that leave a network. Raises ``ProviderUnavailable`` without any."""
    bridges = gateway.registry.enabled(Capability.BRIDGE, chain_id)
    if not bridges:
        raise disabled("No enabled provider tracks transfers.")
    return bridges


OPERATIONS = (submit_transaction, submit_transaction_hash, track_transaction)
