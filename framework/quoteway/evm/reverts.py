"""Puts the reason of a revert into words that are safe to show."""

from __future__ import annotations

from quoteway.errors import RpcError
from quoteway.evm.abi import Function, decode
from quoteway.evm.custom_errors import known_errors

_ERROR = bytes.fromhex("08c379a0")  # Error(string)
_PANIC = bytes.fromhex("4e487b71")  # Panic(uint256)
_MAX_CHARS = 200
_MAX_NESTING = 4

# Solidity documentation, "Panic via assert and Error via require".
_PANICS = {
    0x00: "generic panic",
    0x01: "assertion failed",
    0x11: "arithmetic overflow or underflow",
    0x12: "division by zero",
    0x21: "value out of range of its enum",
    0x22: "wrongly encoded storage byte array",
    0x31: "pop of an empty array",
    0x32: "array index out of bounds",
    0x41: "out of memory",
    0x51: "call of an uninitialised function",
}


def revert_data(error: RpcError) -> bytes | None:
    """The revert data in a node's error object (geth and anvil: code 3, hex ``data``); None without."""
    data = error.data
    if not isinstance(data, str) or not data.startswith("0x"):
        return None
    try:
        return bytes.fromhex(data[2:])
    except ValueError:
        return None


def revert_reason(data: bytes) -> str:
    """The text of ``Error(string)``, the meaning of ``Panic(uint256)`` or of a known custom error with its
    name, else the selector. The contract chooses its text freely: it is cut and made printable."""
    return _reason(data, _MAX_NESTING)


def _reason(data: bytes, levels: int) -> str:
    if not data:
        return "reverted without a reason"
    if len(data) < 4:
        return "reverted with unreadable data"
    selector, body = data[:4], data[4:]
    try:
        if selector == _ERROR:
            (message,) = decode(["string"], body)
            shown = "".join(char if char.isprintable() else "?" for char in message[:_MAX_CHARS])
            return shown or "reverted with an empty reason"
        if selector == _PANIC:
            (code,) = decode(["uint256"], body)
            return f"{_PANICS.get(code, 'panic')} (panic 0x{code:02x})"
        known = known_errors().get(selector)
        if known is not None and levels:
            return _in_words(*known, data, levels)
    except ValueError:
        pass
    return f"custom error 0x{selector.hex()}"


def _in_words(error: Function, words: str, data: bytes, levels: int) -> str:
    values = error.decode(data)
    shown = ["0x" + value.hex() if isinstance(value, bytes) else value for value in values]
    if "reason" in error.names:
        nested = values[error.names.index("reason")]
        return words.format(*shown, reason=_reason(nested, levels - 1))
    return f"{words.format(*shown)} ({error.signature.partition('(')[0]})"
