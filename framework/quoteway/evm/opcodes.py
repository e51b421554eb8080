"""EVM opcodes, for the programs that are sent along with a call (Yellow Paper, appendix H)."""

from __future__ import annotations

from quoteway.evm.address import address_bytes
from quoteway.models import Address

ADD, MUL, SUB, LT, GT, EQ, ISZERO, AND, OR, XOR, SHL = (
    bytes([code]) for code in (0x01, 0x02, 0x03, 0x10, 0x11, 0x14, 0x15, 0x16, 0x17, 0x18, 0x1B)
)
BALANCE, CODECOPY, EXTCODESIZE, RETURNDATASIZE, RETURNDATACOPY = (
    bytes([code]) for code in (0x31, 0x39, 0x3B, 0x3D, 0x3E)
)
MLOAD, MSTORE, MSTORE8, JUMP, JUMPI, GAS, JUMPDEST = (
    bytes([code]) for code in (0x51, 0x52, 0x53, 0x56, 0x57, 0x5A, 0x5B)
)
DUP1, DUP2, DUP3, DUP4, DUP5, SWAP1 = (bytes([code]) for code in (0x80, 0x81, 0x82, 0x83, 0x84, 0x90))
RETURN, STATICCALL = (bytes([code]) for code in (0xF3, 0xFA))


def push(value: int, width: int) -> bytes:
    """PUSH of ``width`` bytes."""
    return bytes([0x5F + width]) + value.to_bytes(width, "big")


def push_address(address: Address) -> bytes:
    """PUSH20 of an address."""
    return b"\x73" + address_bytes(address)
