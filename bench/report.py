"""The table of a run: measurements, goals, and whether they were met."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement. ``met`` is None without a goal (a baseline)."""

    what: str
    measured: str
    goal: str
    met: bool | None


class Report:
    """Collects rows and prints them at the end."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.console = Console()

    @property
    def missed(self) -> bool:
        return any(row.met is False for row in self.rows)

    def say(self, text: str) -> None:
        """Prints a line of progress."""
        self.console.print(text, style="dim", highlight=False)

    def baseline(self, what: str, measured: str) -> None:
        self.rows.append(Row(what, measured, "", None))

    def refusals(self, what: str, counted: Mapping[str, int]) -> None:
        """Adds a row without a goal: the count of each reason."""
        self.baseline(what, counts(counted.items()))

    def executed(self, what: str, wrong_when: str, wrong: Sequence[object], reverted: Sequence[str]) -> None:
        """Adds the two rows of random operations that were executed: none may be wrong, none may revert."""
        self.none(f"{what} where {wrong_when}", wrong, what.split()[-1])
        self.none(f"{what} that reverted", reverted, what.split()[-1])
        for line in [*reverted[:5], *map(str, wrong[:5])]:
            self.say(line)

    def none(self, what: str, found: Sequence[object], unit: str) -> None:
        """Adds a row whose goal is that nothing was found."""
        self.at_most(what, len(found), 0, unit, digits=0)

    def at_most(self, what: str, value: float, goal: float, unit: str, *, digits: int = 1) -> None:
        self.rows.append(Row(what, f"{value:.{digits}f} {unit}", f"<= {goal:g} {unit}", value <= goal))

    def at_least(self, what: str, value: float, goal: float, unit: str = "", *, digits: int = 2) -> None:
        self.rows.append(
            Row(what, f"{value:.{digits}f} {unit}".strip(), f">= {goal:g} {unit}".strip(), value >= goal)
        )

    def show(self) -> None:
        table = Table(title="Quoteway bench")
        for column in ("what", "measured", "goal", ""):
            table.add_column(column)
        for row in self.rows:
            mark = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}[row.met]
            table.add_row(row.what, row.measured, row.goal, mark)
        self.console.print(table)


def counts(rows: Iterable[tuple[str, int]]) -> str:
    """Returns names and counts as text, ``v2 3, v3 4``."""
    return ", ".join(f"{name} {count}" for name, count in rows) or "none"


def percentile(values: Sequence[float], share: float) -> float:
    """Returns the percentile ``share`` (0..1) by nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def milliseconds(seconds: Sequence[float]) -> tuple[float, float]:
    """Returns median and 99th percentile in milliseconds."""
    return statistics.median(seconds) * 1e3, percentile(seconds, 0.99) * 1e3
