"""What the answers about blocks, transactions, receipts and logs must agree with, by method.

A check returns None for a good answer, ``Doubt`` for one that another upstream has to confirm, and raises
``Unusable`` for one that is wrong whatever the chain is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from quoteway import Header, UpstreamError
from quoteway.evm.answers import header_of, quantity
from quoteway.evm.log_bloom import may_contain

from quoteway_rpc.blocks import block_of, number_of
from quoteway_rpc.heads import NetworkHeads
from quoteway_rpc.upstream import Unusable, Upstream

_LOGS_A_TURN = 500
"""Logs checked before the event loop has another turn."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """``kind`` is a word for the log. Another upstream confirms the answer by one with the same ``mark``.

    That of a conflict begins with the number of the known block that is contradicted.
    """

    kind: str
    mark: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """A result of one upstream. ``read`` sends a further read to the same upstream."""

    heads: NetworkHeads
    upstream: Upstream
    method: str
    params: Sequence[Any]
    result: Any
    read: Callable[[str, Sequence[Any]], Awaitable[Any]]

    @property
    def first(self) -> Any:
        """Returns the first parameter; None without one."""
        return self.params[0] if self.params else None


Check: TypeAlias = Callable[[Answer], Awaitable[Doubt | None]]

MISSING = "null"
EMPTY = "empty"
BEHIND = "behind"
AHEAD = "ahead"
CONFLICT = "conflict"


async def _head_number(answer: Answer) -> Doubt | None:
    return _of_head(answer, _quantity(answer.result))


def _of_head(answer: Answer, number: int) -> Doubt | None:
    served = answer.heads.served
    if served is not None and number < served.number:
        return Doubt(BEHIND, None)
    return Doubt(AHEAD, None) if answer.heads.is_far_ahead(answer.upstream, number) else None


async def _block_by_number(answer: Answer) -> Doubt | None:
    wanted = number_of(answer.first) if isinstance(answer.first, str) else None
    heads = answer.heads
    if answer.result is None:
        if wanted in ("latest", "earliest"):
            raise Unusable("null_block")
        served = heads.served
        expected = not isinstance(wanted, int) or served is None or wanted <= served.number
        return Doubt(MISSING, None) if expected else None
    if wanted == "pending":
        return None  # has no hash on most nodes
    header = _header(answer.result)
    number, block_hash = header.block.number, header.block.hash
    if isinstance(wanted, int) and number != wanted:
        raise Unusable("wrong_block")
    if wanted == "latest" and (doubt := _of_head(answer, number)) is not None:
        return doubt
    known, below, above = (heads.header_at(n) for n in (number, number - 1, number + 1))
    if known is not None:
        return Doubt(CONFLICT, (number, block_hash)) if known.block.hash != block_hash else None
    # It is not known itself: what it contradicts is its neighbour, and that is to be looked at.
    if above is not None and above.parent is not None and above.parent != block_hash:
        return Doubt(CONFLICT, (number + 1, block_hash))
    if below is not None and header.parent is not None and below.block.hash != header.parent:
        return Doubt(CONFLICT, (number - 1, block_hash))
    return None


async def _block_by_hash(answer: Answer) -> Doubt | None:
    if answer.result is None:
        return Doubt(MISSING, None)
    if _header(answer.result).block.hash != _lower(answer.first):
        raise Unusable("wrong_block")
    return None


async def _transaction(answer: Answer) -> Doubt | None:
    if answer.result is None:
        return Doubt(MISSING, None)
    return _mined(answer, _object(answer.result), "hash", _lower(answer.first))


async def _receipt(answer: Answer) -> Doubt | None:
    if answer.result is None:
        return Doubt(MISSING, None)
    receipt = _object(answer.result)
    doubt = _mined(answer, receipt, "transactionHash", _lower(answer.first))
    _logs_of(receipt)
    return doubt


async def _receipts(answer: Answer) -> Doubt | None:
    if answer.result is None:
        return Doubt(MISSING, None)
    block = block_of(answer.method, answer.params)
    found = [_object(each) for each in _list(answer.result)]
    for receipt in found:
        number, block_hash = _quantity(receipt.get("blockNumber")), receipt.get("blockHash")
        if block not in ("latest", "pending", "safe", "finalized", "earliest", number, block_hash):
            raise Unusable("wrong_receipts")
        if (number, block_hash) != (_quantity(found[0].get("blockNumber")), found[0].get("blockHash")):
            raise Unusable("wrong_receipts")
        _logs_of(receipt)
    return _in_chain(answer, found[0]) if found else None


async def _present(answer: Answer) -> Doubt | None:
    return Doubt(MISSING, None) if answer.result is None else None


async def _chain_id(answer: Answer) -> Doubt | None:
    if not answer.upstream.is_chain_id(answer.result):
        raise Unusable("wrong_chain_id")
    return None


async def _logs(answer: Answer) -> Doubt | None:
    wanted = answer.first if isinstance(answer.first, Mapping) else {}
    logs = _list(answer.result)
    addresses = _choices(wanted.get("address"))
    topics = [_choices(each) for each in wanted.get("topics") or ()]
    block_hash = wanted.get("blockHash")
    first, last = (number_of(wanted.get(end) or "latest") for end in ("fromBlock", "toBlock"))
    narrowed = [(place, choices) for place, choices in enumerate(topics) if choices is not None]
    numbers: dict[Any, int] = {}
    hashes: dict[int, str] = {}
    for at, log in enumerate(logs):
        if at % _LOGS_A_TURN == _LOGS_A_TURN - 1:
            await asyncio.sleep(0)
        if not _fits(_object(log), addresses, narrowed):
            raise Unusable("wrong_logs")
        text, its_hash = log.get("blockNumber"), log.get("blockHash")
        if not isinstance(text, str):
            raise Unusable("malformed_answer")
        number = numbers.get(text, -1)
        if number < 0:  # the first log of its block
            number = numbers[text] = _quantity(text)
        if block_hash is None:
            outside = (isinstance(first, int) and number < first) or (isinstance(last, int) and number > last)
        else:
            outside = its_hash != _lower(block_hash)
        if outside or log.get("removed") is True or hashes.setdefault(number, its_hash) != its_hash:
            raise Unusable("wrong_logs")
    for number, its_hash in hashes.items():
        if answer.heads.hash_at(number) not in (None, its_hash):
            return Doubt(CONFLICT, (_telling(answer.heads, number), tuple(hashes.items())))
    if not logs and (block_hash is not None or (isinstance(first, int) and first == last)):
        return await _empty(answer, block_hash or first, addresses, topics)
    return None


async def _empty(
    answer: Answer, block: Any, addresses: frozenset[str] | None, topics: Sequence[frozenset[str] | None]
) -> Doubt | None:
    """Doubts that a block has no logs when the filter in its header may hold them."""
    if isinstance(block, str):
        header = answer.heads.header(_lower(block))
    else:
        served = answer.heads.served
        if served is not None and block > served.number:
            return None  # not mined yet
        header = answer.heads.header_at(block)
    if header is None:
        method, at = (
            ("eth_getBlockByHash", block) if isinstance(block, str) else ("eth_getBlockByNumber", hex(block))
        )
        try:
            found = await answer.read(method, [at, False])
        except UpstreamError:
            return Doubt(EMPTY, None)
        if found is None:  # it has not even the block
            return Doubt(EMPTY, None)
        header = _header(found)
    bloom = header.logs_bloom
    if not bloom:  # none, or a network that leaves it empty
        return None
    there = all(
        choices is None or any(may_contain(bloom, item) for item in choices)
        for choices in (addresses, *topics)
    )
    return Doubt(EMPTY, None) if there else None


def _fits(
    log: Mapping[str, Any], addresses: frozenset[str] | None, narrowed: Sequence[tuple[int, frozenset[str]]]
) -> bool:
    """Returns whether a log is of an address and has the topics at the places that a filter narrows.

    A topic that the filter leaves open may be absent: reth drops open ones at the end of a filter.
    """
    its_topics = log.get("topics")
    if not isinstance(its_topics, list):
        return False
    if addresses is not None and not _is_one_of(log.get("address"), addresses):
        return False
    for place, choices in narrowed:
        if place >= len(its_topics) or not _is_one_of(its_topics[place], choices):
            return False
    return True


def _is_one_of(text: Any, choices: frozenset[str]) -> bool:
    # Nodes give lower case: a second look is seldom needed.
    return isinstance(text, str) and (text in choices or text.lower() in choices)


def _choices(given: Any) -> frozenset[str] | None:
    """Returns the lower-case alternatives of a filter's member; None: everything fits."""
    choices = given if isinstance(given, list) else [given]
    if not choices or None in choices:  # nodes take null among alternatives as all of them
        return None
    return frozenset(_lower(each) for each in choices)


def _mined(answer: Answer, found: Mapping[str, Any], member: str, wanted: str) -> Doubt | None:
    if _lower(found.get(member)) != wanted:
        raise Unusable("wrong_transaction")
    return None if found.get("blockHash") is None else _in_chain(answer, found)


def _in_chain(answer: Answer, found: Mapping[str, Any]) -> Doubt | None:
    """Doubts what is said to be of a block that is not in the chain served."""
    number, block_hash = _quantity(found.get("blockNumber")), found.get("blockHash")
    parts = answer.heads.hash_at(number) not in (None, block_hash)
    return Doubt(CONFLICT, (_telling(answer.heads, number), block_hash)) if parts else None


def _telling(heads: NetworkHeads, number: int) -> int:
    """Returns the number of the known block that tells the hash at ``number``: itself, or the one above."""
    return number if heads.header_at(number) is not None else number + 1


def _logs_of(receipt: Mapping[str, Any]) -> None:
    """Compares the logs of a receipt with it."""
    for log in _list(receipt.get("logs")):
        its = _object(log)
        if any(
            its.get(name, receipt.get(name)) != receipt.get(name) for name in ("blockHash", "transactionHash")
        ):
            raise Unusable("wrong_receipt")


def _lower(text: Any) -> str:
    return text.lower() if isinstance(text, str) else ""


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Unusable("malformed_answer")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Unusable("malformed_answer")
    return value


def _header(value: Any) -> Header:
    try:
        return header_of(_object(value))
    except UpstreamError:
        raise Unusable("malformed_block") from None


def _quantity(value: Any) -> int:
    try:
        return quantity(value)
    except UpstreamError:
        raise Unusable("malformed_answer") from None


CHECKS: Mapping[str, Check] = {
    "eth_blockNumber": _head_number,
    "eth_chainId": _chain_id,
    "eth_getBlockByHash": _block_by_hash,
    "eth_getBlockByNumber": _block_by_number,
    "eth_getBlockReceipts": _receipts,
    "eth_getBlockTransactionCountByHash": _present,
    "eth_getBlockTransactionCountByNumber": _present,
    "eth_getLogs": _logs,
    "eth_getTransactionByBlockHashAndIndex": _present,
    "eth_getTransactionByBlockNumberAndIndex": _present,
    "eth_getTransactionByHash": _transaction,
    "eth_getTransactionReceipt": _receipt,
}
