"""The OpenAPI document as ``generate.py`` reads it: operations, schemas, and Python's types for both."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

# JSON-RPC has its own errors inside of a 200: ``Quoteway.rpc`` is written by hand.
BY_HAND = {"callRpc"}

Schema = Mapping[str, Any]


def snake(name: str) -> str:
    """``fromToken`` is ``from_token``; a keyword gets an underscore at its end."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return words + "_" if words == "from" else words


def camel(name: str) -> str:
    """The name that msgspec gives a member with ``rename="camel"``."""
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


class Document:
    """The OpenAPI document: which module has which schema, and Python's types for its members."""

    def __init__(self, text: str) -> None:
        self.whole: Schema = json.loads(text)
        self.schemas: dict[str, Schema] = self.whole["components"]["schemas"]
        self.operations = [
            (method.upper(), path, operation)
            for path, methods in self.whole["paths"].items()
            for method, operation in methods.items()
            if operation["operationId"] not in BY_HAND and not _is_stream(operation)
        ]
        self.homes = self._homes()

    def _homes(self) -> dict[str, str]:
        """Module by schema: that of the first tag that reaches it, ``shared`` where several do."""
        tags: dict[str, list[str]] = {}
        for _, _, operation in self.operations:
            tag = operation["tags"][0]
            for name in self._reached(self.answer(operation), self.body(operation)):
                tags.setdefault(name, [])
                if tag not in tags[name]:
                    tags[name].append(tag)
        return {
            name: tags[name][0] if len(tags[name]) == 1 else "shared" for name in self.schemas if name in tags
        }

    def _reached(self, *names: str | None) -> Iterator[str]:
        waiting, seen = [name for name in names if name], set()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                schema = self.schemas[name]
                if "oneOf" in schema:  # its variants are one TypedDict
                    schema = {"properties": self.members(name)}
                waiting += re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schema))
        yield from seen

    def answer(self, operation: Schema) -> str:
        """The schema of an operation's answer."""
        responses = operation["responses"]
        return _name(
            responses["200" if "200" in responses else "201"]["content"]["application/json"]["schema"]
        )

    def body(self, operation: Schema) -> str | None:
        """The schema of an operation's body; None without one."""
        if "requestBody" not in operation:
            return None
        return _name(operation["requestBody"]["content"]["application/json"]["schema"])

    def members(self, name: str) -> dict[str, Schema]:
        """The members of a schema, or of all variants of a union."""
        schema = self.schemas[name]
        variants = [self.schemas[_name(each)] for each in schema.get("oneOf", ())] or [schema]
        found: dict[str, Schema] = {}
        for variant in variants:
            for member, declared in variant["properties"].items():
                if member in found and "enum" in declared:
                    values = [*found[member]["enum"], *declared["enum"]]
                    declared = {**declared, "enum": list(dict.fromkeys(values))}
                known = found.get(member, declared)
                # `max` is taken by some variants.
                found[member] = known if "max|" in known.get("pattern", "") else declared
        return found

    def required(self, name: str) -> set[str]:
        """The members that a schema, or all variants of a union, require."""
        schema = self.schemas[name]
        variants = [self.schemas[_name(each)] for each in schema.get("oneOf", ())] or [schema]
        return set.intersection(*(set(variant.get("required", ())) for variant in variants))


def _is_stream(operation: Schema) -> bool:
    """Whether an operation answers with events, which this client does not read."""
    return "text/event-stream" in operation["responses"].get("200", {}).get("content", {})


def _name(schema: Schema) -> str:
    return str(schema["$ref"].rpartition("/")[2])


def is_integer(schema: Schema) -> bool:
    """Whether text of the wire is an integer in decimal digits."""
    pattern = schema.get("pattern", "")
    digits = pattern.startswith("^") and "[1-9][0-9]{0," in pattern and ":" not in pattern
    signed = "[a-z0-9]" not in pattern and "[A-Z" not in pattern and "A-F" not in pattern
    told = re.search(
        r"[Aa]n integer in decimal digits|Decimal digits|`units` with a reserve",
        schema.get("description", ""),
    )
    return (digits and signed) or ("pattern" not in schema and told is not None)


def answer_type(schema: Schema) -> str:
    """The type of a member of an answer. Values of an ``enum`` are text: a newer server may have more."""
    if "$ref" in schema:
        return _name(schema)
    if "anyOf" in schema:
        return " | ".join(
            "None" if each == {"type": "null"} else answer_type(each) for each in schema["anyOf"]
        )
    kinds = schema.get("type")
    if kinds is None:
        return "Any"
    if isinstance(kinds, list):
        (kind,) = (each for each in kinds if each != "null")
        return answer_type({**schema, "type": kind}) + " | None"
    if kinds == "array":
        said = {"description": schema.get("description", "")}  # it is about the items
        return f"tuple[{answer_type(said | schema['items'])}, ...]"
    if kinds == "object":
        values = schema.get("additionalProperties") or {}
        return f"dict[str, {answer_type(values) if values else 'Any'}]"
    if kinds == "string":
        if schema.get("format") == "date-time":
            return "datetime"
        if schema.get("pattern", "").startswith("^0x(0|"):
            return "Quantity"
        return "int" if is_integer(schema) else "str"
    return {"integer": "int", "number": "float", "boolean": "bool"}[kinds]


def request_type(schema: Schema) -> str:
    """The type of a member of a request. Amounts are integers."""
    if "$ref" in schema:
        return _name(schema)
    if "anyOf" in schema:
        return " | ".join(request_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return f"Literal[{', '.join(map(json.dumps, schema['enum']))}]"
    kind = schema["type"]
    if kind == "array":
        items = schema["items"]
        inline = items.get("type") == "object"
        return f"Sequence[{'Mapping[str, Any]' if inline else request_type(items)}]"
    if kind == "string" and is_integer(schema):
        return 'int | Literal["max"]' if "max" in schema["pattern"] else "int"
    return {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}[kind]
