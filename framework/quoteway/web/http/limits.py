"""Rate limits: one token bucket per caller and group, in this process or in a shared Valkey or Redis."""

from __future__ import annotations

import asyncio
import ipaddress
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from aiohttp import web
from multidict import MultiMapping

from quoteway.config.limits import LimitsConfig, TierConfig
from quoteway.errors import RateLimited
from quoteway.shared_store import STORE_TIMEOUT_S
from quoteway.store_rest import StoreRest
from quoteway.web.http.buckets import Bound, Buckets, SharedBuckets, Spent, open_store

_COUNTED = dict.fromkeys(("quotes", "catalog", "rpc"), "requests")
_COUNTED["wrong_keys"] = "requests without a valid API key"
"""The groups, with what the error message counts."""

STORE_QUICK_S = 0.5
"""How quickly a store that failed has to answer to be used again."""
LOCAL_FACTOR = 10
"""Times the limits that programs of the same machine have in the embedded default."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """The limits of some callers, by group, and the ``RateLimit-Policy`` header of each."""

    bounds: Mapping[str, Bound]
    policies: Mapping[str, str]

    @classmethod
    def of(cls, bounds: Mapping[str, Bound]) -> _Limits:
        return cls(bounds, {group: _policy(group, bound) for group, bound in bounds.items()})

    def times(self, factor: int) -> _Limits:
        return self.of({group: bound.times(factor) for group, bound in self.bounds.items()})

    def changed(self, tier: TierConfig) -> _Limits:
        own = {group: getattr(tier, group, None) for group in self.bounds}
        return self.of({**self.bounds, **{group: Bound.of(rate) for group, rate in own.items() if rate}})


class Limiter:
    """Counts requests per caller and group in token buckets. While a shared store fails, this process counts
    by itself: it grants its share of each limit, by the number of processes that counted there before.

    With ``local``, callers at loopback addresses have ``LOCAL_FACTOR`` times the limits. ``tiers`` names the
    tiers of callers, whose limits count instead. Headers are those of
    draft-ietf-httpapi-ratelimit-headers-11. ``decisions`` counts requests by group and decision (``granted``
    or ``refused``). ``rest`` tells whether a shared store is left alone, and its failures.
    """

    def __init__(
        self,
        config: LimitsConfig,
        *,
        local: bool = False,
        tiers: Mapping[str, str] = MappingProxyType({}),
        storage: Buckets | SharedBuckets | None = None,
    ) -> None:
        self._usual = _Limits.of({group: Bound.of(getattr(config, group)) for group in _COUNTED})
        self._nearby = self._usual.times(LOCAL_FACTOR)
        of_tiers = {name: self._usual.changed(tier) for name, tier in config.tiers.items()}
        # The tier of operators need not have limits of its own.
        self._of_callers = {caller: of_tiers[tier] for caller, tier in tiers.items() if tier in of_tiers}
        self._prefix = config.prefix
        self._serves_local = local
        self._storage = storage or open_store(config.store, config.prefix)
        self._own = Buckets()
        self.rest: StoreRest | None = None
        if isinstance(self._storage, SharedBuckets):
            self.rest = StoreRest(
                self._storage.look,
                what="limits.store",
                meanwhile="each process counts its share of the limits",
                answer_s=STORE_QUICK_S,
            )
        self.decisions: Counter[tuple[str, str]] = Counter()

    def policy_of(self, group: str, caller: str) -> str:
        """Returns the ``RateLimit-Policy`` header."""
        return self._limits_of(caller).policies[group]

    def take_here(self, group: str, caller: str, requests: int = 1, taken: int = 0) -> str | None:
        """Counts as ``take`` does where that needs no waiting; None where a store has to be asked."""
        if not isinstance(self._storage, Buckets):
            return None
        bound = self._bound_of(group, caller)
        spent = self._storage.spend(self._key(group, caller), bound, requests)
        self._note(group, requests, spent.granted)
        if not spent.granted:
            raise self._error(group, caller, spent, requests, taken, bound)
        return _state(group, spent)

    async def take(self, group: str, caller: str, requests: int = 1, taken: int = 0) -> str:
        """Counts requests, all or none; returns the ``RateLimit`` header. Raises ``RateLimited`` over the
        limit.

        ``taken`` is what the same HTTP request was counted as before: sent again, it needs that too.
        """
        _, state, error = await self._spend(group, caller, requests, taken=taken)
        if error is not None:
            raise error
        return state

    async def take_granted(
        self, group: str, caller: str, requests: int, taken: int = 0, least: int = 1
    ) -> tuple[int, str, RateLimited | None]:
        """Counts as many requests as are within the limit. Returns how many, the ``RateLimit`` header, and
        the error of the others. ``taken`` is as in ``take``. Fewer than ``least`` help the caller nothing.
        """
        return await self._spend(group, caller, requests, taken=taken, least=least)

    async def close(self) -> None:
        """Closes the connections to a shared store."""
        if self.rest is not None:
            await self.rest.close()
        if isinstance(self._storage, SharedBuckets):
            await self._storage.close()

    async def _spend(
        self, group: str, caller: str, requests: int, *, taken: int = 0, least: int | None = None
    ) -> tuple[int, str, RateLimited | None]:
        partly = least is not None
        bound, key = self._bound_of(group, caller), self._key(group, caller)
        spent = None
        if isinstance(self._storage, Buckets):
            spent = self._storage.spend(key, bound, requests, least=least)
        elif self.rest is not None and not self.rest.rests:
            try:
                async with asyncio.timeout(STORE_TIMEOUT_S):
                    spent = await self._storage.spend(key, bound, requests, partly=partly)
            except Exception as error:  # the store's client has exceptions of its own
                self.rest.failed(error)
            else:
                self.rest.worked()
        if spent is None:
            bound = bound.share(self._replicas)
            spent = self._own.spend(key, bound, requests, least=least, taken=taken)
        self._note(group, requests, spent.granted)
        over = None
        if spent.granted < requests:
            over = self._error(group, caller, spent, requests, 0 if partly else taken, bound)
        return spent.granted, _state(group, spent), over

    @property
    def _replicas(self) -> int:
        return 1 if isinstance(self._storage, Buckets) else self._storage.replicas

    def _note(self, group: str, wanted: int, granted: int) -> None:
        if granted:
            self.decisions[group, "granted"] += granted
        if granted < wanted:
            self.decisions[group, "refused"] += wanted - granted

    def _is_local(self, caller: str) -> bool:
        return self._serves_local and (caller.startswith("127.") or caller == _IPV6_LOOPBACK)

    def _bound_of(self, group: str, caller: str) -> Bound:
        return self._limits_of(caller).bounds[group]

    def _limits_of(self, caller: str) -> _Limits:
        found = self._of_callers.get(caller)
        return found or (self._nearby if self._is_local(caller) else self._usual)

    def _key(self, group: str, caller: str) -> str:
        return f"{self._prefix}/bucket/{group}/{caller}"

    def _error(
        self, group: str, caller: str, spent: Spent, wanted: int, taken: int, bound: Bound
    ) -> RateLimited:
        """The error of what was not granted. It passes once so many tokens are back, if a bucket has them."""
        missing = min(wanted - spent.granted + taken, bound.amount)
        fits = wanted + taken <= bound.amount
        wait_s = max(1, math.ceil(bound.wait_s(spent.full_in_s, missing)))
        advice = f"Try again in {wait_s} s." if fits else "Ask for less at once."
        return RateLimited(
            f"More than {bound.most} {_COUNTED[group]} within {bound.window_s} s. {advice}",
            headers={
                "Retry-After": str(wait_s),
                "RateLimit-Policy": self.policy_of(group, caller),
                "RateLimit": _state(group, spent),
            },
            retryable=fits,
        )


def _policy(group: str, bound: Bound) -> str:
    return f'"{group}";q={bound.amount};w={bound.window_s}'


def _state(group: str, spent: Spent) -> str:
    """The ``RateLimit`` header: the tokens left, and in how many seconds there are all again."""
    return f'"{group}";r={spent.left};t={max(1, math.ceil(spent.full_in_s))}'


@dataclass(slots=True)
class Counted:
    """A request of a caller as its limit counts it. ``state`` is the ``RateLimit`` header."""

    limiter: Limiter
    group: str
    caller: str
    state: str | None = None

    @property
    def policy(self) -> str:
        """The ``RateLimit-Policy`` header."""
        return self.limiter.policy_of(self.group, self.caller)

    async def take(self, requests: int = 1, *, taken: int = 0) -> None:
        """Counts requests, all or none. Raises ``RateLimited`` over the limit. ``taken`` is as in
        ``Limiter.take``.
        """
        try:
            self.state = await self.limiter.take(self.group, self.caller, requests, taken)
        except RateLimited as error:
            self.state = error.headers["RateLimit"]
            raise

    def take_here(self, requests: int = 1, *, taken: int = 0) -> bool:
        """Counts requests as ``take`` does where that needs no waiting. Returns whether it did."""
        try:
            state = self.limiter.take_here(self.group, self.caller, requests, taken)
        except RateLimited as error:
            self.state = error.headers["RateLimit"]
            raise
        self.state = state or self.state
        return state is not None

    async def take_granted(
        self, requests: int, *, taken: int = 0, least: int = 1
    ) -> tuple[int, RateLimited | None]:
        """Counts requests. Returns how many of them are within the limit, and the error of the others.
        ``taken`` and ``least`` are as in ``Limiter``.
        """
        granted, self.state, error = await self.limiter.take_granted(
            self.group, self.caller, requests, taken, least
        )
        return granted, error


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


_IPV6_LOOPBACK = network_of("::1")
