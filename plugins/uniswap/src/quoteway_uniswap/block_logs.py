"""Reads the logs of one block by its hash and checks them against the block's header.

The block is named by its hash: a node that has another block at that height, or none yet, answers with an
error. Asked by number it would answer with fewer logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from quoteway import Address, Chain, Header, Reason, UpstreamError
from quoteway.evm.log_bloom import false_positive_rate, may_contain
from quoteway_router.logs import LoggedEvent

_EXPECTED_FALSE_ALARMS = 0.5
"""Blooms of full blocks contain almost everything: those that would give more false alarms tell nothing."""


class LogsContradictory(Exception):  # noqa: N818 - the block is read again, nothing fails
    """A node's logs are not those of the block."""


async def block_logs(chain: Chain, header: Header, addresses: Sequence[Address]) -> tuple[LoggedEvent, ...]:
    """Returns the logs of ``addresses`` in a block, in order. Takes one request.

    Raises LogsContradictory when a log is of another block or address, given twice or not in the header's
    bloom, UpstreamError or RpcError when the node does not answer or does not have the block.
    """
    wanted = {address.lower() for address in addresses}
    answer = await chain.request(
        "eth_getLogs", [{"blockHash": header.block.hash, "address": [each.lower() for each in addresses]}]
    )
    try:
        logs = sorted((_checked(log, header, wanted) for log in answer), key=lambda log: log.index)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise UpstreamError(
            f"A node of {chain.network.name} returned malformed logs.", reason=Reason.RPC_ERROR
        ) from error
    if any(one.index == other.index for one, other in pairwise(logs)):
        raise LogsContradictory("a log was given twice")
    return tuple(logs)


def _checked(log: Any, header: Header, wanted: set[str]) -> LoggedEvent:
    if log.get("removed") or log["blockHash"] != header.block.hash:
        raise LogsContradictory(f"a log is of block {log['blockHash']}, not of {header.block.hash}")
    event = LoggedEvent.read(log)
    if event.address.lower() not in wanted or event.block != header.block.number:
        raise LogsContradictory(f"a log of {event.address} in block {event.block} was not asked for")
    # Some networks leave the filter empty.
    if header.logs_bloom and not all(
        may_contain(header.logs_bloom, item) for item in (event.address, *event.topics)
    ):
        raise LogsContradictory(f"the header's bloom does not have the log of {event.address}")
    return event


def omitted(
    header: Header,
    logs: Iterable[LoggedEvent],
    sources: Sequence[tuple[Address, str | None, frozenset[str]]],
) -> list[int]:
    """Returns the indices of the sources of which the header's bloom tells a log that is not in ``logs``.

    A source is an address, the topic 1 of its logs (None: any) and the topics 0 that are looked for. Returns
    nothing when the bloom is too full to tell.
    """
    bloom = header.logs_bloom
    if not bloom or false_positive_rate(bloom) * len(sources) > _EXPECTED_FALSE_ALARMS:
        return []
    there = {(log.address, topic1, *log.topics[:1]) for log in logs for topic1 in (None, *log.topics[1:2])}
    kinds = {topics for _, _, topics in sources}
    likely = {topics: frozenset(topic for topic in topics if may_contain(bloom, topic)) for topics in kinds}
    return [
        at
        for at, (address, topic1, topics) in enumerate(sources)
        if likely[topics]
        and may_contain(bloom, address)
        and (topic1 is None or may_contain(bloom, topic1))
        and not any((address, topic1, topic) in there for topic in topics)
    ]
