"""Keeps what the newest requests were answered from, so that one of them can be run again elsewhere.

The recorder stands between the core and the RPC upstreams. It sees methods, parameters and results of reads,
and the kind of each failure. It never sees the URL, the headers or the key of a node.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson
from cachetools import LRUCache

from quoteway.errors import GatewayError, RpcError
from quoteway.evm import batch
from quoteway.evm.chain import Forward
from quoteway.host.spans import Span, current_spans, span
from quoteway.models import Read
from quoteway.networks import Network

Key: TypeAlias = tuple[Any, ...]
"""What was asked. Of a read: chain id, method and parameters as JSON."""

BATCHED = "batched"
"""Stands for the method of one read of a batch."""
_BLOCK_AT: Mapping[str, int] = {
    "eth_call": 1,
    "eth_estimateGas": 1,
    "eth_feeHistory": 1,
    "eth_getBalance": 1,
    "eth_getCode": 1,
    "eth_getProof": 2,
    "eth_getStorageAt": 2,
    "eth_getTransactionCount": 1,
    "eth_simulateV1": 1,
    BATCHED: 1,
}
"""The place of the block among the parameters of a method."""
MOST_SECRETS = 1_000
"""How many credentials that plugins sent are remembered."""
MOST_BLOCKS = 4
"""At how many blocks the outcome of one read is kept for later requests."""
_OVERHEAD_BYTES = 200
"""What an outcome takes in memory beside its text and that of its key."""


@dataclass(slots=True, eq=False)
class Outcome:
    """What came of one read or exchange, as JSON, and its size in memory. ``holders`` count who keeps it."""

    text: bytes
    size: int
    holders: int = 0


@dataclass(slots=True, eq=False)
class Recording:
    """One request: what arrived, what it read, what was known before it, and its answer.

    ``clock`` is the time of its arrival in Unix seconds, which all of the request sees; ``began_s`` and
    ``ended_s`` are of the monotonic clock. ``own`` are its reads in their order, and ``spans`` say when it
    asked whom. ``known`` has the outcomes of every read of the process when it ended, at the newest blocks
    that were asked about, in the order of time: what memory held came from those. ``answer`` is the body;
    None: it has none.
    """

    request_id: str
    method: str
    path: str
    clock: float
    body: bytes | None = None
    own: list[tuple[Key, Outcome]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    known: Mapping[Key, Outcome] = field(default_factory=dict)
    began_s: float = field(default_factory=time.monotonic)
    ended_s: float | None = None
    status: int = 0
    answer: bytes | None = None
    is_over: bool = False


_current: ContextVar[Recording | None] = ContextVar("quoteway_recording", default=None)


def current_recording() -> Recording | None:
    """Returns the recording of the request that the current task works for; None when it is not recorded."""
    return _current.get()


def note_body(raw: bytes) -> None:
    """Adds the body of the current request to its recording, if it is recorded."""
    recording = _current.get()
    if recording is not None:
        recording.body = raw


class Recorder:
    """The recordings of the newest ``most_requests`` requests, in at most ``most_bytes`` of memory.

    ``secrets`` has credentials that plugins sent, which no bundle may hold.
    """

    def __init__(self, most_requests: int, most_bytes: int, clock: Callable[[], float]) -> None:
        self._most_requests = most_requests
        self._most_bytes = most_bytes
        self._clock = clock
        self._known: dict[Key, dict[Key, Outcome]] = {}
        self._recordings: deque[Recording] = deque()
        self.bytes_held = 0
        self.secrets: LRUCache[str, None] = LRUCache(MOST_SECRETS)

    def clock(self) -> float:
        """Returns the time in Unix seconds; inside a recorded request always that of its arrival."""
        recording = _current.get()
        return self._clock() if recording is None or recording.is_over else recording.clock

    def begin(self, request_id: str, method: str, path: str) -> tuple[Recording, Token[Recording | None]]:
        """Records for the current task and those that it starts, until ``finish``."""
        recording = Recording(request_id, method, path, self._clock())
        if (spans := current_spans()) is not None:
            recording.spans = spans.rows
        return recording, _current.set(recording)

    def finish(
        self, recording: Recording, mark: Token[Recording | None], status: int, answer: bytes | None
    ) -> None:
        """Keeps a recording with its answer. The oldest ones make room for it."""
        _current.reset(mark)
        recording.is_over, recording.ended_s = True, time.monotonic()
        recording.status, recording.answer = status, answer
        if status in (0, 304):  # it was not answered, or its caller has the answer already
            for _, outcome in recording.own:
                self._drop(outcome)
            return
        recording.known = {key: each for versions in self._known.values() for key, each in versions.items()}
        for outcome in recording.known.values():
            self._hold(outcome)
        self._recordings.append(recording)
        self._make_room()

    def find(self, request_id: str) -> Recording | None:
        """Returns the newest recording of a request id; None when it is not kept."""
        return next((each for each in reversed(self._recordings) if each.request_id == request_id), None)

    def reads(self, network: Network, forward: Forward) -> Forward:
        """Returns ``forward`` of one network, recorded."""

        async def recorded(method: str, params: Sequence[Any], timeout_s: float) -> Any:
            recording = _current.get()
            key = read_key(network.chain_id, method, params)
            with span("read", f"{method} on {network.slug}") as timed:
                try:
                    result = await forward(method, params, timeout_s)
                except GatewayError as error:
                    self.note(recording, key, {"error": described(error)}, timed)
                    raise
                except asyncio.CancelledError:
                    self.note(recording, key, {"error": {"kind": "no_answer"}}, timed)
                    raise
                self.note(recording, key, {"result": result}, timed)
                return result

        return recorded

    def note(
        self, recording: Recording | None, key: Key, outcome: Mapping[str, Any], timed: Span | None = None
    ) -> None:
        """Keeps an outcome for the request that asked, unless it is over, and for those that come later.

        ``timed`` is the span that it belongs to.
        """
        try:
            text = orjson.dumps(outcome)
        except TypeError:  # an integer beyond 64 bits, which no node gives in a readable answer
            return
        kept = _outcome(key, text)
        if recording is not None and not recording.is_over:
            if timed is not None:
                timed.read, timed.ended_s = len(recording.own), time.monotonic()
                error = outcome.get("error")
                timed.outcome = "answered" if error is None else error.get("reason") or error["kind"]
            recording.own.append((key, kept))
            self._hold(kept)
        if "result" in outcome or recording is None:  # a request's own failed read is no knowledge of others
            parts = list(parts_of(key, outcome.get("result")))
            for part, result in parts:
                self._learn(part, _outcome(part, orjson.dumps({"result": result})))
            if not parts:
                self._learn(key, kept)
        self._make_room()

    def _learn(self, key: Key, outcome: Outcome) -> None:
        at_any_block = without_block(key)
        versions = self._known.pop(at_any_block, {})
        dropped = [versions.pop(key)] if key in versions else []
        versions = {**versions, key: outcome}
        if len(versions) > MOST_BLOCKS:
            dropped.append(versions.pop(next(iter(versions))))
        self._known[at_any_block] = versions
        self._hold(outcome)
        for each in dropped:
            self._drop(each)

    def _make_room(self) -> None:
        while len(self._recordings) > self._most_requests:
            self._forget(self._recordings.popleft())
        while self.bytes_held > self._most_bytes and self._recordings:
            self._forget(self._recordings.popleft())
        while self.bytes_held > self._most_bytes and self._known:
            for outcome in self._known.pop(next(iter(self._known))).values():
                self._drop(outcome)

    def _forget(self, recording: Recording) -> None:
        for _, outcome in recording.own:
            self._drop(outcome)
        for outcome in recording.known.values():
            self._drop(outcome)

    def _hold(self, outcome: Outcome) -> None:
        outcome.holders += 1
        if outcome.holders == 1:
            self.bytes_held += outcome.size

    def _drop(self, outcome: Outcome) -> None:
        outcome.holders -= 1
        if outcome.holders == 0:
            self.bytes_held -= outcome.size


def _outcome(key: Key, text: bytes) -> Outcome:
    return Outcome(text, len(text) + sum(len(str(part)) for part in key) + _OVERHEAD_BYTES)


def batch_in(key: Key) -> tuple[Sequence[Read], Any]:
    """Returns the reads of a batch and their block; no reads for a key that is no batch."""
    if key[1] != "eth_call":
        return (), None
    call, *rest = orjson.loads(key[2])
    if not isinstance(call, dict) or set(call) != {"data"} or len(rest) != 1:
        return (), None
    return batch.reads_of(bytes.fromhex(call["data"][2:])) or (), rest[0]


def reads_in(key: Key) -> list[Key]:
    """Returns what each read of a batch asks; none for a key that is no batch."""
    reads, block = batch_in(key)
    return [read_key(key[0], BATCHED, [repr(read), block]) for read in reads]


def parts_of(key: Key, result: Any) -> Iterator[tuple[Key, str]]:
    """Yields the reads of a batch, each with its part of the result: another batch may have other reads."""
    reads, _ = batch_in(key)
    if reads and isinstance(result, str):
        with contextlib.suppress(ValueError):
            segments = batch.segments(reads, bytes.fromhex(result[2:]))
            yield from zip(reads_in(key), (segment.hex() for segment in segments), strict=True)


def read_key(chain_id: int, method: str, params: Sequence[Any]) -> Key:
    """Returns what a read asks."""
    return chain_id, method, orjson.dumps(list(params), option=orjson.OPT_SORT_KEYS).decode()


def without_block(key: Key) -> Key:
    """Returns what a read asks at any block. What has no block stays as it is."""
    at = _BLOCK_AT.get(key[1])
    if at is None or key[0] == "http":
        return key
    params = orjson.loads(key[2])
    if at < len(params):
        params[at] = None
    return read_key(key[0], key[1], params)


def is_of_one_block(key: Key) -> bool:
    """Returns whether a read has the same answer at any later time: its block is given by hash or number."""
    at = _BLOCK_AT.get(key[1])
    params = orjson.loads(key[2])
    if at is None:
        return key[1] == "eth_chainId" or (key[1] == "eth_getLogs" and _logs_are_of_one_range(params))
    return at < len(params) and _is_one_block(params[at])


def _logs_are_of_one_range(params: Sequence[Any]) -> bool:
    asked = params[0] if params and isinstance(params[0], dict) else {}
    return "blockHash" in asked or all(_is_one_block(asked.get(name)) for name in ("fromBlock", "toBlock"))


def _is_one_block(block: Any) -> bool:
    return isinstance(block, dict) or (isinstance(block, str) and block.startswith("0x"))


def described(error: GatewayError) -> dict[str, Any]:
    """Returns the kind of a failed read. The words of our own errors are not kept, those of a node's are."""
    if isinstance(error, RpcError):
        return {"kind": "rpc", "code": error.rpc_code, "message": error.rpc_message, "data": error.data}
    reason = None if error.reason is None else error.reason.value
    return {"kind": error.code, "reason": reason, "retryable": error.retryable}
