"""Amounts that count against limits over time, in the Valkey or Redis server that all replicas share.

A counter is a hash of actions by name: what each takes, until when it counts, and a note of the caller.
Amounts are integers of 84 digits: the scripts add them in groups of 7, since numbers in Lua are floats. All
times are by the server's clock.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from quoteway.errors import ConfigError
from quoteway.shared_store import STORE_TIMEOUT_S, failures, named, store_client

log = logging.getLogger("quoteway.engine.held_amounts")

MOST_HELD: Final = 4_096
"""How many actions count in one counter at once. One more is refused."""
_DIGITS: Final = 84
_UNTIL_DIGITS: Final = 14


class StoreUnavailable(Exception):  # noqa: N818 - says why
    """The server did not answer, or it has lost what counted."""


@dataclass(frozen=True, slots=True)
class Hold:
    """An amount for one counter, which must not exceed ``most`` with what counts there already.

    It counts until ``window_s`` seconds after the end of the action.
    """

    counter: str
    amount: int
    most: int
    window_s: int


@dataclass(frozen=True, slots=True)
class Held:
    """An action that counts. ``value`` is the whole entry, as ``release`` takes it."""

    name: str
    amount: int
    note: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether all amounts are held, or none. ``used`` is what counted before, counter by counter, without the
    action itself. ``full``: a counter has as many actions as it may have."""

    is_held: bool
    full: bool
    used: tuple[int, ...]


class HeldAmounts:
    """The counters of one deployment. Every method raises ``StoreUnavailable``.

    ``longest_s`` is the longest window of the policy. A server that lost its data is noticed by a mark in it
    that changed since this process saw it first: until the longest window has passed, nothing is held then.
    """

    _HOLD = """
    local time = redis.call('time')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local id, left, note, most_held = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
    redis.call('set', KEYS[1], now, 'nx')
    local function added(sum, digits)
        local carry = 0
        for i = 12, 1, -1 do
            local part = sum[i] + tonumber(string.sub(digits, 7 * i - 6, 7 * i)) + carry
            carry = math.floor(part / 10000000)
            sum[i] = part % 10000000
        end
        return sum
    end
    local function zero() return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} end
    local function number(digits) return added(zero(), digits) end
    local function greater(one, other)
        for i = 1, 12 do if one[i] ~= other[i] then return one[i] > other[i] end end
        return false
    end
    local function text(sum)
        local parts = {}
        for i = 1, 12 do parts[i] = string.format('%07d', sum[i]) end
        return table.concat(parts)
    end
    local over, full, used, amounts, ends, notes = 0, 0, {}, {}, {}, {}
    for k = 2, #KEYS do
        local amount, most = ARGV[3 * k - 1], number(ARGV[3 * k])
        local until_ms = now + left + tonumber(ARGV[3 * k + 1])
        local held, sum, count = redis.call('hgetall', KEYS[k]), zero(), 0
        for i = 1, #held, 2 do
            local entry, its_end = held[i + 1], tonumber(string.sub(held[i + 1], 85, 98))
            if its_end <= now then
                redis.call('hdel', KEYS[k], held[i])
            elseif held[i] == id then
                until_ms = math.max(until_ms, its_end)
                local before = string.sub(entry, 1, 84)
                if greater(number(before), number(amount)) then amount = before end
                notes[k] = string.sub(entry, 99)
            else
                sum, count = added(sum, string.sub(entry, 1, 84)), count + 1
            end
        end
        used[k - 1], amounts[k], ends[k] = text(sum), amount, until_ms
        if count >= most_held then full = 1 end
        if greater(added(sum, amount), most) then over = 1 end
    end
    if over == 0 and full == 0 then
        for k = 2, #KEYS do
            local entry = amounts[k] .. string.format('%014d', ends[k]) .. (notes[k] or note)
            redis.call('hset', KEYS[k], id, entry)
            if redis.call('pttl', KEYS[k]) < ends[k] - now then
                redis.call('pexpire', KEYS[k], string.format('%.0f', ends[k] - now))
            end
        end
    end
    return {over == 0 and full == 0 and 1 or 0, full, redis.call('get', KEYS[1]),
        string.format('%.0f', now), unpack(used)}
    """
    _RELEASE = """
    if redis.call('hget', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
    return redis.call('hdel', KEYS[1], ARGV[1])
    """
    _SHORTEN = """
    local time = redis.call('time')
    local its_end = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[3])
    local entry = redis.call('hget', KEYS[1], ARGV[1])
    if entry ~= ARGV[2] or tonumber(string.sub(entry, 85, 98)) <= its_end then return 0 end
    entry = string.sub(entry, 1, 84) .. string.format('%014d', its_end) .. string.sub(entry, 99)
    redis.call('hset', KEYS[1], ARGV[1], entry)
    return 1
    """
    _ADD = """
    local time = redis.call('time')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local its_end = now + tonumber(ARGV[3])
    local entry = redis.call('hget', KEYS[1], ARGV[1])
    if its_end <= now or entry and tonumber(string.sub(entry, 85, 98)) >= its_end then return 0 end
    redis.call('hset', KEYS[1], ARGV[1], ARGV[2] .. string.format('%014d', its_end))
    if redis.call('pttl', KEYS[1]) < its_end - now then
        redis.call('pexpire', KEYS[1], string.format('%.0f', its_end - now))
    end
    return 1
    """

    def __init__(self, url: str, deployment: str, longest_s: int) -> None:
        try:
            self._client = store_client(url, "policy.store")
        except ImportError:
            raise ConfigError(
                "policy.store names a Valkey or Redis server, and its client is not installed: "
                "pip install 'quoteway[valkey]'"
            ) from None
        self._hold: Any = self._client.register_script(self._HOLD)
        self._release: Any = self._client.register_script(self._RELEASE)
        self._shorten: Any = self._client.register_script(self._SHORTEN)
        self._add: Any = self._client.register_script(self._ADD)
        # One hash slot of a cluster: a script uses several keys.
        self._prefix = f"quoteway/policy/{{{deployment}}}/"
        self._longest_s = longest_s
        self._mark: int | None = None
        self._is_lost = False

    async def hold(self, name: str, left_s: int, note: bytes, holds: Sequence[Hold]) -> Answer:
        """Holds all amounts of an action, or none. Its end is ``left_s`` seconds from now.

        An action that is held already counts once: it keeps the greater amount, the later end and its first
        note.
        """
        keys = [self._prefix + "mark", *(f"{self._prefix}counter/{hold.counter}" for hold in holds)]
        given: list[Any] = [name, left_s * 1_000, note, MOST_HELD]
        for hold in holds:
            given += [_digits(hold.amount), _digits(hold.most), hold.window_s * 1_000]
        is_held, full, mark, now, *used = await self._asked(self._hold(keys, given))
        self._check_mark(int(mark), int(now))
        return Answer(bool(is_held), bool(full), tuple(map(int, used)))

    async def held(self, counter: str) -> list[Held]:
        """Returns the actions in a counter, also those that count no more."""
        found = await self._asked(self._client.hgetall(f"{self._prefix}counter/{counter}"))
        return [
            Held(name.decode(), int(value[:_DIGITS]), value[_DIGITS + _UNTIL_DIGITS :], value)
            for name, value in found.items()
        ]

    async def release(self, counter: str, held: Held) -> bool:
        """Removes an action that counts, unless its entry has changed. Returns whether it did."""
        keys = [f"{self._prefix}counter/{counter}"]
        return bool(await self._asked(self._release(keys, [held.name, held.value])))

    async def shorten(self, counter: str, held: Held, left_s: int) -> bool:
        """Lets an action that counts do so for ``left_s`` seconds from now, if that is sooner than before.

        Returns whether it did: not when its entry has changed.
        """
        keys = [f"{self._prefix}counter/{counter}"]
        return bool(await self._asked(self._shorten(keys, [held.name, held.value, left_s * 1_000])))

    async def add(self, name: str, left_s: int, hold: Hold) -> None:
        """Counts what was taken already, whether it is within the limit or not, for ``left_s`` seconds."""
        keys = [f"{self._prefix}counter/{hold.counter}"]
        await self._asked(self._add(keys, [name, _digits(hold.amount), left_s * 1_000]))

    async def claim(self, account: str, tx_hash: str, name: str, keep_s: int) -> bool:
        """Returns whether a transaction of an account stands for an action: for the first that claims it."""
        place = f"{self._prefix}claimed/{account}"

        async def take() -> bool:
            await self._client.hsetnx(place, tx_hash, name)
            await self._client.expire(place, keep_s)
            return bool((await self._client.hget(place, tx_hash)) == name.encode())

        return bool(await self._asked(take()))

    async def note(self, action_id: str, member: str, value: bytes, keep_s: int) -> Mapping[str, bytes]:
        """Keeps one member of what is known of an action, and returns all of them."""
        place = f"{self._prefix}issued/{action_id}"

        async def write() -> Mapping[bytes, bytes]:
            await self._client.hset(place, member, value)
            await self._client.expire(place, keep_s)
            found: Mapping[bytes, bytes] = await self._client.hgetall(place)
            return found

        found = await self._asked(write())
        return {name.decode(): each for name, each in found.items()}

    async def noted(self, action_id: str) -> Mapping[str, bytes]:
        """Returns what is known of an action."""
        found = await self._asked(self._client.hgetall(f"{self._prefix}issued/{action_id}"))
        return {name.decode(): each for name, each in found.items()}

    async def forget(self, action_id: str, members: Sequence[str]) -> None:
        """Removes members of what is known of an action."""
        if members:
            await self._asked(self._client.hdel(f"{self._prefix}issued/{action_id}", *members))

    async def tell(self, account: str, nonce: int, tx_hash: str, keep_s: int) -> None:
        """Keeps the hash of a transaction of an account (chain id and address), by its nonce."""
        place = f"{self._prefix}sent/{account}"

        async def write() -> None:
            await self._client.hset(place, str(nonce), tx_hash)
            await self._client.expire(place, keep_s)

        await self._asked(write())

    async def told(self, account: str, nonces: Sequence[int]) -> Mapping[int, str]:
        """Returns the hashes that are kept, by nonce."""
        if not nonces:
            return {}
        found = await self._asked(self._client.hmget(f"{self._prefix}sent/{account}", list(map(str, nonces))))
        return {nonce: each.decode() for nonce, each in zip(nonces, found, strict=True) if each is not None}

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    def _check_mark(self, mark: int, now: int) -> None:
        if self._mark is not None and mark != self._mark:
            log.error("policy.store has lost its data: no action with a limit until its window has passed")
            self._is_lost = True
        self._mark = mark
        if self._is_lost and now < mark + self._longest_s * 1_000:
            raise StoreUnavailable("it has lost what counted")
        self._is_lost = False

    async def _asked(self, command: Any) -> Any:
        try:
            async with asyncio.timeout(STORE_TIMEOUT_S):
                return await command
        except failures() as error:
            # The type only: messages of the client hold the address.
            log.error("policy.store does not answer: %s", named(error))
            raise StoreUnavailable("it does not answer") from None


def _digits(amount: int) -> str:
    return f"{amount:0{_DIGITS}d}"
