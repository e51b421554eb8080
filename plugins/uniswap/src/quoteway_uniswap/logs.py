"""Event logs of one chain over a range of blocks, however narrow a range its nodes will answer for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quoteway import Address, Chain, Reason, UpstreamError
from quoteway.evm.address import checksum

MOST_REQUESTS = 256
SPAN_BLOCKS = 10_000
"""What most public nodes answer for at once."""
ALL_BLOCKS = 1 << 32
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One log, with where in the chain it stands."""

    block: int
    index: int
    address: Address
    topics: tuple[str, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Found:
    """The logs of the blocks from ``first`` on, in order; ``first`` is later than asked for when the search
    ended early."""

    first: int
    logs: tuple[LoggedEvent, ...]


class Logs:
    """Searches logs newest first; a refused range is halved and the size that was answered is kept.

    ``span`` is how many blocks are asked for at first: many nodes bound what they answer and not the range,
    so for logs that are few it may be all.
    """

    def __init__(self, chain: Chain, span: int = SPAN_BLOCKS) -> None:
        self._chain = chain
        self._span = span

    async def search(
        self,
        address: Address,
        topics: Sequence[str | list[str] | None],
        first: int,
        last: int,
        *,
        most_requests: int = MOST_REQUESTS,
    ) -> Found:
        """The logs of blocks ``first`` to ``last``, both inclusive, as far back as the requests last.

        Raises UpstreamError when a node refuses even a single block.
        """
        parts: list[list[LoggedEvent]] = []
        end, left = last, most_requests
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
                        raise answer
                    self._span = max(1, min(self._span, stop - start + 1) // 2)
                    break
                if isinstance(answer, BaseException):
                    raise answer
                parts.append(answer)
                end = start - 1
        logs = [log for part in parts for log in part]
        return Found(end + 1, tuple(sorted(logs, key=lambda log: (log.block, log.index))))

    async def _ask(
        self, address: Address, topics: Sequence[str | list[str] | None], start: int, stop: int
    ) -> list[LoggedEvent]:
        query = {"address": address, "topics": list(topics), "fromBlock": hex(start), "toBlock": hex(stop)}
        answer = await self._chain.request("eth_getLogs", [query])
        try:
            return [_event(log) for log in answer if not log.get("removed")]
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise UpstreamError(
                f"A node of {self._chain.network.name} gave logs that cannot be read.",
                reason=Reason.RPC_ERROR,
            ) from error


def _event(log: Any) -> LoggedEvent:
    return LoggedEvent(
        int(log["blockNumber"], 16),
        int(log["logIndex"], 16),
        checksum(log["address"]),
        tuple(log["topics"]),
        bytes.fromhex(log["data"][2:]),
    )
