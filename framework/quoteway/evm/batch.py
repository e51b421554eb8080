"""Makes many reads in one ``eth_call`` by EVM code that is sent along.

Each batch becomes code without loops that makes the calls in order and returns all outputs. It runs as the
creation code of a call without ``to`` (``Chain.call_many``) or at an address with a state override
(simulation). Unlike ``Multicall3.aggregate3`` it needs no deployed contract and caps gas and output per call:
with ``aggregate3`` a token that burns its gas leaves 1/64 to all later calls, and one that returns a megabyte
fails the whole call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from quoteway.evm import opcodes as op
from quoteway.evm.address import checksum
from quoteway.evm.opcodes import push, push_address
from quoteway.models import Call, CallFailed, CodeSize, NativeBalance, Read

# EIP-170 limits what a call without `to` returns, EIP-3860 the code that it runs.
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

    The header's first byte is 0x00 or 0x80: nodes refuse a result that begins with 0xef (EIP-3541). All
    opcodes are of Byzantium or older, except SHL (Constantinople).
    """
    tails = [read.data if isinstance(read, Call) else b"" for read in reads]
    # Offsets are pushed with a fixed width, so the code's length does not depend on them.
    data_offset = len(_assemble(reads, [0] * len(reads)))
    *offsets, _ = accumulate(map(len, tails), initial=data_offset)
    return _assemble(reads, offsets) + b"".join(tails)


def outputs(reads: Sequence[Read], data: bytes) -> list[bytes | CallFailed]:
    """Splits what ``program`` returned into one result per read. Raises ``ValueError`` if it is too short."""
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


def reads_of(code: bytes) -> list[Read] | None:
    """Returns the reads of which ``program`` made this code; None for other code."""
    reads: list[Read] = []
    at = 2
    # A call begins with PUSH2, a word with PUSH1 of 1, and the end with PUSH1 of 0.
    while code[at : at + 2] != push(0, 1):
        is_call = code[at : at + 1] == push(0, 2)[:1]
        size = _CALL_BYTES if is_call else _WORD_BYTES
        part = code[at : at + size]
        if len(part) < size:
            return None
        if is_call:
            to, gas, cap = checksum("0x" + part[24:44].hex()), _number(part[45:49]), _number(part[53:55])
            start = _number(part[4:7])
            reads.append(Call(to, code[start : start + _number(part[1:3])], gas, cap))
        else:
            kind = NativeBalance if part[31:32] == op.BALANCE else CodeSize
            reads.append(kind(checksum("0x" + part[11:31].hex())))
        at += size
    return reads if program(reads) == code else None


def segments(reads: Sequence[Read], data: bytes) -> list[bytes]:
    """Splits what ``program`` returned into the header and output of each read, which joined are ``data``.

    Raises ``ValueError`` if it does not fit the reads.
    """
    found: list[bytes] = []
    position = 0
    for read in reads:
        kept = min(_number(data[position : position + 32]) & ~_OK, _max_output(read))
        found.append(data[position : position + 32 + kept])
        position += 32 + kept
    if position != len(data):
        raise ValueError("the batch's output does not fit its calls")
    return found


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _max_output(read: Read) -> int:
    return read.max_output if isinstance(read, Call) else 32


def _assemble(reads: Sequence[Read], offsets: Sequence[int]) -> bytes:
    """Between the reads the stack holds one item: the place in memory of the next header."""
    code = bytearray(push(0, 1))
    for read, offset in zip(reads, offsets, strict=True):
        code += _call(read, offset) if isinstance(read, Call) else _word(read)
    return bytes(code + push(0, 1) + op.RETURN)


def _call(read: Call, offset: int) -> bytes:
    size = push(len(read.data), 2)
    cap = push(read.max_output, 2)
    return b"".join(
        (
            # The calldata is copied to just after the header; the output overwrites it.
            size + push(offset, 3) + op.DUP3 + push(32, 1) + op.ADD + op.CODECOPY,
            push(0, 1) + push(0, 1) + size + op.DUP4 + push(32, 1) + op.ADD,
            push_address(read.to) + push(read.gas, 4) + op.STATICCALL,  # [at, ok]
            # kept = min(size, cap), as cap ^ ((size ^ cap) * (cap > size))
            op.RETURNDATASIZE + op.DUP1 + cap + op.GT + op.SWAP1 + cap + op.XOR + op.MUL + cap + op.XOR,
            # [at, ok, kept]
            op.DUP1 + push(0, 1) + op.DUP5 + push(32, 1) + op.ADD + op.RETURNDATACOPY,
            op.SWAP1 + push(255, 1) + op.SHL + op.RETURNDATASIZE + op.OR + op.DUP3 + op.MSTORE,  # [at, kept]
            op.ADD + push(32, 1) + op.ADD,
        )
    )


def _word(read: NativeBalance | CodeSize) -> bytes:
    opcode = op.BALANCE if isinstance(read, NativeBalance) else op.EXTCODESIZE
    return b"".join(
        (
            push(1, 1) + push(255, 1) + op.SHL + push(32, 1) + op.OR + op.DUP2 + op.MSTORE,
            push_address(read.account) + opcode + op.DUP2 + push(32, 1) + op.ADD + op.MSTORE,
            push(64, 1) + op.ADD,
        )
    )


_ANY = NativeBalance("0x" + "00" * 20)
_CALL_BYTES = len(_call(Call(_ANY.account, b""), 0))
_WORD_BYTES = len(_word(_ANY))
