"""The file in which an operator names upstreams that are not to be asked, while the server runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

EVERY_S: Final = 1.0
"""How often the file is looked at."""
_MAX_BYTES: Final = 65_536


class Cordons:
    """Reads lines of ``<network> <label>: <reason>`` from a file, again whenever it changes.

    The file may be absent: then nothing is cordoned by it. One that cannot be read keeps its last content.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._looked_at = float("-inf")
        self._stamp: tuple[int, int] | None = None
        self._version = 0
        self._told: dict[str, int] = {}
        self._reasons: Mapping[tuple[str, str], str] = {}

    def changed(self, network: str) -> bool:
        """Returns whether the content may have changed since the last call for this network."""
        if self._path is None:
            return False
        now = self._clock()
        if now - self._looked_at >= EVERY_S:
            self._looked_at = now
            self._look(self._path)
        changed = self._told.get(network, 0) != self._version
        self._told[network] = self._version
        return changed

    def reason(self, network: str, label: str) -> str:
        """Returns why an upstream is cordoned, or an empty text."""
        return self._reasons.get((network, label), "")

    def _look(self, path: Path) -> None:
        try:
            found = path.stat()
            stamp = (found.st_mtime_ns, found.st_size)
            if stamp == self._stamp:
                return
            with path.open("rb") as file:
                text = file.read(_MAX_BYTES).decode("utf-8", "replace")
        except FileNotFoundError:
            if self._stamp is None:
                return
            stamp, text = None, ""
        except OSError:
            return
        self._stamp, self._reasons = stamp, dict(_rows(text))
        self._version += 1


def _rows(text: str) -> list[tuple[tuple[str, str], str]]:
    rows = []
    for line in text.splitlines():
        network, _, rest = line.strip().partition(" ")
        label, _, reason = rest.partition(":")
        if label.strip() and not network.startswith("#"):
            shown = reason.strip()[:200]
            rows.append(((network, label.strip()), shown if shown.isprintable() and shown else "by the file"))
    return rows
