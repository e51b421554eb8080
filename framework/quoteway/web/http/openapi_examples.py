"""Examples of the OpenAPI document: requests and answers that ``docs/record_examples.py`` recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

_RECORDED = Path(__file__).with_name("openapi_examples.json")
_JSON = "application/json"


def add_examples(document: dict[str, Any]) -> None:
    """Adds to each operation its recorded request and answer, and to the errors those of each operation."""
    recorded = orjson.loads(_RECORDED.read_bytes())
    for methods in document["paths"].values():
        for operation in methods.values():
            if operation["operationId"] in recorded:
                _add(document, operation, recorded[operation["operationId"]])


def _add(document: dict[str, Any], operation: dict[str, Any], recorded: dict[str, Any]) -> None:
    request, responses = recorded["request"], operation["responses"]
    for parameter in operation["parameters"]:
        given = request.get(parameter["in"], {})
        if parameter["name"] in given:
            parameter["example"] = given[parameter["name"]]
    if "body" in request:
        operation["requestBody"]["content"][_JSON]["example"] = request["body"]
    if "answer" in recorded:
        (content,) = responses[recorded["status"]]["content"].values()  # JSON, or the data of an event
        content["example"] = recorded["answer"]
    for status, error in recorded["errors"].items():
        shared = responses[status]["$ref"].rpartition("/")[2]
        content = document["components"]["responses"][shared]["content"][_JSON]
        content.setdefault("examples", {})[operation["operationId"]] = {"value": error}
