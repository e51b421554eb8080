"""EIP-2612 permits: allowances that are given by a signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quoteway.models.tokens import Address, Json


@dataclass(frozen=True, slots=True)
class Permit:
    """What an owner signs: ``spender`` may take ``value`` base units of ``token``.

    ``nonce`` is the token's next one for the owner. The token accepts the signature until ``deadline``, Unix
    seconds.
    """

    token: Address
    spender: Address
    value: int
    nonce: int
    deadline: int


@dataclass(frozen=True, slots=True)
class PermitOffer:
    """A permit that can take the place of an approval, and its EIP-712 data to sign."""

    permit: Permit
    typed_data: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class SignedPermit:
    """A permit with its signature as the caller gave it: 65 bytes, r ‖ s ‖ v."""

    permit: Permit
    signature: bytes
