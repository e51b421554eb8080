"""Reads a wallet's balances of many tokens at one block in as few calls as nodes allow.

EVM code sent along with the call (``Chain.deployless``) reads ``balanceOf(account)`` and ``decimals()`` of
each token in a loop. Gas is capped per token, so that a token that reverts or burns its gas fails alone. The
loop stops while gas is left for the answer, and another call reads the rest: this works with any gas cap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from quoteway.context import Chain
from quoteway.errors import Reason, UpstreamError
from quoteway.evm import erc20
from quoteway.evm import opcodes as op
from quoteway.evm.address import address_bytes
from quoteway.evm.opcodes import push, push_address
from quoteway.models import Address, Block, Token

TOKENS_PER_CALL = 700
"""Each returns 34 bytes, and a call without ``to`` at most 24,576 (EIP-170)."""

GAS_PER_TOKEN = 300_000
"""For ``balanceOf``; ``decimals`` gets a sixth of it. Proxied, rebasing tokens use about 100,000."""

_NAMED_PER_CALL = 64
_RECORD_BYTES = 34
_OUTPUT = 0xA0
_HEADER_BYTES = 33  # a zero byte, so that no answer starts with 0xef (EIP-3541), and the native balance
_OK, _WORD, _NOTHING, _DECIMALS = 1, 2, 4, 8

Failure: TypeAlias = Literal["call_failed", "short_answer", "no_token", "out_of_gas"]
"""Why a balance is not known: the call reverted or used up its gas; it returned less than a word; the address
has no code; the node's gas cap is too small."""


@dataclass(frozen=True, slots=True)
class TokenBalance:
    """``amount`` in base units; ``decimals`` by the contract, None where unusable."""

    amount: int
    decimals: int | None


@dataclass(frozen=True, slots=True)
class Scan:
    """One account at one block; ``tokens`` in the order of the request."""

    native: int
    tokens: tuple[TokenBalance | Failure, ...]


@dataclass(frozen=True, slots=True)
class Holding:
    """``amount`` in base units of ``token``."""

    token: Token
    amount: int


@dataclass(frozen=True, slots=True)
class Holdings:
    """``unreadable``: tokens whose balance is not known, with the reason. ``found``: tokens that ``known``
    did not have."""

    block: Block
    native: int
    tokens: tuple[Holding, ...]
    unreadable: tuple[tuple[Address, str], ...]
    found: tuple[erc20.TokenFacts, ...]


async def read_holdings(
    chain: Chain, wallet: Address, tokens: Sequence[Address], known: Mapping[Address, Token], block: Block
) -> Holdings:
    """Reads the wallet's native coin and ``tokens`` at a block, at most 1,000 in two calls.

    Decimals are read with the balances. ``known`` gives the labels of tokens; those whose decimals are not
    the contract's are not used. Symbols and names of other tokens are read in the second call when it is
    free. Raises ``UpstreamError`` when no node answers.
    """
    unknown = [token for token in tokens if token not in known]
    asked = unknown[:_NAMED_PER_CALL] if len(tokens) <= TOKENS_PER_CALL else []
    scan, named = await asyncio.gather(
        scan_balances(chain, wallet, tokens, block), erc20.read_names(chain, asked, block)
    )
    names = dict(zip(asked, named, strict=True))
    held: list[Holding] = []
    unreadable: list[tuple[Address, str]] = []
    found: list[erc20.TokenFacts] = []
    for address, row in zip(tokens, scan.tokens, strict=True):
        if not isinstance(row, TokenBalance):
            unreadable.append((address, row))
            continue
        if row.decimals is None:
            unreadable.append((address, "no_token"))
            continue
        token = known.get(address)
        if token is None or token.decimals != row.decimals:
            facts = erc20.facts_of(
                chain.network.chain_id, address, row.decimals, *names.get(address, (None, None))
            )
            if address in names:
                found.append(facts)
            token = facts.token
        held.append(Holding(token, row.amount))
    return Holdings(block, scan.native, tuple(held), tuple(unreadable), tuple(found))


async def scan_balances(chain: Chain, account: Address, tokens: Sequence[Address], block: Block) -> Scan:
    """The native balance and the balance of each token. Raises ``UpstreamError`` when no node answers."""
    size = max(1, -(-len(tokens) // -(-len(tokens) // TOKENS_PER_CALL))) if tokens else 1
    parts = [tokens[at : at + size] for at in range(0, len(tokens), size)] or [()]
    scans = await asyncio.gather(*(_scan_all(chain, account, part, block) for part in parts))
    return Scan(scans[0].native, tuple(row for scan in scans for row in scan.tokens))


async def _scan_all(chain: Chain, account: Address, tokens: Sequence[Address], block: Block) -> Scan:
    """Reads one part, in more calls when the gas of one does not suffice."""
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
        if len(rows) >= len(tokens) or not found:
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
    """The creation code. It returns a header of 33 bytes and 34 per token: flags, decimals, balance.

    Memory: 0x00 ``balanceOf`` calldata, 0x40 ``decimals`` calldata, 0x60 the token, 0x80 an answer, then the
    output. The stack holds the next token's place in the code and its record's place in memory.
    """
    length = len(_assemble(account, 0, 0, 0))
    end = length + 20 * len(tokens)
    # Gas for the answer (200 per byte, as deployed code) and for the loop itself.
    reserve = 220 * (_HEADER_BYTES + _RECORD_BYTES * len(tokens)) + 20_000
    # A call gets at most 63/64 of what is left (EIP-150): with less than this it would not get its cap.
    least = (GAS_PER_TOKEN + GAS_PER_TOKEN // 6) * 64 // 63 + 10_000 + reserve
    return _assemble(account, length, end, least) + b"".join(address_bytes(token) for token in tokens)


def _assemble(account: Address, start: int, end: int, least_gas: int) -> bytes:
    setup = b"".join(
        (
            push(0x70A08231, 4) + push(224, 1) + op.SHL + push(0, 1) + op.MSTORE,
            push_address(account) + push(4, 1) + op.MSTORE,
            push(0x313CE567, 4) + push(224, 1) + op.SHL + push(0x40, 1) + op.MSTORE,
            push_address(account) + op.BALANCE + push(_OUTPUT + 1, 1) + op.MSTORE,
            push(start, 2) + push(_OUTPUT + _HEADER_BYTES, 2),  # [source, record]
        )
    )
    # Assembled twice: the jump's target depends on the loop's length.
    loop = _loop(end, least_gas, len(setup), 0)
    loop = _loop(end, least_gas, len(setup), len(setup) + len(loop))
    finish = op.JUMPDEST + push(_OUTPUT, 1) + op.SWAP1 + op.SUB + push(_OUTPUT, 1) + op.RETURN
    return setup + loop + finish


def _loop(end: int, least_gas: int, top: int, done: int) -> bytes:
    word_given = op.RETURNDATASIZE + push(31, 1) + op.LT  # 31 < RETURNDATASIZE
    return b"".join(
        (
            op.JUMPDEST + op.DUP2 + push(end, 2) + op.EQ + push(done, 2) + op.JUMPI,  # source == end: done
            push(least_gas, 4) + op.GAS + op.LT + push(done, 2) + op.JUMPI,  # GAS < least: done
            push(20, 1) + op.DUP3 + push(0x6C, 1) + op.CODECOPY,
            push(0, 1) + push(0x80, 1) + op.MSTORE,
            push(32, 1) + push(0x80, 1) + push(36, 1) + push(0, 1),
            push(0x60, 1) + op.MLOAD + push(GAS_PER_TOKEN, 4) + op.STATICCALL,  # [source, record, ok]
            word_given + push(1, 1) + op.SHL + op.OR,  # | (word given) << 1
            op.RETURNDATASIZE + op.ISZERO + push(2, 1) + op.SHL + op.OR,  # | (RETURNDATASIZE == 0) << 2
            push(0x80, 1) + op.MLOAD + op.DUP3 + push(2, 1) + op.ADD + op.MSTORE,  # the balance
            push(0, 1) + push(0x80, 1) + op.MSTORE,
            push(32, 1) + push(0x80, 1) + push(4, 1) + push(0x40, 1),
            # [source, record, flags, ok]
            push(0x60, 1) + op.MLOAD + push(GAS_PER_TOKEN // 6, 4) + op.STATICCALL,
            word_given + op.AND,
            push(0x80, 1) + op.MLOAD + push(256, 2) + op.GT + op.AND,  # and 256 > answer
            push(3, 1) + op.SHL + op.OR,  # [source, record, flags]
            op.DUP2 + op.MSTORE8,  # flags
            push(0x80, 1) + op.MLOAD + op.DUP2 + push(1, 1) + op.ADD + op.MSTORE8,  # decimals
            push(_RECORD_BYTES, 1) + op.ADD + op.SWAP1 + push(20, 1) + op.ADD + op.SWAP1,
            push(top, 2) + op.JUMP,
        )
    )
