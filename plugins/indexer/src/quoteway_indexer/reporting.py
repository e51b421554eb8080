"""Shows how far an index is: progress bars on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

import click

from quoteway_indexer.ingest.notes import ChainNote
from quoteway_indexer.process import Report

LINE_S: Final = 10.0


@contextmanager
def reporting() -> Iterator[Report]:
    """Gives what shows notes on standard error meanwhile."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.fields[network]}", style="bold"),
        BarColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield _Bars(progress)


class _Bars:
    def __init__(self, progress: object) -> None:
        from rich.progress import Progress

        assert isinstance(progress, Progress)
        self._progress = progress
        self._tasks: dict[str, object] = {}

    def __call__(self, notes: Mapping[str, ChainNote]) -> None:
        for slug, note in notes.items():
            if slug not in self._tasks:
                self._tasks[slug] = self._progress.add_task("", network=slug, text="")
            task = self._tasks[slug]
            self._progress.update(
                task,  # type: ignore[arg-type]  # rich's TaskID is an int
                total=max(1, note.total_blocks),
                completed=note.done_blocks if note.total_blocks else 1,
                text=sentence(note),
            )


class _Lines:
    """One line for each chain when its state changes, and now and then while it is indexed."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[str, float]] = {}

    def __call__(self, notes: Mapping[str, ChainNote]) -> None:
        now = time.monotonic()
        for slug, note in notes.items():
            state, at = self._said.get(slug, ("", 0.0))
            if state == note.state and (state == "following" or now - at < LINE_S):
                continue
            self._said[slug] = (note.state, now)
            click.echo(f"{slug}: {sentence(note)}", err=True)


def sentence(note: ChainNote) -> str:
    """Returns how far a chain is, in words."""
    if note.problem is not None:
        return f"waiting: {note.problem}"
    if note.state == "starting":
        return "starting"
    head = "" if note.head is None else f", head {note.head:,}"
    final = "" if note.finalized is None else f", final {note.finalized:,}"
    if note.state == "following":
        return f"complete{head}{final}"
    rate = f", {note.blocks_per_second:,.0f} blocks/s, {note.logs_per_second:,.0f} logs/s"
    left = "" if note.eta_seconds is None else f", {timedelta(seconds=note.eta_seconds)} left"
    return f"{note.percent:.1f} %{rate}{left}{head}{final}"
