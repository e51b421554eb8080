"""Reads the logs of a node's answer, which may be anything, into lists and arrays."""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from quoteway import UpstreamError
from quoteway.evm.answers import quantity

if TYPE_CHECKING:
    import numpy.typing as npt

    from quoteway_indexer.ingest.words import Bytes

_MOST_INDEX = 1 << 31


class UnreadableLogsError(Exception):
    """An answer is no list of logs of the asked range. Its text says what is wrong, without the answer."""


@dataclass(frozen=True, slots=True)
class LoggedBlock:
    """A block as its logs name it. ``timestamp`` is None where the node does not tell it with logs."""

    number: int
    hash: str
    timestamp: int | None


@dataclass(frozen=True, slots=True)
class LogBatch:
    """The logs of one range: what JSON-RPC gave, and by log its block's number, index and contract.

    ``contracts`` are 0x hex in lower case. ``blocks`` has the blocks by number.
    """

    logs: Sequence[Mapping[str, Any]]
    numbers: npt.NDArray[np.int64]
    indexes: npt.NDArray[np.int64]
    contracts: Sequence[str]
    blocks: Mapping[int, LoggedBlock]


def read_logs(answer: Any, first: int, last: int) -> LogBatch:
    """Returns the logs of an answer to ``eth_getLogs`` for blocks ``first`` to ``last``.

    Raises ``UnreadableLogsError`` for what is no list of logs of that range, has two hashes of one block, or
    one place twice.
    """
    if not isinstance(answer, list):
        raise UnreadableLogsError("the answer is no list")
    # Each member is read of all logs at once: steps of Python for each log would cost more than DuckDB.
    try:
        number_texts, index_texts = member(answer, "blockNumber"), member(answer, "logIndex")
        times = [log.get("blockTimestamp") for log in answer]
        heads = dict.fromkeys(zip(number_texts, member(answer, "blockHash"), times, strict=True))
        blocks, number_of = _blocks(heads, first, last)
        index_of = {text: quantity(text) for text in set(index_texts)}
        contracts = list(map(str.lower, member(answer, "address")))
        is_removed = any([log.get("removed") for log in answer])  # noqa: C419 - a generator is slower
    except (KeyError, TypeError, AttributeError, UpstreamError):
        raise UnreadableLogsError("an entry is no log") from None
    if is_removed:
        raise UnreadableLogsError("a log is of a block that was taken back")
    if index_of and max(index_of.values()) >= _MOST_INDEX:
        raise UnreadableLogsError("a log has an index that no block has")
    numbers = np.array(list(map(number_of.__getitem__, number_texts)), np.int64)
    indexes = np.array(list(map(index_of.__getitem__, index_texts)), np.int64)
    if not are_distinct(numbers, indexes):
        raise UnreadableLogsError("two logs have one place")
    return LogBatch(answer, numbers, indexes, contracts, blocks)


def _blocks(
    heads: Mapping[tuple[str, str, str | None], None], first: int, last: int
) -> tuple[dict[int, LoggedBlock], dict[str, int]]:
    blocks: dict[int, LoggedBlock] = {}
    number_of: dict[str, int] = {}
    for number_text, block_hash, time_text in heads:
        number = number_of[number_text] = quantity(number_text)
        timestamp = None if time_text is None else quantity(time_text)
        block = LoggedBlock(number, block_hash.lower(), timestamp)
        if not first <= number <= last:
            raise UnreadableLogsError("a log is of a block outside the range")
        if len(block.hash) != 66 or (timestamp is not None and timestamp >= 1 << 62):
            raise UnreadableLogsError("an entry is no log")
        if blocks.setdefault(number, block) != block:
            raise UnreadableLogsError("the logs are of two chains")
    return blocks, number_of


def member(logs: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """Returns a member of each log."""
    return list(map(itemgetter(name), logs))


def are_distinct(numbers: npt.NDArray[np.int64], indexes: npt.NDArray[np.int64]) -> bool:
    """Tells whether no two logs have one block and index. Those of nodes are in ascending order."""
    later = np.diff(numbers)
    if ((later > 0) | ((later == 0) & (np.diff(indexes) > 0))).all():
        return True
    places = np.stack((numbers, indexes), axis=1)
    return len(np.unique(places, axis=0)) == len(places)


def unhex(texts: Sequence[str], size: int) -> Bytes:
    """Returns texts of ``size`` bytes in 0x hex as an array. Raises ``UnreadableLogsError`` for others."""
    width = 2 + 2 * size
    try:
        joined = "".join(texts).encode("ascii")
        if set(map(len, texts)) - {width}:
            raise UnreadableLogsError(f"a value has not {size} bytes")
        cells = np.frombuffer(joined, np.uint8).reshape(len(texts), width)
        if texts and not ((cells[:, 0] == ord("0")).all() and (cells[:, 1] == ord("x")).all()):
            raise UnreadableLogsError("a value is not in 0x hex")
        decoded = binascii.unhexlify(cells[:, 2:].tobytes())
    except (TypeError, UnicodeEncodeError, binascii.Error):
        raise UnreadableLogsError("a value is not in 0x hex") from None
    return np.frombuffer(decoded, np.uint8).reshape(len(texts), size)
