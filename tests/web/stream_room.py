"""Gateways with streams, and clients of them that read server-sent events as a browser does."""

import asyncio
import contextlib
import json
import re
from dataclasses import dataclass, replace

from drifting_market import COIN, USER
from quoteway.config.model import StreamConfig
from quoteway.web.resources.stream import STREAMS

DEADLINE_S = 60
STREAM = "/v2/stream"
PAIR = {
    "network": "seven",
    "fromToken": "native",
    "toToken": COIN.address,
    "amount": "10000",
    "address": USER,
}


@dataclass
class Told:
    """One event."""

    name: str
    data: dict
    id: str | None


class EventClient:
    """A client of one stream. ``last_id`` is what a browser would send when it connects again."""

    def __init__(self, response):
        self.response = response
        self.retry_ms, self.last_id, self.comments = None, None, 0
        self._waiting = []
        self._lines = []

    @property
    def status(self):
        return self.response.status

    async def next(self, *names):
        """The next event, of these names."""
        async with asyncio.timeout(DEADLINE_S):
            while (told := await self._read()) is not None:
                if not names or told.name in names:
                    return told
        raise AssertionError("the stream has ended")

    async def rest(self):
        """All events until the stream ends."""
        found = []
        async with asyncio.timeout(DEADLINE_S):
            while (told := await self._read()) is not None:
                found.append(told)
        return found

    async def _read(self):
        event = {}
        async for raw in self.response.content:
            line = raw.decode().removesuffix("\n")
            if not line:
                if "data" in event:
                    return Told(event["event"], json.loads(event["data"]), event.get("id"))
                event = {}
                continue
            name, _, value = line.partition(": ")
            if line.startswith(":"):
                self.comments += 1
            elif name == "retry":
                self.retry_ms = int(value)
            else:
                assert name in ("id", "event", "data"), line
                assert name not in event, "each event has one line of data"
                event[name] = value
                if name == "id":
                    self.last_id = value
        return None

    def close(self):
        self.response.close()


class StreamRoom:
    """A served gateway and clients of its streams."""

    def __init__(self, api, stack):
        self.api, self._stack = api, stack

    async def follow(self, last_id=None, headers=None, **topics):
        """A client of these topics, each a list. The answer may be a refusal."""
        given = dict(headers or {}) | ({} if last_id is None else {"Last-Event-ID": last_id})
        query = {name: items if isinstance(items, str) else ",".join(items) for name, items in topics.items()}
        response = await self.api.session.get(self.api.url + STREAM, params=query, headers=given)
        self._stack.callback(response.close)
        return EventClient(response)

    async def refused(self, **topics):
        """The answer to a query that is no stream, as ``Api`` gives answers."""
        query = {name: items if isinstance(items, str) else ",".join(items) for name, items in topics.items()}
        return await self.api.get(STREAM, params=query)

    async def quoted(self, **more):
        """A quote of ``drifting_market``."""
        answer = await self.api.post("/v2/swaps/quote", {**PAIR, **more})
        assert answer.status == 200, answer.body
        return answer.body

    @property
    def streams(self):
        return self.api.app[STREAMS]

    async def metric(self, name):
        text = (await self.api.get("/metrics")).raw.decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return 0 if found is None else float(found[1])

    async def until(self, look):
        async with asyncio.timeout(DEADLINE_S):
            while not await look():
                await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def rooms(serve_app, config, place):
    """``await open_room(stream={...}, **sections)`` gives a ``StreamRoom`` over a place of markets."""
    async with contextlib.AsyncExitStack() as stack:

        async def make(stream=None, **sections):
            own = replace(config, stream=StreamConfig(**(stream or {})), **sections)
            return StreamRoom(await serve_app(place.plugins(), config=own, clock=place.clock), stack)

        yield make
