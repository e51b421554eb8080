"""Signatures of keys (secp256k1): the strict reading of 65 bytes, and who signed. Nothing here can sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from quoteway.context import Chain
from quoteway.evm.address import checksum
from quoteway.models import Address, Block

HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
"""Half the order of secp256k1: an accepted ``s`` is not above it (EIP-2)."""

_ECRECOVER = "0x0000000000000000000000000000000000000001"


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature: ``v`` is 27 or 28, ``r`` and ``s`` are 32 bytes each."""

    v: int
    r: bytes
    s: bytes

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """Returns the signature in 65 bytes, r ‖ s ‖ v. Raises ``ValueError`` that says what is wrong."""
        if len(raw) != 65:
            raise ValueError("must be 65 bytes: r, s and v")
        v = raw[64] + 27 if raw[64] < 2 else raw[64]  # hardware wallets may give the parity
        if v not in (27, 28):
            raise ValueError("must end with v, which is 27 or 28")
        if int.from_bytes(raw[32:64]) > HALF_ORDER:
            raise ValueError("must have the lower of the two possible values of s (EIP-2)")
        return cls(v, raw[:32], raw[32:64])

    def of(self, digest: bytes) -> bytes:
        """Returns what ``ecrecover`` takes: the signed digest, v, r and s, 32 bytes each."""
        return digest + self.v.to_bytes(32) + self.r + self.s


async def recover(chain: Chain, signed: bytes, *, block: Block | None = None) -> Address | None:
    """Returns who signed, by the chain's own ``ecrecover`` (precompile 1); None: no signer can be recovered.

    ``signed`` is what ``Signature.of`` returns. Raises ``UpstreamError`` when no node answers.
    """
    output = await chain.call(_ECRECOVER, signed, block=block)
    return checksum("0x" + output[12:].hex()) if len(output) == 32 else None
