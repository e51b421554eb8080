"""How nodes refuse ``eth_getLogs`` for its size, and what they say would pass.

No standard names a code or text for it. The texts are those of geth, Erigon, Nethermind, Bor, Avalanche and
the hosted nodes, of 2022 to 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from quoteway import RpcError

LIMIT_EXCEEDED: Final = -32005
"""EIP-1474 "limit exceeded"."""

# Limits on callers, which smaller ranges do not help against.
_OF_CALLERS = re.compile(
    r"\brate\b|rate.?limit|per second|per minute|too many requests|quota|credits|compute unit|daily|capacity"
    r"|concurren|api.?key"
)
_BY_RESULTS = re.compile(
    r"results?\b|logs? (matched|response|returned)|too many (logs|events)|response.{0,20}(size|large|big)"
    r"|max.{0,20}response|entity too large|content too large|tim(ed )?.?out"
)
_BY_RANGE = re.compile(
    r"range|too many blocks|blocks? (distance|limit)|limit\w* .{0,30}blocks?|max.{0,20}blocks?"
)
_WORKING_RANGE = re.compile(r"\[\s*(0x[0-9a-f]{1,16}|\d{1,18})\s*,\s*(0x[0-9a-f]{1,16}|\d{1,18})\s*\]")
_NUMBER = r"(\d{1,3}(?:[,_']\d{3})+|\d{1,9})\s?(k\b)?"
_BLOCKS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:max\w*|limit\w*|up to|at most|over|exceeds?|than)\D{{0,40}}?{_NUMBER}[ -]*(?:blocks?|range)",
        rf"max(?:imum)?(?: is)?(?: set)?(?: to)?:? ?{_NUMBER}",
        rf"{_NUMBER}[ -]*blocks?",
        rf"(?:max\w*|limit\w*|range|distance|blocks?)\D{{0,30}}?{_NUMBER}(?! ?(?:results|logs|events))",
    )
)
_RESULTS = re.compile(rf"{_NUMBER}\s*(?:results|logs|events)|(?:limit|cap)\D{{0,10}}{_NUMBER}")
_UNREADABLE = ("too_large", "too_many_members", "http_413")
"""Kinds of ``Unusable`` that mean the answer is too long."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A size refusal. ``by_range``: the number of blocks was too great, whatever they hold.

    ``blocks`` and ``results`` are the greatest numbers that would pass, ``working`` a range that would.
    """

    by_range: bool
    blocks: int | None = None
    results: int | None = None
    working: tuple[int, int] | None = None


def refusal_of(error: RpcError) -> Refusal | None:
    """Returns what a node's error to ``eth_getLogs`` says of its limits; None for another error."""
    text = error.rpc_message.lower()
    by_results, by_range = _BY_RESULTS.search(text), _BY_RANGE.search(text)
    if _OF_CALLERS.search(text) is not None:
        return None
    is_bare = error.rpc_code == LIMIT_EXCEEDED and text.strip(" .") == "limit exceeded"  # BNB Smart Chain
    if "invalid" in text and "range too" not in text and by_results is None:
        return None  # "invalid block range": the ends are in the wrong order
    if by_results is None and by_range is None and not is_bare:
        return None
    working = _working(text, error.data)
    results = _first(_RESULTS.finditer(text)) if by_results is not None else None
    blocks = None
    if by_range is not None and by_results is None:
        blocks = next((found for each in _BLOCKS if (found := _first(each.finditer(text)))), None)
    return Refusal(by_range is not None and by_results is None, blocks, results, working)


def size_refusal(method: str, kind: str, error: RpcError | None) -> RpcError | None:
    """Returns the error of a getLogs answer that is too long for the node or the gateway; None for others.

    It is an answer, since no upstream is at fault for it.
    """
    if method != "eth_getLogs":
        return None
    if error is not None and refusal_of(error) is not None:
        return error
    return RpcError(LIMIT_EXCEEDED, "response size exceeded") if kind in _UNREADABLE else None


def _working(text: str, data: Any) -> tuple[int, int] | None:
    ends: Any = None
    if (found := _WORKING_RANGE.search(text)) is not None:
        ends = found.groups()
    elif isinstance(data, Mapping):  # Infura
        ends = (data.get("from"), data.get("to"))
    try:
        first, last = (int(end, 16 if end.startswith("0x") else 10) for end in ends)
    except (TypeError, ValueError, AttributeError):
        return None
    return (first, last) if first <= last else None


def _first(found: Any) -> int | None:
    for match in found:
        groups = match.groups()
        for number, thousands in zip(groups[::2], groups[1::2], strict=True):
            if number is not None:
                return int(re.sub(r"\D", "", number)) * (1000 if thousands else 1)
    return None
