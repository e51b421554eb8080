"""What ``quoteway doctor`` finds, and what its findings mean together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Mark = Literal["ok", "warn", "fail"]

SEVERITIES: Final[Sequence[Mark]] = ("ok", "warn", "fail")
"""From the least to the worst. The exit code of ``quoteway doctor`` is the index of the worst finding."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. ``fail``: the deployment does not work."""

    mark: Mark
    subject: str
    text: str


def worst(findings: Iterable[Finding]) -> Mark:
    """Returns the mark of the worst finding."""
    return max((finding.mark for finding in findings), key=SEVERITIES.index, default="ok")
