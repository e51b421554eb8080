"""Reads declarations of events: topics, parameters and where their words are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from quoteway.evm.abi import event_topic

MAX_CHARS: Final = 2_000
_DECLARATION = re.compile(r"\s*(?:event\s+)?([A-Za-z_$][\w$]*)\s*\(([^()]*)\)\s*", re.ASCII)
_NUMBER = re.compile(r"(u?int)(\d+)", re.ASCII)
_BYTES = re.compile(r"bytes(\d+)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class WordType:
    """A type of one word: ``uint``, ``int``, ``bytes`` (left-aligned), ``address`` or ``bool``.

    ``bits`` are those that a value may use; ``dynamic`` stands for a type whose word is an offset or a hash.
    """

    kind: str
    bits: int

    @property
    def is_integer(self) -> bool:
        """Returns whether a value is an integer."""
        return self.kind in ("uint", "int", "bool")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an event. ``at`` counts the topics after the first, or the words of the data."""

    name: str
    type: WordType
    indexed: bool
    at: int


@dataclass(frozen=True, slots=True)
class Event:
    """An event: topic 0 in 0x hex, and its parameters. ``words`` is how many words its data has.

    With a parameter of dynamic type in the data, this is the least number.
    """

    name: str
    topic: str
    parameters: tuple[Parameter, ...]
    topics: int
    words: int
    is_dynamic: bool

    def parameter(self, name: str) -> Parameter:
        """Returns a parameter. Raises ``ValueError`` for an unknown name, or a type without a value."""
        for each in self.parameters:
            if each.name == name:
                if each.type.kind == "dynamic":
                    raise ValueError(
                        f"parameter {name!r} of event {self.name} has a dynamic type: a column takes types "
                        "of one word only"
                    )
                return each
        known = ", ".join(each.name for each in self.parameters if each.name)
        raise ValueError(f"event {self.name} has no parameter {name!r}; it has {known or 'none with names'}")


def read_event(declaration: str) -> Event:
    """Returns an event from its declaration in Solidity. Raises ``ValueError`` saying what is wrong."""
    match = _DECLARATION.fullmatch(declaration) if len(declaration) <= MAX_CHARS else None
    if match is None:
        raise ValueError(
            f"{declaration[:200]!r} is no declaration of an event such as "
            "'Transfer(address indexed from, address indexed to, uint256 value)'; structs cannot be read"
        )
    name, members = match.groups()
    parameters: list[Parameter] = []
    types: list[str] = []
    topics = words = 0
    for member in members.split(",") if members.strip() else ():
        text, canonical, is_indexed = _member(member, name)
        types.append(canonical)
        word = _word_type(canonical)
        topics, words = (topics + 1, words) if is_indexed else (topics, words + 1)
        parameters.append(Parameter(text, word, is_indexed, topics - 1 if is_indexed else words - 1))
    names = [each.name for each in parameters if each.name]
    if len(set(names)) != len(names):
        raise ValueError(f"event {name} has two parameters of one name: rename one of them")
    if topics > 3:
        raise ValueError(f"event {name} has {topics} indexed parameters: the EVM allows 3")
    is_dynamic = any(each.type.kind == "dynamic" and not each.indexed for each in parameters)
    topic = event_topic(f"{name}({','.join(types)})")
    return Event(name, topic, tuple(parameters), 1 + topics, words, is_dynamic)


def _member(member: str, event: str) -> tuple[str, str, bool]:
    """Returns the name, the canonical type and whether a parameter is indexed."""
    parts = member.split()
    is_indexed = len(parts) > 1 and parts[1] == "indexed"
    rest = parts[2:] if is_indexed else parts[1:]
    if not parts or len(rest) > 1 or (rest and not _NAME.fullmatch(rest[0])):
        raise ValueError(f"event {event}: {member.strip()!r} is no parameter such as 'uint256 indexed id'")
    canonical = {"uint": "uint256", "int": "int256"}.get(parts[0], parts[0])
    return (rest[0] if rest else ""), canonical, is_indexed


def _word_type(canonical: str) -> WordType:
    if canonical in ("string", "bytes") or canonical.endswith("[]"):
        _word_type(canonical[:-2]) if canonical.endswith("[]") else None
        return WordType("dynamic", 256)
    if canonical in ("address", "bool"):
        return WordType(canonical, {"address": 160, "bool": 1}[canonical])
    number, fixed = _NUMBER.fullmatch(canonical), _BYTES.fullmatch(canonical)
    if number is not None and 0 < int(number[2]) <= 256 and int(number[2]) % 8 == 0:
        return WordType(number[1], int(number[2]))
    if fixed is not None and 0 < int(fixed[1]) <= 32:
        return WordType("bytes", 8 * int(fixed[1]))
    raise ValueError(
        f"{canonical!r} is no type that can be read: expected address, bool, uint8 to uint256, int8 to "
        "int256, bytes1 to bytes32, or (not for a column) string, bytes or an array of them"
    )
