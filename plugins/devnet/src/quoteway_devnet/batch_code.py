"""EVM code that carries out several calls as one, as an account that batches does: for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_CODECOPY, _GAS, _CALL, _JUMPI, _REVERT, _JUMPDEST, _STOP = (
    bytes([code]) for code in (0x39, 0x5A, 0xF1, 0x57, 0xFD, 0x5B, 0x00)
)


def batch_code(calls: Sequence[Mapping[str, str]]) -> bytes:
    """Returns code that makes the calls in order, and reverts with the first that fails.

    Each call has ``to``, ``data`` and ``value`` in hex, as a transaction of JSON-RPC.
    """
    # The first assembly tells how long the code is, after which the calldata begins.
    code, data = _assembled(calls, 0)
    return _assembled(calls, len(code))[0] + data


def _assembled(calls: Sequence[Mapping[str, str]], data_at: int) -> tuple[bytes, bytes]:
    out, data = bytearray(), b""
    for call in calls:
        payload = bytes.fromhex(call["data"][2:])
        out += _push(len(payload), 3) + _push(data_at + len(data), 3) + _push(0, 1) + _CODECOPY
        out += _push(0, 1) * 2 + _push(len(payload), 3) + _push(0, 1)
        out += _push(int(call["value"], 16), 32) + _push(int(call["to"], 16), 20) + _GAS + _CALL
        out += _push(len(out) + 10, 3) + _JUMPI + _push(0, 1) * 2 + _REVERT + _JUMPDEST
        data += payload
    return bytes(out) + _STOP, data


def _push(value: int, width: int) -> bytes:
    return bytes([0x5F + width]) + value.to_bytes(width)
