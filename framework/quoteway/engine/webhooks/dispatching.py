"""Watches what is registered and sends the events: one process of a deployment does it for all of them.

Every worker of every replica runs a dispatcher, and the one that has the lease sends. An event is written to
the store before it is sent and removed from it after it was taken, so that a process that is killed costs no
event: the next one sends what waits, with the same id, and makes an event of a state that has changed since.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import hashlib
import logging
import random
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, TypeAlias

import orjson

from quoteway.config.webhooks import WebhooksConfig
from quoteway.engine.webhooks.receivers import Answer, Receivers
from quoteway.engine.webhooks.registrations import Event, Lease, Progress, Registration, Registrations
from quoteway.engine.webhooks.signatures import headers
from quoteway.errors import GatewayError, NotFound, ProviderUnavailable

log = logging.getLogger("quoteway.engine.webhooks")

LOOK_S: Final = 1.0
"""How often the sending process looks for new and deleted registrations."""
LONGEST_PAUSE_S: Final = 3_600.0
MOST_BODY_BYTES: Final = 8_192
AT_ONCE_PER_CALLER: Final = 4
"""How many requests of one caller are under way, so that one whose receivers are slow stops no other."""
_RESTART_S: Final = 5.0
_GONE: Final = 410
_UNCOUNTED: Final = ("confirmations", "blockHash")
"""Members that change without news. That a block is another one is told by ``PLACE``."""
PLACE: Final = "_place"
FINAL: Final = "_final"
"""What a follower is told of a state beside its members: the block that it is in, and whether it is the last
one; None where that cannot be known."""


class Follower(Protocol):
    """What is told the states of one transfer or transaction. Its methods return at once."""

    def told(self, data: bytes) -> None:
        """A new state, as JSON."""

    def ended(self) -> None:
        """The last state was told."""


Block: TypeAlias = tuple[int, int, str]
"""Chain id, number and hash."""
Follow: TypeAlias = Callable[[Registration, Follower, "Block | None"], AbstractContextManager[None]]
"""Tells a follower each state after the one in a block, which was told before, and without it the present
state too, inside. Raises ``GatewayError``."""


class Measures(Protocol):
    """What is counted of webhooks."""

    def followed(self, count: int) -> None:
        """This process follows so many registrations."""

    def attempted(self, outcome: str) -> None:
        """An attempt has ended: ``taken``, ``failed``, or ``dropped`` after the last one."""


class Dispatcher:
    """Sends the events of all registrations while it has the lease.

    ``key_of`` gives the key of a registration, and raises ``KeyError`` when there is none any more;
    ``is_known`` says whether a caller still has an API key, ``is_ready`` whether chains can be read.
    """

    def __init__(
        self,
        config: WebhooksConfig,
        registrations: Registrations,
        lease: Lease,
        receivers: Receivers,
        *,
        follow: Follow,
        key_of: Callable[[Registration], bytes],
        is_known: Callable[[str], bool],
        is_ready: Callable[[], bool],
        metrics: Measures,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.config = config
        self.registrations = registrations
        self.lease = lease
        self.receivers = receivers
        self.follow = follow
        self.key_of = key_of
        self.is_known = is_known
        self.metrics = metrics
        self.clock = clock
        self._is_ready = is_ready
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._callers: dict[str, asyncio.Semaphore] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to look for the lease."""
        self._task = asyncio.create_task(self._run(), name="webhooks")

    async def stop(self) -> None:
        """Ends all requests, and lets another process begin."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._end(*self._watches)
        await self.lease.release()
        await self.receivers.close()

    def turn_of(self, caller: str) -> asyncio.Semaphore:
        """Returns what bounds the requests of one caller."""
        return self._callers.setdefault(caller, asyncio.Semaphore(AT_ONCE_PER_CALLER))

    async def _run(self) -> None:
        while True:
            try:
                if self._is_ready() and await self.lease.renew():
                    await self._look()
                elif self._watches:
                    await self._end(*self._watches)
            except GatewayError as error:
                log.warning("webhooks: %s", error.message)
            except Exception:  # isolation border: a bug must not end the webhooks for good
                log.exception("webhooks failed")
            self.metrics.followed(len(self._watches))
            await asyncio.sleep(LOOK_S)

    async def _look(self) -> None:
        """Begins to watch new registrations, and ends the watches of deleted ones."""
        ids = set(await self.registrations.ids())
        ended = [each for each, task in self._watches.items() if each not in ids or task.done()]
        if ended or not self._watches:
            await self._end(*ended)
            await self.registrations.forget_others(ids)
        for webhook_id in sorted(ids - self._watches.keys()):
            found = await self.registrations.find(webhook_id)
            if found is None:
                continue
            if not self.is_known(found.caller):
                log.info("webhook %s: its API key is gone, and so is it", webhook_id)
                await self.registrations.delete(webhook_id)
                continue
            watch = _Watch(self, found)
            self._watches[webhook_id] = asyncio.create_task(watch.run(), name=f"webhook {webhook_id}")

    async def _end(self, *ids: str) -> None:
        tasks = [self._watches.pop(each) for each in ids]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


class _Watch:
    """One registration. Its events are sent one after the other."""

    def __init__(self, dispatcher: Dispatcher, registration: Registration) -> None:
        self._all = dispatcher
        self._registration = registration
        self._states: list[bytes] = []
        self._is_over = False
        self._wake = asyncio.Event()

    def told(self, data: bytes) -> None:
        """See ``Follower``."""
        self._states.append(data)
        self._wake.set()

    def ended(self) -> None:
        """See ``Follower``."""
        self._is_over = True
        self._wake.set()

    async def run(self) -> None:
        """Sends all events. Returns when the registration is gone."""
        while True:
            try:
                await self._watch()
                return
            except GatewayError as error:
                log.warning("webhook %s waits: %s", self._registration.webhook_id, error.message)
            except Exception:  # isolation border, as in ``Dispatcher``
                log.exception("webhook %s failed", self._registration.webhook_id)
            self._states, self._is_over = [], False
            await asyncio.sleep(_RESTART_S)

    async def _watch(self) -> None:
        progress = await self._all.registrations.progress(self._registration)
        with contextlib.ExitStack() as stack:
            if progress.done_at is None:
                try:
                    stack.enter_context(self._all.follow(self._registration, self, progress.place))
                except NotFound:  # the transaction id has expired
                    self._is_over = True
                await self._send_all(progress)
        if progress.done_at is not None:
            await asyncio.sleep(max(progress.done_at + self._all.config.kept_s - self._all.clock(), 0))
            await self._delete()
        if not await self._is_there():
            await self._all.registrations.forget(self._registration)

    async def _send_all(self, progress: Progress) -> None:
        """Sends events until the last one was taken or dropped, or the registration is gone."""
        while await self._is_there():
            self._wake.clear()
            states, self._states = self._states, []
            if sum([self._add(progress, each) for each in states]):
                await self._save(progress)
            if not progress.pending and self._is_over:
                progress.done_at = self._all.clock()
                await self._save(progress)
                return
            left_s = progress.pending[0].next_at - self._all.clock() if progress.pending else None
            if left_s is None or left_s > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left_s):
                        await self._wake.wait()
            else:
                await self._attempt(progress, progress.pending[0])

    def _add(self, progress: Progress, state: bytes) -> bool:
        """Makes an event of a state that has news. Returns whether there is anything to keep."""
        data: dict[str, Any] = orjson.loads(state)
        place, final = data.pop(PLACE, None), data.pop(FINAL, None)
        news = {name: value for name, value in data.items() if name not in _UNCOUNTED}
        digest = hashlib.sha256(orjson.dumps([news, final] if final else news)).hexdigest()
        before, progress.place = progress.place, None if place is None else tuple(place)
        is_gone = before is not None and progress.place != before
        if digest == progress.told and not is_gone:
            return progress.place != before
        now, registration = self._all.clock(), self._registration
        progress.told = digest
        progress.sequence += 1
        made = f"{registration.webhook_id}/{registration.nonce}/{progress.sequence}"
        body = _body(registration, data, now, {"reorganized": is_gone, "final": final})
        message_id = "msg_" + hashlib.sha256(made.encode()).hexdigest()[:32]
        progress.pending.append(Event(message_id, body, now, now))
        return True

    async def _attempt(self, progress: Progress, event: Event) -> None:
        every, registration = self._all, self._registration
        async with every.turn_of(registration.caller):
            if not every.lease.is_held:
                raise ProviderUnavailable("Another process sends now.")
            if not every.is_known(registration.caller):
                log.info("webhook %s: its API key is gone, and so is it", registration.webhook_id)
                await self._delete()
                return
            try:
                key = every.key_of(registration)
            except KeyError:
                text = "webhook %s: the key of its secret is no longer in quotes.keys, and it ends"
                log.warning(text, registration.webhook_id)
                await self._delete()
                return
            body, now = event.body.encode(), every.clock()
            answer = await every.receivers.post(
                registration.url, body, headers(key, event.message_id, int(now), body)
            )
        if answer.status == _GONE:
            log.info("webhook %s: its receiver answers 410, and it ends", registration.webhook_id)
            every.metrics.attempted("dropped")
            await self._delete()
            return
        self._note(progress, event, answer)
        await self._save(progress)

    def _note(self, progress: Progress, event: Event, answer: Answer) -> None:
        """Notes the outcome of an attempt, and when the next one is."""
        now, config = self._all.clock(), self._all.config
        event.attempts += 1
        progress.last_failure = answer.failure
        if answer.is_taken:
            progress.pending.remove(event)
            progress.delivered += 1
            self._all.metrics.attempted("taken")
            return
        pause_s = min(config.first_retry_s * 2.0 ** min(event.attempts - 1, 30), LONGEST_PAUSE_S)
        pause_s = max(pause_s, min(answer.retry_after_s, LONGEST_PAUSE_S))
        event.next_at = now + pause_s * random.uniform(0.75, 1.25)  # noqa: S311 - spreads them in time
        is_given_up = event.next_at - event.made_at > config.give_up_s
        self._all.metrics.attempted("dropped" if is_given_up else "failed")
        names = self._registration.webhook_id, event.message_id, event.attempts, answer.failure
        if is_given_up:
            progress.pending.remove(event)
            progress.dropped += 1
            log.warning("webhook %s: event %s was not taken %d times (%s), and is dropped", *names)
        else:
            log.info("webhook %s: event %s was not taken, attempt %d (%s)", *names)

    async def _is_there(self) -> bool:
        """Returns whether the registration is still the one that is watched."""
        return await self._all.registrations.find(self._registration.webhook_id) == self._registration

    async def _save(self, progress: Progress) -> None:
        await self._all.registrations.save(self._registration, progress, self._all.config.most_age_s)

    async def _delete(self) -> None:
        if await self._is_there():
            await self._all.registrations.delete(self._registration.webhook_id)


def _body(
    registration: Registration, data: Mapping[str, Any], now: float, flags: Mapping[str, bool | None]
) -> str:
    """Returns the JSON of an event."""
    at = datetime.datetime.fromtimestamp(int(now), datetime.UTC).isoformat().replace("+00:00", "Z")
    event = {
        "type": f"{registration.kind}.{data.get('status')}",
        "timestamp": at,
        "webhookId": registration.webhook_id,
        **flags,
        "data": data,
    }
    body = orjson.dumps(event)
    if len(body) > MOST_BODY_BYTES:
        # Only what a transaction did can be so long: the receiver asks for it.
        body = orjson.dumps(event | {"data": {**data, "realized": None}, "shortened": True})
    return body.decode()
