"""Answers that replicas share: one of them finds an answer, the others wait for it, but not for long.

A key without a value gets a mark of who finds it, in the same command that looks for the value. All keys that
are looked for in one turn of the event loop go in one round trip.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final

from quoteway.evm.arrivals import current_request
from quoteway.host.shared_server import (
    MOST_STORED_BYTES,
    MOST_VALUE_BYTES,
    QUICK_PART,
    RequestWaits,
    SharedServer,
    Unreachable,
)

MARK_S: Final = 2.0
"""How long a mark lasts whose process ended, at least; each of the others waits for ``wait_s`` at most."""
_FIRST_PAUSE_S: Final = 0.004
_LONGEST_PAUSE_S: Final = 0.05
_MOST_WRITES: Final = 256
_MARK: Final = b"?"
_LOOK: Final = f"""
if redis.call('strlen', KEYS[1]) > {MOST_STORED_BYTES} then return '' end
local found = redis.call('get', KEYS[1])
if found then return found end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return false
"""
_RELEASE: Final = (
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
)


class SharedAnswersOf:
    """The ``SharedAnswers`` of one plugin."""

    def __init__(self, server: SharedServer, plugin: str) -> None:
        self._server = server
        self._names = f"{server.prefix}/answers/{plugin}/".encode()
        self._plugin = plugin
        self._mark = _MARK + secrets.token_bytes(12)
        self._looks: dict[bytes, asyncio.Future[Any]] = {}
        self._wait_s: dict[bytes, float] = {}
        self._writes: dict[bytes, bytes | None] = {}
        self._ttls_ms: dict[bytes, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def get(self, key: bytes, *, wait_s: float | None = None) -> bytes | None:
        """Returns a value, or None; see ``SharedAnswers.get``."""
        server, name, waits = self._server, self._names + key, self._waits(wait_s)
        if server.rests:
            return None
        pause_s, has_waited = _FIRST_PAUSE_S, False
        for_others_s = waits.others.begin(server.clock())
        ends_at = server.clock() + for_others_s
        try:
            while True:
                try:
                    found = await self._look_in_time(name, waits)
                except Unreachable:
                    return None
                if found is None or found == self._mark:
                    self._count("misses")
                    return None
                if not isinstance(found, bytes) or not found.startswith(_MARK):
                    body = server.opened(name, found)
                    self._count("damaged" if body is None else "waited_hits" if has_waited else "hits")
                    return body
                if server.clock() + pause_s > ends_at:
                    self._count("waited_in_vain")
                    return None
                has_waited = True
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        finally:
            waits.others.end(server.clock())

    async def _look_in_time(self, name: bytes, of_request: RequestWaits) -> Any:
        """Looks at the server, for as long as the request may wait for it in all. Raises ``Unreachable``."""
        clock, waits = self._server.clock, of_request.server
        left_s = waits.begin(clock())
        try:
            if left_s <= 0:
                raise Unreachable
            async with asyncio.timeout(left_s):
                return await self._look(name, of_request.others.most_s)
        except TimeoutError as error:
            if waits.times < QUICK_PART:  # a few answers took all the time: the server is slow
                self._server.rest.failed(error)
            raise Unreachable from None
        finally:
            waits.end(clock())

    def _waits(self, wait_s: float | None) -> RequestWaits:
        request = current_request()
        server = self._server
        if request is None:
            return RequestWaits(server, wait_s)
        found = server.waits.get(request)
        if found is None:
            found = server.waits[request] = RequestWaits(server)
        return found

    def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        """Keeps a value in the background; see ``SharedAnswers.put``."""
        if len(value) > MOST_VALUE_BYTES:
            self.release(key)
            return
        self._write(self._names + key, value, round(ttl_s * 1_000))

    def release(self, key: bytes) -> None:
        """Takes back the mark of a key; see ``SharedAnswers.release``."""
        self._write(self._names + key, None, 0)

    async def close(self) -> None:
        """Waits shortly for what is being written."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=0.2)

    def _count(self, result: str) -> None:
        self._server.answer_results[self._plugin, result] += 1

    # --- one round trip a turn ------------------------------------------------------------------------------

    async def _look(self, name: bytes, wait_s: float) -> Any:
        self._wait_s[name] = max(wait_s, self._wait_s.get(name, 0.0))
        look = self._looks.get(name)
        if look is None:
            if not self._looks:
                self._soon(self._look_all)
            look = self._looks[name] = asyncio.get_running_loop().create_future()
        return await asyncio.shield(look)

    async def _look_all(self) -> None:
        looks, self._looks = self._looks, {}
        # For how long a mark lasts: at least as long as others wait for who has it.
        waits_s, self._wait_s = self._wait_s, {}
        marks_ms = {name: str(round(max(MARK_S, 2 * wait_s) * 1_000)) for name, wait_s in waits_s.items()}
        try:
            found = await self._server.run(lambda client: self._ask(client, marks_ms))
        except BaseException as error:
            for look in looks.values():
                look.set_exception(Unreachable())
                look.exception()  # its callers may have been cancelled
            if not isinstance(error, Unreachable):
                raise
            return
        for look, value in zip(looks.values(), found, strict=True):
            look.set_result(value)

    async def _ask(self, client: Any, marks_ms: Mapping[bytes, str]) -> list[Any]:
        pipeline = client.pipeline(transaction=False)
        for name, mark_ms in marks_ms.items():
            pipeline.eval(_LOOK, 1, name, self._mark, mark_ms)
        found: list[Any] = await pipeline.execute(raise_on_error=False)
        for value in found:
            if isinstance(value, Exception) and "WRONGTYPE" not in str(value):
                raise value
        return found

    def _write(self, name: bytes, value: bytes | None, ttl_ms: int) -> None:
        if self._server.rests or (len(self._writes) >= _MOST_WRITES and name not in self._writes):
            return
        if not self._writes:
            self._soon(self._write_all)
        self._writes[name], self._ttls_ms[name] = value, ttl_ms

    async def _write_all(self) -> None:
        writes, self._writes = self._writes, {}
        ttls_ms, self._ttls_ms = self._ttls_ms, {}

        async def send(client: Any) -> None:
            pipeline = client.pipeline(transaction=False)
            for name, value in writes.items():
                if value is None:
                    pipeline.eval(_RELEASE, 1, name, self._mark)
                else:
                    ttl_ms = max(ttls_ms[name], 1)
                    pipeline.set(name, self._server.sealed(name, value, ttl_ms / 1_000), px=ttl_ms)
            for done in await pipeline.execute(raise_on_error=False):
                if isinstance(done, Exception) and "WRONGTYPE" not in str(done):
                    raise done

        with contextlib.suppress(Unreachable):
            await self._server.run(send)

    def _soon(self, work: Callable[[], Any]) -> None:
        """Runs ``work`` in the loop's next turn, in a task of its own: it belongs to no request."""
        name = "answers that replicas share"
        task = asyncio.create_task(work(), name=name, context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
