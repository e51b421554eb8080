"""The lock file: which plugins may run, each with the hashes of its installed files."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quoteway.errors import ConfigError
from quoteway.host.states import PluginEntry, normalized

FORMAT = 1
_OF_INSTALLERS = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"})
"""What an installer writes beside a distribution's files: when, by what and from where it was installed."""


@dataclass(frozen=True, slots=True)
class PluginLock:
    """The content of a lock file, by plugin name."""

    plugins: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> PluginLock:
        """Raises ``ConfigError`` for a file that is not a lock file, or cannot be read."""
        remedy = "write it with `quoteway plugins lock`"

        def check(row: Mapping[str, Any]) -> None:
            dict(row["files"])

        rows = rows_of_plugins(path, "plugins.lock", "a lock file", remedy, check)
        if rows is None:
            raise ConfigError(f"plugins.lock: {path} does not exist: {remedy}")
        return cls(rows)

    def difference(self, entry: PluginEntry) -> str | None:
        """Returns what of an installed plugin is not as it was locked, or None. Reads all its files."""
        locked = self.plugins.get(entry.name)
        if locked is None:
            return "it is not in the lock file"
        if normalized(str(locked["distribution"])) != normalized(entry.distribution):
            return f"its distribution is {entry.distribution}, {locked['distribution']} is locked"
        if locked["version"] != entry.version:
            return f"its version is {entry.version}, {locked['version']} is locked"
        # An older lock has files of the installer too.
        found = hashes_of(entry)
        expected = {name: each for name, each in locked["files"].items() if not _is_of_installer(Path(name))}
        for name in sorted(found.keys() | expected.keys()):
            if name not in expected:
                return f"file {name} is not in the lock file"
            if name not in found:
                return f"file {name} is missing"
            if found[name] != expected[name]:
                return f"file {name} differs"
        return None


def lock_text(entries: Iterable[PluginEntry]) -> str:
    """Returns the content of a lock file for these installed plugins."""
    rows = {}
    for entry in sorted(entries, key=lambda entry: entry.name):
        files = hashes_of(entry)
        rows[entry.name] = {
            "distribution": entry.distribution,
            "version": entry.version,
            "sha256": digest_of(files),
            "files": files,
        }
    return json.dumps({"format": FORMAT, "plugins": rows}, indent=1) + "\n"


def rows_of_plugins(
    path: Path, setting: str, kind: str, remedy: str, check: Callable[[Mapping[str, Any]], None]
) -> Mapping[str, Mapping[str, Any]] | None:
    """Returns the rows of a file about installed plugins, by plugin name; None where there is no such file.

    ``check`` raises ``ValueError``, ``KeyError``, ``TypeError`` or ``AttributeError`` for a row with wrong
    members. Raises ``ConfigError`` with the ``remedy`` for a file that cannot be read or is not of this
    ``kind``.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        rows: Mapping[str, Mapping[str, Any]] = content["plugins"]
        for row in rows.values():
            str(row["distribution"]), str(row["version"])
            check(row)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{setting}: {path} cannot be read ({error.strerror}): {remedy}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigError(f"{setting}: {path} is not {kind}: {remedy}") from None
    if content.get("format") != FORMAT:
        raise ConfigError(f"{setting}: {path} has another format than {FORMAT}: {remedy}")
    return rows


def digest_of(files: Mapping[str, str]) -> str:
    """Returns one SHA-256 for the hashes of all files of a plugin, as ``sha256sum`` lists them."""
    return hashlib.sha256("".join(f"{files[name]}  {name}\n" for name in files).encode()).hexdigest()


def hashes_of(entry: PluginEntry) -> dict[str, str]:
    """Returns the SHA-256 of each file of a plugin's distribution, in the order of its RECORD.

    Those of the folder of its package follow that it does not record: all code of an editable installation,
    and what was added afterwards, which an import may prefer. What Python writes into ``__pycache__``,
    which nothing reads where a lock is in use, and what the installer notes for itself are left out: the same
    wheel has the same hashes, wherever it lay. Imports nothing.
    """
    found = {}
    for name, path in _files(entry):
        written = path.parent.name == "__pycache__" or _is_of_installer(path)
        if not written and path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _is_of_installer(path: Path) -> bool:
    return path.name in _OF_INSTALLERS and path.parent.suffix == ".dist-info"


def _files(entry: PluginEntry) -> Iterator[tuple[str, Path]]:
    recorded = {str(each): Path(str(each.locate())) for each in entry.installed.files or ()}
    yield from recorded.items()
    top = entry.module.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return
    if spec is None or spec.origin is None:
        return
    origin = Path(spec.origin)
    if not spec.submodule_search_locations:
        yield origin.name, origin
        return
    for path in sorted(origin.parent.rglob("*")):
        yield f"{top}/{path.relative_to(origin.parent).as_posix()}", path
