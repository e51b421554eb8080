"""Decodes a signed transaction to compare it with the one that was built. Nothing here can sign.

The RLP codec is ``rlp``, imported at first use because it brings in pydantic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quoteway.engine.quote_tokens import TransactionCommitment, calldata_hash
from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.evm.address import checksum, keccak256
from quoteway.evm.chain import Chain
from quoteway.networks import Networks
from quoteway.web.http.schema import invalid
from quoteway.web.wire.transactions import Difference as DifferenceView

_MEMBER = "signedPayload"

# Where chainId, to, value and data stand, and how many members there are: EIP-2930 (1) and EIP-1559 (2).
_TYPED = {1: (0, 4, 5, 6, 11), 2: (0, 5, 6, 7, 12)}
_LEGACY = (3, 4, 5, 9)

_ECRECOVER = "0x0000000000000000000000000000000000000001"
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
"""Half the order of secp256k1: a transaction's ``s`` is not above it (EIP-2)."""


@dataclass(frozen=True, slots=True)
class Signature:
    """An ECDSA signature and the hash that it signs."""

    signed_hash: bytes
    y_parity: int
    r: int
    s: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A member of a transaction that differs from what was built; ``member`` is its name on the wire."""

    member: str
    expected: str
    actual: str | None


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """The members of a signed or broadcast transaction that are compared. ``sender`` None: not recovered."""

    chain_id: int
    to: str | None
    value: int
    data: bytes
    sender: str | None = None
    signature: Signature | None = None

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
        raise InvalidRequest(
            text,
            reason=Reason.CONFLICT,
            fields=[FieldError(_MEMBER, Reason.CONFLICT, text)],
            extra={"differences": DifferenceView.render_all(wrong, Networks())},
        )


def decode_signed(raw: bytes) -> SignedTransaction:
    """A raw signed transaction, legacy with EIP-155 or of type 1 or 2. Raises ``InvalidRequest``."""
    from rlp.exceptions import RLPException

    try:
        return _typed(raw) if raw[0] in _TYPED else _legacy(raw)
    except (ValueError, IndexError, TypeError, AttributeError, RecursionError, RLPException):
        raise _refused("is not a signed transaction of type 0 (EIP-155), 1 or 2") from None


def _typed(raw: bytes) -> SignedTransaction:
    chain, to, value, data, count = _TYPED[raw[0]]
    import rlp

    members = _members(raw[1:], count)
    *unsigned, y_parity, r, s = members
    signed_hash = keccak256(raw[:1] + rlp.encode(unsigned))
    signature = _signature(signed_hash, _integer(y_parity), r, s)
    return SignedTransaction(
        _integer(members[chain]),
        _target(members[to]),
        _integer(members[value]),
        _bytes(members[data]),
        signature=signature,
    )


def _legacy(raw: bytes) -> SignedTransaction:
    to, value, data, count = _LEGACY
    import rlp

    members = _members(raw, count)
    *unsigned, v, r, s = members
    chain_id, y_parity = divmod(_integer(v) - 35, 2)
    if chain_id < 0:
        raise ValueError("without a chain id it can be sent on every chain")
    signed_hash = keccak256(rlp.encode([*unsigned, chain_id, b"", b""]))
    return SignedTransaction(
        chain_id,
        _target(members[to]),
        _integer(members[value]),
        _bytes(members[data]),
        signature=_signature(signed_hash, y_parity, r, s),
    )


async def recover_sender(chain: Chain, transaction: SignedTransaction) -> str:
    """Who signed, by the chain's own ``ecrecover`` (precompile 1).

    Raises ``InvalidRequest`` when the signature has no signer, and ``UpstreamError`` when no node answers.
    """
    signature = transaction.signature
    assert signature is not None
    words = (27 + signature.y_parity, signature.r, signature.s)
    data = signature.signed_hash + b"".join(word.to_bytes(32) for word in words)
    output = await chain.call(_ECRECOVER, data)
    if len(output) != 32:
        raise _refused("has a signature from which no signer can be recovered")
    return checksum("0x" + output[12:].hex())


def _members(raw: bytes, count: int) -> list[Any]:
    import rlp

    members = rlp.decode(raw)
    if not isinstance(members, list) or len(members) != count:
        raise ValueError("wrong number of members")
    return members


def _signature(signed_hash: bytes, y_parity: int, r: Any, s: Any) -> Signature:
    signature = Signature(signed_hash, y_parity, _integer(r), _integer(s))
    if y_parity not in (0, 1) or signature.s > _HALF_ORDER:
        raise ValueError("not a signature that a chain accepts")
    return signature


def _target(member: Any) -> str | None:
    return checksum("0x" + _bytes(member).hex()) if member else None


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
    return invalid([FieldError(_MEMBER, Reason.INVALID_FORMAT, text)])
