"""Filters of logs: read from clients' JSON, tested against a block's bloom filter and against each log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.evm.log_bloom import bloom_mask

MAX_FILTER_ITEMS: Final = 1_024
"""Addresses and topics of one filter together. Each block is compared with the filters of all clients."""
MAX_TOPICS: Final = 4

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_TOPIC = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which logs are wanted, as ``eth_getLogs`` defines it; all hex is in lower case.

    ``addresses`` None: of every contract. ``topics`` has for each place the accepted values, None for any.
    A log with fewer topics than the filter has places does not match, also where the last place is any.
    """

    addresses: frozenset[str] | None = None
    topics: tuple[frozenset[str] | None, ...] = ()

    def may_match(self, bloom: int | None) -> bool:
        """Returns whether a block with this ``logsBloom`` may have a log that matches; True without one."""
        if bloom is None:
            return True
        if not bloom:
            return False
        return all(
            any(bloom & mask == mask for mask in map(bloom_mask, items))
            for items in (self.addresses, *self.topics)
            if items is not None
        )

    def matches(self, address: str, topics: Sequence[str]) -> bool:
        """Returns whether a log matches, whose address and topics are in lower case."""
        if self.addresses is not None and address not in self.addresses:
            return False
        if len(topics) < len(self.topics):
            return False
        return all(
            wanted is None or topic in wanted for wanted, topic in zip(self.topics, topics, strict=False)
        )


def read_filter(value: Any, path: str = "params[1]") -> LogFilter:
    """Returns the filter of a client's ``eth_subscribe`` to ``logs``. Raises ``InvalidRequest``.

    ``address`` is one or an array, ``topics`` an array of up to four places, each null, one topic, or an
    array of alternatives; an empty array matches all, as in geth. Only new logs are told: ``fromBlock`` and
    ``toBlock`` may be ``latest``, which changes nothing.
    """
    if value is None:
        return LogFilter()
    if not isinstance(value, Mapping):
        raise _refused(path, Reason.INVALID_FORMAT, "must be a filter object")
    for name in value:
        if name not in ("address", "topics", "fromBlock", "toBlock"):
            raise _refused(path, Reason.UNKNOWN_MEMBER, "may have the members address and topics only")
    for name in ("fromBlock", "toBlock"):
        if value.get(name) not in (None, "", "latest"):
            text = "must be latest or absent: a subscription is to new logs. eth_getLogs reads old ones"
            raise _refused(f"{path}.{name}", Reason.INVALID_FORMAT, text)
    addresses = _addresses(value.get("address"), f"{path}.address")
    topics = _topics(value.get("topics"), f"{path}.topics")
    if sum(len(items) for items in (addresses, *topics) if items is not None) > MAX_FILTER_ITEMS:
        raise _refused(
            path, Reason.OUT_OF_RANGE, f"must name at most {MAX_FILTER_ITEMS} addresses and topics"
        )
    return LogFilter(addresses, topics)


def _addresses(value: Any, path: str) -> frozenset[str] | None:
    given = [value] if isinstance(value, str) else value
    if given is None or given == []:
        return None
    return _items(given, _ADDRESS, path, "an address of 20 bytes in 0x hex")


def _topics(value: Any, path: str) -> tuple[frozenset[str] | None, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _refused(path, Reason.INVALID_FORMAT, "must be an array")
    if len(value) > MAX_TOPICS:
        raise _refused(path, Reason.OUT_OF_RANGE, f"must have at most {MAX_TOPICS} places")
    places = []
    for index, place in enumerate(value):
        given = [place] if isinstance(place, str) else place
        # geth reads a null among the alternatives, and no alternatives, as any topic.
        anything = given is None or (isinstance(given, list) and (not given or None in given))
        wanted = "a topic of 32 bytes in 0x hex"
        places.append(None if anything else _items(given, _TOPIC, f"{path}[{index}]", wanted))
    return tuple(places)


def _items(given: Any, pattern: re.Pattern[str], path: str, wanted: str) -> frozenset[str]:
    if not isinstance(given, list) or len(given) > MAX_FILTER_ITEMS:
        text = f"must be {wanted} or an array of up to {MAX_FILTER_ITEMS}"
        raise _refused(path, Reason.INVALID_FORMAT, text)
    for each in given:
        if not isinstance(each, str) or pattern.fullmatch(each) is None:
            raise _refused(path, Reason.INVALID_FORMAT, f"must be {wanted}")
    return frozenset(each.lower() for each in given)


def _refused(path: str, reason: Reason, message: str) -> InvalidRequest:
    return InvalidRequest(f"{path} {message}.", reason=reason, fields=[FieldError(path, reason, message)])
