"""A pytest plugin that loads one module with one of its checks removed, to see which test notices.

``QUOTEWAY_MUTANT`` is ``module:index``, such as ``quoteway.guard.calls:3``. See ``bench.checks``.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar

T = TypeVar("T", bound=ast.AST)

VARIABLE = "QUOTEWAY_MUTANT"


@dataclass(frozen=True, slots=True)
class Check:
    """A check in a module's source: ``index`` in its order, ``line``, its condition, and what it finds."""

    index: int
    line: int
    condition: str
    finding: str


WHOLE = ("require", "check_recipient", "flaw")
"""Functions that are one check each."""


class _Remover(ast.NodeTransformer):
    """Counts the checks of a module, and removes the one with the number ``index``.

    A check is ``expect(condition, finding)``, an ``if`` whose only statement raises, or a function of
    ``WHOLE``. The parts of a condition that are joined by ``and`` (or by ``or`` in an ``if``) are checks of
    their own.
    """

    def __init__(self, index: int | None = None) -> None:
        self._index = index
        self.found: list[Check] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name not in WHOLE:
            self.generic_visit(node)
            return node
        if len(self.found) == self._index:
            node.body = [_placed(ast.Return(ast.Constant(None)), node)]
        self.found.append(Check(len(self.found), node.lineno, f"{node.name}()", ""))
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "expect"):
            return node
        condition, finding = call.args
        left = self._without(condition, ast.And, ast.unparse(finding), empty=True)
        return _placed(ast.Expr(ast.Call(call.func, [left, finding], [])), node)

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if node.orelse or len(node.body) != 1 or not isinstance(raised := node.body[0], ast.Raise):
            return node
        told = "" if raised.exc is None else ast.unparse(raised.exc)
        left = self._without(node.test, ast.Or, told, empty=False)
        return _placed(ast.If(left, node.body, []), node)

    def _without(
        self, condition: ast.expr, joined: type[ast.boolop], finding: str, *, empty: bool
    ) -> ast.expr:
        """The condition with the wanted part replaced by what decides nothing."""
        parts = (
            condition.values
            if isinstance(condition, ast.BoolOp) and isinstance(condition.op, joined)
            else [condition]
        )
        kept = list(parts)
        for place, part in enumerate(parts):
            if len(self.found) == self._index:
                kept[place] = ast.Constant(empty)
            self.found.append(Check(len(self.found), part.lineno, ast.unparse(part), finding))
        return kept[0] if len(kept) == 1 else ast.BoolOp(joined(), kept)


def _placed(new: T, old: ast.AST) -> T:
    return ast.fix_missing_locations(ast.copy_location(new, old))


def checks_of(source: str) -> list[Check]:
    """Returns the checks of a module, in the order of its source."""
    remover = _Remover()
    remover.visit(ast.parse(source))
    return remover.found


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module's source without one check."""

    def __init__(self, name: str, path: str, index: int) -> None:
        super().__init__(name, path)
        self._index = index

    def get_code(self, fullname: str) -> CodeType | None:
        tree = ast.parse(Path(self.path).read_text())
        mutant = _Remover(self._index).visit(tree)
        return compile(mutant, self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, module: str, index: int) -> None:
        self._module, self._index = module, index

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._module or path is None:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path)
        if found is None or found.origin is None:
            return None
        return importlib.util.spec_from_loader(fullname, _Loader(fullname, found.origin, self._index))


def _wanted() -> Iterator[tuple[str, int]]:
    if VARIABLE in os.environ:
        module, _, index = os.environ[VARIABLE].partition(":")
        if module in sys.modules:
            raise RuntimeError(f"{module} is imported already: load this plugin first, with -p bench.mutant")
        yield module, int(index)


for _module, _index in _wanted():
    sys.meta_path.insert(0, _Finder(_module, _index))
