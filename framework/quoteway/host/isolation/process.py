"""One process of an isolated plugin, as the server sees it: started, asked while the server loads, ended."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quoteway.host.isolation.link import Raised, frame, read_frame

OUT_OF_MEMORY = 71
"""The exit status after a ``MemoryError``: what is left of the process is not trusted."""
CPU_WINDOW_S = 30.0
"""The time over which the use of the processor is averaged."""
_KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""The environment of the process. What its settings need of the server's environment comes with them."""


@dataclass(eq=False)
class Process:
    """A started process. ``told`` takes its log records during start-up."""

    memory_mb: int
    cpu_percent: int
    told: Callable[[str, int, str], None]
    end: socket.socket = field(init=False)
    popen: subprocess.Popen[bytes] = field(init=False)
    _used: deque[tuple[float, float]] = field(default_factory=deque)
    """When its processor time was read, and what it was, in seconds."""

    def __post_init__(self) -> None:
        self.end, other = socket.socketpair()
        environ = {name: os.environ[name] for name in _KEPT if name in os.environ}
        environ["PYTHONPATH"] = os.pathsep.join(folder for folder in sys.path if folder)
        command = [sys.executable, "-P", "-m", "quoteway.host.isolation.child"]
        with other:
            self.popen = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
                [*command, str(other.fileno()), str(self.memory_mb)],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(other.fileno(),),
                start_new_session=True,  # Ctrl-C in a terminal is the server's to handle
            )

    def ask(self, verb: str, *arguments: Any, until: float) -> Any:
        """Asks the process and waits for the answer, at most until ``until`` (monotonic).

        Only before a ``Link`` takes over ``end``. Raises ``TimeoutError``, ``OSError``, ``Uncodable`` or what
        the process raised.
        """
        self.end.settimeout(max(until - time.monotonic(), 0.01))
        self.end.sendall(frame(("ask", 0, verb, arguments, 0)))
        while True:
            kind, *rest = read_frame(self.end, until)
            if kind == "log":
                self.told(*rest)
            elif kind == "ask":  # hooks are synchronous: nothing can be read for them
                self.end.settimeout(max(until - time.monotonic(), 0.01))
                self.end.sendall(frame(("raise", rest[0], "the server is starting")))
            elif kind == "answer" and rest[0] == 0:
                return rest[1]
            elif kind == "raise" and rest[0] == 0:
                raise rest[1] if isinstance(rest[1], Exception) else Raised(str(rest[1]))

    def cpu_s(self) -> float | None:
        """Returns the processor time that it has used, in seconds; None where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        user, system = fields[11:13]  # utime and stime of proc(5), counted from the state
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def overuse(self) -> str:
        """Returns why it uses too much of the processor, "" while it does not. To be called regularly."""
        now_s, cpu_s = time.monotonic(), self.cpu_s()
        if cpu_s is None:
            return ""
        self._used.append((now_s, cpu_s))
        while len(self._used) > 1 and now_s - self._used[1][0] >= CPU_WINDOW_S:
            self._used.popleft()
        (since_s, before_s), most = self._used[0], self.cpu_percent
        if now_s - since_s < CPU_WINDOW_S or 100 * (cpu_s - before_s) <= most * (now_s - since_s):
            return ""
        return f"it used more than {most} % of a processor for {now_s - since_s:.0f} s"

    def wait(self, timeout_s: float) -> None:
        """Waits until the process has ended, at most for ``timeout_s``."""
        until = time.monotonic() + timeout_s
        while not self._has_ended() and time.monotonic() < until:
            time.sleep(0.01)

    def _has_ended(self) -> bool:
        """Does not reap the process: until that is done, no other one gets its id."""
        if self.popen.returncode is not None or not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self.popen.poll() is not None
        return os.waitid(os.P_PID, self.popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def kill(self) -> str:
        """Ends the process if it still runs, and those that it started. Returns how it ended, for people."""
        with contextlib.suppress(OSError):
            self.end.close()
        killed = not self._has_ended()
        if self.popen.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.popen.pid, signal.SIGKILL)
        status = self.popen.wait()
        if killed:
            return "killed"
        if status == OUT_OF_MEMORY:
            return f"it needed more than {self.memory_mb} MB of memory"
        return f"it ended with {signal.Signals(-status).name if status < 0 else f'status {status}'}"
