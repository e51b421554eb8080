"""Makes ERC-7730 descriptors (schema v1) of described calls: how a wallet shows their arguments.

The labels are the core's. Of a plugin's description only the names of functions and arguments get in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeAlias

from quoteway.evm.abi import Function
from quoteway.models import NATIVE, Address, CallDescription

Json: TypeAlias = dict[str, Any]

_SCHEMA = "https://eips.ethereum.org/assets/eip-7730/erc7730-v1.schema.json"
_INTENTS = {
    "transfer": "Send to another network",
    "add": "Add liquidity",
    "remove": "Remove liquidity",
    "collect": "Collect fees",
    "deploy": "Deploy a vault",
}
LAST = "[last]"
"""The place of the last item of a padded array, for which ERC-7730 has no path."""
_KEYWORDS = frozenset({"calldata", "memory", "payable"})


def descriptor_of(description: CallDescription, function: Function, chain_id: int, address: Address) -> str:
    """Returns the descriptor of one function of one contract, as compact JSON.

    Arguments without a role are ``excluded``: the core says nothing of them.
    """
    inputs = _parameters(function.declaration)
    fields: list[Json] = []
    for field in _fields(description, inputs):
        if all(field["path"] != other["path"] for other in fields):
            fields.append(field)
    action = description.action
    form = {
        "intent": _INTENTS.get(action, action[0].upper() + action[1:]),
        "fields": fields,
        "excluded": [*_unsaid("#", inputs, _paths(fields))],
    }
    abi = {"type": "function", "name": function.signature.partition("(")[0], "inputs": inputs}
    contract = {"deployments": [{"chainId": chain_id, "address": address}], "abi": [abi]}
    descriptor = {
        "$schema": _SCHEMA,
        "context": {"contract": contract},
        "display": {"formats": {function.signature: form}},
    }
    return json.dumps(descriptor, separators=(",", ":"))


# --- fields -----------------------------------------------------------------------------------------------


def _fields(description: CallDescription, inputs: Sequence[Json]) -> Iterator[Json]:
    """Yields a field for each role, also where an argument has two."""

    def amount(label: str, path: str | None, token: str | None) -> Iterator[Json]:
        if path is None:
            return
        where, _ = _place(path, inputs)
        if where == "@.value" or token == NATIVE:
            yield {"path": where, "label": label, "format": "amount"}
        elif token is None or token.startswith("0x") or LAST in token:
            yield {"path": where, "label": label, "format": "raw"}
        else:
            params = _token(*_place(token, inputs))
            yield {"path": where, "label": label, "format": "tokenAmount", "params": params}

    def plain(label: str, path: str | None) -> Iterator[Json]:
        if path is not None and not path.startswith("0x") and LAST not in path:
            where, type_ = _place(path, inputs)
            yield {"path": where, "label": label, "format": "addressName" if type_ == "address" else "raw"}

    def moment(label: str, path: str | None) -> Iterator[Json]:
        if path is not None:
            where, _ = _place(path, inputs)
            yield {"path": where, "label": label, "format": "date", "params": {"encoding": "timestamp"}}

    for spent in description.spends:
        yield from amount("Pay at most", spent.amount, spent.token)
        yield from amount("Pay at least", spent.minimum, spent.token)
    for paid in description.pays:
        if paid.chain_id is None:
            yield from amount("Receive at least", paid.minimum, paid.token)
        else:  # a wallet knows no token of another network
            yield from plain("Receive at least", paid.minimum)
            yield from plain("Token received", paid.token)
        yield from plain("Recipient", paid.recipient)
        yield from plain("Destination chain", paid.chain_id)
    yield from moment("Valid until", description.deadline)
    yield from moment("Offered at", description.offered_at)
    yield from moment("Paid until", description.pays_until)
    yield from plain("Refund to", description.refund)
    yield from plain("Owner", description.owner)
    for path in description.members.values():
        yield from plain(re.findall(r"[A-Za-z_$][\w$]*", path)[-1], path)


def _token(where: str, type_: str) -> Json:
    if where.startswith("@"):
        return {"tokenPath": where}
    # An address in a word is its last 20 bytes.
    path = where if type_ == "address" else f"{where}.[-20:]"
    return {"tokenPath": path, "nativeCurrencyAddress": NATIVE}


def _place(path: str, inputs: Sequence[Json]) -> tuple[str, str]:
    """Returns a path with the names of struct members instead of their places, and the type at it."""
    if path.startswith("@"):
        return path, "uint256" if path == "@.value" else "address"
    _, name, *places = path.split(".")
    found = next(each for each in inputs if each["name"] == name)
    where, type_ = f"#.{name}", found["type"]
    for place in places:
        if type_.endswith("]"):
            where, type_ = f"{where}.{place}", type_[: type_.rindex("[")]
        else:
            found = found["components"][int(place[1:-1])]
            where, type_ = f"{where}.{found['name']}", found["type"]
    return where, type_


def _paths(fields: Sequence[Json]) -> set[str]:
    """Returns the paths that fields show or take their token from, with ``[]`` for each item."""
    paths = {path for each in fields for path in (each["path"], each.get("params", {}).get("tokenPath", ""))}
    return {re.sub(r"\[-?\d+\]", "[]", path) for path in paths}


def _unsaid(prefix: str, members: Sequence[Json], said: Collection[str]) -> Iterator[str]:
    for member in members:
        path = f"{prefix}.{member['name']}"
        if not any(each == path or each.startswith(f"{path}.") for each in said):
            yield path
        elif "components" in member:
            items = path + ".[]" * member["type"].count("[")
            yield from _unsaid(items, member["components"], said)


# --- declarations -----------------------------------------------------------------------------------------


def _parameters(text: str) -> list[Json]:
    """Returns the members of the first parenthesised list of a declaration, as a JSON ABI has them."""
    return [_parameter(at, member) for at, member in enumerate(_members(text))]


def _parameter(at: int, text: str) -> Json:
    struct, bracket, rest = text.rpartition(")")
    type_, *words = (f"tuple{rest}" if bracket else text).split()
    named = bool(words) and words[-1] not in _KEYWORDS
    type_ = re.sub(r"^(u?int)(?=\[|$)", r"\g<1>256", type_)
    found: Json = {"name": words[-1] if named else f"arg{at}", "type": type_}
    return found | {"components": _parameters(struct + bracket)} if bracket else found


def _members(text: str) -> Iterator[str]:
    depth, member = 0, ""
    for char in text[text.index("(") :]:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth == 0 or (depth == 1 and char == ","):
            if member.strip():
                yield member.strip()
            member = ""
            if depth == 0:
                return
        elif depth > 1 or char != "(":
            member += char
