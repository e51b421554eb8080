"""Docstrings as Markdown."""

from __future__ import annotations

import re
import textwrap


def markdown(text: str) -> str:
    """Returns a docstring as Markdown: single backticks, and fences around literal blocks."""
    text = re.sub(r"``(.+?)``", r"`\1`", text)
    return re.sub(r"::\n\n((?:    .*\n?|\n)+)", lambda block: f":\n\n{_fenced(block[1])}\n", text)


def _fenced(block: str) -> str:
    return f"```python\n{textwrap.dedent(block).strip()}\n```\n"


def sentences(text: str) -> list[str]:
    """Returns the sentences of a text, with one space between words; at least one, which may be empty."""
    return re.split(r"(?<=[.?])(?<!e\.g\.)(?<!i\.e\.) (?=[A-Z`\"(])", " ".join(text.split()))


def in_cell(text: str) -> str:
    """Returns a text as one cell of a table."""
    return " ".join(markdown(text).split()).replace("|", "\\|")
