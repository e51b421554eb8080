"""Calldata as a tree of values that can be changed and encoded again, in canonical form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from quoteway.evm.abi import Function, decode, encode, function
from quoteway.evm.abi_codec import shape
from quoteway.evm.address import address_bytes, checksum
from quoteway.evm.calls.known_calls import DESCRIBED
from quoteway.evm.calls.position_managers import (
    ACTIONS,
    BURN,
    COLLECT,
    DECREASE,
    INCREASE,
    MINT,
    MODIFY,
    MULTICALL,
    REFUND,
    SWEEP_TOKEN,
    UNWRAP,
)
from quoteway.evm.calls.router_commands import EXECUTE, dialect

ROUTER = dialect("2.1")
POSITION_CALLS = (MINT, INCREASE, DECREASE, COLLECT, BURN, REFUND, UNWRAP, SWEEP_TOKEN)
SIBLINGS = (
    "transferOwnership(address owner)",
    "renounceOwnership()",
    "acceptOwnership()",
    "transfer(address to, uint256 amount)",
    "approve(address spender, uint256 amount)",
    "swapTokensForExactTokens(uint256 out, uint256 most, address[] path, address to, uint256 deadline)",
    "swapTokensForExactETH(uint256 out, uint256 most, address[] path, address to, uint256 deadline)",
    "swapETHForExactTokens(uint256 out, address[] path, address to, uint256 deadline)",
)
"""Functions that no provider calls, with the types of some that they do."""


@dataclass
class Leaf:
    """One value of an ABI type; ``name`` as declared, where known."""

    type: str
    value: Any
    name: str = ""

    def encoded(self) -> Any:
        return self.value


@dataclass
class Group:
    """A struct or an array of values. The items of an array can be repeated, dropped and moved."""

    items: list[Any]
    movable: bool = False

    def encoded(self) -> Any:
        return tuple(item.encoded() for item in self.items)


class Path(Group):
    """A path of v3 pools: tokens with fee tiers between them, packed."""

    def encoded(self) -> bytes:
        packed = b""
        for item in self.items:
            packed += address_bytes(item.value) if item.type == "address" else item.value.to_bytes(3)
        return packed


@dataclass
class Call:
    """A function's selector and arguments; also a router's command, whose ``code`` is its byte."""

    types: Sequence[str]
    args: Group
    code: Any

    def encoded(self) -> bytes:
        args = encode(self.types, self.args.encoded())
        return self.code + args if isinstance(self.code, bytes) else args


@dataclass
class Commands(Group):
    """Commands and their inputs: of a Universal Router, of v4 swaps and of a v4 position manager."""

    movable: bool = field(default=True)

    def pair(self) -> tuple[bytes, list[bytes]]:
        return bytes(item.code for item in self.items), [item.encoded() for item in self.items]

    def encoded(self) -> bytes:
        return encode(("bytes", "bytes[]"), self.pair())


class Execute(Group):
    """``execute`` of the Universal Router: its commands and the deadline."""

    def encoded(self) -> bytes:
        commands, deadline = self.items
        return function(EXECUTE).encode([*commands.pair(), deadline.value])


def tree_of(data: bytes) -> Any:
    """Returns the tree of a call; None for a function that is not known here."""
    if data[:4] == function(EXECUTE).selector:
        codes, inputs, deadline = function(EXECUTE).decode(data)
        return Execute([_commands(ROUTER.commands, codes, inputs), Leaf("uint256", deadline, "deadline")])
    if data[:4] == function(MULTICALL).selector:
        (calls,) = function(MULTICALL).decode(data)
        found = [_call(_function_of(each), each) for each in calls]
        return Call(("bytes[]",), Group([Group(found, movable=True)]), data[:4])
    if data[:4] == function(MODIFY).selector:
        unlock, deadline = function(MODIFY).decode(data)
        codes, params = decode(("bytes", "bytes[]"), unlock)
        forms = {code: function(text) for code, text in ACTIONS.items()}
        group = Group([_commands(forms, codes, params), Leaf("uint256", deadline, "deadline")])
        return Call(("bytes", "uint256"), group, data[:4])
    known = _functions().get(data[:4])
    return None if known is None else _call(known, data)


def siblings_of(call: Call) -> list[bytes]:
    """Returns the selectors of other functions with the same types of arguments."""
    types = tuple(call.types)
    return [code for code, each in _functions().items() if each.types == types and code != call.code]


def walk(node: Any) -> Iterator[Any]:
    """Yields every node of a tree."""
    yield node
    inner = node.items if isinstance(node, Group) else [node.args] if isinstance(node, Call) else ()
    for item in inner:
        yield from walk(item)


@cache
def _functions() -> dict[bytes, Function]:
    declared = [each.declaration for kind in DESCRIBED.values() for each in kind]
    known = (function(text) for text in (*declared, *POSITION_CALLS, *SIBLINGS))
    return {each.selector: each for each in known}


def _function_of(data: bytes) -> Function:
    return _functions()[data[:4]]


def _call(known: Function, data: bytes) -> Call:
    args = decode(known.types, data[4:])
    named = zip(known.names, known.types, args, strict=True)
    return Call(known.types, Group([_node(type_, value, name) for name, type_, value in named]), data[:4])


def _commands(forms: Any, codes: bytes, inputs: Sequence[bytes]) -> Commands:
    found = Commands([])
    for code, data in zip(codes, inputs, strict=True):
        form = forms[code]
        args = decode(form.types, data)
        if form.signature.startswith("V4_SWAP("):
            inner = _commands(ROUTER.actions, *args)
            found.items.append(_V4Swap((), Group([inner]), code))
            continue
        nodes = [_node(t, value, name) for name, t, value in zip(form.names, form.types, args, strict=True)]
        if form.signature.startswith("V3_SWAP"):
            nodes[3] = _path(args[3])
        found.items.append(Call(form.types, Group(nodes), code))
    return found


class _V4Swap(Call):
    def encoded(self) -> bytes:
        return self.args.items[0].encoded()


def _path(packed: bytes) -> Path:
    items = []
    for start in range(0, len(packed), 23):
        items.append(Leaf("address", checksum("0x" + packed[start : start + 20].hex()), "path"))
        if start + 20 < len(packed):
            items.append(Leaf("uint24", int.from_bytes(packed[start + 20 : start + 23]), "fee"))
    return Path(items)


def _node(type_: str, value: Any, name: str = "") -> Any:
    item, members = shape(type_)
    if item is not None:
        return Group([_node(item, each, name) for each in value], movable=True)
    if members is not None:
        return Group([_node(member, each) for member, each in zip(members, value, strict=True)])
    return Leaf(type_, value, name)
