"""Calldata and results by function signature, and CREATE2 addresses."""

from typing import Any

from eth_abi.abi import decode as abi_decode
from eth_abi.abi import encode as abi_encode
from eth_abi.grammar import TupleType, parse
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""The deterministic deployment proxy: calldata is salt and init code. anvil has it from the start."""

ZERO_ADDRESS = "0x0000000000000000000000000000000000000000"


def types(text: str) -> list[str]:
    """The top-level types of a parenthesised list, as in ``(address,(uint256,bytes)[])``."""
    if text == "()":
        return []
    parsed = parse(text)
    assert isinstance(parsed, TupleType)
    return [component.to_type_str() for component in parsed.components]


def arguments(signature_types: str, *values: Any) -> bytes:
    """ABI-encode values for a parenthesised list of types."""
    return abi_encode(types(signature_types), values)


def call(signature: str, *values: Any) -> bytes:
    """Calldata for ``name(types...)``."""
    return keccak(text=signature)[:4] + arguments(signature[signature.index("(") :], *values)


def results(output_types: str, data: str | bytes) -> tuple[Any, ...]:
    """Decode return data for a parenthesised list of types."""
    raw = bytes.fromhex(data.removeprefix("0x")) if isinstance(data, str) else data
    return tuple(abi_decode(types(output_types), raw))


def create2_address(salt: bytes, init_code_hash: bytes, deployer: str = CREATE2_DEPLOYER) -> str:
    """Where ``deployer`` puts the contract of that init code hash (EIP-1014)."""
    packed = b"\xff" + bytes.fromhex(deployer[2:]) + salt + init_code_hash
    return str(to_checksum_address(keccak(packed)[12:]))


def word_of(address: str) -> bytes:
    """An address as bytes32, the form of the bridge's own structures."""
    return bytes(12) + bytes.fromhex(address[2:])


def address_of(word: bytes) -> str:
    """The address in the low 20 bytes of a word."""
    return str(to_checksum_address(word[12:]))
