"""Classifies what upstreams answer, and makes what may be told to clients of it."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Final

from quoteway import RpcError

from quoteway_rpc.error_rows import ROWS, Outcome

BLAMES: Final = frozenset(
    {Outcome.CAPACITY, Outcome.NODE_FAULT, Outcome.AUTHORISATION, Outcome.TIMEOUT, Outcome.INTEGRITY}
)
"""The outcomes that count against an upstream. What a caller can cause is not among them, but for time."""
MAX_RETRY_AFTER_S: Final = 60.0
"""The longest time that an upstream's ``Retry-After`` is believed."""
_MAX_TEXT: Final = 512
"""The characters of a message that are looked at."""

NOT_FOUND: Final = "not_found"
"""The word for a null that another upstream has to confirm. Without one that can, it is the answer."""

_WORDS: Final[Mapping[str, Outcome]] = {
    **{outcome.value: outcome for outcome in Outcome},
    NOT_FOUND: Outcome.DATA_MISSING,
    "rate_limited": Outcome.CAPACITY,
    "http_401": Outcome.AUTHORISATION,
    "http_402": Outcome.AUTHORISATION,
    "http_403": Outcome.AUTHORISATION,
    "http_408": Outcome.TIMEOUT,
    "timed_out": Outcome.TIMEOUT,
    "http_429": Outcome.CAPACITY,
    "wrong_chain_id": Outcome.INTEGRITY,
    "wrong_block": Outcome.INTEGRITY,
    "wrong_logs": Outcome.INTEGRITY,
    "wrong_receipt": Outcome.INTEGRITY,
    "wrong_receipts": Outcome.INTEGRITY,
    "wrong_transaction": Outcome.INTEGRITY,
    "malformed_block": Outcome.INTEGRITY,
    "malformed_answer": Outcome.INTEGRITY,
    "null_block": Outcome.INTEGRITY,
}
_KINDS: Final[Mapping[Outcome, str]] = {Outcome.CAPACITY: "rate_limited", Outcome.TIMEOUT: "timed_out"}

# Who pays whom, and where: words of a provider, which a client of the gateway must not read.
_PROVIDERS_WORDS: Final = re.compile(
    r"https?:|www\.|\.(?:com|io|org|network|xyz|dev|net|app)\b|api[ -]?key|\bplans?\b|\btiers?\b"
    r"|upgrade|token|account|dashboard|billing|payment|credit|subscri|support|contact|sign ?up|quota|project"
    r"|dedicated|pricing|alchemy|infura|quicknode|ankr|drpc|publicnode|chainstack|blockpi|blast|allnodes|tenderly|llamarpc"
    r"|nodereal",
    re.IGNORECASE,
)
_TEXTS: Final[Mapping[Outcome, str]] = {
    Outcome.DATA_MISSING: "the node does not have the requested block or state",
    Outcome.METHOD_MISSING: "the method is not available",
    Outcome.TOO_LARGE: "the requested range or result is too large",
}
_AGAIN: Final = re.compile(r"(?:retry|again)\s+(?:in|after)\s+(\d+(?:\.\d+)?)\s*(ms|s|sec|seconds?|m|min)\b")
_UNIT_S: Final = {"ms": 0.001, "m": 60.0, "min": 60.0}
_VARIABLE: Final = re.compile(r"0x[0-9a-f]*|\d+|\s+")


class Unusable(Exception):  # noqa: N818 - not an error but the reason for failover
    """The upstream gave no usable answer to this request.

    ``kind`` is a word for the log. ``outcome`` is its class: that of the word when none is given, a fault of
    the node for words that name no class. ``error`` is the node's error object, ``retry_after_s`` the time
    after which the upstream wants to be asked again.
    """

    def __init__(
        self,
        kind: str,
        error: RpcError | None = None,
        *,
        outcome: Outcome | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(kind)
        self.kind = kind
        self.error = error
        self.outcome = outcome or _WORDS.get(kind, Outcome.NODE_FAULT)
        self.retry_after_s = retry_after_s

    @property
    def blames_upstream(self) -> bool:
        """Whether it counts against the upstream. A method, block or range that it lacks does not."""
        return self.outcome in BLAMES


def classify(code: int, message: str, method: str = "") -> Outcome:
    """Returns the class of a node's error object, by the first row that matches."""
    text = message[:_MAX_TEXT].lower()
    for row in ROWS:
        if row.matches(code, text, method):
            return row.outcome
    return Outcome.UNKNOWN


def refused(error: RpcError, method: str) -> RpcError | Unusable:
    """Returns what to raise for a node's error: the caller's as it is, any other as ``Unusable``."""
    outcome = classify(error.rpc_code, error.rpc_message, method)
    if error.rpc_code == 3 and isinstance(error.data, str) and error.data.startswith("0x"):
        outcome = Outcome.CALLER  # the data of a revert, whatever words the contract chose
    if outcome is Outcome.CALLER:
        return error
    wait_s = retry_in_error(error) if outcome is Outcome.CAPACITY else None
    return Unusable(_KINDS.get(outcome, outcome.value), error, outcome=outcome, retry_after_s=wait_s)


def refused_by_status(
    status: int, retry_after: str | None, error: RpcError | None, method: str
) -> RpcError | Unusable | None:
    """Returns what to raise for an answer with this HTTP status, or None when it says nothing.

    ``error`` is the JSON-RPC error of the body, if there is one. 401, 402, 403 and 429 are about the
    operator's account, whatever the body says. Otherwise a known error of the body decides: some nodes send
    reverts with 400 or 500.
    """
    if status == 200:
        return None if error is None else refused(error, method)
    wait_s = retry_after_s(retry_after)
    kind = "rate_limited" if status == 429 else f"http_{status}"
    by_status = Unusable(kind, retry_after_s=wait_s)
    if status == 413 and method == "eth_getLogs":
        return Unusable("too_large", error, outcome=Outcome.TOO_LARGE)
    if error is None or by_status.outcome in (Outcome.AUTHORISATION, Outcome.CAPACITY):
        return by_status
    found = refused(error, method)
    if isinstance(found, Unusable):
        if status >= 500 and found.outcome is Outcome.UNKNOWN:
            return by_status
        found.retry_after_s = found.retry_after_s if wait_s is None else wait_s
    return found


def agreed(failures: Sequence[Unusable]) -> RpcError | None:
    """Returns the error that two upstreams gave alike and that no row names: it is the caller's.

    Alike is the same code, or the same text but for numbers.
    """
    unknown = [each.error for each in failures if each.outcome is Outcome.UNKNOWN and each.error is not None]
    for index, error in enumerate(unknown):
        for other in unknown[:index]:
            if error.rpc_code == other.rpc_code or _shape(error) == _shape(other):
                return for_client(other, Outcome.UNKNOWN)
    return None


def conclusion(failures: Sequence[Unusable], method: str = "") -> RpcError | None:
    """Returns the node's error that a client is told when no upstream gave a usable answer, if there is one.

    An error about the call is told, even beside failed upstreams: it is all that is known of the call. Else
    what the upstreams lack is told when none of them failed otherwise.
    """
    for each in failures:
        if each.outcome is Outcome.UNKNOWN and each.error is not None:
            return for_client(each.error, each.outcome)
    if any(each.blames_upstream for each in failures):
        return None
    for each in failures:
        if each.error is not None:
            # What limits a range of logs is not for the client: ``log_ranges`` reads it and splits the range.
            is_size = each.outcome is Outcome.TOO_LARGE and method == "eth_getLogs"
            return each.error if is_size else for_client(each.error, each.outcome)
    return None


def for_client(error: RpcError, outcome: Outcome) -> RpcError:
    """Returns the error as a client may see it: without a provider's words about keys, plans and addresses.

    The data of an error that is not the caller's is left out: providers put their links there.
    """
    if outcome is Outcome.CALLER:
        return error
    text = error.rpc_message
    if _PROVIDERS_WORDS.search(text) or len(text) > _MAX_TEXT or not text.isprintable():
        text = _TEXTS.get(outcome, "the node refused the request")
    return RpcError(error.rpc_code, text)


def retry_after_s(value: str | None) -> float | None:
    """Returns the seconds of a ``Retry-After`` header (RFC 9110 section 10.2.3), at most
    ``MAX_RETRY_AFTER_S``; None when it is absent or unreadable."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), MAX_RETRY_AFTER_S)
    try:
        at = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return min(max(at - time.time(), 0.0), MAX_RETRY_AFTER_S)


def retry_in_error(error: RpcError) -> float | None:
    """Returns the seconds after which an error object asks to try again; None when it does not say.

    Infura: ``data.rate.backoff_seconds``. Others write "retry in 10s".
    """
    if isinstance(error.data, Mapping):
        rate = error.data.get("rate")
        seconds = rate.get("backoff_seconds") if isinstance(rate, Mapping) else None
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
            return min(float(seconds), MAX_RETRY_AFTER_S)
    found = _AGAIN.search(error.rpc_message[:_MAX_TEXT].lower())
    if found is None:
        return None
    return min(float(found[1][:9]) * _UNIT_S.get(found[2], 1.0), MAX_RETRY_AFTER_S)


def _shape(error: RpcError) -> str:
    return _VARIABLE.sub(" ", error.rpc_message[:_MAX_TEXT].lower()).strip()
