"""Columns of 32-byte words, as arrays: checks, exact arithmetic, and conversion to the types of tables.

Every function gives a mask beside its values: False where a word does not fit, whose value then means
nothing. An array of words has the shape (n, 32), big-endian.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from quoteway_indexer.ingest.events import WordType

if TYPE_CHECKING:
    import numpy.typing as npt

    Bytes: TypeAlias = npt.NDArray[np.uint8]
    Mask: TypeAlias = npt.NDArray[np.bool_]
    Limbs: TypeAlias = npt.NDArray[np.uint64]

_SIGN = np.uint64(1 << 63)
_ONES = np.uint64((1 << 64) - 1)


def canonical(words: Bytes, kind: WordType) -> Mask:
    """Returns which words are the ABI encoding of a value of a type: no dirty padding."""
    size = kind.bits // 8
    if kind.kind == "bool":
        fits: Mask = (words[:, :31] == 0).all(axis=1) & (words[:, 31] <= 1)
    elif kind.bits == 256:
        fits = np.ones(len(words), bool)
    elif kind.kind == "bytes":
        fits = (words[:, size:] == 0).all(axis=1)
    elif kind.kind == "int":
        sign = np.where(words[:, 32 - size] >= 0x80, np.uint8(0xFF), np.uint8(0))
        fits = (words[:, : 32 - size] == sign[:, None]).all(axis=1)
    else:
        fits = (words[:, : 32 - size] == 0).all(axis=1)
    return fits


def limbs(words: Bytes, *, signed: bool) -> Limbs:
    """Returns words as integers of 320 bits: five limbs each, the most significant first.

    The first limb extends the sign, so that sums and differences of two words are exact.
    """
    low = np.ascontiguousarray(words).view(">u8").astype(np.uint64).reshape(len(words), 4)
    wide = np.zeros((len(words), 5), np.uint64)
    wide[:, 1:] = low
    if signed:
        wide[:, 0] = np.where(low[:, 0] >= _SIGN, _ONES, np.uint64(0))
    return wide


def difference(left: Limbs, right: Limbs) -> Limbs:
    """Returns ``left - right``, exactly."""
    result = np.empty_like(left)
    borrow = np.zeros(len(left), np.uint64)
    for at in range(4, -1, -1):
        part = left[:, at] - right[:, at]
        result[:, at] = part - borrow
        borrow = ((left[:, at] < right[:, at]) | (part < borrow)).astype(np.uint64)
    return result


def fits(values: Limbs, *, signed: bool) -> Mask:
    """Returns which integers fit into 256 bits, as ``int256`` or ``uint256``."""
    top = np.where(values[:, 1] >= _SIGN, _ONES, np.uint64(0)) if signed else np.uint64(0)
    within: Mask = values[:, 0] == top
    return within


def to_words(values: Limbs) -> Bytes:
    """Returns the words of integers that fit."""
    return np.ascontiguousarray(values[:, 1:].astype(">u8")).view(np.uint8).reshape(len(values), 32)


def to_int64(values: Limbs, bits: int) -> tuple[npt.NDArray[np.int64], Mask]:
    """Returns integers of 64 bits, and which of the values fit into ``bits``, with their sign."""
    low = values[:, 4].view(np.int64)
    extension = np.where(low < 0, _ONES, np.uint64(0))
    within: Mask = (values[:, :4] == extension[:, None]).all(axis=1)
    if bits < 64:
        within &= (low >= -(1 << (bits - 1))) & (low < 1 << (bits - 1))
    return low, within
