"""Answers the reads of other processes over a Unix socket, in threads of the process that has the database.

No event loop takes part: reads go on while the loop of the index process decodes logs, and while the thread
of the store commits.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import msgspec

from quoteway_indexer.changes import Changes, Mark
from quoteway_indexer.messages import (
    LENGTH_BYTES,
    MAX_ANSWER,
    MAX_QUESTION,
    Answer,
    Question,
    frame,
    question_in,
)
from quoteway_indexer.store import Query, Span, StoreError
from quoteway_indexer.stores.columns import PackedColumn

_log = logging.getLogger(__name__)

_SEND_TIMEOUT_S: Final = 10
_MOST_WAITING: Final = 128
_MOST_CALLERS: Final = 64


class Reads(Protocol):
    """What is served: the reads of a database from any thread. They raise ``StoreError``."""

    def read(self, query: Query) -> tuple[int, list[PackedColumn]]:
        """Returns the columns of a query's statement, and the revision that they are of."""

    def spans(self, chain_id: int) -> list[Span]:
        """See ``Reader.spans``."""

    def revision(self) -> int:
        """See ``Reader.revision``."""

    def changes(self, mark: Mark) -> Changes:
        """See ``ChangingReader.changes``."""

    def notes(self) -> dict[str, str]:
        """Returns the texts of ``Store.note``, by chain id as text."""


class ReadServer:
    """Serves reads at a socket that only this user may open. ``threads`` is how many are answered at once."""

    def __init__(self, reads: Reads, path: Path, *, threads: int = 4) -> None:
        self._reads = reads
        self._path = path
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="index-read")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._callers: set[socket.socket] = set()

    def start(self) -> None:
        """Begins to listen, in the place of a process that is gone. Raises ``StoreError`` when it cannot."""
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            fresh.unlink(missing_ok=True)
            self._listener.bind(str(fresh))
            # Nobody can connect before ``listen``: the socket is never open to others.
            fresh.chmod(0o600)
            self._listener.listen(_MOST_CALLERS)
            fresh.replace(self._path)
        except OSError as error:
            self._listener.close()
            raise StoreError(
                f"the socket {self._path.name!r} cannot be made ({error.strerror or error}): "
                "its folder must exist, be writable, and its path have at most 100 characters"
            ) from None
        threading.Thread(target=self._accept, name="index-accept", daemon=True).start()

    def close(self) -> None:
        """Ends all connections."""
        self._path.unlink(missing_ok=True)
        for end in (self._listener, *self._callers):
            _shut(end)
        self._listener.close()
        self._threads.shutdown(cancel_futures=True)

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            if len(self._callers) >= _MOST_CALLERS:
                caller.close()
                continue
            self._callers.add(caller)
            threading.Thread(target=self._serve, args=(caller,), name="index-caller", daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        waiting = threading.BoundedSemaphore(_MOST_WAITING)
        sending = threading.Lock()
        timeout = struct.pack("ll", _SEND_TIMEOUT_S, 0)
        try:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeout)
            with caller.makefile("rb") as stream:
                while (asked := _next_question(stream)) is not None:
                    if asked.method == "changes":
                        # From memory: it waits for no other question.
                        self._answer(asked, caller, sending)
                        continue
                    waiting.acquire()
                    self._threads.submit(self._answer, asked, caller, sending).add_done_callback(
                        lambda _: waiting.release()
                    )
        except (OSError, ValueError, msgspec.MsgspecError, RuntimeError) as error:
            _log.debug("a reader of the index was cut off: %s", type(error).__name__)
        finally:
            self._callers.discard(caller)
            _shut(caller)
            caller.close()

    def _answer(self, asked: Question, caller: socket.socket, sending: threading.Lock) -> None:
        try:
            message = frame(self._answered(asked))
            if len(message) > MAX_ANSWER:
                raise StoreError(f"an answer of {len(message)} bytes is too long: ask for fewer rows")
        except (StoreError, KeyError, ValueError) as error:
            _log.warning("a read of the index failed: %s", error)
            message = frame(Answer(asked.id, failed=True))
        try:
            with sending:
                caller.sendall(message)
        except OSError:
            _shut(caller)

    def _answered(self, asked: Question) -> Answer:
        if asked.method == "fetch":
            revision, columns = self._reads.read(asked.query())
            return Answer(asked.id, columns=columns, revision=revision)
        if asked.method == "spans":
            spans = [(s.source, s.version, s.first, s.last) for s in self._reads.spans(asked.chain_id)]
            return Answer(asked.id, spans=spans)
        if asked.method == "changes":
            found = self._reads.changes(asked.mark)
            changes = None if found.changes is None else list(found.changes)
            return Answer(asked.id, revision=found.revision, mark=found.mark, changes=changes)
        if asked.method == "notes":
            return Answer(asked.id, notes=self._reads.notes())
        return Answer(asked.id, revision=self._reads.revision())


def _next_question(stream: BinaryIO) -> Question | None:
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    length = int.from_bytes(head, "big")
    if length > MAX_QUESTION:
        raise ValueError(f"a question of {length} bytes is too long")
    return question_in(stream.read(length))


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
