"""A fake LI.FI on a loopback socket: documented answers and faults."""

from __future__ import annotations

import asyncio
import json
import logging
from copy import deepcopy
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

HERE = Path(__file__).parent
HANG_S = 60


def cases(folder):
    """Returns name and content of each case file in a folder."""
    files = sorted((HERE / "cases" / folder).glob("*.json"))
    return [(file.stem, json.loads(file.read_text())) for file in files]


def patched(body, patch):
    """Returns ``body`` with the values at some paths replaced; ``{"delete": true}`` removes the member."""
    body = deepcopy(body)
    for path, value in patch:
        place = body
        for step in path[:-1]:
            place = place[step]
        if value == {"delete": True}:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    return body


def logged(caplog):
    """Returns every log line of a finished test; ``caplog.text`` has those of the current phase only."""
    records = [record for phase in ("setup", "call") for record in caplog.get_records(phase)]
    return "\n".join(logging.Formatter("%(name)s %(message)s").format(record) for record in records)


class FakeLifi:
    """``answer(path, query, count)`` returns ``{status, headers, body}`` or ``{fault: kind}``.

    ``asked`` lists path, query and headers of each request.
    """

    def __init__(self, answer):
        self.answer = answer
        self.asked = []
        self._writers = set()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in self._writers:
            writer.close()

    async def _connection(self, reader, writer):
        self._writers.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                method, target, _ = lines[0].split(" ")
                assert method == "GET"
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
                parts = urlsplit(target)
                query = dict(parse_qsl(parts.query, keep_blank_values=True))
                self.asked.append((parts.path, query, headers))
                response = self.answer(parts.path, query, len(self.asked))
                if asyncio.iscoroutine(response):
                    response = await response
                await respond(writer, response)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def respond(writer, response):
    fault = response.get("fault")
    body = response.get("body", {})
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {response.get('status', 200)} x", f"Content-Length: {len(raw)}"]
    lines += [f"{name}: {value}" for name, value in response.get("headers", {}).items()]
    head = ("\r\n".join(lines) + "\r\n\r\n").encode()
    if fault == "hang":
        await asyncio.sleep(HANG_S)
    elif fault == "reset":
        writer.transport.abort()
    elif fault == "truncated":
        writer.write(head + raw[: len(raw) // 2])
        await writer.drain()
        writer.transport.close()
    elif fault == "drip":
        writer.write(head)
        for byte in raw:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.1)
    elif fault == "huge":
        writer.write(b"HTTP/1.1 200 x\r\nContent-Length: 999999999\r\n\r\n" + b" " * (2 << 20))
        await writer.drain()
        await asyncio.sleep(HANG_S)
    else:
        writer.write(head + raw)
        await writer.drain()
