"""Rate limits: one window per caller and group, in this process or in a shared Valkey/Redis."""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from aiohttp import web
from limits import parse
from limits.aio.storage import Storage
from multidict import MultiMapping

from quoteway.config.model import LimitsConfig
from quoteway.errors import ConfigError, RateLimited
from quoteway.secrets import Secret

log = logging.getLogger("quoteway.web")

_COUNTED = dict.fromkeys(("quotes", "catalog", "rpc"), "requests")
_COUNTED["wrong_keys"] = "requests without a valid API key"
"""The groups, with what the error message counts."""

STORE_TIMEOUT_S = 1.0
"""How long a request waits for a shared store. Shorter, and a busy moment would stop the counting."""
STORE_PAUSE_S = 5.0
"""How long a store that failed is not asked, so that requests do not wait for it."""


class OverLimit(RateLimited):
    """More requests than the limit. ``excess`` is how many of those counted at once are above it."""

    excess: int = 0


class Counters:
    """Counters of this process. Nothing awaits inside, so no lock is needed.

    ``limits.aio.storage.MemoryStorage`` walks every key at every hit, so its cost grows with the number of
    callers; here expired keys go in one sweep a minute. Times are by ``time.monotonic``: a clock set back
    would keep every window open for as long.
    """

    SWEEP_S = 60.0

    def __init__(self) -> None:
        self.windows: dict[str, tuple[int, float]] = {}
        self._next_sweep = 0.0

    def count(self, key: str, expiry: float, now: float, requests: int = 1) -> tuple[int, float]:
        """Counts; returns the count and when its window ends."""
        if now >= self._next_sweep:
            self._next_sweep = now + self.SWEEP_S
            self.windows = {kept: window for kept, window in self.windows.items() if window[1] > now}
        count, ends = self.windows.get(key, (0, 0.0))
        if ends <= now:
            count, ends = 0, now + expiry
        self.windows[key] = count + requests, ends
        return count + requests, ends


class Limiter:
    """Counts requests per caller and group. A store that fails lets requests pass; the log says so.

    ``policies`` and what ``take`` returns are the header values of draft-ietf-httpapi-ratelimit-headers.
    """

    def __init__(self, config: LimitsConfig, *, storage: Storage | None = None) -> None:
        items = {group: parse(getattr(config, group)) for group in _COUNTED}
        self.policies = {
            group: f'"{group}";q={item.amount};w={item.get_expiry()}' for group, item in items.items()
        }
        self._bounds = {group: (item.amount, item.get_expiry()) for group, item in items.items()}
        self._storage = storage or open_store(config.store)
        self._paused_until = 0.0

    def take_here(self, group: str, caller: str, requests: int = 1) -> str | None:
        """Counts as ``take`` does where that needs no waiting; None where a store has to be asked."""
        if not isinstance(self._storage, Counters):
            return None
        now = time.monotonic()
        key, window_s = f"quoteway/{group}/{caller}", self._bounds[group][1]
        return self._verdict(group, *self._storage.count(key, window_s, now, requests), now)

    async def take(self, group: str, caller: str, requests: int = 1) -> str:
        """Counts requests; returns the ``RateLimit`` header. Raises ``RateLimited`` over the limit."""
        state = self.take_here(group, caller, requests)
        if state is not None:
            return state
        assert not isinstance(self._storage, Counters)
        allowed, window_s = self._bounds[group]
        key, now = f"quoteway/{group}/{caller}", time.monotonic()
        uncounted = f'"{group}";r={allowed};t={window_s}'
        if now < self._paused_until:
            return uncounted
        try:
            count = await self._storage.incr(key, window_s, requests)
            resets_at = await self._storage.get_expiry(key)
        except Exception as error:  # the store's client has exceptions of its own
            if now >= self._paused_until:  # only the first of the requests that waited together logs it
                self._paused_until = time.monotonic() + STORE_PAUSE_S
                text = "the rate limit store does not answer, requests pass uncounted: %s"
                log.error(text, type(error).__name__)
            return uncounted
        return self._verdict(group, count, resets_at, time.time())

    def _verdict(self, group: str, count: int, resets_at: float, now: float) -> str:
        allowed, window_s = self._bounds[group]
        reset_s = max(1, math.ceil(resets_at - now))
        if count <= allowed:
            return f'"{group}";r={allowed - count};t={reset_s}'
        error = OverLimit(
            f"More than {allowed} {_COUNTED[group]} within {window_s} s. Try again in {reset_s} s.",
            headers={
                "Retry-After": str(reset_s),
                "RateLimit-Policy": self.policies[group],
                "RateLimit": f'"{group}";r=0;t={reset_s}',
            },
            retryable=True,
        )
        error.excess = count - allowed
        raise error


@dataclass(slots=True)
class Counted:
    """A request of a caller as its limit counts it. ``state`` is the ``RateLimit`` header."""

    limiter: Limiter
    group: str
    caller: str
    state: str | None = None

    async def take(self, requests: int = 1) -> None:
        """Counts requests. Raises ``RateLimited`` over the limit."""
        try:
            self.state = await self.limiter.take(self.group, self.caller, requests)
        except RateLimited as error:
            self.state = error.headers["RateLimit"]
            raise

    def take_here(self) -> bool:
        """Counts a request as ``take`` does where that needs no waiting. Returns whether it did."""
        try:
            self.state = self.limiter.take_here(self.group, self.caller)
        except RateLimited as error:
            self.state = error.headers["RateLimit"]
            raise
        return self.state is not None

    async def take_granted(self, requests: int) -> tuple[int, RateLimited | None]:
        """Counts requests. Returns how many of them are within the limit, and the error of the others."""
        try:
            await self.take(requests)
        except OverLimit as error:
            return max(requests - error.excess, 0), error
        return requests, None


def open_store(store: Secret | str) -> Storage | Counters:
    """The counters' store, not connected yet. Raises ``ConfigError`` when its client is not installed."""
    url = store.reveal() if isinstance(store, Secret) else store
    if url.startswith("memory"):
        return Counters()
    from limits.aio.storage import RedisStorage
    from limits.errors import ConfigurationError

    scheme, rest = url.split("://", 1)
    try:
        # Redis and Valkey speak one protocol; the valkey client serves both.
        return RedisStorage(
            f"async+{scheme.replace('redis', 'valkey')}://{rest}",
            implementation="valkey",
            socket_timeout=STORE_TIMEOUT_S,
            socket_connect_timeout=STORE_TIMEOUT_S,
        )
    except ConfigurationError:
        raise ConfigError(
            "limits.store names a Valkey or Redis server, and its client is not installed: "
            "pip install 'quoteway[valkey]'"
        ) from None


class Callers:
    """Identifies callers without an API key: by address, which trusted proxies forward."""

    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        self._trusted = [ipaddress.ip_network(network) for network in trusted_proxies]

    def of(self, request: web.Request) -> str:
        """The key to count a request under. IPv6 callers count by /64, since one caller has all of it."""
        return self.at(request.remote, request.headers)

    def at(self, remote: str | None, headers: MultiMapping[str]) -> str:
        """The key to count a request under by the address of its connection and its headers."""
        remote = remote or "unknown"
        if self._trusted and self._is_trusted(remote):
            remote = self._forwarded_for(headers, remote)
        return network_of(remote)

    def connects_for_others(self, address: str) -> bool:
        """Whether connections from an address may be of many callers: a trusted proxy, or on this host."""
        try:
            return ipaddress.ip_address(address.split("%")[0]).is_loopback or self._is_trusted(address)
        except ValueError:
            return False

    def _forwarded_for(self, headers: MultiMapping[str], remote: str) -> str:
        # Read from the right: a client can forge everything left of the first untrusted address.
        chain = ",".join(headers.getall("X-Forwarded-For", [])).split(",")
        for hop in reversed(chain):
            hop = hop.strip()
            try:
                ipaddress.ip_address(hop)
            except ValueError:
                return remote
            remote = hop
            if not self._is_trusted(hop):
                return hop
        return remote

    def _is_trusted(self, text: str) -> bool:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return False
        return any(address in network for network in self._trusted if network.version == address.version)


@lru_cache(10_000)
def network_of(remote: str) -> str:
    """What an address counts as: itself, or the /64 of an IPv6 address, since one caller has all of it."""
    try:
        address = ipaddress.ip_address(remote.split("%")[0])
    except ValueError:
        return remote[:64]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
