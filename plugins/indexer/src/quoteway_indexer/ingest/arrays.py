"""Reads the arrays in the data of logs: a row for each item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from quoteway_indexer.ingest import words
from quoteway_indexer.ingest.events import Parameter
from quoteway_indexer.ingest.logs import unhex

if TYPE_CHECKING:
    import numpy.typing as npt

    from quoteway_indexer.ingest.words import Bytes, Mask

    Places: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Items:
    """The items of the arrays of some logs, a row each: the place of the log among them, the place of the
    item in its array, and its words (rows, 32) by parameter."""

    logs: Places
    places: Places
    words: Mapping[Parameter, Bytes]


def items_of(parameters: Sequence[Parameter], heads: Bytes, data: Sequence[str]) -> tuple[Items, Mask]:
    """Returns the items of arrays, and which logs have them: all of one length, within the data.

    ``heads`` are the first words of the data of each log, n by the event's words, and ``data`` is all of it
    in 0x hex. Raises ``UnreadableLogsError`` for what is no hex.
    """
    count = len(data)
    sizes = np.array([(len(text) - 2) // 64 for text in data], np.int64)
    fit: Mask = np.ones(count, bool)
    lengths: Places | None = None
    starts: dict[int, Places] = {}
    for parameter in parameters:
        if parameter.at in starts:
            continue  # another member of the same array of structs
        starts[parameter.at], found, fits = _begun(parameter, heads, data, sizes)
        lengths = found if lengths is None else lengths
        fit &= fits & (found == lengths)
    assert lengths is not None
    lengths = np.where(fit, lengths, 0)
    logs = np.repeat(np.arange(count), lengths)
    places = np.arange(len(logs)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    taken = {}
    for parameter in parameters:
        shape = parameter.array
        assert shape is not None
        at = starts[parameter.at][logs] + places * shape.words + shape.at
        taken[parameter] = _words(data, logs, at)
    return Items(logs, places, taken), fit


def _begun(
    parameter: Parameter, heads: Bytes, data: Sequence[str], sizes: Places
) -> tuple[Places, Places, Mask]:
    """Returns for each log the word with which the items begin, their number, and whether this fits."""
    shape = parameter.array
    assert shape is not None
    count = len(data)
    if shape.length is not None:
        return np.full(count, parameter.at), np.full(count, shape.length), np.ones(count, bool)
    offsets, fit = words.to_int64(words.limbs(heads[:, parameter.at], signed=False), 64)
    starts = offsets // 32
    fit &= (offsets % 32 == 0) & (starts >= 0) & (starts < sizes)
    lengths = np.zeros(count, np.int64)
    known = np.flatnonzero(fit)
    found, within = words.to_int64(words.limbs(_words(data, known, starts[known]), signed=False), 64)
    most = (sizes[known] - starts[known] - 1) // shape.words
    within &= (found >= 0) & (found <= most)
    lengths[known] = np.where(within, found, 0)
    fit[known] = within
    return starts + 1, lengths, fit


def _words(data: Sequence[str], logs: Places, at: Places) -> Bytes:
    """Returns words of the data of logs, each by its log and its number there."""
    rows = zip(logs.tolist(), at.tolist(), strict=True)
    return unhex([f"0x{data[log][2 + 64 * word : 66 + 64 * word]}" for log, word in rows], 32)
