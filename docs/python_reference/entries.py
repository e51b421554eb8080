"""One entry of the reference: a class with its members and methods, a function, or a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from python_reference.members import MEANINGS
from python_reference.text import in_cell, markdown, sentences

WIDTH = 100
LONG = 60
SHOWN_DECORATORS = ("abstractmethod", "classmethod", "staticmethod", "property", "cached_property")


def _text(found: Any) -> str:
    return found.docstring.value if found.docstring else ""


def _decorators(found: Any) -> list[str]:
    return [str(each.value).partition("(")[0].rpartition(".")[2] for each in getattr(found, "decorators", ())]


@dataclass(frozen=True)
class Entry:
    """A name, the module that authors import it from (empty: nobody imports it), and what griffe found."""

    name: str
    home: str
    found: Any

    @staticmethod
    def is_fixture(found: Any) -> bool:
        """Whether it is a fixture of pytest."""
        return bool(found.is_function) and "fixture" in _decorators(found)

    @property
    def summary(self) -> str:
        """The first sentence of its docstring, as Markdown."""
        return markdown(sentences(_text(self.found))[0])

    @property
    def is_enum(self) -> bool:
        return any(str(base).endswith("Enum") for base in self.found.bases)

    @cached_property
    def data(self) -> list[Any]:
        """The data members to show. What ``__init__`` alone sets is shown when its meaning is told."""
        if not self.found.is_class:
            return []
        own = [each for each in self.found.members.values() if not each.name.startswith("_")]
        data = [each for each in own if each.is_attribute and "property" not in each.labels]
        return [each for each in data if _declared(each) or _text(each) or self._own_meaning(each.name)]

    def meaning(self, member: Any) -> str:
        """What a data member means: its docstring, what the class's says of it, or ``MEANINGS``."""
        told = _text(member) or self._own_meaning(member.name)
        return in_cell(told or MEANINGS.get(member.name, ""))

    def _own_meaning(self, name: str) -> str:
        told = [each for each in sentences(_text(self.found)) if f"``{name}``" in each]
        return " ".join(told) or MEANINGS.get(f"{self.name}.{name}", "")

    @cached_property
    def methods(self) -> list[Any]:
        """Methods and properties to show. An override that says nothing is told of by its base."""
        if not self.found.is_class:
            return []
        own = [
            each
            for each in self.found.members.values()
            if not each.name.startswith(("_", "test_", "quoteway_"))
        ]
        callable_ = [each for each in own if each.is_function or "property" in each.labels]
        return [
            each
            for each in callable_
            if not self.is_fixture(each) and (_text(each) or not self._inherited(each.name))
        ]

    def _inherited(self, name: str) -> bool:
        return any(name in base.members for base in self.found.mro())

    # --- Markdown -------------------------------------------------------------------------------------------

    def render(self) -> str:
        """Returns the entry as Markdown."""
        parts = [
            f"### `{self.name}`\n",
            f"```python\n{self._head()}\n```\n",
            markdown(_text(self.found)) + "\n",
        ]
        if self.found.is_class:
            parts += [self._table(), self._tests(), *(self._method(each) for each in self.methods)]
        return "\n".join(part for part in parts if part)

    def _head(self) -> str:
        imported = (
            f"from {self.home} import {self.name}\n\n"
            if self.home and not self.is_fixture(self.found)
            else ""
        )
        if self.found.is_class:
            bases = ", ".join(str(base).partition("[")[0] for base in self.found.bases)
            lines = [f"class {self.name}({bases})" if bases else f"class {self.name}"]
            if self.found.decorators:
                lines[:0] = [f"@{each.value}" for each in self.found.decorators]
            elif (made := self.found.members.get("__init__")) is not None:
                lines.append("\n" + _wrapped(_source(made.signature(return_type=False, name=self.name))))
            return imported + "\n".join(lines)
        if self.found.is_function:
            return imported + _signature(self.found)
        annotation = f": {_source(self.found.annotation)}" if self.found.annotation else ""
        value = _source(self.found.value)
        return imported + f"{self.name}{annotation}" + (f" = {value}" if len(value) < WIDTH else "")

    def _table(self) -> str:
        if not self.data:
            return ""
        if self.is_enum:
            rows = [f"| `{each.name}` | {_code(each.value)} | {in_cell(_text(each))} |" for each in self.data]
            return "\n".join(["| name | value | meaning |", "|---|---|---|", *rows, ""])
        rows = [
            f"| `{each.name}` | {_code(each.annotation)} | {_default(each)} | {self.meaning(each)} |"
            for each in self.data
        ]
        return "\n".join(["| member | type | default | meaning |", "|---|---|---|---|", *rows, ""])

    def _tests(self) -> str:
        names = [name for name in self.found.all_members if name.startswith("test_")]
        return "\n".join(["Tests:\n", *(f"- `{name}`" for name in names), ""]) if names else ""

    def _method(self, found: Any) -> str:
        heading = f"#### `{self.name}.{found.name}`\n"
        return f"{heading}\n```python\n{_signature(found)}\n```\n\n{markdown(_text(found))}\n"


def _declared(member: Any) -> bool:
    """Whether the body of the class declares it; otherwise a method alone sets it."""
    only_set = "instance-attribute" in member.labels and "class-attribute" not in member.labels
    return not only_set or (member.value is None and member.annotation is not None)


def _source(expression: Any) -> str:
    """Returns an expression as Python, with double quotes."""
    text = " ".join(str(expression).split())
    return text if '"' in text else text.replace("'", '"')


def _code(expression: Any) -> str:
    """Returns a type or value as a cell."""
    text = _source(expression) if expression is not None else ""
    return f"`{text}`".replace("|", "\\|") if text else ""


def _default(member: Any) -> str:
    """Returns the default of a member as a cell. One that takes more than a few words is left out."""
    made = re.fullmatch(r"field\(default_factory=(\w+).*\)", str(member.value))
    if made:
        return _code(f"{made[1]}()")
    return (
        "" if str(member.value).startswith("field(") or len(str(member.value)) > LONG else _code(member.value)
    )


def _signature(found: Any) -> str:
    lines = [f"@{name}" for name in _decorators(found) if name in SHOWN_DECORATORS]
    if found.is_attribute:
        lines = [*lines, "@property"] if "property" in found.labels and not lines else lines
        return "\n".join([*lines, f"{found.name} -> {_source(found.annotation)}"])
    prefix = "async " if "async" in found.labels else ""
    return "\n".join([*lines, _wrapped(prefix + _source(found.signature()))])


def _wrapped(signature: str) -> str:
    """Returns a signature in lines that end after commas."""
    lines = [""]
    for piece in re.split(r"(?<=,) ", signature):
        if lines[-1] and len(lines[-1]) + len(piece) >= WIDTH:
            lines.append(f"    {piece}")
        else:
            lines[-1] = f"{lines[-1]} {piece}".strip() if len(lines) == 1 else f"{lines[-1]} {piece}"
    return "\n".join(lines)
