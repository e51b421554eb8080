"""Records all that a provider shows: its log, standard output and standard error."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Recorded:
    """Texts that were written. ``text`` is all of them, as pytest's ``caplog`` calls it."""

    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.parts)


class _Lines(logging.Handler):
    def __init__(self, parts: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._parts = parts
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._parts.append(self.format(record))
        except Exception:  # a plugin's argument that cannot be formatted
            self.handleError(record)


@contextlib.contextmanager
def recording() -> Iterator[Recorded]:
    """Records the log of every level and all that is written, also to the descriptors 1 and 2 directly."""
    found = Recorded()
    root, own, lines = logging.getLogger(), logging.getLogger("quoteway"), _Lines(found.parts)
    level = own.level
    root.addHandler(lines)
    own.setLevel(logging.DEBUG)
    written = io.StringIO()
    with tempfile.TemporaryFile() as sink, contextlib.ExitStack() as stack:
        sys.stdout.flush()
        sys.stderr.flush()
        for number in (1, 2):
            stack.enter_context(_descriptor(number, sink.fileno()))
        stack.enter_context(contextlib.redirect_stdout(written))
        stack.enter_context(contextlib.redirect_stderr(written))
        try:
            yield found
        finally:
            own.setLevel(level)
            root.removeHandler(lines)
            sink.seek(0)
            found.parts += [written.getvalue(), sink.read().decode(errors="replace")]


@contextlib.contextmanager
def _descriptor(number: int, target: int) -> Iterator[None]:
    kept = os.dup(number)
    os.dup2(target, number)
    try:
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)
