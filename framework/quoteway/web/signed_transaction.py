"""Reading a signed transaction far enough to compare it with what was built. Nothing here can sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quoteway.errors import FieldError, Reason
from quoteway.evm.address import checksum, keccak256
from quoteway.sealing import TransactionCommitment
from quoteway.web.schema import invalid

# Where chainId, to, value and data stand in the payload of a typed transaction: EIP-2930 (1) and EIP-1559
# (2).
_TYPED = {1: (0, 4, 5, 6, 11), 2: (0, 5, 6, 7, 12)}
_LEGACY_MEMBERS = 9


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """What matters of a transaction that was signed or broadcast. ``sender`` None: not recovered."""

    chain_id: int
    to: str | None
    value: int
    data_hash: str
    sender: str | None = None

    def differences(self, commitment: TransactionCommitment) -> list[dict[str, Any]]:
        """Every member that is otherwise than committed to: ``{member, expected, actual}``."""
        pairs = [
            ("chainId", commitment.chain_id, self.chain_id),
            ("to", commitment.to, self.to),
            ("value", hex(commitment.value), hex(self.value)),
            ("data", commitment.data_hash, self.data_hash),
        ]
        if self.sender is not None:
            pairs.append(("from", commitment.sender, self.sender))
        return [
            {"member": name, "expected": str(expected), "actual": None if actual is None else str(actual)}
            for name, expected, actual in pairs
            if expected != actual
        ]

    def require(self, commitment: TransactionCommitment) -> None:
        """Raises ``InvalidRequest`` when this is not the transaction that was built."""
        wrong = self.differences(commitment)
        if wrong:
            names = ", ".join(difference["member"] for difference in wrong)
            raise invalid(
                [
                    FieldError(
                        "signedPayload",
                        Reason.CONFLICT,
                        f"is not the transaction that was built: {names} differ",
                    )
                ]
            )


def decode_signed(raw: bytes) -> SignedTransaction:
    """A raw signed transaction, legacy with EIP-155 or of type 1 or 2. Raises ``InvalidRequest``."""
    try:
        if raw[0] in _TYPED:
            chain, to, value, data, count = _TYPED[raw[0]]
            members = _decode(raw[1:])
            chain_id = _integer(members[chain])
        else:
            to, value, data, count = 3, 4, 5, _LEGACY_MEMBERS
            members = _decode(raw)
            chain_id = (_integer(members[6]) - 35) // 2
        if len(members) != count:
            raise ValueError("wrong number of members")
        return SignedTransaction(
            chain_id,
            checksum("0x" + members[to].hex()) if members[to] else None,
            _integer(members[value]),
            "0x" + keccak256(members[data]).hex(),
        )
    except (ValueError, IndexError, TypeError, AttributeError):
        raise invalid(
            [FieldError("signedPayload", Reason.INVALID_FORMAT, "is no signed transaction of type 0, 1 or 2")]
        ) from None


def _integer(member: Any) -> int:
    if not isinstance(member, bytes) or len(member) > 32:
        raise ValueError("not an integer")
    return int.from_bytes(member)


def _decode(raw: bytes) -> list[Any]:
    """One RLP list and nothing after it (Yellow Paper, appendix B)."""
    value, end = _item(raw, 0, 0)
    if end != len(raw) or not isinstance(value, list):
        raise ValueError("not one RLP list")
    return value


def _item(raw: bytes, at: int, depth: int) -> tuple[Any, int]:
    if depth > 8:
        raise ValueError("too deep")
    head = raw[at]
    if head < 0x80:
        return raw[at : at + 1], at + 1
    is_list = head >= 0xC0
    size = head - (0xC0 if is_list else 0x80)
    start = at + 1
    if size > 55:
        width = size - 55
        size = int.from_bytes(raw[start : start + width])
        start += width
    end = start + size
    if end > len(raw):
        raise ValueError("truncated")
    if not is_list:
        return raw[start:end], end
    members, position = [], start
    while position < end:
        member, position = _item(raw, position, depth + 1)
        members.append(member)
    if position != end:
        raise ValueError("overrun")
    return members, end
