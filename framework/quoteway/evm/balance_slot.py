"""The storage slots of token balances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from quoteway.evm.address import address_bytes, keccak256
from quoteway.models import Address

# OpenZeppelin Contracts 5, ERC20Upgradeable: ERC20StorageLocation (ERC-7201).
_NAMESPACED_BASE = 0x52C63247E1F47DB19D5CE0460030C497F067CA4CEBF71BA98EEADABE20BACE00
_BASES = (*range(64), _NAMESPACED_BASE)


@dataclass(frozen=True, slots=True)
class BalanceSlot:
    """The mapping of balances: at ``base`` in ``contract``'s storage, in Solidity's or Vyper's layout."""

    contract: Address
    base: int
    vyper: bool = False

    def of(self, account: Address) -> str:
        """The storage slot of an account's balance, 0x hex of 32 bytes."""
        key, base = bytes(12) + address_bytes(account), self.base.to_bytes(32, "big")
        return "0x" + keccak256(base + key if self.vyper else key + base).hex()


def layouts(contract: Address) -> Iterator[BalanceSlot]:
    """The common places, most likely first."""
    for base in _BASES:
        yield BalanceSlot(contract, base)
        yield BalanceSlot(contract, base, vyper=True)
