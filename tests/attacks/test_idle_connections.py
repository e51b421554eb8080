"""Attack: more connections than the process may open files, on which nothing arrives, or a part of a request.

The next client is served at once, and nobody who waits for an answer is cut off.
"""

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time

import pytest

FILES, CONNECTIONS = 256, 400
CONFIG = """
plugins.load = []
quotes.keys = [{id = "a", secret = {env = "KEY"}}]
[server]
port = 0
keepalive_timeout_s = 3600
body_timeout_s = 600
request_timeout_s = 600
"""
PARTS = {
    "nothing": b"",
    "a part of the headers": b"GET /v2/providers HTTP/1.1\r\nHost: x\r\nX-Slow: ",
}
ASK = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /v2/swaps/quote HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"


@pytest.fixture
def port(tmp_path):
    """The port of a ``quoteway serve`` that may open few files, and keeps idle connections for an hour."""
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "quoteway", "serve"],
            cwd=tmp_path,
            env={**os.environ, "KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"},
            stderr=sink,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),
        )
    try:
        deadline = time.monotonic() + 120
        while not (found := re.search(r"Quoteway is serving on http://127\.0\.0\.1:(\d+)", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield int(found[1])
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.wait()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=30)


@pytest.mark.slow
def test_connections_on_which_nothing_arrives(port):
    with contextlib.ExitStack() as held:
        at_work = held.enter_context(connect(port))
        at_work.sendall(POST + b"Expect: 100-continue\r\n\r\n")
        assert at_work.recv(100).startswith(b"HTTP/1.1 100 ")
        for part in PARTS.values():
            for _ in range(CONNECTIONS):
                connection = held.enter_context(connect(port))
                with contextlib.suppress(OSError):  # it may have been closed already
                    connection.sendall(part)
            for _ in range(20):
                with connect(port) as honest:
                    honest.sendall(ASK + b"\r\n")
                    assert honest.recv(1_000).startswith(b"HTTP/1.1 200 "), part
        at_work.sendall(b"{}")
        assert at_work.recv(1_000).startswith(b"HTTP/1.1 422 "), "who was being served still is"
