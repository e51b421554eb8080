"""The length of data that FastLZ has compressed, by which OP-stack chains charge for it.

Source: op-geth, core/types/rollup_cost.go, FlzCompressLen; solady, LibZip.flzCompress.
"""

from __future__ import annotations

_TAIL = 13
"""The last bytes are never compressed."""
_FARTHEST = 0x1FFF
_LONGEST = 262


def compressed_length(data: bytes) -> int:
    """Returns how many bytes FastLZ (level 1) makes of ``data``."""
    last = max(len(data) - _TAIL, 0)
    seen: dict[int, int] = {}
    total = written = 0
    at = 2
    while at < last:
        word = data[at : at + 3]
        key = _hash(word)
        before, seen[key] = seen.get(key, 0), at
        if at - before > _FARTHEST or data[before : before + 3] != word:
            at += 1
            continue
        if at + 1 >= last:
            break
        total += _literals(at - written)
        length, most = 0, last + 9 - (at + 3)
        while length < most and data[before + 3 + length] == data[at + 3 + length]:
            length += 1
        # As the source counts: a match that ends early counts the byte that differs, too.
        length += length < most
        total += 3 * ((length - 1) // _LONGEST) + (3 if (length - 1) % _LONGEST >= 6 else 2)
        at += length
        for _ in range(2):
            seen[_hash(data[at : at + 3])] = at
            at += 1
        written = at
    return total + _literals(len(data) - written)


def _hash(word: bytes) -> int:
    return ((2654435769 * int.from_bytes(word, "little")) & 0xFFFFFFFF) >> 19


def _literals(count: int) -> int:
    """Returns the length of bytes that stand for themselves: one more for each 32."""
    return count + -(-count // 32)
