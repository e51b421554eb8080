"""The canonical key of a read: equal for calls that ask a node for the same thing.

A call that has a member, a spelling or a tag that is not known here gets no key. It is sent as it is and its
answer is not kept.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias

import orjson
from quoteway.caching import compact


class Kind(enum.StrEnum):
    """How long the answer of a call stays right."""

    IMMUTABLE = "immutable"
    """It names a block by its hash."""
    NUMBERED = "numbered"
    """It names blocks by number: for ever from the finalised block down, else until the next head."""
    HEAD = "head"
    """It names a tag, or no block: until the next head. The tags ``safe`` and ``finalized`` move too."""
    TRANSACTION = "transaction"
    """It names a transaction: for ever once that is in a finalised block, else until the next head."""
    NODE = "node"
    """It is about the configuration of nodes, and read again after a minute."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of a call before it is sent.

    ``number`` is the highest block that a ``NUMBERED`` call reads, ``hash`` that of the block or transaction
    (0x, lower case), ``tag`` the tag of a ``HEAD`` call of one block, such as ``latest``. ``state`` is True
    when the answer depends on accounts, not on blocks alone.
    """

    key: bytes
    method: str
    kind: Kind
    number: int | None = None
    hash: str | None = None
    tag: str | None = None
    state: bool = False


def plan_of(chain_id: int, method: str, params: Sequence[Any]) -> Plan | None:
    """Returns the plan of a call; None when its answer must not be kept."""
    shape = _SHAPES.get(method)
    if shape is None:
        return None
    try:
        return _planned(chain_id, method, shape, params)
    except _Unknown:
        return None


def same_call(chain_id: int, method: str, params: Sequence[Any]) -> bytes | None:
    """Returns a key of exactly this call; None for parameters that are no JSON."""
    try:
        return _digest(orjson.dumps([chain_id, method, params]))
    except TypeError:
        return None


class _Unknown(Exception):  # noqa: N818 - not an error: the call has no canonical form
    """The parameters have something that is not known here."""


@dataclass(frozen=True, slots=True)
class _At:
    """The block of a call: ``text`` in the key, and what is known of it."""

    text: str
    kind: Kind
    number: int | None = None
    hash: str | None = None


_Read: TypeAlias = Callable[[Any], Any]
_REQUIRED: Final = object()
_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}", re.ASCII)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
# Not "pending", which is never kept, nor "earliest", which is not block 0 at nodes without old history.
_MOVING_TAGS = frozenset({"latest", "safe", "finalized"})
_MAX_NUMBER = (1 << 63) - 1
_LONGEST_PLAIN_KEY = 160


def _planned(chain_id: int, method: str, shape: Sequence[tuple[_Read, Any]], params: Sequence[Any]) -> Plan:
    if len(params) > len(shape):
        _unknown()
    at: _At | None = None
    key: list[Any] = [chain_id, method]
    for index, (read, default) in enumerate(shape):
        value = params[index] if index < len(params) else default
        if value is _REQUIRED:
            _unknown()
        canonical = read(value)
        if isinstance(canonical, _At):
            at = canonical
            canonical = at.text
        key.append(canonical)
    try:
        text = orjson.dumps(key, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        raise _Unknown from None
    if at is None:
        at = _At("", Kind.NODE if method in _OF_NODES else Kind.HEAD)
    tag = at.text if at.text in _MOVING_TAGS else None
    return Plan(_digest(text), method, at.kind, at.number, at.hash, tag, method in _STATE)


def _digest(text: bytes) -> bytes:
    return (
        compact(text) if len(text) <= _LONGEST_PLAIN_KEY else hashlib.blake2b(text, digest_size=32).digest()
    )


def _unknown() -> NoReturn:
    raise _Unknown


# --- parameters ---------------------------------------------------------------------------------------------


def _matching(pattern: re.Pattern[str]) -> _Read:
    def read(value: Any) -> str:
        if not isinstance(value, str) or pattern.fullmatch(value) is None:
            _unknown()
        return value.lower()

    return read


_address, _hash_text = _matching(_ADDRESS), _matching(_HASH)


def _quantity(value: Any) -> str:
    if not isinstance(value, str) or _QUANTITY.fullmatch(value) is None:
        _unknown()
    return hex(int(value, 16))


def _data(value: Any) -> str:
    # Whether it is hex, the node says: a text that is not has an error for an answer, which is not kept.
    if not isinstance(value, str) or not value.isascii() or value[:2] not in ("0x", "0X"):
        _unknown()
    return value.lower()


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        _unknown()
    return value


def _count(value: Any) -> str:
    return hex(value) if type(value) is int and 0 <= value <= _MAX_NUMBER else _quantity(value)


def _list_of(read: _Read) -> _Read:
    def read_all(value: Any) -> list[Any]:
        if not isinstance(value, list):
            _unknown()
        return [read(item) for item in value]

    return read_all


def _percentiles(value: Any) -> list[float] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(
        type(each) in (int, float) and 0 <= each <= 100 for each in value
    ):
        _unknown()
    return [float(each) for each in value]


def _slots_by_address(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        _unknown()
    read = {_address(address): _list_of(_data)(slots) for address, slots in value.items()}
    return read if len(read) == len(value) else _unknown()


def _no_overrides(value: Any) -> None:
    """State and block overrides: a call with any is never kept."""
    if value is not None and value != {}:
        _unknown()


def _access(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or value.keys() != {"address", "storageKeys"}:
        _unknown()
    return {"address": _address(value["address"]), "storageKeys": _list_of(_data)(value["storageKeys"])}


_CALL_MEMBERS: Final[Mapping[str, _Read]] = {
    **dict.fromkeys(("from", "to"), _address),
    **dict.fromkeys(("gas", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas"), _quantity),
    **dict.fromkeys(("value", "nonce", "type", "chainId"), _quantity),
    **dict.fromkeys(("data", "input"), _data),
    "accessList": _list_of(_access),
}


def _call(value: Any) -> dict[str, Any]:
    """A transaction object. ``data`` and ``input`` are two names of one member (execution-apis)."""
    if not isinstance(value, Mapping):
        _unknown()
    found: dict[str, Any] = {}
    for name, member in value.items():
        read = _CALL_MEMBERS.get(name)
        if read is None:
            _unknown()
        if member is not None:
            found[name] = read(member)
    given = found.pop("input", None)
    if given is not None and found.setdefault("data", given) != given:
        _unknown()  # nodes refuse two different ones
    if found.get("data") == "0x":
        del found["data"]
    return found


# --- blocks -------------------------------------------------------------------------------------------------


def _number(value: Any) -> _At:
    """A block number or a tag."""
    if isinstance(value, str):
        if value in _MOVING_TAGS:
            return _At(value, Kind.HEAD)
        if len(value) <= 18 and _QUANTITY.fullmatch(value):
            number = int(value, 16)
            if number <= _MAX_NUMBER:
                return _At(hex(number), Kind.NUMBERED, number)
    _unknown()


def _block_hash(value: Any) -> _At:
    found = _hash_text(value)
    return _At(found, Kind.IMMUTABLE, hash=found)


def _block(value: Any) -> _At:
    """A block by number, tag or hash, also as EIP-1898 has it."""
    if isinstance(value, str) and len(value) == 66:
        return _block_hash(value)
    if not isinstance(value, Mapping):
        return _number(value)
    members = dict(value)
    # With `requireCanonical` the answer changes when the block leaves the chain.
    if members.pop("requireCanonical", False) is not False or len(members) != 1:
        _unknown()
    if "blockHash" in members:
        return _block_hash(members["blockHash"])
    return _number(members.get("blockNumber"))


def _block_or_default(value: Any) -> _At:
    """The block of an estimate. Left out, nodes differ in what it is: ``latest`` or ``pending``."""
    return _At("", Kind.HEAD) if value is None else _block(value)


def _transaction(value: Any) -> _At:
    found = _hash_text(value)
    return _At(found, Kind.TRANSACTION, hash=found)


def _alternatives(value: Any) -> Any:
    """One value, or a list of which any may match: its order does not count."""
    if isinstance(value, list):
        return sorted({_data(each) for each in value})
    return None if value is None else [_data(value)]


def _filter(value: Any) -> _At:
    """The filter of ``eth_getLogs``. Its text is in the key as that of its block."""
    if not isinstance(value, Mapping):
        _unknown()
    members = {name: member for name, member in value.items() if member is not None}
    block_hash, first, last = (members.pop(name, None) for name in ("blockHash", "fromBlock", "toBlock"))
    address, topics = _alternatives(members.pop("address", None)), members.pop("topics", [])
    if members or not isinstance(topics, list):
        _unknown()
    wanted = [address, [_alternatives(topic) for topic in topics]]
    if block_hash is not None:
        if first is not None or last is not None:
            _unknown()
        at = _block_hash(block_hash)
        return _At(_text([at.text, *wanted]), at.kind, hash=at.hash)
    ends = [_number("latest" if end is None else end) for end in (first, last)]
    text = _text([*(end.text for end in ends), *wanted])
    if any(end.kind is Kind.HEAD for end in ends):
        return _At(text, Kind.HEAD)
    return _At(text, Kind.NUMBERED, max(end.number or 0 for end in ends))


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()


# --- methods ------------------------------------------------------------------------------------------------

_Shape: TypeAlias = tuple[tuple[_Read, Any], ...]
_AT: Final = (_block, "latest")
_OF: Final = (_address, _REQUIRED)
_BY_HASH: Final = (_block_hash, _REQUIRED)
_BY_NUMBER: Final = (_number, _REQUIRED)
_FULL: Final = (_flag, False)
_INDEX: Final = (_quantity, _REQUIRED)
_CALL: Final = (_call, _REQUIRED)
_OVERRIDES: Final = (_no_overrides, None)

_STATE: Final[Mapping[str, _Shape]] = {
    **dict.fromkeys(
        ("eth_getBalance", "eth_getCode", "eth_getTransactionCount", "eth_getAccount"), (_OF, _AT)
    ),
    "eth_getStorageAt": (_OF, (_quantity, _REQUIRED), _AT),
    "eth_getStorageValues": ((_slots_by_address, _REQUIRED), _AT),
    # Answers repeat the slots as they were written.
    "eth_getProof": (_OF, (_list_of(_data), _REQUIRED), _AT),
    "eth_call": (_CALL, _AT, _OVERRIDES, _OVERRIDES),
    "eth_estimateGas": (_CALL, (_block_or_default, None), _OVERRIDES, _OVERRIDES),
    "eth_createAccessList": (_CALL, (_block_or_default, None), _OVERRIDES),
}
_OF_NODES: Final = ("eth_config", "eth_capabilities")
_SHAPES: Final[Mapping[str, _Shape]] = {
    **_STATE,
    **dict.fromkeys(("eth_blockNumber", "eth_gasPrice", "eth_maxPriorityFeePerGas"), ()),
    **dict.fromkeys(("eth_blobBaseFee", "eth_baseFee", *_OF_NODES), ()),
    "eth_feeHistory": ((_count, _REQUIRED), _BY_NUMBER, (_percentiles, None)),
    "eth_getBlockByHash": (_BY_HASH, _FULL),
    "eth_getBlockByNumber": (_BY_NUMBER, _FULL),
    **dict.fromkeys(("eth_getBlockTransactionCountByHash", "eth_getUncleCountByBlockHash"), (_BY_HASH,)),
    **dict.fromkeys(
        ("eth_getBlockTransactionCountByNumber", "eth_getUncleCountByBlockNumber"), (_BY_NUMBER,)
    ),
    "eth_getUncleByBlockHashAndIndex": (_BY_HASH, _INDEX),
    "eth_getUncleByBlockNumberAndIndex": (_BY_NUMBER, _INDEX),
    "eth_getHeaderByHash": (_BY_HASH,),
    "eth_getHeaderByNumber": (_BY_NUMBER,),
    **dict.fromkeys(("eth_getBlockReceipts", "eth_getBlockAccessList"), ((_block, _REQUIRED),)),
    "eth_getTransactionByBlockHashAndIndex": (_BY_HASH, _INDEX),
    "eth_getTransactionByBlockNumberAndIndex": (_BY_NUMBER, _INDEX),
    **dict.fromkeys(("eth_getTransactionByHash", "eth_getTransactionReceipt"), ((_transaction, _REQUIRED),)),
    "eth_getLogs": ((_filter, _REQUIRED),),
}
