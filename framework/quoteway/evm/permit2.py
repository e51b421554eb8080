"""Uniswap Permit2 (github.com/Uniswap/permit2), AllowanceTransfer: allowances with an expiry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from quoteway.evm.abi import encode, event_topic, function
from quoteway.models import Address, Call

ADDRESS = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
"""The same on every chain (CREATE2)."""

ALLOWANCE = function(
    "allowance(address owner, address token, address spender)"
    " returns (uint160 amount, uint48 expiration, uint48 nonce)"
)
APPROVE = function("approve(address token, address spender, uint160 amount, uint48 expiration)")
LOCKDOWN = function("lockdown((address token, address spender)[] approvals)")
"""Sets the allowances of the sender for these pairs to zero."""

EVENTS = (
    event_topic("Approval(address,address,address,uint160,uint48)"),
    event_topic("Permit(address,address,address,uint160,uint48,uint48)"),
)
"""Topic 0 of the events of new allowances. Owner, token and spender are indexed, in this order."""

MAX_AMOUNT = (1 << 160) - 1
"""Transfers do not reduce an allowance of this amount (Permit2 ``Allowance``)."""

_TYPES = {
    "EIP712Domain": "string name, uint256 chainId, address verifyingContract",
    "PermitSingle": "PermitDetails details, address spender, uint256 sigDeadline",
    "PermitDetails": "address token, uint160 amount, uint48 expiration, uint48 nonce",
}


@lru_cache(maxsize=8192)
def allowance_read(owner: Address, token: Address, spender: Address) -> Call:
    """The read of the owner's allowance for a spender, with its expiry and nonce."""
    return Call(ADDRESS, ALLOWANCE.encode([owner, token, spender]))


@dataclass(frozen=True, slots=True)
class PermitSingle:
    """A permit to sign; ``expiration`` of the allowance and ``sig_deadline`` are Unix seconds.

    ``nonce`` is the one ``allowance`` gives for (owner, token, spender).
    """

    token: Address
    amount: int
    expiration: int
    nonce: int
    spender: Address
    sig_deadline: int

    def as_args(self) -> tuple[tuple[Address, int, int, int], Address, int]:
        """The struct as ABI arguments."""
        return (self.token, self.amount, self.expiration, self.nonce), self.spender, self.sig_deadline

    @property
    def words(self) -> bytes:
        """The ABI encoding of the permit and a signature of 65 bytes, up to the signature. Raises
        ``ValueError`` when a value does not fit."""
        permit = "((address,uint160,uint48,uint48),address,uint256)"
        return encode((permit, "bytes"), (self.as_args(), bytes(65)))[:-96]

    def typed_data(self, chain_id: int) -> Mapping[str, Any]:
        """The EIP-712 payload for ``eth_signTypedData_v4``; integers as decimal text, exact everywhere."""
        return {
            "types": {
                struct: [{"name": name, "type": kind} for kind, name in map(str.split, members.split(", "))]
                for struct, members in _TYPES.items()
            },
            "primaryType": "PermitSingle",
            "domain": {"name": "Permit2", "chainId": chain_id, "verifyingContract": ADDRESS},
            "message": {
                "details": {
                    "token": self.token,
                    "amount": str(self.amount),
                    "expiration": str(self.expiration),
                    "nonce": str(self.nonce),
                },
                "spender": self.spender,
                "sigDeadline": str(self.sig_deadline),
            },
        }
