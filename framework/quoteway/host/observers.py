"""Hands events to the observers of plugins, beside the requests: one that is slow loses events of its own."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from quoteway.host.states import PLUGIN_ERRORS, PluginEntry

log = logging.getLogger("quoteway.host.observers")

MOST_WAITING = 1_000
"""How many events wait for one observer. Further ones are dropped."""
LOG_EVERY_S = 60.0
"""What an observer raises is logged once in this time."""


class Observer:
    """Calls the observer of one plugin in a thread of its own, which starts with the first event.

    ``dropped`` counts the events that it lost by being slow.
    """

    def __init__(self, entry: PluginEntry, call: Callable[[Mapping[str, Any]], object]) -> None:
        self.entry = entry
        self.dropped = 0
        self._call = call
        self._waiting: queue.Queue[Mapping[str, Any] | None] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._silent_until_s = 0.0

    def tell(self, event: Mapping[str, Any]) -> None:
        """Hands over an event. Never waits; does nothing for a plugin that is not enabled."""
        if self.entry.reason is not None:
            return
        if self._thread is None:
            name = f"plugin:{self.entry.name}.observe"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(dict(event))
        except queue.Full:
            self.dropped += 1
            if self.dropped == 1:
                log.error("the observer of plugin %r is too slow: it loses events", self.entry.name)

    def close(self) -> None:
        """Ends the thread after the events that wait. Waits for nothing."""
        while self._thread is not None:
            try:
                self._waiting.put_nowait(None)
                return
            except queue.Full:
                with contextlib.suppress(queue.Empty):
                    self._waiting.get_nowait()

    def _run(self) -> None:
        while (event := self._waiting.get()) is not None:
            try:
                self._call(event)
            except PLUGIN_ERRORS as error:
                self._tell_of(error)

    def _tell_of(self, error: BaseException) -> None:
        """Logs what an observer raised, at most once in ``LOG_EVERY_S``: it is called many times a quote."""
        now_s = time.monotonic()
        if now_s >= self._silent_until_s:
            self._silent_until_s = now_s + LOG_EVERY_S
            log.error("the observer of plugin %r raised", self.entry.name, exc_info=error)
