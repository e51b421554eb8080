"""Addresses: EIP-55 checksums, strict parsing, CREATE2."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from sha3 import keccak_256

from quoteway.models import NATIVE, Address

ERC7528_NATIVE = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"
"""The native coin's alias of ERC-7528; accepted on input, never produced."""

_HEX_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)

_CASE_BIT = 0x20  # of ASCII letters
_IS_LETTER = bytes(_CASE_BIT if chr(byte) in "abcdef" else 0 for byte in range(256))
_IS_HIGH = bytes(_CASE_BIT if chr(byte) in "89abcdef" else 0 for byte in range(256))


def keccak256(data: bytes) -> bytes:
    """Keccak-256 as Ethereum uses it (not NIST SHA3-256)."""
    digest: bytes = keccak_256(data).digest()
    return digest


@lru_cache(maxsize=4096)  # an entry takes 0.4 KB, and to make it 2 us
def checksum(address: str) -> Address:
    """The EIP-55 form of a 0x address in any case. Raises ``ValueError`` when it is not 20 bytes of hex."""
    address_bytes(address)
    return _checksum(address)


def _checksum(address: str) -> Address:
    """As ``checksum``, of what is known to be 20 bytes of hex."""
    digits = address[2:].lower().encode()
    digest = keccak256(digits)[:20].hex().encode()
    # Per byte, the bit that tells a small letter from a capital, where the digest asks for a capital.
    raised = int.from_bytes(digits.translate(_IS_LETTER)) & int.from_bytes(digest.translate(_IS_HIGH))
    return "0x" + (int.from_bytes(digits) - raised).to_bytes(40).decode()


def parse_address(text: str) -> Address:
    """The EIP-55 form of an address that a person or program wrote.

    Digits of one case are accepted; mixed case must have the right EIP-55 checksum, since a wrong one is a
    typing error. Raises ``ValueError`` that says what is wrong and does not repeat the text.
    """
    return _parsed(text, checksum)


def parse_listed_address(text: str) -> Address:
    """As ``parse_address``, for one of a long list: those that requests use stay in the cache."""
    return _parsed(text, _checksum)


def _parsed(text: str, checksum_of: Callable[[str], Address]) -> Address:
    if not text.startswith("0x"):
        raise ValueError("an address starts with 0x")
    if len(text) != 42:
        raise ValueError("an address has 40 hexadecimal digits after 0x")
    if _HEX_ADDRESS.fullmatch(text) is None:
        raise ValueError("an address has hexadecimal digits only after 0x")
    digits = text[2:]
    address = checksum_of(text)
    if text != address and digits not in (digits.lower(), digits.upper()):
        raise ValueError("the EIP-55 checksum of this address is wrong: check it for a typing error")
    return address


def is_native_alias(text: str) -> bool:
    """Whether the text names the chain's own coin: ``native``, zero address or ERC-7528 alias, any case."""
    return text.lower() in ("native", NATIVE, ERC7528_NATIVE.lower())


def address_bytes(address: str) -> bytes:
    """The 20 bytes of a 0x address. Raises ``ValueError`` when it is not one."""
    if _HEX_ADDRESS.fullmatch(address) is None:
        raise ValueError("an address is 0x and 40 hexadecimal digits")
    return bytes.fromhex(address[2:])


@cache
def unused_address(purpose: str) -> Address:
    """An account that holds nothing and has no code on any chain."""
    return checksum("0x" + keccak256(purpose.encode())[12:].hex())


def create2_address(deployer: Address, salt: bytes, init_code_hash: bytes) -> Address:
    """Where ``deployer`` puts a contract with CREATE2 (EIP-1014); salt and hash are 32 bytes each."""
    if len(salt) != 32 or len(init_code_hash) != 32:
        raise ValueError("CREATE2 takes a salt of 32 bytes and an init code hash of 32 bytes")
    digest = keccak256(b"\xff" + address_bytes(deployer) + salt + init_code_hash)
    return checksum("0x" + digest[12:].hex())
