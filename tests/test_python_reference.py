"""The reference of the Python interface, compared with what Python itself says of the imported package."""

import ast
import dataclasses
import importlib
import inspect
import re
import sys
from enum import Enum
from pathlib import Path

import pytest
import quoteway

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
PAGES = {path.stem: path.read_text() for path in (REFERENCE / "python").glob("*.md")}
EXPORTED = [
    name for name in vars(quoteway) if getattr(quoteway, name, None) is not None and name[0].isalpha()
]
MODULES = {
    "quoteway": [
        alias.asname
        for node in ast.parse(Path(quoteway.__file__).read_text()).body[1:]
        for alias in node.names
    ]
} | {
    module: importlib.import_module(module).__all__
    for module in ("quoteway.testing.conformance", "quoteway.testing.fakes", "quoteway.testing.bad_plugins")
}


def entries():
    """Yields (import line, name, text) of every entry."""
    for page in PAGES.values():
        for name, text in re.findall(
            r"^### `(\w+)`\n(.*?)(?=^##? |^### |\Z)", page, re.MULTILINE | re.DOTALL
        ):
            imported = re.search(r"^from ([\w.]+) import \w+$", text, re.MULTILINE)
            yield imported[1] if imported else "", name, text


ENTRIES = {(module, name): text for module, name, text in entries()}
PUBLIC = [(module, name) for module, names in MODULES.items() for name in names]


def prose(text):
    """The text of an entry before its first table or method, without its code."""
    return re.split(
        r"^\| |^#### |^Tests:", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE
    )[0]


def cells(text):
    """The rows of the table of members, by member."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE)
    return {name: re.split(r"(?<!\\) ?\| ?", row) for name, row in rows}


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=lambda value: value)
def test_every_public_name_has_an_entry_with_a_sentence(module, name):
    entry = ENTRIES.get((module, name))
    assert entry, "no entry: name its module in docs/python_reference/pages.py"
    assert re.search(r"\w.*[.:]$", prose(entry), re.MULTILINE), "no sentence of its docstring"


def test_no_other_module_is_said_to_have_a_name():
    for module, name in ENTRIES:
        assert not module or hasattr(importlib.import_module(module), name), f"from {module} import {name}"


@pytest.mark.parametrize(
    "name", [n for n in MODULES["quoteway"] if dataclasses.is_dataclass(getattr(quoteway, n))]
)
def test_every_member_of_a_dataclass_has_its_type_and_meaning(name):
    kind, rows = getattr(quoteway, name), cells(ENTRIES["quoteway", name])
    of_bases = {
        each.name
        for base in kind.__bases__
        if dataclasses.is_dataclass(base)
        for each in dataclasses.fields(base)
    }
    for member in dataclasses.fields(kind):
        if member.name in of_bases or member.name.startswith("_") or issubclass(kind, quoteway.RpcError):
            continue
        type_, _, meaning = rows[member.name]
        assert type_.strip("`").replace("\\|", "|") == member.type.replace("'", '"'), member.name
        remedy = "say it in the docstring of the class, or in docs/python_reference/members.py"
        assert meaning, f"{name}.{member.name} has no meaning: {remedy}"


@pytest.mark.parametrize("name", [n for n in MODULES["quoteway"] if inspect.isclass(getattr(quoteway, n))])
def test_every_own_method_is_told_of_or_inherited(name):
    kind, text = getattr(quoteway, name), ENTRIES["quoteway", name]
    if issubclass(kind, Enum):
        assert list(cells(text)) == [member.name for member in kind]
        assert all(meaning for _, meaning in cells(text).values()), "a member without a docstring below it"
        return
    for method, found in vars(kind).items():
        plain = found.__func__ if isinstance(found, classmethod | staticmethod) else found
        told = inspect.isfunction(plain) or isinstance(plain, property) or hasattr(plain, "func")
        if method.startswith("_") or not told or any(method in vars(base) for base in kind.__mro__[1:]):
            continue
        entry = re.search(rf"^#### `{name}\.{method}`\n\n```python\n(.*?)```\n\n(.+?)$", text, re.M | re.S)
        assert entry, method
        if inspect.isfunction(plain):
            for parameter in list(inspect.signature(plain).parameters)[1:]:
                assert re.search(rf"\b{parameter}\b", entry[1]), f"{method}: {parameter}"


def test_every_link_of_the_index_leads_to_the_entry():
    row = r"^\| \[`(\w+)`\]\(python/([\w-]+)\.md#([\w-]+)\) \| (.*) \|$"
    links = re.findall(row, (REFERENCE / "python.md").read_text(), re.MULTILINE)
    assert len(links) == len(set(links)) == sum(page.count("\n### ") for page in PAGES.values())
    for name, page, anchor, summary in links:
        assert re.fullmatch(rf"{name.lower()}(-\d)?", anchor)
        assert f"### `{name}`\n" in PAGES[page]
        assert summary, name


@pytest.mark.parametrize("folder", ["docs/examples", "docs/tutorial", "framework/quoteway/server/templates"])
def test_what_examples_and_templates_import_is_in_the_reference(folder):
    pattern = re.compile(r"^from quoteway(?:\.\w+)* import ([\w, ]+)$", re.MULTILINE)
    files = [path for path in (ROOT / folder).rglob("*.py*") if path.suffix in (".py", ".tmpl")]
    found = [pattern.findall(path.read_text()) for path in files]
    imported = {name for lines in found for line in lines for name in line.split(", ")}
    modules = re.findall(r"^## `quoteway\.[\w.]+\.(\w+)`$", "\n".join(PAGES.values()), re.MULTILINE)
    assert imported
    of_deployments = {"CallsConfig", "digest_of"}  # what an operator sets and reads
    assert imported - {name for _, name in ENTRIES} - set(modules) - of_deployments == set()


def test_every_meaning_is_of_a_member_that_is_shown():
    sys.path.insert(0, str(ROOT / "docs"))
    from python_reference.members import MEANINGS

    shown = {
        (name, member): row[-1] for (_, name), text in ENTRIES.items() for member, row in cells(text).items()
    }
    for key, meaning in MEANINGS.items():
        kind, _, member = key.rpartition(".")
        told = [text for (of, name), text in shown.items() if name == member and kind in ("", of)]
        assert meaning in told, f"{key} is the meaning of no member: remove it from members.py"
