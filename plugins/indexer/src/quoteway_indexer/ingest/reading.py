"""Reads the logs of ranges of blocks from nodes, and checks what they answer."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from quoteway import Chain, Header, Reason, RpcError, UpstreamError
from quoteway.evm.log_filter import LogFilter

from quoteway_indexer.ingest.decoding import Decoded, decode
from quoteway_indexer.ingest.logs import LogBatch, LoggedBlock, UnreadableLogsError, read_logs
from quoteway_indexer.ingest.ranges import Gap
from quoteway_indexer.ingest.sources import CREATED, Source, filter_of
from quoteway_indexer.store import IndexedBlock

if TYPE_CHECKING:
    import pyarrow as pa

TIMEOUT_S: Final = 60.0
UNKNOWN_HASH: Final = bytes(32)
"""The parent's hash of a block of which only the logs were read."""
_LIMIT_EXCEEDED: Final = -32005
_HEADERS_AT_ONCE: Final = 32
_BY_HASH: Final = 4
"""So many blocks at most are asked for their logs one by one, by hash."""
_SUSPECTS: Final = 8
_ROUND: Final = 10
"""The limits of nodes that cut answers off are multiples of it."""


class TooLargeError(Exception):
    """A range has more logs than nodes give at once. ``blocks`` would pass, where that is known."""

    def __init__(self, blocks: int | None = None) -> None:
        super().__init__("the range has more logs than the nodes give at once")
        self.blocks = blocks


class IncompleteError(Exception):
    """An answer lacks logs that its range has."""


class ChainChangedError(Exception):
    """The chain was reorganised while it was read."""


@dataclass(frozen=True, slots=True)
class RangeRead:
    """What was read of a range: facts by table, blocks to keep, how many logs came and were skipped."""

    facts: Mapping[str, pa.Table]
    blocks: Sequence[IndexedBlock]
    logs: int
    skipped: Mapping[str, int]


class LogReader:
    """Reads ranges of one chain."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._chance = random.Random()  # noqa: S311 - which blocks are looked at again

    async def history(self, gap: Gap) -> RangeRead:
        """Returns what the blocks of a gap have, which no reorganisation takes back.

        Raises ``TooLargeError``, ``IncompleteError``, ``UnreadableLogsError``, and as ``Chain`` does.
        """
        members = filter_of(gap.sources)
        answer = await self._logs({**members, "fromBlock": hex(gap.first), "toBlock": hex(gap.last)})
        batch = await asyncio.to_thread(read_logs, answer, gap.first, gap.last)
        await self._check_silence(gap, members, batch)
        mine = _of_sources(batch, gap.sources)
        headers = await self._headers_of(mine)
        times = {number: block.timestamp or 0 for number, block in mine.blocks.items()}
        times |= {number: header.block.timestamp for number, header in headers.items()}
        decoded = await asyncio.to_thread(_decode, gap.sources, mine, times)
        kept = await asyncio.to_thread(_numbers, decoded)
        blocks = [
            IndexedBlock(
                number,
                bytes.fromhex(mine.blocks[number].hash[2:]),
                _parent(headers.get(number)),
                times[number],
            )
            for number in kept
        ]
        return RangeRead(decoded.facts, blocks, len(batch.logs), decoded.skipped)

    async def recent(self, headers: Sequence[Header], sources: Sequence[Source]) -> RangeRead:
        """Returns what following blocks have that may still be taken back, each of which is kept.

        Contracts that were made in them count. Raises as ``history``, and ``ChainChangedError``.
        """
        while True:
            known = _count_contracts(sources)
            members = filter_of(sources)
            batch = await self._recent_logs(headers, members)
            times = {header.block.number: header.block.timestamp for header in headers}
            decoded = await asyncio.to_thread(_decode, sources, batch, times)
            if "address" not in members or _count_contracts(sources) == known:
                break
            # The logs of contracts that are new here were not asked for.
        return RangeRead(
            decoded.facts, [indexed(header) for header in headers], len(batch.logs), decoded.skipped
        )

    # --- logs -----------------------------------------------------------------------------------------------

    async def _logs(self, wanted: Mapping[str, Any]) -> Any:
        try:
            return await self._chain.request("eth_getLogs", [wanted], timeout_s=TIMEOUT_S, shared=False)
        except RpcError as error:
            if error.rpc_code != _LIMIT_EXCEEDED:
                raise
            raise TooLargeError(_working_blocks(error.data)) from None

    async def _recent_logs(self, headers: Sequence[Header], members: Mapping[str, Any]) -> LogBatch:
        wanted = _log_filter(members)
        first, last = headers[0].block.number, headers[-1].block.number
        likely = [header for header in headers if wanted.may_match(header.logs_bloom)]
        if len(likely) <= _BY_HASH:
            answers = await asyncio.gather(*(self._logs_of_block(header, members) for header in likely))
            return read_logs([log for logs in answers for log in logs], first, last)
        answer = await self._logs({**members, "fromBlock": hex(first), "toBlock": hex(last)})
        batch = await asyncio.to_thread(read_logs, answer, first, last)
        for header in headers:
            block = batch.blocks.get(header.block.number)
            if block is not None and block.hash != header.block.hash.lower():
                raise ChainChangedError("the chain was reorganised while its logs were read")
        silent = [header for header in likely if header.block.number not in batch.blocks]
        try:
            for header in self._chance.sample(silent, min(_SUSPECTS, len(silent))):
                await self._expect_none(header, members)
            await self._check_round_count(batch, last, members)
        except IncompleteError:
            # Read again as a range, the answer would be cut off again.
            return read_logs(await self._logs_of_blocks(likely, members), first, last)
        return batch

    async def _logs_of_blocks(self, headers: Sequence[Header], members: Mapping[str, Any]) -> list[Any]:
        logs: list[Any] = []
        for at in range(0, len(headers), _HEADERS_AT_ONCE):
            part = headers[at : at + _HEADERS_AT_ONCE]
            for found in await asyncio.gather(*(self._logs_of_block(header, members) for header in part)):
                logs += found
        return logs

    async def _logs_of_block(self, header: Header, members: Mapping[str, Any]) -> list[Any]:
        answer = await self._logs({**members, "blockHash": header.block.hash})
        batch = read_logs(answer, header.block.number, header.block.number)
        if any(block.hash != header.block.hash.lower() for block in batch.blocks.values()):
            raise UnreadableLogsError("a log is of another block")
        return list(batch.logs)

    async def _expect_none(self, header: Header, members: Mapping[str, Any]) -> None:
        if await self._logs_of_block(header, members):
            raise IncompleteError("an answer lacks logs that a block of its range has")

    # --- blocks ---------------------------------------------------------------------------------------------

    async def header(self, number: int) -> Header:
        """Returns the header of a block by its number. Raises ``UpstreamError``."""
        block = await self._chain.block(number)
        header = await self._chain.header(block.hash)
        if header is None:
            raise UpstreamError("A node does not have a block that it gave.", reason=Reason.RPC_ERROR)
        return header

    async def headers(self, numbers: Sequence[int]) -> list[Header]:
        """Returns the headers of blocks, in their order."""
        found: list[Header] = []
        for at in range(0, len(numbers), _HEADERS_AT_ONCE):
            part = numbers[at : at + _HEADERS_AT_ONCE]
            found += await asyncio.gather(*(self.header(number) for number in part))
        return found

    async def _headers_of(self, batch: LogBatch) -> Mapping[int, Header]:
        """Returns the headers of blocks whose time the logs do not tell, and one of those that do."""
        untimed = [number for number, block in batch.blocks.items() if block.timestamp is None]
        sample = [max(batch.blocks)] if batch.blocks and not untimed else []
        headers = {each.block.number: each for each in await self.headers([*untimed, *sample])}
        for number, header in headers.items():
            block = batch.blocks[number]
            told = LoggedBlock(number, header.block.hash.lower(), header.block.timestamp)
            if told != replace(block, timestamp=header.block.timestamp) or block.timestamp not in (
                None,
                header.block.timestamp,
            ):
                raise UnreadableLogsError("a block differs from what its logs say")
        return headers

    async def _check_silence(self, gap: Gap, members: Mapping[str, Any], batch: LogBatch) -> None:
        """Looks at one block without logs: the one at which an answer that was cut off would have ended.

        Its header has a filter of its logs. Raises ``IncompleteError`` when it has logs after all.
        """
        await self._check_round_count(batch, gap.last, members)
        number = max(batch.blocks, default=gap.first - 1) + 1
        if number > gap.last:
            return
        if not batch.blocks:
            number = self._chance.randint(gap.first, gap.last)
        header = await self.header(number)
        if header.logs_bloom is not None and _log_filter(members).may_match(header.logs_bloom):
            await self._expect_none(header, members)

    async def _check_round_count(self, batch: LogBatch, last: int, members: Mapping[str, Any]) -> None:
        """Reads again from the last block with logs on when there are as many as a limit may be.

        Raises ``IncompleteError`` when there are more.
        """
        if not batch.logs or len(batch.logs) % _ROUND:
            return
        first = max(batch.blocks)
        answer = await self._logs({**members, "fromBlock": hex(first), "toBlock": hex(last)})
        if len(read_logs(answer, first, last).logs) != (batch.numbers == first).sum():
            raise IncompleteError("an answer was cut off")


def indexed(header: Header) -> IndexedBlock:
    """Returns a block as it is kept."""
    block = header.block
    return IndexedBlock(block.number, bytes.fromhex(block.hash[2:]), _parent(header), block.timestamp)


def _parent(header: Header | None) -> bytes:
    if header is None or header.parent is None:
        return UNKNOWN_HASH
    return bytes.fromhex(header.parent[2:])


def _decode(sources: Sequence[Source], batch: LogBatch, times: Mapping[int, int]) -> Decoded:
    """Decodes a batch: first the logs of factories, whose contracts count for the others."""
    contracts = {each.id: each.contracts for each in sources}
    finders = [each for each in sources if each.makes]
    found = decode([each.decoder for each in finders], batch, times, contracts.__getitem__)
    if CREATED in found.facts:
        table = found.facts[CREATED]
        for finder in finders:
            rows = zip(table["source"].to_pylist(), table["contract"].to_pylist(), strict=True)
            made = {"0x" + contract.hex() for source, contract in rows if source == finder.id}
            for source in finder.makes:
                if source.contracts is not None:
                    source.contracts |= made
    others = [each.decoder for each in sources if not each.makes]
    rest = decode(others, batch, times, contracts.__getitem__)
    return Decoded({**found.facts, **rest.facts}, found.skipped + rest.skipped)


def _numbers(decoded: Decoded) -> list[int]:
    """Returns the blocks that have facts."""
    return sorted(
        {number for table in decoded.facts.values() for number in table["block"].unique().to_pylist()}
    )


def _of_sources(batch: LogBatch, sources: Sequence[Source]) -> LogBatch:
    """Returns the logs of contracts of the sources: a filter without addresses gives those of others too."""
    if any(each.contracts is None for each in sources):
        return batch
    contracts = {address for each in sources for address in each.contracts or ()}
    places = [at for at, contract in enumerate(batch.contracts) if contract in contracts]
    if len(places) == len(batch.logs):
        return batch
    numbers = batch.numbers[places]
    return LogBatch(
        [batch.logs[at] for at in places],
        numbers,
        batch.indexes[places],
        [batch.contracts[at] for at in places],
        {number: batch.blocks[number] for number in np.unique(numbers).tolist()},
    )


def _count_contracts(sources: Sequence[Source]) -> int:
    return sum(len(each.contracts or ()) for each in sources)


def _log_filter(members: Mapping[str, Any]) -> LogFilter:
    addresses = members.get("address")
    return LogFilter(
        None if addresses is None else frozenset(addresses),
        tuple(frozenset(each) for each in members["topics"]),
    )


def _working_blocks(data: Any) -> int | None:
    """Returns the length of the range that a refusal says would pass."""
    try:
        return int(data["to"], 16) - int(data["from"], 16) + 1
    except (KeyError, TypeError, ValueError):
        return None
