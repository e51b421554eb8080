"""Writes a found description as the Python source that a plugin has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

from quoteway.evm.calls.registry import digest_of
from quoteway.models import (
    NATIVE,
    CallDescription,
    ContractDescription,
    DeployedAt,
    PaymentRoles,
    SpendRoles,
)
from quoteway.server.describing.arguments import words_of
from quoteway.server.describing.roles import Roles

_WIDTH = 80
"""Where a declaration is broken into lines."""


def source_of(roles: Roles, name: str, place: DeployedAt, origin: str) -> str:
    """Returns a plugin's module with the description, in the form of docs/how-to/
    describe-the-calls-of-a-contract.md. ``origin`` says what was described.

    What has not been proved is a comment: it is not in the description.
    """
    call = roles.description
    constant = _constant(call.declaration)
    contract = ContractDescription(name, (call,), (place,))
    used = {"CallDescription", "ContractDescription", "DeployedAt"}
    amounts: list[SpendRoles | PaymentRoles] = [*call.spends, *call.pays]
    used |= {type(each).__name__ for each in amounts}
    used |= {"NATIVE" for each in amounts if each.token == NATIVE}
    lines = [
        f'"""The calls of {_plain(name)}, found by `quoteway describe`: {origin}."""',
        "",
        "import quoteway",
        f"from quoteway import {', '.join(sorted(used, key=_import_order))}",
        "",
        *_comments(roles),
        f"{constant} = CallDescription(",
        *(f"    {line}" for line in _members(call)),
        ")",
        "",
        "",
        "@quoteway.hookimpl",
        "def quoteway_call_descriptions(context):",
        "    place = DeployedAt(",
        f"        {place.chain_id},",
        f"        {_text(place.address)},",
        f"        {_text(place.code_hash or '')},",
        "    )",
        f"    return [ContractDescription({_text(name)}, ({constant},), (place,))]",
        "",
        "",
        "# Once you have read it, with this description as the plugin's only one:",
        "# [calls]",
        f'# pinned = ["{digest_of([contract])}"]',
    ]
    return "\n".join(lines) + "\n"


def _comments(roles: Roles) -> Iterator[str]:
    if roles.unproved:
        yield "# NOT PROVED, and left out: find out what the contract does before you add it."
        yield from (f"#   {each.path} as {each.role}: {_plain(each.why)}" for each in roles.unproved)
    yield from (f"# Note: {_plain(note)}." for note in roles.notes)


def _members(call: CallDescription) -> Iterator[str]:
    *first, last = _lines(call.declaration)
    yield from map(_text, first)
    yield f"{_text(last)},"
    yield f"{_text(call.action)},"
    for name, several in (("spends", call.spends), ("pays", call.pays)):
        if len(several) == 1:
            yield f"{name}=({_roles(several[0])},),"
        elif several:
            yield f"{name}=("
            yield from (f"    {_roles(each)}," for each in several)
            yield "),"
    for name, path in (("deadline", call.deadline), ("owner", call.owner)):
        if path is not None:
            yield f"{name}={_text(path)},"
    if call.empty:
        yield f"empty=({', '.join(map(_text, call.empty))}{',' if len(call.empty) == 1 else ''}),"


def _lines(declaration: str) -> list[str]:
    """Returns a declaration in lines, which end after an argument."""
    lines = [""]
    for part in re.findall(r".+?(?:, |$)", declaration):
        if lines[-1] and len(lines[-1]) + len(part) > _WIDTH:
            lines.append("")
        lines[-1] += part
    return lines


def _roles(roles: SpendRoles | PaymentRoles) -> str:
    """Returns the call that makes the roles, without the members at their end that are None."""
    values = [getattr(roles, each.name) for each in fields(roles)]
    while values[-1] is None:
        values.pop()
    shown = ["NATIVE" if value == NATIVE else "None" if value is None else _text(value) for value in values]
    return f"{type(roles).__name__}({', '.join(shown)})"


def _constant(declaration: str) -> str:
    words = "_".join(words_of(declaration.partition("(")[0])).upper()
    return words if words.isidentifier() else "CALL"


def _import_order(name: str) -> tuple[bool, str]:
    return not name.isupper(), name


def _text(text: str) -> str:
    """Returns a Python literal, with double quotes where that is plain."""
    return f'"{text}"' if re.fullmatch(r"[ !#-\[\]-~]*", text) else repr(text)


def _plain(text: str) -> str:
    """Returns text that ends neither a comment nor a docstring."""
    return re.sub(r"[^ !#-\[\]-~]", "?", text)
