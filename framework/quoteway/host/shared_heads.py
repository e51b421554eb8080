"""The heads of a chain, which one replica follows for all.

The one that holds the lease of a chain follows its nodes as it would alone, and publishes each head, again
and again while it stays the newest. The others take the heads from there. They follow their own nodes again
as soon as nothing new comes: the lease is gone, the server does not answer, or the head told is old.

A lease has a number that grows with each holder. The server compares it in the same command that publishes,
so that a process that was stopped for a while cannot publish over the one that took its place.

What another replica tells is compared with what the own nodes tell: each quote reads the head itself, and
without quotes one read is made every ``AUDIT_BLOCKS``. While they differ by more than a few blocks, the chain
is followed here. So a replica whose nodes lag or lie costs itself, and a node of its own is noticed as ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import math
import secrets
from collections.abc import AsyncIterator
from typing import Any, Final

import orjson

from quoteway.errors import UpstreamError
from quoteway.evm.answers import header_of
from quoteway.host.shared_server import SharedServer, Unreachable
from quoteway.models import Header
from quoteway.networks import Network
from quoteway.shared_store import subscriber

log = logging.getLogger("quoteway.host.shared_heads")

IDLE_S: Final = 60.0
"""How long after its last use a chain's lease is held."""
LEAD_BLOCKS: Final = 3
LEAD_S: Final = 5.0
"""How far what another replica tells may be from what the own nodes tell: blocks, and those of a time."""
AUDIT_BLOCKS: Final = 10
LEAST_AUDIT_S: Final = 15.0
"""How long heads are taken from another replica without a read of the own nodes."""
STALE_BLOCKS: Final = 5
LEAST_STALE_S: Final = 10.0
"""How long one head is taken for the newest because the holder says so again."""
DISTRUST_S: Final = 30.0
_SHORTEST_TICK_S: Final = 0.25
_LONGEST_TICK_S: Final = 2.0
_SILENCE_S: Final = 10.0
_MOST_QUEUED: Final = 64

_TAKE: Final = """
local holder = redis.call('get', KEYS[1])
if not holder and ARGV[3] == '1' then
    redis.call('incr', KEYS[2])
    redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
    holder = ARGV[1]
end
local head = redis.pcall('get', KEYS[3])
if type(head) ~= 'string' then head = '' end
return {holder or '', redis.call('get', KEYS[2]) or '0', head}
"""
_PUBLISH: Final = """
if redis.call('get', KEYS[1]) ~= ARGV[1] or redis.call('get', KEYS[2]) ~= ARGV[2] then return 0 end
redis.call('pexpire', KEYS[1], ARGV[3])
redis.call('set', KEYS[3], ARGV[4], 'px', ARGV[3])
redis.call('publish', KEYS[3], ARGV[4])
return 1
"""
_RELEASE: Final = (
    "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1], KEYS[3]) end return 1"
)


class SharedHeads:
    """The ``HeadSharing`` of one chain.

    ``holds`` is True while this process has the lease, ``follows`` while it takes the heads of another.
    """

    def __init__(self, server: SharedServer, network: Network) -> None:
        self._server = server
        self._clock = server.clock
        self._network = network
        place = f"{server.prefix}/heads/{{{network.chain_id}}}"  # a cluster keeps the three together
        self._keys = f"{place}/lease", f"{place}/epoch", f"{place}/head"
        self._name = self._keys[2].encode()
        self._id = secrets.token_hex(12)
        self._epoch = 0
        self._tip: Header | None = None
        self._own: tuple[int, float] | None = None
        self._told: tuple[str, int, float] | None = None
        self._distrusted_until = -math.inf
        self._used_at = -math.inf
        self._queue: asyncio.Queue[Header | None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._publishing = asyncio.Lock()
        self._publishes: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self.holds = False
        self.follows = False

    # --- what the process does ------------------------------------------------------------------------------

    def heads(self) -> AsyncIterator[Header] | None:
        """Returns the heads of another replica; see ``HeadSharing.heads``."""
        self._use()
        return self._followed() if self.follows and not self._is_due_for_audit else None

    def read(self, header: Header) -> None:
        """Notes what the own nodes tell; see ``HeadSharing.read``."""
        self._use()
        self._own = header.block.number, self._clock()
        if self.follows and self._told is not None and self._is_behind(self._told[1]):
            self._distrust("is behind the nodes of this process")

    def moved(self, header: Header) -> None:
        """Publishes a new head of the holder; see ``HeadSharing.moved``."""
        self._tip = header
        if self.holds:
            task = asyncio.create_task(self._publish_now(), name=self._task, context=contextvars.Context())
            self._publishes.add(task)
            task.add_done_callback(self._publishes.discard)

    async def close(self) -> None:
        """Gives back the lease and ends the work."""
        self._is_closed = True
        tasks = [*self._publishes, *(() if self._running is None else (self._running,))]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
        self._stop_following()

    @property
    def _task(self) -> str:
        return f"shared heads of {self._network.slug}"

    def _use(self) -> None:
        self._used_at = self._clock()
        if not self._is_closed and (self._running is None or self._running.done()):
            # A context of its own: it outlives the request that happens to start it.
            self._running = asyncio.create_task(self._run(), name=self._task, context=contextvars.Context())

    async def _followed(self) -> AsyncIterator[Header]:
        queue: asyncio.Queue[Header | None] = asyncio.Queue()
        if self._queue is not None:  # the one before gives way
            self._queue.put_nowait(None)
        self._queue = queue
        try:
            while (header := await queue.get()) is not None:
                self._used_at = self._clock()
                yield header
        finally:
            if self._queue is queue:
                self._queue = None

    # --- the lease ------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        listening = asyncio.create_task(self._listen(), name=self._task)
        try:
            while self._clock() - self._used_at <= IDLE_S:
                try:
                    await (self._hold() if self.holds else self._look())
                except Unreachable:
                    self.holds = False
                    self._stop_following()
                await asyncio.sleep(self._tick_s)
        finally:
            listening.cancel()
            held, self.holds = self.holds, False
            self._stop_following()
            if held:
                with contextlib.suppress(Unreachable):
                    await self._server.run(lambda client: client.eval(_RELEASE, 3, *self._keys, self._id))
            await asyncio.wait([listening], timeout=1.0)

    async def _hold(self) -> None:
        """Publishes the newest head again, which keeps the lease; gives it back when no node tells heads."""
        if self._is_informed:
            await self._publish()
        else:
            log.info("no node of %s tells heads here: another replica may follow it", self._network.slug)
            self.holds = False
            await self._server.run(lambda client: client.eval(_RELEASE, 3, *self._keys, self._id))

    async def _publish(self) -> None:
        async with self._publishing:  # one after the other, so that the newest is the last
            tip, epoch = self._tip, self._epoch
            if tip is None or not self.holds:
                return
            value = self._server.sealed(self._name, _text(tip, epoch), self._lease_ms / 1_000)
            arguments = self._id, str(epoch), str(self._lease_ms), value
            if not await self._server.run(lambda client: client.eval(_PUBLISH, 3, *self._keys, *arguments)):
                self.holds = False
                self._count("lost_leases")

    async def _publish_now(self) -> None:
        with contextlib.suppress(Unreachable):
            await self._publish()

    async def _look(self) -> None:
        """Takes the lease where nobody has it, else the newest head that its holder told."""
        arguments = self._id, str(self._lease_ms), str(int(self._is_informed))
        answer = await self._server.run(lambda client: client.eval(_TAKE, 3, *self._keys, *arguments))
        try:
            holder, epoch, head = answer[0].decode(), int(answer[1]), answer[2]
        except (LookupError, AttributeError, TypeError, ValueError):
            holder, epoch, head = "", 0, b""
        if holder == self._id:
            self._epoch, self.holds = epoch, True
            self._count("leases")
            self._stop_following()
            await self._publish()
        elif not holder or self._is_deaf:
            self._stop_following()
        else:
            self._epoch = epoch
            self._take(head)

    # --- heads of another replica ---------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Takes heads as they are published. Without it they come with the looks at the lease."""
        while True:
            if not self._server.rests:
                with contextlib.suppress(Exception):  # isolation border: the client has exceptions of its own
                    await self._subscribe()
            await asyncio.sleep(self._tick_s)

    async def _subscribe(self) -> None:
        client, is_own = subscriber(self._server.client)
        try:
            async with client.pubsub() as subscription:
                await subscription.subscribe(self._name)
                # The holder tells its head again and again: silence is that of a lost connection.
                while (message := await subscription.get_message(timeout=_SILENCE_S)) is not None:
                    if message["type"] == "message" and not self._is_deaf:
                        self._take(message["data"])
        finally:
            if is_own:
                await client.aclose()

    @property
    def _is_deaf(self) -> bool:
        return self.holds or self._clock() < self._distrusted_until

    def _take(self, value: Any) -> None:
        """Passes on a head that is signed, of the present holder, and near what the own nodes tell."""
        header = self._opened(value)
        now = self._clock()
        if header is None:
            return
        block = header.block
        if self._own is not None and block.number > self._own[0] + self._lead(now - self._own[1]):
            self._distrust("is far ahead of the nodes of this process")
            return
        if self._is_behind(block.number):
            self._distrust("is behind the nodes of this process")
            return
        told = self._told
        if told is None or told[0] != block.hash:
            told = self._told = block.hash, block.number, now
        if now - told[2] > self._stale_s:
            self._stop_following()
            return
        self.follows = True
        if self._is_due_for_audit:
            self._end_iterator()  # the chain's own poll reads the head, and comes back
        if self._queue is not None and self._queue.qsize() < _MOST_QUEUED:
            self._queue.put_nowait(header)
            self._count("heads")

    def _opened(self, value: Any) -> Header | None:
        body = self._server.opened(self._name, value)
        if body is None:
            if value:
                self._count("damaged_heads")
            return None
        try:
            told = orjson.loads(body)
            header = header_of(told)
            is_of_holder = told["epoch"] >= self._epoch
        except (ValueError, TypeError, KeyError, AttributeError, UpstreamError):
            self._count("damaged_heads")
            return None
        return header if is_of_holder else None

    def _distrust(self, why: str) -> None:
        if self._clock() >= self._distrusted_until:
            text = "what another replica tells of %s %s: its head is followed here"
            log.warning(text, self._network.slug, why)
            self._count("distrusted")
        self._distrusted_until = self._clock() + DISTRUST_S
        self._stop_following()

    def _stop_following(self) -> None:
        if self.follows:
            self._count("fallbacks")
        self.follows = False
        self._end_iterator()

    def _end_iterator(self) -> None:
        if self._queue is not None:
            self._queue.put_nowait(None)
            self._queue = None

    def _count(self, event: str) -> None:
        self._server.head_events[self._network.slug, event] += 1

    # --- times ----------------------------------------------------------------------------------------------

    @property
    def _tick_s(self) -> float:
        return min(max(self._network.block_time_s / 2, _SHORTEST_TICK_S), _LONGEST_TICK_S)

    @property
    def _lease_ms(self) -> int:
        return round(1_000 * max(3 * self._tick_s, 2.0))

    @property
    def _is_informed(self) -> bool:
        """Whether a node of this process told a head of late."""
        limit_s = max(3 * self._network.head_poll_s, 2 * self._network.block_time_s, 5.0)
        return self._own is not None and self._tip is not None and self._clock() - self._own[1] <= limit_s

    @property
    def _is_due_for_audit(self) -> bool:
        limit_s = max(AUDIT_BLOCKS * self._network.block_time_s, LEAST_AUDIT_S)
        return self._own is None or self._clock() - self._own[1] > limit_s

    def _is_behind(self, told: int) -> bool:
        return self._own is not None and self._own[0] > told + self._lead(0.0)

    @property
    def _stale_s(self) -> float:
        return max(STALE_BLOCKS * self._network.block_time_s, LEAST_STALE_S)

    def _lead(self, age_s: float) -> int:
        """How many blocks another replica may be ahead of what the own nodes told ``age_s`` ago."""
        return LEAD_BLOCKS + math.ceil((LEAD_S + 2 * max(age_s, 0.0)) / self._network.block_time_s)


def _text(header: Header, epoch: int) -> bytes:
    """Returns a header in JSON, with the names that nodes use."""
    block = header.block
    return orjson.dumps(
        {
            "number": hex(block.number),
            "hash": block.hash,
            "timestamp": hex(block.timestamp),
            "baseFeePerGas": None if block.base_fee_wei is None else hex(block.base_fee_wei),
            "parentHash": header.parent,
            "logsBloom": None if header.logs_bloom is None else f"0x{header.logs_bloom:0512x}",
            "epoch": epoch,
        }
    )
