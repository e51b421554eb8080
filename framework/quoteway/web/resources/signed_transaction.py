"""Decodes a signed transaction to compare it with the one that was built. Nothing here can sign.

The RLP codec is ``rlp``, imported at first use because it brings in pydantic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quoteway.engine.transaction_ids import TransactionCommitment, calldata_hash
from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.evm.address import checksum, keccak256
from quoteway.evm.chain import Chain
from quoteway.networks import Networks
from quoteway.web.http.schema import invalid
from quoteway.web.wire.actions import Difference as DifferenceView

_MEMBER = "signedPayload"

# Where to, value and data stand, and how many members there are: legacy (0), EIP-2930 (1) and EIP-1559 (2).
_LAYOUTS = {0: (3, 4, 5, 9), 1: (4, 5, 6, 11), 2: (5, 6, 7, 12)}

_ECRECOVER = "0x0000000000000000000000000000000000000001"
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
"""Half the order of secp256k1: a transaction's ``s`` is not above it (EIP-2)."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A member of a transaction that differs from what was built; ``member`` is its name on the wire."""

    member: str
    expected: str
    actual: str | None


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """The members of a signed or broadcast transaction that are compared. ``sender`` None: not recovered.

    ``signature`` is what ``ecrecover`` takes: the hash that was signed, v (27 or 28), r and s, 32 bytes each.
    """

    chain_id: int
    to: str | None
    value: int
    data: bytes
    sender: str | None = None
    signature: bytes = b""

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
    if y_parity not in (0, 1) or _integer(s) > _HALF_ORDER:
        raise ValueError("not a signature that a chain accepts")
    words = (27 + y_parity, _integer(r), _integer(s))
    return SignedTransaction(
        chain_id,
        _target(members[to]),
        _integer(members[value]),
        _bytes(members[data]),
        signature=keccak256(signed) + b"".join(word.to_bytes(32) for word in words),
    )


async def recover_sender(chain: Chain, transaction: SignedTransaction) -> str:
    """Who signed, by the chain's own ``ecrecover`` (precompile 1).

    Raises ``InvalidRequest`` when the signature has no signer, and ``UpstreamError`` when no node answers.
    """
    output = await chain.call(_ECRECOVER, transaction.signature)
    if len(output) != 32:
        raise _refused("has a signature from which no signer can be recovered")
    return checksum("0x" + output[12:].hex())


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
    return invalid(FieldError(_MEMBER, Reason.INVALID_FORMAT, text))
