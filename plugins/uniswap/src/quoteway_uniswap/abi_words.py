"""32-byte ABI words as numbers and addresses."""

from __future__ import annotations

from quoteway import Address
from quoteway.evm.address import checksum


def words_of(data: bytes) -> list[int]:
    """Returns the whole words of ``data`` as unsigned numbers."""
    return [int.from_bytes(data[at : at + 32]) for at in range(0, len(data) - 31, 32)]


def signed(word: int, bits: int = 256) -> int:
    """Returns the lowest ``bits`` of a word as a signed number."""
    word &= (1 << bits) - 1
    return word - (1 << bits) if word >> (bits - 1) else word


def address_of(word: int) -> Address:
    """Returns the lowest 20 bytes of a word as an address."""
    return checksum(f"0x{word & ((1 << 160) - 1):040x}")
