"""Membership tests of a block's ``logsBloom`` (yellow paper, section 4.3.1).

The filter holds the address and each topic of every log of the block. It has false positives, never false
negatives: a log whose address is not in it is not of this block.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from quoteway.evm.address import keccak256

_BITS: Final = 2_048


@lru_cache(maxsize=16_384)
def bloom_mask(item: str) -> int:
    """Returns the three bits that an address or a topic, given as 0x hex, sets in a block's filter."""
    digest = keccak256(bytes.fromhex(item[2:]))
    mask = 0
    for at in (0, 2, 4):
        mask |= 1 << (int.from_bytes(digest[at : at + 2]) % _BITS)
    return mask


def bloom_of(items: Iterable[str]) -> int:
    """Returns the filter of these addresses and topics, given as 0x hex."""
    bloom = 0
    for item in items:
        bloom |= bloom_mask(item)
    return bloom


def may_contain(bloom: int, item: str) -> bool:
    """Returns whether a filter may hold an address or topic, given as 0x hex."""
    mask = bloom_mask(item)
    return bloom & mask == mask


def false_positive_rate(bloom: int) -> float:
    """Returns the chance that the filter seems to hold one item that it does not hold."""
    return float((bloom.bit_count() / _BITS) ** 3)
