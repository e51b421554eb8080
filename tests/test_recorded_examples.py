"""The examples of the OpenAPI document are what a gateway over new local chains answers now."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAPS = {"outcomes", "sources", "components", "amounts", "windows"}
"""Objects whose members are no names of the API."""


def unlike(recorded, live, place):
    """Where two answers have other members. Lists are compared by their first items, null with nothing."""
    if isinstance(recorded, dict) and isinstance(live, dict):
        if place.rpartition(".")[2] in MAPS:
            return
        if recorded.keys() != live.keys():
            yield f"{place}: {sorted(recorded.keys() ^ live.keys())}"
        for name in recorded.keys() & live.keys():
            yield from unlike(recorded[name], live[name], f"{place}.{name}")
    elif isinstance(recorded, list) and isinstance(live, list):
        for mine, other in zip(recorded[:1], live[:1], strict=False):
            yield from unlike(mine, other, f"{place}[]")
    elif None not in (recorded, live) and _kind(recorded) != _kind(live):
        yield f"{place}: {_kind(recorded)} and {_kind(live)}"


def _kind(value):
    return "number" if type(value) in (int, float) else type(value).__name__


def test_other_members_and_types_are_found():
    assert list(unlike({"a": [{"b": 1}], "c": None}, {"a": [{"b": 2.5}, {}], "c": "x"}, "")) == []
    assert list(unlike({"a": [{"b": 1}]}, {"a": [{"b": "1"}]}, "")) == [".a[].b: number and str"]
    assert list(unlike({"a": {"b": 1}}, {"a": {"c": 1}}, "")) == [".a: ['b', 'c']"]
    assert list(unlike({"a": {}}, {"a": []}, "")) == [".a: dict and list"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_gateway_still_answers_so(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    module = importlib.import_module("record_examples")
    recorded, live = json.loads(module.EXAMPLES.read_text()), module.run()
    assert recorded.keys() == live.keys()
    found = [place for name in recorded for place in unlike(recorded[name], live[name], name)]
    assert found == [], "record the examples again: python docs/record_examples.py, then make docs"
