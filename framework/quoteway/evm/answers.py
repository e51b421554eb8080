"""Reads quantities and block headers from answers of nodes, which may be anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from quoteway.errors import Reason, UpstreamError
from quoteway.models import Block, Header

_MOST = 253_402_300_800
"""The year 10000 in Unix seconds: above every real block time and number."""
_BLOOM = re.compile(r"0x[0-9a-fA-F]{512}", re.ASCII)
_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}", re.ASCII)


def header_of(answer: Mapping[str, Any]) -> Header:
    """Returns the header of a block object (execution-apis, ``Block``) or a ``newHeads`` notification.

    Raises ``UpstreamError`` when it cannot be read, or has a number or time that no chain has.
    """
    base_fee, block_hash, parent = answer.get("baseFeePerGas"), answer.get("hash"), answer.get("parentHash")
    if not isinstance(block_hash, str) or not _HASH.fullmatch(block_hash):
        raise unreadable()
    number, timestamp = quantity(answer.get("number")), quantity(answer.get("timestamp"))
    if number >= _MOST or timestamp >= _MOST:
        raise unreadable()
    block = Block(number, block_hash, timestamp, None if base_fee is None else quantity(base_fee))
    return Header(block, parent if isinstance(parent, str) else None, _bloom(answer.get("logsBloom")))


def quantity(value: Any) -> int:
    """Returns the integer of a 0x hex quantity of up to 256 bits. Raises ``UpstreamError`` for others."""
    # int() also accepts signs, spaces, underscores and any length.
    if isinstance(value, str) and _QUANTITY.fullmatch(value):
        return int(value, 16)
    raise unreadable()


def unreadable() -> UpstreamError:
    """Returns the error for an answer that cannot be read."""
    return UpstreamError("A node's answer cannot be read.", reason=Reason.RPC_ERROR)


def _bloom(text: Any) -> int | None:
    """Returns the ``logsBloom`` of a header; None when a node does not give one of 256 bytes."""
    return int(text, 16) if isinstance(text, str) and _BLOOM.fullmatch(text) else None
