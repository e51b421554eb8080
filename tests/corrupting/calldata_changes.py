"""Changes of calldata: well-formed ones encode it again in canonical form."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

from quoteway import NATIVE

from corrupting.calldata import Call, Commands, Group, Leaf, siblings_of, tree_of, walk
from corrupting.values import Values, other


def calldata_everywhere(data: bytes, old: Any, new: Any) -> bytes:
    """Returns calldata with one value replaced wherever it is."""
    tree = tree_of(data)
    if tree is None:
        return data
    for leaf in walk(tree):
        if isinstance(leaf, Leaf):
            leaf.value = _fitting(leaf, _swapped(leaf, old, new))
    return tree.encoded()


def _swapped(leaf: Leaf, old: Any, new: Any) -> Any:
    if leaf.type == "bytes32" and isinstance(old, str) and leaf.value[-20:].hex() == old[2:].lower():
        return bytes(12) + bytes.fromhex(new[2:])
    return new if type(leaf.value) is type(old) and leaf.value == old else leaf.value


def _fitting(leaf: Leaf, value: Any) -> Any:
    """Returns a number that fits the type of a value of calldata."""
    if type(value) is not int or leaf.type == "bool":
        return value
    if leaf.type.startswith("uint"):
        return value % (1 << int(leaf.type[4:] or 256))
    bits = int(leaf.type[3:] or 256)
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def changed_leaf(chance: Random, leaf: Leaf, others: list[Leaf], values: Values) -> None:
    """Gives a value of calldata another one of its kind."""
    kind, old = leaf.type, leaf.value
    if kind == "address":
        own = tuple(each.value for each in others if each.type == "address")
        special = (NATIVE, f"0x{1:040x}", f"0x{2:040x}")
        leaf.value = chance.choice(
            (
                values.address(chance, old),
                values.thief,
                other(chance, old, own),
                other(chance, old, special),
            )
        )
    elif kind == "bool":
        leaf.value = not old
    elif kind.startswith(("uint", "int")):
        own = tuple(each.value for each in others if each.type[:3] in ("uin", "int"))
        if leaf.name == "fee" or kind == "uint24":
            own = (100, 500, 3000, 10_000)
        leaf.value = _fitting(leaf, values.number(chance, old, own))
    elif kind == "bytes32":
        words = [
            bytes(12) + bytes.fromhex(values.address(chance, NATIVE)[2:]),
            bytes(32),
            chance.randbytes(32),
        ]
        words += [each.value for each in others if each.type == "bytes32"]
        leaf.value = other(chance, old, words)
    elif kind == "bytes":
        word = bytes(12) + bytes.fromhex(values.thief[2:])
        leaf.value = other(chance, old, (b"", word, old + word, chance.randbytes(65)))
    else:
        leaf.value = "corrupted"


def changed_calldata(chance: Random, data: bytes, values: Values) -> tuple[str, bytes] | None:
    """Changes one or two things in calldata and encodes it again. None: this calldata cannot be read."""
    tree = tree_of(data)
    if tree is None:
        return None
    said = []
    for _ in range(chance.choice((1, 1, 1, 2))):
        moves = _moves(chance, list(walk(tree)), values)
        if not moves:
            return None
        said.append(chance.choice(moves)())
    try:
        return " and ".join(dict.fromkeys(said)), tree.encoded()
    except (ValueError, OverflowError):
        return None


def _moves(chance: Random, nodes: list[Any], values: Values) -> list[Callable[[], str]]:
    """Returns what can be changed, each as often as it should be chosen."""
    moves: list[Callable[[], str]] = []
    found = [node for node in nodes if isinstance(node, Leaf)]
    if found:
        moves += 6 * [lambda: _change_value(chance, found, values)]
        moves += [lambda: _swap_values(chance, found)]
    groups = [node for node in nodes if isinstance(node, Group) and node.movable and node.items]
    if groups:
        moves += 2 * [lambda: _move_items(chance, chance.choice(groups))]
    calls = [node for node in nodes if isinstance(node, Call) and isinstance(node.code, bytes)]
    calls = [node for node in calls if siblings_of(node)]
    if calls:
        moves += 2 * [lambda: _other_function(chance, chance.choice(calls))]
    commands = [node for node in nodes if isinstance(node, Commands) and node.items]
    if commands:
        moves += [lambda: _other_command(chance, chance.choice(commands))]
    return moves


def _change_value(chance: Random, found: list[Leaf], values: Values) -> str:
    leaf = chance.choice(found)
    changed_leaf(chance, leaf, found, values)
    return f"argument {leaf.name or leaf.type}"


def _swap_values(chance: Random, found: list[Leaf]) -> str:
    leaf = chance.choice(found)
    other = chance.choice([each for each in found if each.type == leaf.type])
    leaf.value, other.value = other.value, leaf.value
    return f"two arguments {leaf.type} swapped"


def _move_items(chance: Random, group: Group) -> str:
    index = chance.randrange(len(group.items))
    match chance.choice(("repeated", "dropped", "reordered", "inserted")):
        case "repeated":
            group.items.append(deepcopy(group.items[index]))
            return "item repeated"
        case "inserted":
            group.items.insert(0, deepcopy(group.items[index]))
            return "item inserted"
        case "dropped":
            del group.items[index]
            return "item dropped"
    chance.shuffle(group.items)
    return "items reordered"


def _other_function(chance: Random, call: Call) -> str:
    call.code = chance.choice(siblings_of(call))
    return "function of the same types"


def _other_command(chance: Random, commands: Commands) -> str:
    command = chance.choice(commands.items)
    # The highest bit lets a command of the Universal Router fail without reverting.
    command.code = chance.choice((command.code | 0x80, command.code ^ 0x01, command.code ^ 0x08, 0x04, 0x0D))
    return "command"


def broken(chance: Random, data: bytes) -> tuple[str, bytes]:
    """Breaks the form of bytes."""
    at = chance.randrange(len(data) + 1)
    count = chance.choice((1, 1, 4, 20, 32))
    match chance.choice(("flip", "flip", "insert", "delete", "cut", "append", "word")):
        case "flip":
            changed = bytearray(data or b"\0")
            changed[min(at, len(changed) - 1)] ^= 1 << chance.randrange(8)
            return "bits of calldata flipped", bytes(changed)
        case "insert":
            return "bytes of calldata inserted", data[:at] + chance.randbytes(count) + data[at:]
        case "delete":
            return "bytes of calldata deleted", data[:at] + data[at + count :]
        case "cut":
            return "calldata cut", data[:at]
        case "append":
            return "bytes behind the calldata", data + chance.choice((bytes(32), chance.randbytes(count)))
    at = 4 + 32 * chance.randrange(max(1, (len(data) - 4) // 32))
    return "a word of calldata at random", data[:at] + chance.randbytes(32) + data[at + 32 :]
