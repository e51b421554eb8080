"""Token buckets: one per key, in this process or in a shared Valkey or Redis.

A full bucket holds ``Bound.amount`` tokens, and an empty one is full again in ``Bound.window_s``: tokens come
back evenly. It is kept as the moment at which it will be full again (GCRA, ITU-T I.371, Annex A): one number,
and none while it is full.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import secrets
import time
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from quoteway.errors import ConfigError
from quoteway.secrets import Secret
from quoteway.shared_store import store_client

_WINDOWS_S: Final = {"second": 1, "minute": 60, "hour": 3_600}
_ROUNDING: Final = 1e-3
"""The part of a token that rounding may take."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit: ``amount`` requests in ``window_s`` seconds, and as many at once.

    With ``replicas``, the share of one of so many that cannot count together: that part of the requests. A
    call that counts as more than the share passes all the same when there is a token, up to ``amount``. What
    it takes has to come back before the next one, so that in the long run no more than the share is granted.
    At once, each replica may grant one such call too much.
    """

    amount: int
    window_s: int
    replicas: int = 1

    @classmethod
    def of(cls, rate: str) -> Bound:
        """Returns the limit of a checked setting such as "60/minute"."""
        amount, _, unit = rate.partition("/")
        return cls(int(amount), _WINDOWS_S[unit])

    def times(self, factor: int) -> Bound:
        """Returns ``factor`` times the limit."""
        return Bound(self.amount * factor, self.window_s)

    def share(self, replicas: int) -> Bound:
        """Returns the limit of one of so many replicas that cannot count together."""
        return Bound(self.amount, self.window_s, replicas)

    @property
    def most(self) -> int:
        """Returns how many requests are told to be allowed: at least one."""
        return max(self.amount // self.replicas, 1)

    @property
    def token_s(self) -> float:
        """Returns the seconds in which one token comes back."""
        return self.window_s * self.replicas / self.amount

    def beyond(self, tokens: float, wanted: int, taken: int) -> int:
        """Returns what a call is granted that can never be within the share, with ``tokens`` before it."""
        share = self.amount / self.replicas
        fits = share < wanted + taken <= self.amount
        return wanted if fits and tokens >= min(share, 1.0) else 0

    def wait_s(self, full_in_s: float, wanted: int) -> float:
        """Returns how long it takes until a call that counts as ``wanted`` passes."""
        share = self.amount / self.replicas
        needed = wanted if wanted <= share else min(share, 1.0)
        return max(full_in_s - self.window_s + needed * self.token_s, 0.0)


class Spent(NamedTuple):
    """What a bucket gave, the whole tokens that it then has, and how long it takes to be full again.

    A named tuple, since one is made for each request: a frozen dataclass takes twice the time.
    """

    granted: int
    left: int
    full_in_s: float


class Buckets:
    """Buckets of this process. Nothing awaits inside, so no lock is needed. Full ones are forgotten in one
    sweep a minute.

    Times are by ``time.monotonic``: a clock set back would keep every bucket empty for as long.
    """

    SWEEP_S = 60.0

    def __init__(self) -> None:
        self.full_at: dict[str, float] = {}
        self._next_sweep = 0.0

    def spend(
        self, key: str, bound: Bound, wanted: int, *, least: int | None = None, taken: int = 0
    ) -> Spent:
        """Takes ``wanted`` tokens; all or none of them, but with ``least`` as many as there are, which helps
        the first of several calls when it is that many. ``taken`` is what the same call took before.
        """
        now = time.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + self.SWEEP_S
            self.full_at = {kept: moment for kept, moment in self.full_at.items() if moment > now}
        token_s, window_s = bound.token_s, bound.window_s
        full_at = self.full_at.get(key, now)
        full_in_s = full_at - now if full_at > now else 0.0
        tokens = (window_s - full_in_s) / token_s + _ROUNDING
        left = max(int(tokens), 0)
        granted = wanted if wanted <= left else (0 if least is None else left)
        if granted < wanted and bound.replicas > 1:
            granted = max(granted, bound.beyond(tokens + taken, wanted if least is None else least, taken))
        if granted:
            full_in_s += granted * token_s
            self.full_at[key] = now + full_in_s
        return Spent(granted, max(left - granted, 0), full_in_s)


class SharedBuckets:
    """The same in Valkey or Redis, by its clock, so that those of the replicas need not agree.

    A bucket whose limit was changed keeps the moment at which it is full, at most the new window away.

    ``replicas`` is the number of processes that counted here within ``SEEN_S``, this one too, when the server
    last answered.
    """

    SEEN_S = 60
    PRESENT_EVERY_S = 10.0
    replicas = 1

    _SCRIPT = """
    local time = redis.call('time')
    local now = time[1] * 1000000 + time[2]
    local window, amount, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
    local full_at = math.min(tonumber(redis.call('get', KEYS[1]) or '0'), now + window)
    local full_in = math.max(full_at - now, 0)
    local left = math.max(math.floor((window - full_in) * amount / window + tonumber(ARGV[5])), 0)
    local granted = 0
    if wanted <= left then granted = wanted elseif ARGV[4] == '1' then granted = left end
    if granted > 0 then
        full_in = full_in + granted * window / amount
        redis.call('set', KEYS[1], string.format('%.0f', now + full_in), 'px', math.ceil(full_in / 1000))
    end
    return {granted, left - granted, math.ceil(full_in)}
    """

    _PRESENT = """
    local now = tonumber(redis.call('time')[1])
    redis.call('zadd', KEYS[1], now, ARGV[1])
    redis.call('zremrangebyscore', KEYS[1], '-inf', now - tonumber(ARGV[2]))
    redis.call('expire', KEYS[1], ARGV[2])
    return redis.call('zcard', KEYS[1])
    """

    def __init__(self, url: str, prefix: str = "quoteway") -> None:
        self._client = store_client(url, "limits.store")
        self._id = secrets.token_hex(12)
        self._present_key = f"{prefix}/counting"
        self._present_at = float("-inf")
        self._presenting: asyncio.Task[None] | None = None
        # It is sent once, and then named by its digest: one command for each request.
        self._script: Any = self._client.register_script(self._SCRIPT)

    async def spend(self, key: str, bound: Bound, wanted: int, *, partly: bool = False) -> Spent:
        """As that of ``Buckets``, in one round trip; with ``partly`` as many tokens as there are. Raises what
        the client raises.
        """
        if time.monotonic() - self._present_at >= self.PRESENT_EVERY_S:
            self._present_at = time.monotonic()
            # Beside the request, which does not wait for it.
            self._presenting = asyncio.create_task(self._present(), context=contextvars.Context())
        arguments = bound.window_s * 1_000_000, bound.amount, wanted, int(partly), _ROUNDING
        granted, left, full_in_us = await self._script([key], arguments)
        return Spent(granted, left, full_in_us / 1_000_000)

    async def look(self) -> None:
        """Finds out whether the server answers."""
        await self._client.get(self._present_key + "/look")

    async def _present(self) -> None:
        """Tells the others that this process counts here, and learns how many do."""
        with contextlib.suppress(Exception):  # the requests tell what is wrong with the server
            given = self._id, str(self.SEEN_S)
            found = await self._client.eval(self._PRESENT, 1, self._present_key, *given)
            self.replicas = max(int(found), 1)

    async def close(self) -> None:
        """Closes the connections."""
        if self._presenting is not None:
            self._presenting.cancel()
            await asyncio.wait([self._presenting], timeout=1.0)
        await self._client.aclose()


def open_store(store: Secret | str, prefix: str = "quoteway") -> Buckets | SharedBuckets:
    """The buckets' store, not connected yet; names of a shared one begin with ``prefix``.

    Raises ``ConfigError`` when its client is not installed.
    """
    url = store.reveal() if isinstance(store, Secret) else store
    if url.startswith("memory"):
        return Buckets()
    try:
        return SharedBuckets(url, prefix)
    except ImportError:
        raise ConfigError(
            "limits.store names a Valkey or Redis server, and its client is not installed: "
            "pip install 'quoteway[valkey]'"
        ) from None
