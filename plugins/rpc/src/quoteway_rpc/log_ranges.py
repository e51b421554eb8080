"""Reads logs of any range from nodes that limit blocks, results or bytes: in parts, as if it were one call.

Nodes refuse ranges, or end their answers silently; the limits differ and are written in prose
(``log_refusals``). A size refusal never counts against an upstream.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from quoteway import RawJson, Reason, RpcError, UpstreamError
from quoteway.evm.methods import MAX_LOG_RANGE_BLOCKS

from quoteway_rpc.asking import Ask, Send
from quoteway_rpc.error_rows import Outcome
from quoteway_rpc.log_refusals import LIMIT_EXCEEDED, Refusal, refusal_of
from quoteway_rpc.log_spans import Spans
from quoteway_rpc.outcomes import for_client

PARALLEL: Final = 4
MAX_CALLS: Final = 2_000
"""The most requests of one call of ``eth_getLogs``."""
_SEEN_S: Final = 300.0
"""For how long a head that was read tells about how long a range up to the newest block is."""
_UNSETTLED_BLOCKS: Final = 64
"""A range that ends this near to the head may be of two chains when it is read in parts."""
_TAGS = ("latest", "safe", "finalized")
_INVALID_PARAMS = -32602
_STRETCH: Final = 1.03
"""Parts may be so much longer than estimated when one call is spared by it: estimates leave room for that."""
_LOG_BYTES: Final = 450
"""The JSON of a log without its data and topics; a topic has 69 characters."""


@dataclass(frozen=True, slots=True)
class _Head:
    number: int
    hash: str


class LogRanges:
    """The stage that splits ``eth_getLogs``; other calls go straight on.

    Ranges of clients are limited to ``MAX_LOG_RANGE_BLOCKS`` once their tags are numbers. An answer of more
    than ``max_logs`` logs or about ``max_bytes`` is refused with -32005 and the range that would pass.
    """

    def __init__(
        self, next_stage: Send, *, clock: Callable[[], float], max_logs: int, max_bytes: int
    ) -> None:
        self._next = next_stage
        self._clock = clock
        self._max_logs = max_logs
        self._max_bytes = max_bytes
        self._spans: dict[int, Spans] = {}
        self._settled: dict[int, int] = {}
        self._seen: dict[int, tuple[int, float]] = {}

    async def __call__(self, ask: Ask) -> Any:
        """Returns the logs. Raises ``RpcError`` for a range that is too long, and as the next stage does."""
        wanted = ask.params[0] if ask.method == "eth_getLogs" and len(ask.params) == 1 else None
        if ask.method != "eth_getLogs":
            return await self._next(ask)
        if not isinstance(wanted, Mapping) or wanted.get("blockHash") is not None:
            return await self._as_it_is(ask)
        ends = [wanted.get(name) or "latest" for name in ("fromBlock", "toBlock")]
        chain_id = ask.network.chain_id
        spans = self._spans.setdefault(chain_id, Spans(self._clock))
        reading = _Reading(self._next, ask, wanted, spans, self._max_logs, self._max_bytes)
        if ask.public and self._is_short(ask, reading, ends):
            logs = await reading.unresolved()
            if logs is not None:
                return logs
        heads = await self._heads(ask, [end for end in ends if end in _TAGS])
        first, last = (_number(end, heads) for end in ends)
        if first is None or last is None:
            return await self._as_it_is(ask)
        if first > last:
            # The next block's logs, up to the newest: there are none yet.
            return [] if ends[1] in _TAGS else await self._as_it_is(ask)
        if ask.public and last - first + 1 > MAX_LOG_RANGE_BLOCKS:
            text = f"the range of blocks must span at most {MAX_LOG_RANGE_BLOCKS} blocks"
            raise RpcError(_INVALID_PARAMS, text)
        return await self._consistent(reading, first, last, heads.get("latest"))

    async def _as_it_is(self, ask: Ask) -> Any:
        """Answers what cannot be split. What a node says of its limits is not for the client."""
        try:
            return await self._next(ask)
        except RpcError as error:
            raise error if refusal_of(error) is None else for_client(error, Outcome.TOO_LARGE) from None

    def _is_short(self, ask: Ask, reading: _Reading, ends: list[Any]) -> bool:
        """Whether a client's range up to ``latest`` needs no head to be known as short enough.

        The node takes the tag itself then, at no cost of a further call.
        """
        if ends == ["latest", "latest"]:
            return True
        first, (head, seen_at) = _number(ends[0], {}), self._seen.get(ask.network.chain_id, (0, 0.0))
        age_s = self._clock() - seen_at
        if first is None or ends[1] != "latest" or not head or age_s > _SEEN_S:
            return False
        most = head + 2 + int(2 * age_s / max(ask.network.block_time_s, 0.01))
        limit = min(MAX_LOG_RANGE_BLOCKS, reading.limit() or MAX_LOG_RANGE_BLOCKS)
        return first <= most and most - first + 1 <= limit

    async def _heads(self, ask: Ask, tags: list[str]) -> dict[str, _Head]:
        found = await asyncio.gather(*(self._head(ask, tag) for tag in dict.fromkeys(tags)))
        return dict(zip(dict.fromkeys(tags), found, strict=True))

    async def _head(self, ask: Ask, tag: str) -> _Head:
        block = await self._next(replace(ask, method="eth_getBlockByNumber", params=[tag, False]))
        try:
            head = _Head(int(block["number"], 16), block["hash"])
        except (KeyError, TypeError, ValueError):
            text = f"{ask.network.name} has no block at {tag if tag in _TAGS else 'that number'}."
            raise UpstreamError(text, reason=Reason.RPC_ERROR, retryable=True) from None
        if tag == "latest":
            self._seen[ask.network.chain_id] = (head.number, self._clock())
            settled = head.number - _UNSETTLED_BLOCKS
            self._settled[ask.network.chain_id] = max(settled, self._settled.get(ask.network.chain_id, 0))
        return head

    async def _consistent(self, reading: _Reading, first: int, last: int, head: _Head | None) -> list[Any]:
        """Reads the range; once more when the chain changed between its parts."""
        ask = reading.ask
        for _ in range(2):
            logs = None
            if reading.is_one_call(first, last):
                logs = await reading.at_once(first, last)
            if logs is not None:
                return logs
            if last > self._settled.get(ask.network.chain_id, -1):
                head = head or await self._head(ask, "latest")
            unsettled = head is not None and last > head.number - _UNSETTLED_BLOCKS
            logs = await reading.in_parts(first, last)
            if not unsettled or head is None or (await self._head(ask, hex(head.number))).hash == head.hash:
                return logs
            head = None
        text = f"The chain of {ask.network.name} was reorganised while its logs were read. Send it again."
        raise UpstreamError(text, reason=Reason.RPC_ERROR, retryable=True)


@dataclass(slots=True, eq=False)
class _Reading:
    """One call under way: its parts, and how long a part of this filter may be."""

    send: Send
    ask: Ask
    wanted: Mapping[str, Any]
    spans: Spans
    max_logs: int
    max_bytes: int
    calls: int = 0
    longest: int | None = None
    parts: dict[int, tuple[int, list[Any]]] = field(default_factory=dict)
    suspects: list[tuple[int, int, int]] = field(default_factory=list)
    """Ranges whose answer may have been cut off, with the number of logs."""
    count: int = 0
    size: int = 0

    @property
    def key(self) -> Hashable:
        """The filter without its range."""
        return repr((self.wanted.get("address"), self.wanted.get("topics")))

    def limit(self) -> int | None:
        """Returns how many blocks a part may have; None: all."""
        known = [self.longest, self.spans.most_blocks(), self.spans.blocks_for(self.key)]
        return min((each for each in known if each is not None), default=None)

    def is_one_call(self, first: int, last: int) -> bool:
        limit = self.limit()
        return limit is None or last - first + 1 <= limit

    async def unresolved(self) -> list[Any] | RawJson | None:
        """Returns the logs of the filter as it is; None when its range has to be known."""
        try:
            found = await self.send(self.ask)
        except RpcError as error:
            # geth says "invalid block range" when the range begins after its newest block.
            if refusal_of(error) is None and "block range" not in error.rpc_message.lower():
                raise
            return None
        if isinstance(found, RawJson):
            return None if self._is_round(_count(found)) else self._added_raw(found)
        if not isinstance(found, list) or self._is_suspicious(0, 1, found):
            self.suspects.clear()
            return None
        self._add(found)
        return found

    async def at_once(self, first: int, last: int) -> list[Any] | None:
        """Returns the logs of one request, None when it was refused or looks truncated."""
        found = await self._ask(first, last)
        if isinstance(found, Refusal):
            self._learn(first, last, found)
            return None
        if self._is_suspicious(first, last, found):
            self.longest = (last - first + 2) // 2
            return None
        self._add(found)
        return found

    async def in_parts(self, first: int, last: int) -> list[Any]:
        """Returns the logs of a range, read in parts, at most ``PARALLEL`` at once."""
        self.parts.clear()
        self.count = self.size = 0
        waiting = deque([(first, last)])
        under_way: dict[asyncio.Task[list[Any] | Refusal], tuple[int, int]] = {}
        try:
            while waiting or under_way:
                while waiting and len(under_way) < (PARALLEL if self.spans.is_known else 1):
                    part = self._take(waiting)
                    under_way[asyncio.create_task(self._ask(*part))] = part
                done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                again = [ranges for task in done for ranges in self._took(under_way.pop(task), task.result())]
                waiting.extendleft(sorted(again, reverse=True))
        finally:
            for task in under_way:
                task.cancel()
        for first, last, logs in self.suspects:
            if sum(len(part) for start, (_, part) in self.parts.items() if first <= start <= last) > logs:
                self.spans.truncates_at(logs)
        return _joined([logs for _, (_, logs) in sorted(self.parts.items())])

    def _take(self, waiting: deque[tuple[int, int]]) -> tuple[int, int]:
        """Cuts the next part off the first waiting range."""
        first, last = waiting.popleft()
        length = self._part_of(last - first + 1)
        if length < last - first + 1:
            waiting.appendleft((first + length, last))
        return first, first + length - 1

    def _part_of(self, blocks: int) -> int:
        """Returns how many of the blocks to ask for at once.

        Where the limit is an estimate, the parts are of one length: a short rest would cost a call too.
        """
        limit = self.limit()
        if limit is None or blocks <= limit:
            return blocks
        exact = self.longest if self.longest is not None else self.spans.most_blocks()
        if exact is not None and exact <= limit:
            return limit
        parts = math.ceil(blocks / (limit * _STRETCH))
        return min(math.ceil(blocks / parts), exact or blocks)

    def _took(self, part: tuple[int, int], found: list[Any] | Refusal) -> list[tuple[int, int]]:
        """Keeps a part. Returns the ranges to read instead when it was refused or looks truncated."""
        first, last = part
        if isinstance(found, Refusal):
            self._learn(first, last, found)
            if found.working is not None and first == found.working[0] < last and found.working[1] < last:
                return [found.working, (found.working[1] + 1, last)]
            if not found.by_range:
                return _halves(first, last)
            return [part]
        if self._is_suspicious(first, last, found):
            return _halves(first, last)
        self.parts[first] = (last, found)
        self._add(found)
        if self.spans.results is not None:
            self.longest = None  # the density of the logs is known now
        return []

    async def _ask(self, first: int, last: int) -> list[Any] | Refusal:
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise self._too_many(f"query needs more than {MAX_CALLS} requests")
        wanted = {**self.wanted, "fromBlock": hex(first), "toBlock": hex(last)}
        try:
            found = await self.send(replace(self.ask, params=[wanted], raw=False))
        except RpcError as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            if first == last:
                # The next one would be refused too. The node's text is not passed on.
                raise self._too_many(
                    "query exceeds the limits of the network's nodes for one block"
                ) from error
            return refusal
        if not isinstance(found, list):
            text = f"A node of {self.ask.network.name} gave no list of logs."
            raise UpstreamError(text, reason=Reason.RPC_ERROR, retryable=True)
        self.spans.gave(self.key, last - first + 1, len(found))
        return found

    def _learn(self, first: int, last: int, refusal: Refusal) -> None:
        blocks = last - first + 1
        if refusal.by_range:
            self.spans.refused_range(blocks, refusal)
            return
        self.spans.refused_results(self.key, blocks, refusal)
        working = refusal.working
        if working is not None and working[0] == first and working[1] < last:
            self.longest = working[1] - first + 1
        elif self.spans.blocks_for(self.key) is None:
            self.longest = max(1, blocks // 2)

    def _is_suspicious(self, first: int, last: int, found: list[Any]) -> bool:
        """Whether an answer may have been cut off at a limit: a round number of logs."""
        if not self._is_round(len(found)) or first == last:
            return False
        self.suspects.append((first, last, len(found)))
        return True

    def _is_round(self, count: int) -> bool:
        return count > 0 and (count % 1000 == 0 or count == self.spans.results)

    def _added_raw(self, found: RawJson) -> RawJson:
        """Returns logs that are passed on as they came. Raises ``RpcError`` when they are too many."""
        count = _count(found)
        if count > self.max_logs:
            raise self._too_many(f"query returned more than {self.max_logs} results")
        return found

    def _add(self, found: list[Any]) -> None:
        """Counts logs. Raises ``RpcError`` when they are too many."""
        self.count += len(found)
        if self.count > self.max_logs:
            raise self._too_many(f"query returned more than {self.max_logs} results")
        self.size += sum(
            _LOG_BYTES + len(log["data"]) + 69 * len(log["topics"]) for log in found if _is_log(log)
        )
        if self.size > self.max_bytes:
            raise self._too_many("query response size exceeded")

    def _too_many(self, text: str) -> RpcError:
        """Returns the error, with the range that would pass as Infura gives it."""
        count, until, first = 0, None, min(self.parts, default=None)
        following = first
        while following is not None and following in self.parts:
            last, logs = self.parts[following]
            count += len(logs)
            if count > self.max_logs:
                break
            until, following = last, last + 1
        if first is None or until is None:
            return RpcError(LIMIT_EXCEEDED, text)
        working = {"from": hex(first), "to": hex(until)}
        text += f". Try with this block range [{working['from']}, {working['to']}]."
        return RpcError(LIMIT_EXCEEDED, text, {**working, "limit": self.max_logs})


def _count(found: RawJson) -> int:
    """Returns how many logs a JSON text has. Their data is hex, so it cannot have the member's name."""
    return bytes(found).count(b'"logIndex"')


def _halves(first: int, last: int) -> list[tuple[int, int]]:
    middle = (first + last) // 2
    return [(first, middle), (middle + 1, last)]


def _number(end: Any, heads: Mapping[str, _Head]) -> int | None:
    if end in heads:
        return heads[end].number
    if end == "earliest":
        return 0
    try:
        return int(end, 16) if end.startswith("0x") else None
    except (AttributeError, ValueError):
        return None


def _is_log(log: Any) -> bool:
    is_one = isinstance(log, dict) and isinstance(log.get("data"), str)
    return is_one and isinstance(log.get("topics"), list)


def _joined(parts: list[list[Any]]) -> list[Any]:
    """Joins the logs of following ranges. Sorts by block and index, and drops duplicates, where needed."""
    logs = [log for part in parts for log in part]
    try:
        places = [(int(log["blockNumber"], 16), int(log["logIndex"], 16)) for log in logs]
    except (KeyError, TypeError, ValueError):
        return logs
    if all(one < other for one, other in itertools.pairwise(places)):
        return logs
    return [log for _, log in sorted(dict(zip(places, logs, strict=True)).items())]
