"""What an answer says of itself: whether it is of the block that was asked for, and of which number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from quoteway_rpc.cache_keys import Kind, Plan

MOST_ROWS = 4_096
"""Longer lists are not kept: writing them as JSON would hold up other calls."""
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,16}", re.ASCII)
_OF_TRANSACTIONS = ("eth_getTransactionByHash", "eth_getTransactionReceipt")
_OF_BLOCKS = ("eth_getBlockBy", "eth_getHeaderBy")
_OF_ROWS = ("eth_getLogs", "eth_getBlockReceipts")


class Head(Protocol):
    """The newest block of a chain, ``hash`` in lower case."""

    @property
    def number(self) -> int: ...

    @property
    def hash(self) -> str: ...


def storable(plan: Plan, result: Any) -> bool:
    """Whether an answer may be kept: it is not null, of no other block than asked for, and not too long."""
    if result is None or (isinstance(result, list) and len(result) > MOST_ROWS):
        return False
    if plan.method in _OF_TRANSACTIONS:
        name = "hash" if plan.method == "eth_getTransactionByHash" else "transactionHash"
        return _text_of(result, name) == plan.hash and "blockHash" in result and number_of(result) is not None
    if plan.method.startswith(_OF_BLOCKS):
        if plan.kind is Kind.IMMUTABLE:
            return _text_of(result, "hash") == plan.hash
        return plan.kind is not Kind.NUMBERED or number_of(result) == plan.number
    if plan.method in _OF_ROWS and not isinstance(result, list):
        return False
    named = result[-1] if isinstance(result, list) and result else result
    if isinstance(named, Mapping) and plan.kind is Kind.IMMUTABLE and "blockHash" in named:
        return _text_of(named, "blockHash") == plan.hash
    return True


def is_empty_list(plan: Plan, result: Any) -> bool:
    """Whether a node found nothing in blocks. One that has lost old logs answers so too."""
    return plan.method in _OF_ROWS and result == []


def confirms(plan: Plan, result: Any, head: Head) -> bool:
    """Whether an answer at ``latest`` can be of ``head``, as far as it says of which block it is."""
    if plan.method == "eth_blockNumber":
        return _number(result) == head.number
    if plan.method == "eth_getBlockByNumber" and plan.kind is Kind.HEAD:
        number = number_of(result)
        if number is None or number > head.number:
            return False
        # An older block than the head is `safe` or `finalized`; as `latest` it is of a node that lags.
        return (number < head.number and plan.tag != "latest") or _text_of(result, "hash") == head.hash
    newest = number_of(result)
    return newest is None or newest <= head.number


def number_of(result: Any) -> int | None:
    """Returns the number of the block that an answer is of, where it says one: the last one of a list."""
    if isinstance(result, list) and result:
        result = result[-1]
    if not isinstance(result, Mapping):
        return None
    found = _number(result.get("blockNumber"))
    return found if found is not None else _number(result.get("number"))


def head_number(plan: Plan | None, result: Any) -> int | None:
    """Returns the number of the newest block when the answer tells it."""
    if plan is None:
        return None
    return _number(result) if plan.method == "eth_blockNumber" else number_of(result)


def _number(value: Any) -> int | None:
    return int(value, 16) if isinstance(value, str) and _QUANTITY.fullmatch(value) else None


def _text_of(result: Any, name: str) -> str | None:
    value = result.get(name) if isinstance(result, Mapping) else None
    return value.lower() if isinstance(value, str) else None
