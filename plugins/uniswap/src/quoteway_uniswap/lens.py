"""Encodes the input of ``contracts/Lens.sol`` and decodes its output. The contract documents both layouts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import resources
from typing import Literal, TypeAlias

from quoteway import NATIVE
from quoteway.evm.abi import encode
from quoteway.evm.address import address_bytes
from quoteway_amm import AlgebraPool, ConcentratedPool, Pool, V2Pool

from quoteway_uniswap.candidates import PoolRef
from quoteway_uniswap.families import family_of

POOLS_PER_CALL = 40
"""An answer holds at most some 1,200 ticks (EIP-170). About a third of the pools of a call exist."""

_BAND_TICKS = 7_000
"""The least number of ticks read on each side at first: up to twice and half the price."""

_ALL_WORDS = 1 << 16


class Empty(Enum):
    """A v2 pair without reserves or a v3 pool without a price: it exists and cannot trade yet."""

    EMPTY = "empty"


State: TypeAlias = Pool | Literal[Empty.EMPTY] | None
"""A pool at one block; None: it does not exist."""


@dataclass(frozen=True, slots=True)
class Question:
    """A pool and the bitmap words to read, counted from ``start`` or from the word of the price."""

    ref: PoolRef
    below: int
    above: int
    start: int | None = None

    def packed(self) -> bytes:
        """Returns the 68 bytes of one record."""
        ref = self.ref
        return b"".join(
            (
                bytes([family_of(ref.kind).number]),
                address_bytes(ref.target),
                bytes.fromhex(ref.id[2:]) if ref.kind == "v4" else bytes(32),
                ref.tick_spacing.to_bytes(3, "big"),
                bytes([self.start is None]),
                (self.start or 0).to_bytes(3, "big", signed=True),
                self.below.to_bytes(4, "big"),
                self.above.to_bytes(4, "big"),
            )
        )


def first_look(ref: PoolRef) -> Question:
    """Returns the question for a pool's state and the words around its price."""
    words = -(-_BAND_TICKS // (256 * ref.tick_spacing)) if ref.tick_spacing else 0
    return Question(ref, words, words)


def whole(ref: PoolRef) -> Question:
    """Returns the question for a pool's state and as many words as fit into an answer of its own."""
    return Question(ref, _ALL_WORDS, _ALL_WORDS)


def same_words(ref: PoolRef, pool: State) -> Question:
    """Returns the question for the words that ``pool`` knows, to compare the two."""
    if not isinstance(pool, ConcentratedPool) or pool.word_lo > pool.word_hi:
        return Question(ref, 0, 0)
    return Question(ref, 0, pool.word_hi - pool.word_lo, pool.word_lo)


def rest_below(ref: PoolRef, word: int) -> Question:
    """Returns the question for ``word`` and all words below."""
    return Question(ref, _ALL_WORDS, 0, word)


def rest_above(ref: PoolRef, word: int) -> Question:
    """Returns the question for ``word`` and all words above."""
    return Question(ref, 0, _ALL_WORDS, word)


def creation_code(questions: Sequence[Question]) -> bytes:
    """Returns the data of the eth_call for up to ``POOLS_PER_CALL`` questions."""
    packed = b"".join(question.packed() for question in questions)
    return _bytecode() + encode(("bytes",), (packed,))


def read_answer(answer: bytes, questions: Sequence[Question]) -> list[State]:
    """Returns the state of each question's pool.

    Raises ValueError for a malformed answer.
    """
    reader = _Reader(answer)
    if reader.unsigned(1) != 1:
        raise ValueError("the lens answer must start with version 1")
    pools = [_read_pool(reader, question.ref) for question in questions]
    if reader.at != len(answer):
        raise ValueError("the lens answer is longer than the pools asked for")
    return pools


def _read_pool(reader: _Reader, ref: PoolRef) -> State:
    tag = reader.unsigned(1)
    if tag < 2:
        return Empty.EMPTY if tag else None
    if tag == 2:
        reserve0, reserve1 = reader.unsigned(14), reader.unsigned(14)
        return V2Pool(ref.id, ref.token0, ref.token1, reserve0, reserve1, *ref.v2_fee)
    sqrt_price_x96, tick = reader.unsigned(20), reader.signed(3)
    protocol_fee, lp_fee, liquidity = reader.unsigned(4), reader.unsigned(3), reader.unsigned(16)
    word_lo, word_hi = reader.signed(3), reader.signed(3)
    ticks = tuple((reader.signed(3), reader.signed(16)) for _ in range(reader.unsigned(2)))
    # Two fees: 12 bits each (v4-core ProtocolFeeLibrary), 4 bits each (v3-core slot0.feeProtocol), or 16 bits
    # each (PancakeV3Pool, where they are 0 or more than 999).
    made = AlgebraPool if ref.kind == "algebra" else ConcentratedPool
    width = 12 if ref.kind == "v4" else 4 if protocol_fee < 1 << 8 else 16
    return made(
        ref.kind,
        ref.id,
        ref.token0,
        ref.token1,
        ref.fee if ref.kind == "v3" else lp_fee,
        ref.tick_spacing,
        sqrt_price_x96,
        tick,
        liquidity,
        ticks,
        word_lo,
        word_hi,
        protocol_fee & ((1 << width) - 1),
        protocol_fee >> width,
        ref.hooks,
        None if ref.hooks == NATIVE else ref.fee,
    )


class _Reader:
    """Reads big-endian integers in order."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def unsigned(self, size: int) -> int:
        return self._read(size, signed=False)

    def signed(self, size: int) -> int:
        return self._read(size, signed=True)

    def _read(self, size: int, *, signed: bool) -> int:
        end = self.at + size
        if end > len(self.data):
            raise ValueError("the lens answer is shorter than the pools asked for")
        value = int.from_bytes(self.data[self.at : end], "big", signed=signed)
        self.at = end
        return value


@cache
def _bytecode() -> bytes:
    text = (resources.files("quoteway_uniswap") / "artifacts" / "Lens.json").read_text()
    return bytes.fromhex(json.loads(text)["bytecode"][2:])
