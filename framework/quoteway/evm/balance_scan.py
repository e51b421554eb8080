"""What one account holds of many tokens, at one block, in as few calls as nodes allow.

A loop in EVM code sent along with the call (``Chain.deployless``) asks each token for ``balanceOf(account)``
and ``decimals()`` with a cap on gas, so that a token that reverts, burns its gas or answers short costs its
own line. It stops while gas is left for the answer: the rest is asked for in another call, whatever cap a
node puts on one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from quoteway.context import Chain
from quoteway.errors import Reason, UpstreamError
from quoteway.evm.address import address_bytes
from quoteway.models import Address, Block

TOKENS_PER_CALL = 700
"""Each gives 34 bytes, and what a call without ``to`` returns is limited to 24,576 (EIP-170)."""

GAS_PER_TOKEN = 300_000
"""For ``balanceOf``; ``decimals`` has a sixth of it. Proxied, rebasing tokens take some 100,000."""

_RECORD_BYTES = 34
_HEADER_BYTES = 33  # a zero byte, so that no answer starts with 0xef (EIP-3541), and the native balance
_OK, _WORD, _NOTHING, _DECIMALS = 1, 2, 4, 8

Failure: TypeAlias = Literal["call_failed", "short_answer", "no_token", "out_of_gas"]
"""Why a token's balance is not known: it reverted or used up its gas; it gave less than a word; there is
nothing at the address; the node's cap on a call's gas is too small for it."""


@dataclass(frozen=True, slots=True)
class TokenBalance:
    """``amount`` in base units. ``decimals`` is what the contract says, None where it says nothing usable."""

    amount: int
    decimals: int | None


@dataclass(frozen=True, slots=True)
class Scan:
    """One account at one block. ``tokens`` in the order asked."""

    native: int
    tokens: tuple[TokenBalance | Failure, ...]


async def scan_balances(chain: Chain, account: Address, tokens: Sequence[Address], block: Block) -> Scan:
    """The account's native balance and what it holds of each of ``tokens``.

    Raises ``UpstreamError`` when no node answers.
    """
    size = max(1, -(-len(tokens) // -(-len(tokens) // TOKENS_PER_CALL))) if tokens else 1
    parts = [tokens[at : at + size] for at in range(0, len(tokens), size)] or [()]
    scans = await asyncio.gather(*(_scan_all(chain, account, part, block) for part in parts))
    return Scan(scans[0].native, tuple(row for scan in scans for row in scan.tokens))


async def _scan_all(chain: Chain, account: Address, tokens: Sequence[Address], block: Block) -> Scan:
    """One part; what the gas did not suffice for is asked for again from there."""
    rows: list[TokenBalance | Failure] = []
    while True:
        output = await chain.deployless(scanner(account, tokens[len(rows) :]), block=block)
        body = output[_HEADER_BYTES:]
        if (
            len(output) < _HEADER_BYTES
            or len(body) % _RECORD_BYTES
            or len(body) // _RECORD_BYTES > len(tokens)
        ):
            raise UpstreamError("A node's answer cannot be read.", reason=Reason.RPC_ERROR)
        found = [_row(body[at : at + _RECORD_BYTES]) for at in range(0, len(body), _RECORD_BYTES)]
        rows += found
        if len(rows) >= len(tokens):
            return Scan(int.from_bytes(output[1:_HEADER_BYTES]), tuple(rows))
        if not found:
            rows += ["out_of_gas"] * (len(tokens) - len(rows))
            return Scan(int.from_bytes(output[1:_HEADER_BYTES]), tuple(rows))


def _row(record: bytes) -> TokenBalance | Failure:
    flags = record[0]
    if not flags & _OK:
        return "call_failed"
    if flags & _NOTHING:
        return "no_token"
    if not flags & _WORD:
        return "short_answer"
    return TokenBalance(int.from_bytes(record[2:]), record[1] if flags & _DECIMALS else None)


def scanner(account: Address, tokens: Sequence[Address]) -> bytes:
    """The creation code: 33 bytes of header and 34 per token come back (flags, decimals, balance).

    Memory: 0x00 ``balanceOf`` calldata, 0x40 ``decimals`` calldata, 0x60 the token, 0x80 an answer, then the
    output. The stack holds where the next token is in the code and where its record goes.
    """
    length = len(_assemble(account, 0, 0, 0))
    end = length + 20 * len(tokens)
    # Gas to leave for the answer: 200 per byte of it as deployed code, and some for the loop itself.
    reserve = 220 * (_HEADER_BYTES + _RECORD_BYTES * len(tokens)) + 20_000
    # A call gets at most 63/64 of what is left (EIP-150): with less than this its cap would not be its own.
    least = (GAS_PER_TOKEN + GAS_PER_TOKEN // 6) * 64 // 63 + 10_000 + reserve
    return _assemble(account, length, end, least) + b"".join(address_bytes(token) for token in tokens)


def _assemble(account: Address, start: int, end: int, least_gas: int) -> bytes:
    setup = b"".join(
        (
            _push(0x70A08231, 4) + _push(224, 1) + b"\x1b" + _push(0, 1) + _MSTORE,
            b"\x73" + address_bytes(account) + _push(4, 1) + _MSTORE,
            _push(0x313CE567, 4) + _push(224, 1) + b"\x1b" + _push(0x40, 1) + _MSTORE,
            b"\x73" + address_bytes(account) + b"\x31" + _push(_OUTPUT + 1, 1) + _MSTORE,  # BALANCE
            _push(start, 2) + _push(_OUTPUT + _HEADER_BYTES, 2),  # [source, record]
        )
    )
    # Written with a placeholder first: the jump's target is only known when the loop's length is.
    loop = _loop(end, least_gas, len(setup), 0)
    loop = _loop(end, least_gas, len(setup), len(setup) + len(loop))
    finish = _JUMPDEST + _push(_OUTPUT, 1) + _SWAP1 + b"\x03" + _push(_OUTPUT, 1) + b"\xf3"  # SUB, RETURN
    return setup + loop + finish


def _loop(end: int, least_gas: int, top: int, done: int) -> bytes:
    word_given = b"\x3d" + _push(31, 1) + _LT  # 31 < RETURNDATASIZE
    return b"".join(
        (
            _JUMPDEST + _DUP2 + _push(end, 2) + b"\x14" + _push(done, 2) + _JUMPI,  # source == end: done
            _push(least_gas, 4) + b"\x5a" + _LT + _push(done, 2) + _JUMPI,  # GAS < least: done
            _push(20, 1) + _DUP3 + _push(0x6C, 1) + b"\x39",  # CODECOPY
            _push(0, 1) + _push(0x80, 1) + _MSTORE,
            _push(32, 1) + _push(0x80, 1) + _push(36, 1) + _push(0, 1),
            _push(0x60, 1) + _MLOAD + _push(GAS_PER_TOKEN, 4) + b"\xfa",  # [source, record, ok]
            word_given + _push(1, 1) + b"\x1b" + b"\x17",  # | (word given) << 1
            b"\x3d\x15" + _push(2, 1) + b"\x1b" + b"\x17",  # | (RETURNDATASIZE == 0) << 2
            _push(0x80, 1) + _MLOAD + _DUP3 + _push(2, 1) + _ADD + _MSTORE,  # the balance
            _push(0, 1) + _push(0x80, 1) + _MSTORE,
            _push(32, 1) + _push(0x80, 1) + _push(4, 1) + _push(0x40, 1),
            _push(0x60, 1) + _MLOAD + _push(GAS_PER_TOKEN // 6, 4) + b"\xfa",  # [source, record, flags, ok]
            word_given + b"\x16",
            _push(0x80, 1) + _MLOAD + _push(256, 2) + b"\x11" + b"\x16",  # AND 256 > answer
            _push(3, 1) + b"\x1b" + b"\x17",  # [source, record, flags]
            _DUP2 + b"\x53",  # MSTORE8 flags
            _push(0x80, 1) + _MLOAD + _DUP2 + _push(1, 1) + _ADD + b"\x53",  # MSTORE8 decimals
            _push(_RECORD_BYTES, 1) + _ADD + _SWAP1 + _push(20, 1) + _ADD + _SWAP1,
            _push(top, 2) + b"\x56",  # JUMP
        )
    )


_OUTPUT = 0xA0
_LT, _MLOAD, _MSTORE, _ADD = b"\x10", b"\x51", b"\x52", b"\x01"
_DUP2, _DUP3, _SWAP1, _JUMPDEST, _JUMPI = b"\x81", b"\x82", b"\x90", b"\x5b", b"\x57"


def _push(value: int, width: int) -> bytes:
    return bytes([0x5F + width]) + value.to_bytes(width, "big")
