"""Writes the reference of the Python interface: signatures, members and docstrings, by what authors do.

griffe reads them from the source, without importing it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import griffe

from python_reference.entries import Entry
from python_reference.pages import PAGES, Page
from python_reference.text import in_cell, markdown

ROOT = Path(__file__).resolve().parents[2]
SHOWN_WHOLE = "evm.", "models.chain", "testing."
"""Of these modules all public names are shown, of others those that ``quoteway`` exports."""


def load() -> griffe.Module:
    """Returns the package as griffe reads it."""
    found = griffe.GriffeLoader(search_paths=[ROOT / "framework"]).load("quoteway")
    assert isinstance(found, griffe.Module)
    return found


def entries_of(page: Page, package: griffe.Module) -> Iterator[tuple[griffe.Module, list[Entry]]]:
    """Yields the modules of a page with the entries of their names, in the order of the source."""
    exported = {_target(member).path for member in package.members.values() if member.is_alias}
    for path in page.modules:
        module = package[path]
        assert isinstance(module, griffe.Module)
        if path.startswith(SHOWN_WHOLE):
            home = "quoteway.models" if path == "models.chain" else f"quoteway.{path}"
            names = [(name, home) for name in _public(module)]
        else:
            names = [(n, "quoteway") for n, each in module.members.items() if each.path in exported]
        given = [each.removeprefix(f"{path}.") for each in page.given if each.rpartition(".")[0] == path]
        ordered = [*names, *((name, "") for name in given)]
        yield module, [Entry(name, home, _target(module[name])) for name, home in ordered]


def pages() -> Iterator[tuple[str, str]]:
    """Yields the file of each page, from ``docs/reference``, and its text."""
    package = load()
    index = [
        "# Python\n",
        "What authors of plugins import, and what their plugins are given, with types and docstrings. "
        "[Write a provider](../tutorial/write-a-provider.md) is the way in, and "
        "[every hook has an example](hooks.md). What is not here belongs to the core.\n",
    ]
    for page in PAGES:
        index.append(f"## [{page.title}](python/{page.file}.md)\n\n{page.about}\n\n| name | |\n|---|---|")
        sections = list(entries_of(page, package))
        body = [f"# {page.title}\n", f"{page.about} [All names](../python.md)\n"]
        text = "\n".join([*body, *(_section(*each) for each in sections)])
        entries = [each for _, some in sections for each in some]
        for entry, anchor in zip(entries, _anchors(text), strict=True):
            index.append(f"| [`{entry.name}`](python/{page.file}.md#{anchor}) | {in_cell(entry.summary)} |")
        index.append("")
        yield f"python/{page.file}.md", re.sub(r"\n{3,}", "\n\n", text)
    yield "python.md", "\n".join(index)


def _section(module: griffe.Module, entries: list[Entry]) -> str:
    """Returns a module's part of a page. Its title is what authors import from, else its first sentence."""
    text = module.docstring.value if module.docstring else ""
    title = f"`{module.path}`"
    if not module.path.startswith(("quoteway.evm", "quoteway.testing")):
        title, _, text = text.partition(".")
    parts = [f"## {markdown(title)}\n", markdown(text.strip()), *(f"\n{each.render()}" for each in entries)]
    return "\n".join(part for part in parts if part)


def _anchors(text: str) -> Iterator[str]:
    """Yields the anchors of the third-level headings of a page, as GitHub makes them."""
    seen: Counter[str] = Counter()
    for level, heading in re.findall(r"^(#+) (.+)$", text, re.MULTILINE):
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        if level == "###":
            yield f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor
        seen[anchor] += 1


def _public(module: griffe.Module) -> list[str]:
    """Returns ``__all__``, or the public names that the module defines; where there are fixtures, these."""
    if module.exports is not None:
        return [str(each) for each in module.exports]
    own = [each for each in module.members.values() if not each.is_alias and not each.name.startswith("_")]
    fixtures = [each.name for each in own if Entry.is_fixture(each)]
    shown = [each.name for each in own if each.is_class or each.is_function or each.has_docstring]
    return fixtures or shown


def _target(found: griffe.Object | griffe.Alias) -> griffe.Object:
    return found.final_target if isinstance(found, griffe.Alias) else found
