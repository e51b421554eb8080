"""Files in the folder of a run, by which the supervisor and its workers tell each other what happened."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

import orjson

RUN_FOLDER: Final = "QUOTEWAY_RUN_FOLDER"
"""The environment variable with the folder that the workers of one run share."""
RUN_CONFIG: Final = "QUOTEWAY_RUN_CONFIG"
"""The environment variable of a worker that has the path of the configuration's copy; empty for no file."""
RUN_POLICY: Final = "QUOTEWAY_RUN_POLICY"
"""The environment variable of a worker that has the path of the policy's copy; empty for no policy."""
_RELOAD: Final = "reload.json"
_FAILURE: Final = "failure-{pid}"


@dataclass(frozen=True, slots=True)
class Reload:
    """How the newest reload ended, at a time in Unix seconds.

    ``refused``: nothing changed. ``incomplete``: a new worker did not start, and one that had been replaced
    before could not be taken back.
    """

    at: int
    outcome: Literal["reloaded", "refused", "incomplete"]
    why: str | None = None


def write_reload(folder: str, reload: Reload) -> None:
    """Tells the workers how a reload ended."""
    _write(Path(folder, _RELOAD), orjson.dumps(asdict(reload)))


def read_reload(environ: Mapping[str, str] = os.environ) -> Reload | None:
    """Returns how the newest reload ended; None before the first, and in a process without a supervisor."""
    try:
        return Reload(**orjson.loads(Path(environ[RUN_FOLDER], _RELOAD).read_bytes()))
    except (KeyError, OSError, ValueError, TypeError):
        return None


def note_failure(error: Exception, environ: Mapping[str, str] = os.environ) -> None:
    """Tells the supervisor, if there is one, why this worker does not start: the first that is noted.

    Raises nothing.
    """
    if "QUOTEWAY_WORKER" in environ and RUN_FOLDER in environ:
        place = Path(environ[RUN_FOLDER], _FAILURE.format(pid=os.getpid()))
        with contextlib.suppress(OSError):
            if not place.exists():
                _write(place, str(error).encode())


def failure_of(folder: str, pid: int) -> str | None:
    """Returns why a worker did not start, as it has told; None when it has told nothing."""
    place = Path(folder, _FAILURE.format(pid=pid))
    try:
        return place.read_text()
    except OSError:
        return None
    finally:
        place.unlink(missing_ok=True)  # a later process may have the same id


def keep(folder: str, content: bytes) -> str:
    """Keeps a copy of a file for the workers of this run, and returns its path."""
    path = Path(folder, f"{hashlib.sha256(content).hexdigest()}.toml")
    _write(path, content)
    return str(path)


def kept(variable: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Returns the path of the copy that a worker follows: the value of ``RUN_CONFIG`` or ``RUN_POLICY``.

    None without a supervisor, and where there was no such file.
    """
    path = environ.get(variable)
    return Path(path) if path and "QUOTEWAY_WORKER" in environ else None


def _write(path: Path, content: bytes) -> None:
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with open(new, "wb", opener=_private) as file:
        file.write(content)
    new.replace(path)


def _private(path: str, flags: int) -> int:
    """Opens a file for this user alone: a configuration may contain the keys of nodes."""
    return os.open(path, flags, 0o600)
