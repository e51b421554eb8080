"""What takes the place of something else, and the values inside a quote or a build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from random import Random
from typing import Any

from quoteway import MAX_UINT256, Token


@dataclass(frozen=True, slots=True)
class Values:
    """What takes the place of something else: addresses and numbers that belong to real things."""

    thief: str
    addresses: tuple[str, ...]
    tokens: tuple[Token, ...]
    numbers: tuple[int, ...]

    def address(self, chance: Random, old: str) -> str:
        return other(chance, old, (self.thief, *self.addresses) if chance.random() < 0.7 else (self.thief,))

    def number(self, chance: Random, old: int, more: tuple[int, ...] = ()) -> int:
        near = (0, 1, old + 1, old - 1, 2 * old, old // 2, old * 99 // 100, old * 101 // 100, MAX_UINT256)
        pools = (near, (*self.numbers, *more), (1 << 255, (1 << 160) - 1, (1 << 128) - 1, 10**30))
        return other(chance, old, chance.choices(pools, (6, 3, 1))[0])


def other(chance: Random, old: Any, choices: Any) -> Any:
    found = [each for each in choices if each != old]
    return chance.choice(found) if found else old


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yields every value inside a model with the way to it."""
    if is_dataclass(value):
        for member in fields(value):
            yield from leaves(getattr(value, member.name), (*path, member.name))
    elif isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    else:
        yield path, value


def placed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Returns the model with another value at a place."""
    if not path:
        return new
    key, *rest = path
    if is_dataclass(value):
        return replace(value, **{key: placed(getattr(value, key), tuple(rest), new)})
    if isinstance(value, (tuple, list)):
        return type(value)([*value[:key], placed(value[key], tuple(rest), new), *value[key + 1 :]])
    return {**value, key: placed(value[key], tuple(rest), new)}
