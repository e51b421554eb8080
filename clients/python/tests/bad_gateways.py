"""A server on a real socket that answers each request with bytes of the test's choice."""

import contextlib
import json
import socket
import struct
import threading


def answer(body, status=200, headers=(), *, length=None):
    """An HTTP answer. ``length`` is what it claims, the real one otherwise."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(content) if length is None else length}"]
    lines += ["Content-Type: application/json", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def refusal(status, code, reason=None, *, headers=(), **details):
    """An error as the gateway writes it."""
    whole = details | ({} if reason is None else {"reason": reason})
    error = {"code": code, "message": "No.", "requestId": "r-1", "details": whole}
    return answer({"error": error}, status, headers)


RESET = object()
HANG = object()


class BadServer:
    """Gives the answers in turn, the last one for ever. ``requests`` has the bytes that came."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._ended = threading.Event()
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    @contextlib.contextmanager
    def running(self):
        thread = threading.Thread(target=self._serve)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            with contextlib.suppress(OSError):
                socket.create_connection(self._listening.getsockname(), timeout=1).close()
            thread.join()
            self._listening.close()

    def _serve(self):
        while not self._ended.is_set():
            connection, _ = self._listening.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(5)
                self._exchange(connection)

    def _exchange(self, connection):
        received = b""
        while b"\r\n\r\n" not in received:
            chunk = connection.recv(65_536)
            if not chunk:
                return
            received += chunk
        self.requests.append(received)
        reply = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if reply is RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif reply is HANG:
            connection.recv(1)  # until the client closes
        elif callable(reply):
            reply(connection, self._ended)
        else:
            connection.sendall(reply)
