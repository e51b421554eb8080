"""Request bodies for code generators: one schema for each kind of action, and defaults in words."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any

from quoteway.web.http.schema import Case, RequestSchema

Schema = dict[str, Any]


def reword_defaults(schema: Schema) -> None:
    """Moves the defaults of optional members into their descriptions.

    openapi-typescript makes a member with a default required, in requests too, so a request without it does
    not compile.
    """
    for member in schema.get("properties", {}).values():
        if "default" in member:
            default = json.dumps(member.pop("default"))
            member["description"] += f". Default: `{default}`"
        reword_defaults(member.get("items", {}))


def divide(bodies: Iterable[type[RequestSchema]], schemas: dict[str, Schema]) -> None:
    """Makes the schema of each body that has cases a union of them, by its member ``action``."""
    for body in bodies:
        if body.cases:
            schemas.update(_union(body.__name__, schemas[body.__name__], body.cases))


def _union(name: str, whole: Schema, cases: Mapping[str, Case]) -> dict[str, Schema]:
    parts = {f"{name}{suffix}": _part(whole, case) for suffix, case in cases.items()}
    mapping = {
        action: f"#/components/schemas/{name}{suffix}"
        for suffix, case in cases.items()
        for action in case.actions
    }
    union = {
        "description": whole.get("description", ""),
        "oneOf": [{"$ref": f"#/components/schemas/{part}"} for part in parts],
        "discriminator": {"propertyName": "action", "mapping": mapping},
    }
    return {name: union, **parts}


def _part(whole: Schema, case: Case) -> Schema:
    part = copy.deepcopy(whole)
    members = part["properties"]
    members["action"]["enum"] = list(case.actions)
    members["action"].pop("maxLength", None)
    for member, pattern in case.patterns.items():
        members[member]["pattern"] = pattern
    part["required"] = sorted({*part["required"], *case.required})
    part["description"] = f"{part['description']} {case.about}".strip()
    return part
