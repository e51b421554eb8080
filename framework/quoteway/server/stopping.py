"""Ends the process in time after a signal, whatever its plugins do.

A plugin can ignore its cancellation, block the event loop or keep a thread busy. Python cannot end any of
these, so after a deadline a thread of its own names what is left and ends the process with ``os._exit``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Iterable
from types import FrameType, TracebackType

log = logging.getLogger("quoteway.server.stopping")

GRACE_S = 4.0
"""How much longer than its timeouts a stop may take: less than a supervisor waits before it kills."""
LEFT_BEHIND_S = 1.0
"""How long tasks and threads of plugins get when all else has ended."""


class Stopping:
    """The stop of one process. ``requested`` is set by the first of the signals, or by ``request``.

    ``at_once`` is set too when nobody should be waited for: after SIGINT, a second signal, or a request.
    The process ends within ``timeout_s`` and ``GRACE_S`` seconds of the request. Used as a context manager
    around all that the service does, the closing of the event loop included; inside it, ``served`` says that
    only plugins can still be at work.
    """

    def __init__(self, timeout_s: float) -> None:
        self.requested, self.at_once = asyncio.Event(), asyncio.Event()
        self._most_s = timeout_s + GRACE_S
        self._loop: asyncio.AbstractEventLoop | None = None
        # Not an event: setting it takes a lock, on which a signal that comes meanwhile would wait for ever.
        self._begun: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._has_begun = False
        self._served, self._ended = threading.Event(), threading.Event()

    def __enter__(self) -> Stopping:
        threading.Thread(target=self._watch, name="quoteway:stopping", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._served.set()
        others = set(threading.enumerate()) - {threading.main_thread()}
        if all(thread.daemon for thread in others):  # the interpreter joins the others before it ends
            self._ended.set()

    def listen(self, signals: Iterable[signal.Signals]) -> None:
        """Stops at these signals. Called in the event loop of the main thread.

        Not ``loop.add_signal_handler``: its handlers do not run while a plugin blocks the loop.
        """
        self._loop = asyncio.get_running_loop()
        for name in signals:
            signal.signal(name, self._on_signal)

    def request(self) -> None:
        """Begins to stop, at once. May be called in any thread and more than once."""
        self._set(self.at_once)
        self._set(self.requested)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT or self._has_begun:
            self.request()
        else:
            self._set(self.requested)

    def _set(self, event: asyncio.Event) -> None:
        self._has_begun = True
        self._begun.put(None)
        assert self._loop is not None
        with contextlib.suppress(RuntimeError):  # the loop is closed: it stops already
            self._loop.call_soon_threadsafe(event.set)

    def served(self) -> None:
        """Tells that the service has ended, and only what plugins left behind is still running."""
        self._served.set()

    def _watch(self) -> None:
        self._begun.get()
        if not self._served.wait(self._most_s):
            log.error("ending the process: it did not stop within %g s: %s", self._most_s, self._left())
            os._exit(1)
        if not self._ended.wait(LEFT_BEHIND_S):
            log.error("ending the process without waiting for what plugins left behind: %s", self._left())
            os._exit(0)

    def _left(self) -> str:
        """Names the tasks and threads that are still running, and where the main thread is."""
        named = [f"thread {t.name}" for t in threading.enumerate() if not t.daemon and t is not _main()]
        with contextlib.suppress(RuntimeError):
            named += [f"task {task.get_name()}" for task in asyncio.all_tasks(self._loop)]
        place = _place(sys._current_frames().get(_main().ident or 0))
        return ", ".join([*sorted(named), f"main thread in {place}"])


def _main() -> threading.Thread:
    return threading.main_thread()


def _place(frame: FrameType | None) -> str:
    """Returns the function that the main thread runs, the innermost one that is not Python's own."""
    stack = traceback.extract_stack(frame) if frame is not None else []
    own = os.path.dirname(os.__file__) + os.sep
    outside = [
        each for each in stack if not each.filename.startswith(own) or "site-packages" in each.filename
    ]
    found = outside or stack
    return f"{found[-1].name} ({found[-1].filename}:{found[-1].lineno})" if found else "nothing"
