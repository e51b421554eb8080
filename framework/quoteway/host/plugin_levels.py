"""The levels file: the level that each plugin reached in `quoteway check`, with the digest of its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quoteway.host.plugin_lock import FORMAT, digest_of, hashes_of, rows_of_plugins
from quoteway.host.states import PluginEntry, normalized

MOST_LEVEL = 3


@dataclass(frozen=True, slots=True)
class PluginLevels:
    """The content of a levels file, by plugin name. A file that does not exist has no plugins."""

    plugins: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> PluginLevels:
        """Raises ``ConfigError`` for a file that is not a levels file, or cannot be read."""

        def check(row: Mapping[str, Any]) -> None:
            str(row["sha256"])
            if type(row["level"]) is not int or not 0 <= row["level"] <= MOST_LEVEL:
                raise ValueError(row["level"])

        remedy = "delete it and run `quoteway check` for each plugin"
        return cls(rows_of_plugins(path, "plugins.levels", "a levels file", remedy, check) or {})

    def level_of(self, entry: PluginEntry) -> int | None:
        """Returns the level of an installed plugin whose files are those that were checked, else None.

        Reads all its files.
        """
        row = self.plugins.get(entry.name)
        if row is None or entry.installed is None:
            return None
        same = normalized(str(row["distribution"])) == normalized(entry.distribution)
        if not same or row["sha256"] != digest_of(hashes_of(entry)):
            return None
        level: int = row["level"]
        return level

    def text_with(self, entry: PluginEntry, level: int | None) -> str:
        """Returns the content of the file with the level of one more plugin; None removes its row."""
        rows = {name: row for name, row in self.plugins.items() if name != entry.name}
        if level is not None:
            rows[entry.name] = {
                "distribution": entry.distribution,
                "version": entry.version,
                "sha256": digest_of(hashes_of(entry)),
                "level": level,
            }
        return json.dumps({"format": FORMAT, "plugins": dict(sorted(rows.items()))}, indent=1) + "\n"
