"""Many reads in one ``eth_call``: the program that makes them is generated and sent along.

Each batch becomes straight-line EVM code that makes the calls one after the other and returns all outputs.
It runs as the creation code of a call without ``to`` (``Chain.call_many``) or at an address given by a state
override (simulation). Against ``Multicall3.aggregate3`` it needs no deployed contract, and it caps gas and
output *per call*: with ``aggregate3`` one token that burns its gas leaves 1/64 to all calls after it, and one
that returns a megabyte makes the whole call fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quoteway.evm.address import address_bytes
from quoteway.models import Address, Call, CallFailed, NativeBalance, Read

# A deployed program is what a call without `to` returns: EIP-170 limits it, EIP-3860 the code that makes it.
_MAX_OUTPUT_BYTES = 24_576
_MAX_CODE_BYTES = 49_152
_OK = 1 << 255


def split(reads: Sequence[Read]) -> Iterator[Sequence[Read]]:
    """Cuts reads into batches whose code and outputs fit the limits of one call."""
    start, code, output = 0, 0, 0
    for index, read in enumerate(reads):
        code_needed = 96 + len(read.data) if isinstance(read, Call) else 64
        output_needed = 32 + _max_output(read)
        if index > start and (
            code + code_needed > _MAX_CODE_BYTES or output + output_needed > _MAX_OUTPUT_BYTES
        ):
            yield reads[start:index]
            start, code, output = index, 0, 0
        code += code_needed
        output += output_needed
    if start < len(reads):
        yield reads[start:]


def program(reads: Sequence[Read]) -> bytes:
    """EVM code that makes the reads and returns a header word (success bit, length) and the output of each.

    The header's first byte is 0x00 or 0x80, so the result is never taken for EOF code (0xef, EIP-3541).
    No opcode is younger than Byzantium except SHL (Constantinople).
    """
    tails = [read.data if isinstance(read, Call) else b"" for read in reads]
    # Offsets are pushed with a fixed width, so the code's length is known before the data's offsets are.
    data_offset = len(_assemble(reads, [0] * len(reads)))
    offsets = []
    for tail in tails:
        offsets.append(data_offset)
        data_offset += len(tail)
    return _assemble(reads, offsets) + b"".join(tails)


def outputs(reads: Sequence[Read], data: bytes) -> list[bytes | CallFailed]:
    """Cuts what ``program`` returned into one result per read. Raises ``ValueError`` when it is cut short."""
    results: list[bytes | CallFailed] = []
    position = 0
    for read in reads:
        header = int.from_bytes(data[position : position + 32], "big")
        length = header & ~_OK
        kept = min(length, _max_output(read))
        output = data[position + 32 : position + 32 + kept]
        position += 32 + kept
        if position > len(data):
            break
        too_long = kept < length
        results.append(output if header & _OK and not too_long else CallFailed(output, too_long))
    if len(results) != len(reads) or position != len(data):
        raise ValueError("the batch's output does not fit its calls")
    return results


def _max_output(read: Read) -> int:
    return read.max_output if isinstance(read, Call) else 32


def _assemble(reads: Sequence[Read], offsets: Sequence[int]) -> bytes:
    """Throughout, the stack holds one item: where in memory the next header goes."""
    code = bytearray(_push(0, 1))
    for read, offset in zip(reads, offsets, strict=True):
        code += _call(read, offset) if isinstance(read, Call) else _balance(read)
    return bytes(code + _push(0, 1) + _RETURN)


def _call(read: Call, offset: int) -> bytes:
    size = _push(len(read.data), 2)
    cap = _push(read.max_output, 2)
    return b"".join(
        (
            # The calldata goes to memory just after the header; the output will overwrite it.
            size + _push(offset, 3) + _DUP3 + _push(32, 1) + _ADD + _CODECOPY,
            _push(0, 1) + _push(0, 1) + size + _DUP4 + _push(32, 1) + _ADD,
            _push20(read.to) + _push(read.gas, 4) + _STATICCALL,  # [at, ok]
            # kept = min(size, cap), as cap ^ ((size ^ cap) * (cap > size))
            _RETURNDATASIZE + _DUP1 + cap + _GT + _SWAP1 + cap + _XOR + _MUL + cap + _XOR,  # [at, ok, kept]
            _DUP1 + _push(0, 1) + _DUP5 + _push(32, 1) + _ADD + _RETURNDATACOPY,
            _SWAP1 + _push(255, 1) + _SHL + _RETURNDATASIZE + _OR + _DUP3 + _MSTORE,  # [at, kept]
            _ADD + _push(32, 1) + _ADD,
        )
    )


def _balance(read: NativeBalance) -> bytes:
    return b"".join(
        (
            _push(1, 1) + _push(255, 1) + _SHL + _push(32, 1) + _OR + _DUP2 + _MSTORE,
            _push20(read.account) + _BALANCE + _DUP2 + _push(32, 1) + _ADD + _MSTORE,
            _push(64, 1) + _ADD,
        )
    )


def _push(value: int, width: int) -> bytes:
    return bytes([0x5F + width]) + value.to_bytes(width, "big")


def _push20(address: Address) -> bytes:
    return b"\x73" + address_bytes(address)


_ADD, _MUL, _GT, _OR, _XOR, _SHL = b"\x01", b"\x02", b"\x11", b"\x17", b"\x18", b"\x1b"
_BALANCE, _CODECOPY, _RETURNDATASIZE, _RETURNDATACOPY = b"\x31", b"\x39", b"\x3d", b"\x3e"
_DUP1, _DUP2, _DUP3, _DUP4, _DUP5, _SWAP1 = b"\x80", b"\x81", b"\x82", b"\x83", b"\x84", b"\x90"
_MSTORE, _RETURN, _STATICCALL = b"\x52", b"\xf3", b"\xfa"
