"""Compiles event rules: which value of a log goes into which column of a fact."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from quoteway import EventRule

from quoteway_indexer.ingest import words
from quoteway_indexer.ingest.events import Event, Parameter, read_event
from quoteway_indexer.stores.batches import arrow_schema
from quoteway_indexer.tables import FACTS, LOG, PLACE, Column, ColumnType, Table

if TYPE_CHECKING:
    import numpy.typing as npt

    from quoteway_indexer.ingest.arrays import Items, Places
    from quoteway_indexer.ingest.words import Bytes, Limbs, Mask

_INTEGER_BITS: Final = {"int32": 32, "int64": 64}
_LITERAL = re.compile(r"-?(?:\d+|0x[0-9a-fA-F]+)", re.ASCII)
_PARAMETER = r"([A-Za-z_$][\w$.\[\]]*)"
_NEGATIVE = re.compile(rf"-\s*{_PARAMETER}", re.ASCII)
_TWO = re.compile(rf"{_PARAMETER}\s*([-+])\s*{_PARAMETER}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Words:
    """The logs of one event as arrays: contracts (n, 20), topics after the first and data, n words each.

    With ``items`` there is a row for each item of arrays: their words (n, 32) by parameter, and the items'
    places.
    """

    contracts: Bytes
    topics: tuple[Bytes, ...]
    data: Bytes
    items: Mapping[Parameter, Bytes] = field(default_factory=dict)
    places: Places | None = None

    def of(self, parameter: Parameter) -> Bytes:
        """Returns the words of a parameter."""
        if parameter.array is not None:
            return self.items[parameter]
        return self.topics[parameter.at] if parameter.indexed else self.data[:, parameter.at]

    def of_items(self, items: Items) -> Words:
        """Returns these logs with a row for each item."""
        rows = items.logs
        topics = tuple(topic[rows] for topic in self.topics)
        return Words(self.contracts[rows], topics, self.data[rows], items.words, items.places)


@dataclass(frozen=True, slots=True)
class Value:
    """A column's value: a constant, parameters (the first minus or plus the second, or negative), the
    contract, or the place of an item."""

    constant: int | str | None = None
    parameters: tuple[Parameter, ...] = ()
    is_negative: bool = False
    is_sum: bool = False
    is_place: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that can be applied. ``values`` are by the own columns of ``table``; others are null.

    With ``arrays`` it makes a row of each item of these parameters.
    """

    event: Event
    table: Table
    values: Mapping[str, Value]
    arrays: tuple[Parameter, ...] = ()

    def columns(self, logs: Words) -> tuple[list[pa.Array], Mask]:
        """Returns the own columns of the fact, and which of the rows fit the rule."""
        count = len(logs.contracts)
        good: Mask = np.ones(count, bool)
        arrays: list[pa.Array] = []
        types = arrow_schema(self.table)
        for column in self.table.columns[len(PLACE) :]:
            value = self.values.get(column.name)
            if value is None:
                arrays.append(pa.nulls(count, types.field(column.name).type))
                continue
            array, good_here = _array(column, value, logs)
            arrays.append(array)
            if good_here is not None:
                good &= good_here
        return arrays, good


def compile_rule(rule: EventRule) -> Rule:
    """Returns a rule that can be applied. Raises ``ValueError`` saying what is wrong with it."""
    event = read_event(rule.event)
    table = FACTS.get(rule.fact)
    if table is None:
        raise ValueError(
            f"event {event.name}: there is no table of facts {rule.fact!r}; known: {', '.join(FACTS)}"
        )
    own = {column.name: column for column in table.columns[len(PLACE) :]}
    values = {}
    for name, text in rule.columns.items():
        if name not in own:
            raise ValueError(
                f"event {event.name}: fact {table.name} has no column {name!r} to be set; it has "
                f"{', '.join(own)}"
            )
        values[name] = _value(event, own[name], text)
    parameters = [each for value in values.values() for each in value.parameters]
    arrays = tuple(dict.fromkeys(each for each in parameters if each.array is not None))
    _check_items(event, table, values, arrays)
    return Rule(event, table, values, arrays)


def _check_items(
    event: Event, table: Table, values: Mapping[str, Value], arrays: Sequence[Parameter]
) -> None:
    """Raises ``ValueError`` where the rows of one log would have one key."""
    keys = table.key[len(LOG) :]
    if arrays and not keys:
        raise ValueError(
            f"event {event.name}: fact {table.name} has one row of each log, and an array makes several"
        )
    for name in keys:
        value = values.get(name)
        if arrays and (value is None or not value.is_place):
            raise ValueError(
                f"event {event.name}: column {name!r} of fact {table.name} must be '#', the place of an item"
            )
        if value is None:
            raise ValueError(f"event {event.name}: column {name!r} of fact {table.name} must have a value")
    if not arrays and any(value.is_place for value in values.values()):
        raise ValueError(f"event {event.name}: '#' is the place of an item, and no column takes an array")


def _value(event: Event, column: Column, text: str) -> Value:
    """Returns a column's value from its text. Raises ``ValueError`` where it can never fit the column."""
    where = f"event {event.name}, column {column.name!r} ({column.type})"
    if column.type == "text":
        return Value(constant=text)
    if column.type == "float":
        raise ValueError(f"{where}: no event has values of this type")
    text = text.strip()
    if text == "@":
        if column.type not in ("address", "bytes", "bytes32"):
            raise ValueError(f"{where}: a contract's address needs a column of addresses or bytes")
        return Value()
    if text == "#":
        if column.type not in _INTEGER_BITS:
            raise ValueError(f"{where}: the place of an item needs a column of int32 or int64")
        return Value(is_place=True)
    is_number = column.type in ("int32", "int64", "int256", "uint256")
    if _LITERAL.fullmatch(text):
        constant = int(text, 0) if "0x" in text else int(text)
        if not is_number or not _within(column.type, constant):
            raise ValueError(f"{where}: {text} does not fit this type")
        return Value(constant=constant)
    negative, two = _NEGATIVE.fullmatch(text), _TWO.fullmatch(text)
    names = [negative[1]] if negative else [two[1], two[3]] if two else [text]
    parameters = tuple(event.parameter(name) for name in names)
    is_sum = two is not None and two[2] == "+"
    value = Value(parameters=parameters, is_negative=negative is not None, is_sum=is_sum)
    if is_number and all(each.type.is_integer for each in parameters):
        return value
    first = parameters[0].type
    fitting = {
        "address": first.kind == "address",
        "bytes": first.kind in ("address", "bytes") or (first.kind, first.bits) == ("uint", 256),
        "bytes32": first.kind in ("address", "bytes") or (first.kind, first.bits) == ("uint", 256),
    }
    if negative or two or not fitting.get(column.type, False):
        raise ValueError(f"{where}: {text!r} has not the type of the column")
    return value


def _within(kind: ColumnType, number: int) -> bool:
    if kind == "uint256":
        return 0 <= number < 1 << 256
    bits = _INTEGER_BITS.get(kind, 256)
    return -(1 << (bits - 1)) <= number < 1 << (bits - 1)


def _array(column: Column, value: Value, logs: Words) -> tuple[pa.Array, Mask | None]:
    """Returns a column, and which of its values fit; None: all."""
    count = len(logs.contracts)
    if isinstance(value.constant, str):
        return pa.repeat(pa.scalar(value.constant), count), None
    if value.constant is not None:
        return _constants(column.type, value.constant, count), None
    if logs.places is not None and value.is_place:
        return integers(column.type, logs.places), None
    if not value.parameters:
        return _of_bytes(column.type, logs.contracts), None
    good: Mask = np.ones(count, bool)
    for parameter in value.parameters:
        good &= words.canonical(logs.of(parameter), parameter.type)
    first = value.parameters[0]
    if column.type in ("int32", "int64", "int256", "uint256"):
        array, within = _integers(column.type, value, logs)
        return array, good & within
    cells = logs.of(first)
    if first.type.kind == "address" and column.type != "bytes32":
        cells = cells[:, 12:]
    elif first.type.kind == "bytes" and column.type == "bytes":
        cells = cells[:, : first.type.bits // 8]
    return _of_bytes(column.type, cells), good


def _integers(kind: ColumnType, value: Value, logs: Words) -> tuple[pa.Array, Mask]:
    signed = kind == "int256"
    first = value.parameters[0]
    is_plain = len(value.parameters) == 1 and not value.is_negative
    if is_plain and kind in ("int256", "uint256"):
        cells = logs.of(first)
        if (first.type.kind == "int") == signed or (first.type.bits < 256 and first.type.kind != "int"):
            return fixed(cells), np.ones(len(cells), bool)
        return fixed(cells), cells[:, 0] < 0x80  # the sign bit: an int256 below zero, or 2^255 and more
    parts = [words.limbs(logs.of(each), signed=each.type.kind == "int") for each in value.parameters]
    result: Limbs = parts[0]
    none = np.zeros_like(result)
    if value.is_negative:
        result = words.difference(none, result)
    elif value.is_sum:
        result = words.difference(parts[0], words.difference(none, parts[1]))
    elif len(parts) == 2:
        result = words.difference(*parts)
    if kind in _INTEGER_BITS:
        numbers, within = words.to_int64(result, _INTEGER_BITS[kind])
        return integers(kind, numbers), within
    return fixed(words.to_words(result)), words.fits(result, signed=signed)


def _constants(kind: ColumnType, number: int, count: int) -> pa.Array:
    if kind in _INTEGER_BITS:
        return integers(kind, np.full(count, number, np.int64))
    word = np.frombuffer((number % (1 << 256)).to_bytes(32), np.uint8)
    return fixed(np.broadcast_to(word, (count, 32)))


def _of_bytes(kind: ColumnType, cells: Bytes) -> pa.Array:
    if kind == "bytes":
        count, width = cells.shape
        ends = (np.arange(count + 1) * width).astype(np.int32)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(cells))]
        return pa.BinaryArray.from_buffers(pa.binary(), count, buffers)
    if kind == "bytes32" and cells.shape[1] == 20:
        cells = np.pad(cells, ((0, 0), (12, 0)))
    return fixed(cells)


def fixed(cells: Bytes) -> pa.Array:
    """Returns rows of bytes as fixed-size binaries."""
    count, width = cells.shape
    buffers = [None, pa.py_buffer(np.ascontiguousarray(cells))]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), count, buffers)


def integers(kind: ColumnType, numbers: npt.NDArray[np.int64]) -> pa.Array:
    """Returns integers that fit as a column of this type."""
    return pa.array(numbers.astype(np.int32) if kind == "int32" else numbers)
