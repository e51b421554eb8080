"""Compares the OpenAPI document with the released one; ``--record`` keeps the present one as released.

Run by ``make check``. Within v2 the API only gains: what a client of the released document sends is still
taken, and what it is answered is what that document says. Exits 1 with each change that breaks this.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).resolve().parent / "reference"
CURRENT = REFERENCE / "openapi.json"
RELEASED = REFERENCE / "openapi-released.json"

REMEDY = """
Within v2 the API only gains. Make each change an addition: keep the old member, value, operation or answer
as it is, and add the new one beside it. What cannot be added needs a new version of the API (/v3).
Where the released document was wrong about what the server does, and the server stays as it is, record the
corrected one: `.venv/bin/python docs/compatibility.py --record --although-it-breaks`, in a commit that says
why, with a line in CHANGELOG.md.
"""

Schema = Mapping[str, Any]
Part = tuple[str, Schema]
"""A schema with its name: its reference, "" for one that is written in place."""

_WORDS = frozenset({"description", "example", "examples", "summary", "title"})
"""What no client depends on: it is not kept."""
_NAMED = frozenset({"properties", "schemas", "responses", "headers", "parameters", "mapping"})
"""The members whose own members are names, which may be any word."""
_LOWER, _UPPER = ("minimum", "minLength", "minItems"), ("maximum", "maxLength", "maxItems")
_COMPARED = frozenset(
    {
        "$ref",
        "oneOf",
        "anyOf",
        "type",
        "const",
        "enum",
        "pattern",
        "format",
        "properties",
        "required",
        "items",
    }
    | {"additionalProperties", "default", *_LOWER, *_UPPER}
)
"""The keywords of schemas that ``breaks`` compares."""
_IGNORED = _WORDS | {"discriminator", "deprecated"}


def breaks(released: Schema, current: Schema) -> list[str]:
    """Returns a sentence for each change from ``released`` to ``current`` that breaks a client.

    A change of a schema is named where the schema is used first. Raises ``ValueError`` for a keyword of a
    schema that is not compared.
    """
    found = _Comparison(_Side(released), _Side(current)).operations()
    gone = _names(released).keys() - _names(current).keys()
    return [*dict.fromkeys(found), *(f"{name}: the schema is removed or renamed" for name in sorted(gone))]


def _names(document: Schema) -> Mapping[str, Any]:
    """Returns the schemas by their names, which the types of generated clients have."""
    schemas: Mapping[str, Any] = document.get("components", {}).get("schemas", {})
    return schemas


@dataclass(frozen=True, slots=True)
class _Side:
    """A document, with its references followed."""

    document: Schema

    def follow(self, part: Schema) -> Part:
        """Returns a part of the document, or the one that it refers to, with its name."""
        reference = part.get("$ref")
        if reference is None:
            return "", part
        found: Any = self.document
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        return reference, found

    def choices(self, schema: Schema) -> list[Part]:
        """Returns the schemas that a value may fit, each of one type. Null is one of its own, and so is a
        body of each action: an object of several actions may become a union.
        """
        name, plain = self.follow(schema)
        if unknown := plain.keys() - _COMPARED - _IGNORED:
            raise ValueError(f"{', '.join(sorted(unknown))} in {name or 'a schema'} cannot be compared")
        alternatives = plain.get("oneOf") or plain.get("anyOf")
        if alternatives is not None:
            return [choice for each in alternatives for choice in self.choices(each)]
        if "const" in plain:
            plain = {**plain, "enum": [plain["const"]]}
        types = plain.get("type")
        if isinstance(types, list):
            return [(name and f"{name}|{kind}", {**plain, "type": kind}) for kind in types]
        actions = sorted(_actions(plain))
        found = [(name and f"{name}|{each}", _of_action(plain, each)) for each in actions]
        return found or [(name, plain)]

    def operations(self) -> dict[str, Schema]:
        """Returns the operations by method and path."""
        return {
            f"{method.upper()} {path}": operation
            for path, methods in self.document["paths"].items()
            for method, operation in methods.items()
        }

    def parameters(self, operation: Schema) -> dict[str, Schema]:
        """Returns the parameters of an operation by place and name."""
        found = (self.follow(each)[1] for each in operation.get("parameters", ()))
        return {f"{each['in']} parameter {each['name']}": each for each in found}

    def security(self, operation: Schema) -> Sequence[Schema]:
        """Returns the ways to authenticate at an operation."""
        ways: Sequence[Schema] = operation.get("security", self.document.get("security", [{}]))
        return ways


@dataclass(slots=True)
class _Comparison:
    old: _Side
    new: _Side
    _known: dict[tuple[str, str, bool], list[str]] = field(default_factory=dict)
    """What is wrong with a pair of named schemas, by whether clients send them."""

    def operations(self) -> Iterator[str]:
        now = self.new.operations()
        for place, old in self.old.operations().items():
            new = now.get(place)
            if new is None:
                yield f"{place}: the operation is removed"
                continue
            if old["operationId"] != new["operationId"]:
                yield f"{place}: operationId is {new['operationId']}, was {old['operationId']}"
            if any(each not in self.new.security(new) for each in self.old.security(old)):
                yield f"{place}: a way to authenticate, or to call without a key, is removed"
            yield from self._parameters(place, old, new)
            yield from self._body(place, old.get("requestBody"), new.get("requestBody"))
            yield from self._answers(place, old["responses"], new["responses"])

    # --- requests -----------------------------------------------------------------------------------------

    def _parameters(self, place: str, old: Schema, new: Schema) -> Iterator[str]:
        before, now = self.old.parameters(old), self.new.parameters(new)
        for name, given in before.items():
            here = f"{place}: {name}"
            if name not in now:
                yield f"{here}: the parameter is removed"
                continue
            if now[name].get("required") and not given.get("required"):
                yield f"{here}: the parameter is required now"
            yield from self._sent(here, given["schema"], now[name]["schema"])
        for name in now.keys() - before.keys():
            if now[name].get("required"):
                yield f"{place}: {name}: the parameter is new and required"

    def _body(self, place: str, old: Schema | None, new: Schema | None) -> Iterator[str]:
        if new is None:
            if old is not None:
                yield f"{place}: the request body is removed"
            return
        if new.get("required") and not (old or {}).get("required"):
            yield f"{place}: the request body is required now"
        for kind, content in (old or {"content": {}})["content"].items():
            if kind not in new["content"]:
                yield f"{place}: a request body of {kind} is no longer taken"
            else:
                yield from self._sent(f"{place}: request", content["schema"], new["content"][kind]["schema"])

    def _sent(self, place: str, old: Schema, new: Schema) -> Iterator[str]:
        """What a client may send by the old schema, and the new one refuses."""
        yield from self._fits(place, self.old.choices(old), self.new.choices(new), sent=True)

    # --- answers ------------------------------------------------------------------------------------------

    def _answers(self, place: str, old: Mapping[str, Schema], new: Mapping[str, Schema]) -> Iterator[str]:
        for status, response in old.items():
            here = f"{place}: {status}"
            if status not in new:
                yield f"{here}: the answer is removed"
                continue
            before, now = self.old.follow(response)[1], self.new.follow(new[status])[1]
            for header in before.get("headers", {}).keys() - now.get("headers", {}).keys():
                yield f"{here}: the header {header} is removed"
            contents = now.get("content", {})
            for kind, content in before.get("content", {}).items():
                if kind not in contents:
                    yield f"{here}: an answer of {kind} is no longer given"
                else:
                    yield from self._told(here, content["schema"], contents[kind]["schema"])
        for status in new.keys() - old.keys():
            if status.startswith("2"):
                yield f"{place}: {status}: the success status is new"

    def _told(self, place: str, old: Schema, new: Schema) -> Iterator[str]:
        """What an answer may hold by the new schema, and a client of the old one does not expect."""
        yield from self._fits(place, self.new.choices(new), self.old.choices(old), sent=False)

    # --- schemas ------------------------------------------------------------------------------------------

    def _fits(self, place: str, given: Sequence[Part], taken: Sequence[Part], *, sent: bool) -> Iterator[str]:
        """Why values of the schemas ``given`` may fit none of ``taken``."""
        for part in given:
            tries = [self._one(place, part, each, sent=sent) for each in _like(part, taken)]
            if not tries:
                kind = part[1].get("type", "any value")
                yield f"{place}: {kind} is {'no longer taken' if sent else 'new'}"
            elif all(tries):
                yield from min(tries, key=len)

    def _one(self, place: str, given: Part, taken: Part, *, sent: bool) -> list[str]:
        """Why values of ``given`` may not fit ``taken``: neither has alternatives."""
        (name, mine), (other, theirs) = given, taken
        if not name or not other:
            return list(self._inside(place, mine, theirs, sent=sent))
        pair = name, other, sent
        if pair not in self._known:
            self._known[pair] = []  # for a schema that has itself as a member
            self._known[pair] = list(self._inside(place, mine, theirs, sent=sent))
        return self._known[pair]

    def _inside(self, place: str, given: Schema, taken: Schema, *, sent: bool) -> Iterator[str]:
        compare, old, new = (self._sent, given, taken) if sent else (self._told, taken, given)
        yield from _values(place, given, taken, sent=sent)
        yield from (_members_sent if sent else _members_told)(place, old, new)
        before, now = old.get("properties", {}), new.get("properties", {})
        for member in (each for each in before if each in now):
            yield from compare(f"{place}.{member}", before[member], now[member])
        if "items" in old and "items" in new:
            yield from compare(f"{place}[]", old["items"], new["items"])
        each, each_now = old.get("additionalProperties"), new.get("additionalProperties")
        if isinstance(each, dict) and isinstance(each_now, dict):
            yield from compare(f"{place}.*", each, each_now)


def _like(given: Part, taken: Sequence[Part]) -> list[Part]:
    """Returns the alternatives that a schema is compared with: the one of its name, else those of its action,
    else those of its type.
    """
    name, schema = given
    kind = schema.get("type")
    types = {None, kind, "number"} if kind == "integer" else {None, kind}
    fitting = [each for each in taken if each[1].get("type") in types]
    named = [each for each in fitting if name and each[0] == name]
    return named or [each for each in fitting if _actions(schema) & _actions(each[1])] or fitting


def _actions(schema: Schema) -> frozenset[str]:
    """The values that tell a kind of body from the others."""
    return frozenset(schema.get("properties", {}).get("action", {}).get("enum", ()))


def _of_action(schema: Schema, action: str) -> Schema:
    members = schema["properties"]
    return {**schema, "properties": {**members, "action": {**members["action"], "enum": [action]}}}


def _values(place: str, given: Schema, taken: Schema, *, sent: bool) -> Iterator[str]:
    """Why a single value of ``given`` may not fit ``taken``."""
    old, new = (given, taken) if sent else (taken, given)
    if "enum" in taken and "enum" in given:
        lost = (json.dumps(each) for each in given["enum"] if each not in taken["enum"])
        yield from (f"{place}: the value {each} is {'no longer taken' if sent else 'new'}" for each in lost)
    elif "enum" in taken:
        yield f"{place}: {'only listed values are taken now' if sent else 'the values are no longer listed'}"
    # A format is a type to a generator of clients. Values of a pattern fit where there is none.
    # A client that leaves a member out relies on its default.
    bounds = ["format", *(["default"] if sent and "default" in old else [])]
    changed = [name for name in bounds if old.get(name) != new.get(name)]
    if "pattern" in taken and not _alternatives(given.get("pattern")) <= _alternatives(taken["pattern"]):
        changed.append("pattern")
    for name in (*_LOWER, *_UPPER):
        limit, own = taken.get(name), given.get(name)
        if limit is not None and (own is None or (own < limit if name in _LOWER else own > limit)):
            changed.append(name)
    yield from (f"{place}: {name} is {new.get(name)}, was {old.get(name)}" for name in changed)


def _alternatives(pattern: str | None) -> frozenset[str | None]:
    """Returns ``a`` and ``b`` of a pattern ``^(a|b)$``, and ``a`` of ``^a$``: a value of one with fewer fits
    one with more. Of another form it is its only alternative.
    """
    body = pattern[1:-1] if pattern and pattern[0] == "^" and pattern[-1] == "$" else ""
    if not body.startswith("("):
        return frozenset({pattern if "|" in body or not body else body})
    found, depth, start = [], 0, 1
    for token in re.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", body):
        sign, at = token[0], token.start()
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if (sign == "|" and depth == 1) or depth == 0:
            found.append(body[start:at])
            start = at + 1
        if depth == 0:
            break
    return frozenset(found if start == len(body) and "?" not in found[0][:1] else [pattern])


def _members_sent(place: str, old: Schema, new: Schema) -> Iterator[str]:
    """Which members of an object that clients send are refused or missing now."""
    before, now = old.get("properties", {}), new.get("properties", {})
    if new.get("additionalProperties") is False:
        yield from (f"{place}.{each}: the member is removed" for each in before if each not in now)
        if old.get("additionalProperties") is not False:
            yield f"{place}: other members are no longer taken"
    for member in new.get("required", ()):
        if member not in old.get("required", ()):
            what = "is required now" if member in before else "is new and required"
            yield f"{place}.{member}: the member {what}"


def _members_told(place: str, old: Schema, new: Schema) -> Iterator[str]:
    """Which members of an object in an answer a client may miss now."""
    now = new.get("properties", {})
    yield from (
        f"{place}.{each}: the member is removed" for each in old.get("properties", {}) if each not in now
    )
    for member in old.get("required", ()):
        if member in now and member not in new.get("required", ()):
            yield f"{place}.{member}: the member may be left out now"


# --- the command --------------------------------------------------------------------------------------------


def bare(node: Any, *, names: bool = False) -> Any:
    """Returns a document without the words that no client depends on. ``names``: its members are names."""
    if isinstance(node, list):
        return [bare(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = node.items() if names else ((name, each) for name, each in node.items() if name not in _WORDS)
    return {name: bare(each, names=not names and name in _NAMED) for name, each in kept}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="keep the present document as the released one")
    parser.add_argument(
        "--although-it-breaks", action="store_true", help="record it although it breaks clients"
    )
    asked = parser.parse_args(arguments)
    current = json.loads(CURRENT.read_text())
    if not RELEASED.exists() and not asked.record:
        sys.stdout.write(f"{RELEASED.name} is missing: restore it, or record the document of a release.\n")
        return 1
    found = breaks(json.loads(RELEASED.read_text()), current) if RELEASED.exists() else []
    sys.stdout.writelines(f"breaks clients: {each}\n" for each in found)
    if found and not (asked.record and asked.although_it_breaks):
        sys.stdout.write(REMEDY)
        return 1
    if asked.record:
        RELEASED.write_text(json.dumps(bare(current), indent=1, ensure_ascii=False) + "\n")
    said = "is recorded as released" if asked.record else "keeps what the released one promises"
    sys.stdout.write(f"The OpenAPI document {said}.\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
