"""The registrations of webhooks, and how far each has been sent, in the store that replicas share."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, Literal, TypeAlias

import orjson

from quoteway.errors import NotFound, ProviderUnavailable, RateLimited, UpstreamError
from quoteway.plugin_store import MOST_VALUE_BYTES, Rows

Kind: TypeAlias = Literal["transfer", "transaction"]

# No plugin has a name with a colon.
_REGISTERED: Final = "core:webhooks"
_PROGRESS: Final = "core:webhook-progress"
_LEASE: Final = "core:webhook-lease"
_LEADER: Final = "leader"
MOST_PENDING: Final = 8
"""The events of a registration that wait. The oldest that is not being sent goes for one more."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What a caller has registered: events of a transfer or transaction go to ``url``, the last one when its
    block has so many ``confirmations``.

    ``nonce`` and ``key_id``, a key of the ring, give its secret. Times are Unix seconds; it sees no new state
    after ``expires_at``.
    """

    webhook_id: str
    caller: str
    kind: Kind
    tx_id: str
    hash: str
    url: str
    nonce: str
    key_id: str
    created_at: int
    expires_at: int
    confirmations: int = 64

    @property
    def progress_id(self) -> str:
        """The name of its progress: a registration that is made again after its deletion begins anew."""
        return f"{self.webhook_id}/{self.nonce}"


@dataclass(slots=True)
class Event:
    """An event that has not been taken. ``body`` is the JSON that is signed; times are Unix seconds."""

    message_id: str
    body: str
    made_at: float
    next_at: float
    attempts: int = 0


@dataclass(slots=True)
class Progress:
    """How far a registration has been sent. ``told`` is the digest of the newest state that has an event, and
    ``place`` the block that it was in: chain id, number and hash."""

    told: str = ""
    place: tuple[int, int, str] | None = None
    sequence: int = 0
    delivered: int = 0
    dropped: int = 0
    last_failure: str | None = None
    done_at: float | None = None
    pending: list[Event] = field(default_factory=list)

    def dumped(self) -> bytes:
        """Returns it as a value of the store. Events that do not fit are dropped, the second one first."""
        while True:
            value = orjson.dumps(asdict(self))
            if (len(value) <= MOST_VALUE_BYTES and len(self.pending) <= MOST_PENDING) or len(
                self.pending
            ) < 2:
                return value
            del self.pending[1]
            self.dropped += 1

    @classmethod
    def loaded(cls, value: bytes) -> Progress:
        """Reads a value of the store. Members that a later version added are left out."""
        members = orjson.loads(value)
        events = [Event(**_known(Event, each)) for each in members.pop("pending")]
        place = members.pop("place", None)
        return cls(**_known(cls, members), place=None if place is None else tuple(place), pending=events)


def _known(kind: type[Any], members: Mapping[str, Any]) -> dict[str, Any]:
    names = {each.name for each in fields(kind)}
    return {name: value for name, value in members.items() if name in names}


def prefix_of(caller: str) -> str:
    """Returns how the ids of a caller's registrations begin."""
    return f"wh_{hashlib.sha256(caller.encode()).hexdigest()[:16]}_"


def id_of(caller: str, kind: Kind, tx_id: str, hash_: str, url: str, confirmations: int | None = None) -> str:
    """Returns the id of a registration: the same one for the same request, which may come twice."""
    named = () if confirmations is None else (str(confirmations),)
    asked = "\0".join((kind, tx_id, hash_, url, *named)).encode()
    return prefix_of(caller) + hashlib.sha256(asked).hexdigest()[:24]


class Registrations:
    """The registrations of all callers.

    Every method raises ``ProviderUnavailable`` when the store cannot be used now.
    """

    def __init__(self, rows: Rows, *, total: int, per_key: int) -> None:
        self._rows = rows
        self._total, self._per_key = total, per_key

    async def add(self, new: Registration, ttl_s: float) -> Registration:
        """Keeps a registration, and returns it, or the one of this id that there is.

        Raises ``RateLimited`` when the caller has as many as it may, ``ProviderUnavailable`` when all have.
        """
        ids = await self.ids()
        if new.webhook_id in ids and (found := await self._get(new.webhook_id)) is not None:
            return found
        prefix = prefix_of(new.caller)
        if sum(each.startswith(prefix) for each in ids) >= self._per_key:
            text = f"More than {self._per_key} webhooks. Delete one first."
            raise RateLimited(text, headers={"Retry-After": "60"}, retryable=True)
        if len(ids) >= self._total:
            text = "The service has as many webhooks as it takes."
            raise ProviderUnavailable(text, headers={"Retry-After": "60"}, retryable=True)
        value = orjson.dumps(asdict(new))
        if await _asked(self._rows.set(_REGISTERED, new.webhook_id, value, ttl_s, only_new=True)):
            return new
        return await self._get(new.webhook_id) or new

    async def ids(self) -> Sequence[str]:
        """Returns the ids of all registrations."""
        return sorted(await _asked(self._rows.keys(_REGISTERED)))

    async def of(self, caller: str) -> list[Registration]:
        """Returns the registrations of a caller, the newest first."""
        prefix = prefix_of(caller)
        found = [await self._get(each) for each in await self.ids() if each.startswith(prefix)]
        return sorted((each for each in found if each), key=lambda each: (-each.created_at, each.webhook_id))

    async def get(self, caller: str, webhook_id: str) -> Registration:
        """Returns a registration of a caller. Raises ``NotFound``, also for one of another caller."""
        found = await self._get(webhook_id) if webhook_id.startswith(prefix_of(caller)) else None
        if found is None:
            raise NotFound("The webhook is unknown.")
        return found

    async def find(self, webhook_id: str) -> Registration | None:
        """Returns a registration of any caller; None without one."""
        return await self._get(webhook_id)

    async def _get(self, webhook_id: str) -> Registration | None:
        value = await _asked(self._rows.get(_REGISTERED, webhook_id))
        if value is None:
            return None
        return Registration(**_known(Registration, orjson.loads(value)))

    async def delete(self, webhook_id: str) -> None:
        """Removes a registration. The process that sends its events ends them, and forgets their progress."""
        await _asked(self._rows.delete(_REGISTERED, webhook_id))

    async def progress(self, registration: Registration) -> Progress:
        """Returns how far a registration has been sent."""
        value = await _asked(self._rows.get(_PROGRESS, registration.progress_id))
        return Progress() if value is None else Progress.loaded(value)

    async def save(self, registration: Registration, progress: Progress, ttl_s: float) -> None:
        """Keeps how far a registration has been sent."""
        value = progress.dumped()
        await _asked(self._rows.set(_PROGRESS, registration.progress_id, value, ttl_s, only_new=False))

    async def forget(self, registration: Registration) -> None:
        """Removes how far a registration had been sent."""
        await _asked(self._rows.delete(_PROGRESS, registration.progress_id))

    async def forget_others(self, ids: Collection[str]) -> None:
        """Removes the progress of all but the registrations of these ids."""
        for progress_id in await _asked(self._rows.keys(_PROGRESS)):
            if progress_id.partition("/")[0] not in ids:
                await _asked(self._rows.delete(_PROGRESS, progress_id))


class Lease:
    """The right to send, which one process of a deployment has. It ends ``lease_s`` after it was renewed."""

    def __init__(
        self, rows: Rows, holder: str, lease_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rows = rows
        self._holder = holder.encode()
        self._lease_s = lease_s
        self._clock = clock
        self._until = float("-inf")

    @property
    def is_held(self) -> bool:
        """Whether this process may send now. It stops a little before another one may begin."""
        return self._clock() < self._until

    async def renew(self) -> bool:
        """Takes or renews the lease. Returns whether this process has it; raises nothing."""
        began = self._clock()
        if self.is_held and self._until - began > self._lease_s / 2:
            return True
        try:
            is_ours = await self._rows.set(_LEASE, _LEADER, self._holder, self._lease_s, only_new=True)
            if not is_ours and await self._rows.get(_LEASE, _LEADER) == self._holder:
                await self._rows.set(_LEASE, _LEADER, self._holder, self._lease_s, only_new=False)
                is_ours = True
        except UpstreamError:
            return self.is_held
        self._until = began + 0.9 * self._lease_s if is_ours else float("-inf")
        return is_ours

    async def release(self) -> None:
        """Lets another process begin at once. Raises nothing."""
        was_held, self._until = self.is_held, float("-inf")
        try:
            if was_held and await self._rows.get(_LEASE, _LEADER) == self._holder:
                await self._rows.delete(_LEASE, _LEADER)
        except UpstreamError:
            return


async def _asked(answer: Awaitable[Any]) -> Any:
    try:
        return await answer
    except UpstreamError:
        text = "The store of webhooks cannot be used now."
        raise ProviderUnavailable(text, headers={"Retry-After": "5"}, retryable=True) from None
