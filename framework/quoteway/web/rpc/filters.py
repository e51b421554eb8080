"""Polling filters (EIP-1474): ``eth_newFilter``, ``eth_newBlockFilter`` and what asks them for changes.

No node holds a filter. The changes since the last poll are found by block hashes: the blocks delivered last
are compared with the chain, so that nothing is left out or given twice, and logs of blocks that left the
chain are given again with ``removed: true``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import orjson

from quoteway.errors import InvalidRequest, Reason, UpstreamError
from quoteway.web.rpc.cursors import Cursors
from quoteway.web.rpc.filter_ids import RESTART_S, Checkpoint, FilterIds, FilterSpec, filter_not_found

IDLE_S: Final = 300.0
"""How long a filter may go without a poll, as in geth."""
CATCH_UP_BLOCKS: Final = 2_000
"""Blocks whose logs one poll gives at most; the next poll goes on from there."""
CATCH_UP_HASHES: Final = 64
"""Blocks that one poll of a block filter gives at most."""
MAX_CHECKPOINTS: Final = 32
"""Delivered blocks that a filter remembers: how far back it finds where a reorganised chain goes on."""
MAX_RECENT_BYTES: Final = 32_768
"""Of the logs that a filter remembers, to say which were removed and not to give one twice."""
_CONCURRENT: Final = 8
_REFRESH_S: Final = 30.0
_RETRIES: Final = 3

Ask: TypeAlias = Callable[[str, list[Any]], Awaitable[Any]]
"""``(method, params) -> result`` of one chain."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a filter has got.

    ``checkpoints`` are delivered blocks, the newest last; ``recent`` are the delivered logs of the blocks
    after the oldest of them.
    """

    used_at: float
    checkpoints: Sequence[Checkpoint]
    recent: Sequence[Mapping[str, Any]] = ()
    uninstalled: bool = False


@dataclass(frozen=True, slots=True)
class _Header:
    number: int
    hash: str
    parent: str


@dataclass
class Filters:
    """Answers the methods of ``evm.methods.FILTER_METHODS``, whose parameters are checked already."""

    ids: FilterIds
    cursors: Cursors
    clock: Callable[[], float] = field(default=time.time)

    async def answer(self, ask: Ask, chain_id: int, method: str, params: Sequence[Any]) -> Any:
        """The result. Raises ``FilterNotFound``, and what ``ask`` raises."""
        if method == "eth_newFilter":
            return await self._create(ask, chain_id, _criteria(params[0]))
        if method == "eth_newBlockFilter":
            return await self._create(ask, chain_id, None)
        try:
            spec = self.ids.open(params[0], chain_id)
            progress, version = await self._progress(spec)
        except InvalidRequest:
            if method == "eth_uninstallFilter":
                return False  # as nodes answer; ethers does not expect an error here
            raise
        if method == "eth_uninstallFilter":
            return await self._save(spec, version, replace(progress, uninstalled=True))
        if method == "eth_getFilterLogs":
            if spec.kind != "logs":
                raise filter_not_found()
            await self._save(spec, version, progress)
            return await ask("eth_getLogs", [dict(spec.criteria)])
        return await self._changes(ask, spec, progress, version)

    async def close(self) -> None:
        await self.cursors.close()

    # --- the store ------------------------------------------------------------------------------------------

    async def _create(self, ask: Ask, chain_id: int, criteria: Mapping[str, Any] | None) -> str:
        head = await _header(ask, "latest")
        start = head.number, head.hash
        filter_id = self.ids.seal(chain_id, "blocks" if criteria is None else "logs", start, criteria or {})
        spec = self.ids.open(filter_id, chain_id)
        await self._save(spec, 0, Progress(self.clock(), [start]))
        return filter_id

    async def _progress(self, spec: FilterSpec) -> tuple[Progress, int]:
        """How far the filter has got, with the version of its row. Raises ``FilterNotFound``."""
        now = self.clock()
        row = await self.cursors.load(spec.key)
        if row is None:
            if self.ids.age_s(spec) > RESTART_S:
                raise filter_not_found()
            return Progress(now, [spec.start]), 0
        version, content = row
        used_at, uninstalled, checkpoints, recent = orjson.loads(content)
        if uninstalled or now - used_at > IDLE_S:
            raise filter_not_found()
        return Progress(used_at, [(n, h) for n, h in checkpoints], recent), version

    async def _save(self, spec: FilterSpec, version: int, progress: Progress) -> bool:
        """Writes the row, used now. False when another poll wrote it meanwhile.

        It stays until its id alone could not make the filter begin anew: a filter that expired stays expired.
        """
        row = [self.clock(), progress.uninstalled, list(progress.checkpoints), list(progress.recent)]
        lifetime_s = max(IDLE_S, RESTART_S - self.ids.age_s(spec)) + 1
        return await self.cursors.save(spec.key, version, orjson.dumps(row), lifetime_s)

    # --- changes --------------------------------------------------------------------------------------------

    async def _changes(self, ask: Ask, spec: FilterSpec, progress: Progress, version: int) -> list[Any]:
        step = _new_logs if spec.kind == "logs" else _new_blocks
        for _ in range(_RETRIES):
            found = await step(ask, spec, progress)
            if found is not None:
                break
        else:
            return []  # the chain changes while it is read: the next poll gets it all
        changes, after = found
        if after is progress:
            if version == 0 or self.clock() - progress.used_at > _REFRESH_S:
                await self._save(spec, version, progress)
            return []
        # A poll at the same time has given these changes to the same client.
        return changes if await self._save(spec, version, after) else []


async def _new_blocks(ask: Ask, spec: FilterSpec, progress: Progress) -> tuple[list[Any], Progress] | None:
    """The hashes of the blocks since the last poll; None when the chain changed while it was read."""
    head = await _header(ask, "latest")
    kept = await _canonical(ask, progress.checkpoints, head)
    if kept is None:
        return [], progress
    first = kept[-1][0] + 1 if kept else progress.checkpoints[0][0]
    last = min(head.number, first + CATCH_UP_HASHES - 1)
    headers = await _headers(ask, first, last, head)
    parent = kept[-1][1] if kept else None
    for header in headers:
        if parent is not None and header.parent != parent:
            return None
        parent = header.hash
    if not headers:
        return [], progress
    checkpoints = [*kept, *((header.number, header.hash) for header in headers)][-MAX_CHECKPOINTS:]
    return [header.hash for header in headers], replace(progress, checkpoints=checkpoints)


async def _new_logs(ask: Ask, spec: FilterSpec, progress: Progress) -> tuple[list[Any], Progress] | None:
    """The logs since the last poll, after those that a reorganisation removed; None when the chain changed
    while it was read.
    """
    head = await _header(ask, "latest")
    kept = await _canonical(ask, progress.checkpoints, head)
    if kept is None:
        return [], progress
    first = kept[-1][0] + 1 if kept else progress.checkpoints[0][0]
    last = min(head.number, first + CATCH_UP_BLOCKS - 1)
    if last < first:
        return [], progress
    end = head if last == head.number else await _header(ask, last)
    logs = await _logs(ask, spec.criteria, first, end)
    if any(log["blockHash"] != end.hash for log in logs if int(log["blockNumber"], 16) == last):
        return None
    found = {_identity(log) for log in logs}
    delivered = {_identity(log) for log in progress.recent}
    before = [log for log in progress.recent if int(log["blockNumber"], 16) < first]
    # Also those above `last`: they were on top of a block that is not of the chain any more.
    after = progress.recent[len(before) :]
    gone = [{**log, "removed": True} for log in after if _identity(log) not in found]
    fresh = [log for log in logs if _identity(log) not in delivered]
    checkpoints = [*kept, (end.number, end.hash)][-MAX_CHECKPOINTS:]
    oldest = checkpoints[0][0]
    recent = _bounded([log for log in (*before, *logs) if int(log["blockNumber"], 16) > oldest])
    return gone[::-1] + fresh, replace(progress, checkpoints=checkpoints, recent=recent)


async def _canonical(
    ask: Ask, checkpoints: Sequence[Checkpoint], head: _Header
) -> Sequence[Checkpoint] | None:
    """The checkpoints that are blocks of the chain still; None when there is nothing new.

    A head below the newest checkpoint is that of a node which lags, or of a chain that grows again: nothing
    is new until it has that height.
    """
    number, block_hash = checkpoints[-1]
    if head.hash == block_hash or head.number < number:
        return None
    if head.parent == block_hash:
        return checkpoints
    for index in range(len(checkpoints) - 1, -1, -1):
        number, block_hash = checkpoints[index]
        known = head if number == head.number else await _header(ask, number)
        if known.hash == block_hash:
            return checkpoints[: index + 1]
    return []


async def _logs(
    ask: Ask, criteria: Mapping[str, Any], first: int, end: _Header
) -> Sequence[Mapping[str, Any]]:
    """The logs of the blocks from ``first`` to ``end`` within the range of the criteria."""
    low = max(first, _number(criteria.get("fromBlock"), 0))
    high = min(end.number, _number(criteria.get("toBlock"), end.number))
    if low > high:
        return ()
    where = {name: criteria[name] for name in ("address", "topics") if name in criteria}
    if low == high == end.number:
        # By hash: a node that does not have this block says so, instead of answering that it has no logs.
        found = await ask("eth_getLogs", [{**where, "blockHash": end.hash}])
    else:
        found = await ask("eth_getLogs", [{**where, "fromBlock": hex(low), "toBlock": hex(high)}])
    if not isinstance(found, list):
        raise _unreadable()
    for log in found:
        if not isinstance(log, dict) or not all(isinstance(log.get(name), str) for name in _IDENTITY):
            raise _unreadable()
        if not low <= _quantity(log["blockNumber"]) <= high:
            raise _unreadable()
    return found


async def _headers(ask: Ask, first: int, last: int, head: _Header) -> list[_Header]:
    limit = asyncio.Semaphore(_CONCURRENT)

    async def read(number: int) -> _Header:
        if number == head.number:
            return head
        async with limit:
            return await _header(ask, number)

    return list(await asyncio.gather(*(read(number) for number in range(first, last + 1))))


async def _header(ask: Ask, at: int | str) -> _Header:
    answer = await ask("eth_getBlockByNumber", [hex(at) if isinstance(at, int) else at, False])
    if not isinstance(answer, Mapping):
        raise _unreadable()
    block_hash, parent = answer.get("hash"), answer.get("parentHash")
    if not isinstance(block_hash, str) or not isinstance(parent, str):
        raise _unreadable()
    return _Header(_quantity(answer.get("number")), block_hash, parent)


# --- logs and criteria --------------------------------------------------------------------------------------

_IDENTITY: Final = ("blockHash", "transactionHash", "logIndex", "blockNumber")


def _identity(log: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(log[name] for name in _IDENTITY)


def _bounded(logs: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The newest of these logs that a filter remembers."""
    left, kept = MAX_RECENT_BYTES, 0
    for log in reversed(logs):
        left -= len(orjson.dumps(log))
        if left < 0:
            break
        kept += 1
    return logs[len(logs) - kept :]


def _criteria(given: Mapping[str, Any]) -> dict[str, Any]:
    """The criteria of a client, with the members that the standard has."""
    names = ("address", "topics", "fromBlock", "toBlock")
    return {name: given[name] for name in names if given.get(name) is not None}


def _number(end: Any, otherwise: int) -> int:
    return int(end, 16) if isinstance(end, str) and end.startswith("0x") else otherwise


def _quantity(value: Any) -> int:
    try:
        return int(value, 16)
    except (TypeError, ValueError):
        raise _unreadable() from None


def _unreadable() -> UpstreamError:
    return UpstreamError("A node's answer cannot be read.", reason=Reason.RPC_ERROR)
