"""The audit log of policy decisions: lines of JSON, each with the hash of the one before.

All workers of a machine write one file: a lock of the file orders them. A line that is changed, moved, added
or taken out breaks the chain. What is cut off at the end does not: an operator keeps a hash elsewhere and
looks whether the log still has it.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

FIRST = "0" * 64
"""What the first line has in the place of the hash before."""
LOCK_S = 5.0
"""How long to wait for the lock. A thread that waited without end would be lost to the server."""
_LOCK_POLL_S = 0.002
_MAX_LINE_BYTES = 1_048_576
_STEP_BYTES = 4_096


class AuditError(Exception):
    """The log cannot be written or read, or its chain is broken. The message says why."""


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The log in one file, which is made when it does not exist. Its methods block."""

    path: Path

    def check(self) -> None:
        """Raises ``AuditError`` when nothing can be added. Makes no file, and waits for no lock."""
        if not self.path.exists():
            if not os.access(self.path.parent, os.W_OK):
                raise AuditError("its folder does not exist or cannot be written")
            return
        with self._opened() as file:
            if _is_locked(file):  # else another process adds a line now
                _last_hash(file)

    def add(self, record: Mapping[str, Any]) -> str:
        """Adds a decision, written to the disk, and returns the hash of its line. Raises ``AuditError``."""
        with self._locked() as file:
            content = {**record, "prev": _last_hash(file)}
            found = _hash_of(content)
            line = orjson.dumps({**content, "hash": found}) + b"\n"
            if len(line) > _MAX_LINE_BYTES:
                raise AuditError("the decision is too long for a line")
            if os.write(file, line) != len(line):
                raise AuditError("the disk took a part of the line only")
            os.fsync(file)
        return found

    @contextmanager
    def _locked(self) -> Iterator[int]:
        with self._opened() as file:
            ends_at = time.monotonic() + LOCK_S
            while not _is_locked(file):
                if time.monotonic() > ends_at:
                    raise AuditError(f"another process has held its lock for {LOCK_S:g} seconds")
                time.sleep(_LOCK_POLL_S)
            yield file

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Opens the file for this call alone: a lock is one of an opened file, so threads wait too."""
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                yield file
            finally:
                os.close(file)
        except OSError as error:
            raise AuditError(f"it cannot be written ({error.strerror})") from None


def verify(path: Path, known: str | None = None) -> tuple[int, str]:
    """Returns how many decisions a log has, and the hash of the last. ``known`` is a hash that it must have.

    Raises ``AuditError`` that names the first wrong line, and ``OSError``.
    """
    before, number, seen = FIRST, 0, known in (None, FIRST)
    with path.open("rb") as file:
        while line := file.readline(_MAX_LINE_BYTES + 1):
            number += 1
            try:
                record = orjson.loads(line)
                content = {name: value for name, value in record.items() if name != "hash"}
                told, prev = record["hash"], record["prev"]
                # The bytes too: JSON can say one thing in several ways.
                holds = told == _hash_of(content) and line == orjson.dumps(record) + b"\n"
            except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
                holds = False
            if not holds:
                raise AuditError(f"line {number} is not as it was written")
            if prev != before:
                raise AuditError(
                    f"line {number} does not follow the line before it: lines are missing or moved"
                )
            before, seen = told, seen or told == known
    if not seen:
        raise AuditError(f"no line has the hash {known}: lines at the end are missing, or it is another log")
    return number, before


def _is_locked(file: int) -> bool:
    """Locks a file; returns False when another has the lock."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _hash_of(content: Mapping[str, Any]) -> str:
    """Returns the SHA-256, in hex, of a line's JSON with sorted members, without spaces and its hash."""
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _last_hash(file: int) -> str:
    """Returns the hash in the last line. Raises ``AuditError`` for a line that is not whole."""
    size = os.fstat(file).st_size
    if not size:
        return FIRST
    tail, start = b"", size
    while start and len(tail) <= _MAX_LINE_BYTES and tail.count(b"\n") < 2:
        begin = max(start - _STEP_BYTES, 0)
        tail = os.pread(file, start - begin, begin) + tail
        start = begin
    last = tail.removesuffix(b"\n").rpartition(b"\n")[2]
    try:
        found = orjson.loads(last)["hash"]
        if tail.endswith(b"\n") and isinstance(found, str) and len(found) == len(FIRST):
            return found
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass
    raise AuditError(
        "its last line is not whole: check it with `quoteway policy audit`, then move the file away"
    )
