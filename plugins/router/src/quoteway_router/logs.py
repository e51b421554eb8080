"""Reads event logs in block ranges as small as the nodes allow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quoteway import Address, Chain, Reason, UpstreamError
from quoteway.evm.address import checksum

MAX_REQUESTS = 256
SPAN_BLOCKS = 10_000
"""The range that most public nodes accept."""
ALL_BLOCKS = 1 << 32
_AT_ONCE = 4
_AT_A_TIME = 256
"""Logs that are read before other requests have their turn: a few milliseconds of work."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One log with its block and index."""

    block: int
    index: int
    address: Address
    topics: tuple[str, ...]
    data: bytes

    @classmethod
    def read(cls, log: Any) -> LoggedEvent:
        """Returns a log of a node's answer. Raises TypeError, KeyError or ValueError when it is malformed."""
        return cls(
            int(log["blockNumber"], 16),
            int(log["logIndex"], 16),
            checksum(log["address"]),
            tuple(topic.lower() for topic in log["topics"]),
            bytes.fromhex(log["data"][2:]),
        )


@dataclass(frozen=True, slots=True)
class Found:
    """The logs from block ``first`` on, in order. ``first`` is later than requested when the search
    ended early.
    """

    first: int
    logs: tuple[LoggedEvent, ...]


class Logs:
    """Searches logs newest first, in ranges of ``span`` blocks; a refused range is halved. Each search tries
    twice the range of the one before, so that a failing node does not make ranges small for good.

    Many nodes limit the number of logs, not the range: for rare events ``span`` may be ``ALL_BLOCKS``.
    """

    def __init__(self, chain: Chain, span: int = SPAN_BLOCKS) -> None:
        self._chain = chain
        self._most = self._span = span

    async def search(
        self,
        address: Address | Sequence[Address],
        topics: Sequence[str | list[str] | None],
        first: int,
        last: int,
        *,
        max_requests: int = MAX_REQUESTS,
    ) -> Found:
        """Returns the logs of one contract or several, of blocks ``first`` to ``last``, both inclusive, or of
        the last of them.

        The search ends early after ``max_requests``, or where a node refuses a single block. Raises
        UpstreamError when it refuses the newest one.
        """
        self._span = min(2 * self._span, self._most)
        parts: list[list[LoggedEvent]] = []
        end, left = last, max_requests
        while end >= first and left > 0:
            ranges: list[tuple[int, int]] = []
            stop = end
            while stop >= first and len(ranges) < min(_AT_ONCE, left):
                start = max(first, stop - self._span + 1)
                ranges.append((start, stop))
                stop = start - 1
            left -= len(ranges)
            answers = await asyncio.gather(
                *(self._ask(address, topics, *ends) for ends in ranges), return_exceptions=True
            )
            for (start, stop), answer in zip(ranges, answers, strict=True):
                if isinstance(answer, UpstreamError):
                    if start == stop:
                        if not parts:
                            raise answer
                        left = 0
                        break
                    self._span = max(1, min(self._span, stop - start + 1) // 2)
                    break
                if isinstance(answer, BaseException):
                    raise answer
                parts.append(answer)
                end = start - 1
        logs = [log for part in parts for log in part]
        return Found(end + 1, tuple(sorted(logs, key=lambda log: (log.block, log.index))))

    async def _ask(
        self,
        address: Address | Sequence[Address],
        topics: Sequence[str | list[str] | None],
        start: int,
        stop: int,
    ) -> list[LoggedEvent]:
        query = {"address": address, "topics": list(topics), "fromBlock": hex(start), "toBlock": hex(stop)}
        answer = await self._chain.request("eth_getLogs", [query])
        events = []
        try:
            for at, log in enumerate(answer):
                if at % _AT_A_TIME == _AT_A_TIME - 1:
                    await asyncio.sleep(0)
                if not log.get("removed"):
                    events.append(LoggedEvent.read(log))
            return events
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise UpstreamError(
                f"A node of {self._chain.network.name} returned malformed logs.",
                reason=Reason.RPC_ERROR,
            ) from error
