"""Whether the answers of two nodes to one call are equal, and what both of them say.

Nodes of different kinds write one answer differently: the case of hex digits, leading zeros of a quantity,
``null`` or no member, members of their own. The members that the execution API specification names must be
equal; of all others an agreed answer has those that every node gave alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from quoteway import RpcError


class Mode(StrEnum):
    """How the answers to a method are compared."""

    EQUAL = "equal"
    """The specified members are equal."""
    HEAD = "head"
    """Nodes see new blocks at different times: the newest block that enough of them have."""
    MEDIAN = "median"
    """Estimates of each node: enough of them lie near each other, and the middle one is taken."""
    ANY = "any"
    """Nothing of the chain: one node's answer."""


MODES: Final[Mapping[str, Mode]] = {
    "eth_blockNumber": Mode.HEAD,
    **dict.fromkeys(("eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_blobBaseFee"), Mode.MEDIAN),
    **dict.fromkeys(("eth_baseFee", "eth_estimateGas"), Mode.MEDIAN),
    # The chain id of each upstream is compared with the network's when it is first asked (``upstream.py``).
    **dict.fromkeys(("eth_chainId", "net_version", "web3_clientVersion", "web3_sha3"), Mode.ANY),
    **dict.fromkeys(("eth_syncing", "net_listening", "net_peerCount"), Mode.ANY),
    **dict.fromkeys(("eth_config", "eth_capabilities"), Mode.ANY),
}
"""Methods that are not compared as ``equal``."""

HEAD_TAGS: Final = ("latest", "safe", "finalized")
MEDIAN_FACTOR: Final = 2
"""How many times the smallest the greatest of agreeing estimates may be."""


def mode_of(method: str, params: Sequence[Any]) -> Mode:
    """Returns how the answers to a call are compared."""
    if method == "eth_getBlockByNumber" and params and params[0] in HEAD_TAGS:
        return Mode.HEAD
    return MODES.get(method, Mode.EQUAL)


class Differ(Exception):  # noqa: N818 - the outcome of a comparison
    """Two answers say different things. The text is the path of the member, without any value."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The members of an object that must be equal, with the shapes of those that are objects or lists.

    ``exact`` members are data, in which zeros count; other hex texts are compared as numbers. ``strict``:
    every member of both must be equal.
    """

    members: Mapping[str, Shape | None] = field(default_factory=dict)
    exact: frozenset[str] = frozenset()
    strict: bool = False


def _shape(names: str, *, exact: str = "", **nested: Shape) -> Shape:
    return Shape({**dict.fromkeys(names.split()), **nested}, frozenset(exact.split()))


_STRICT = Shape(strict=True)
_LOOSE = Shape()
_LOG = _shape(
    "address topics data blockHash blockNumber transactionHash transactionIndex logIndex", exact="data topics"
)
_TRANSACTION = _shape(
    "hash blockHash blockNumber transactionIndex from to value input nonce gas", exact="input"
)
_BLOCK = _shape(
    "number hash parentHash timestamp baseFeePerGas logsBloom gasUsed gasLimit miner stateRoot "
    "transactionsRoot receiptsRoot",
    transactions=_TRANSACTION,
)
_RECEIPT = _shape(
    "transactionHash blockHash blockNumber transactionIndex from to contractAddress status gasUsed "
    "cumulativeGasUsed logsBloom",
    logs=_LOG,
)
# Of a simulated block only the calls: nodes differ in what block they make of it.
_SIMULATED_LOG = _shape("address topics data", exact="data topics")
_SIMULATED = Shape({"calls": _shape("status returnData gasUsed", exact="returnData", logs=_SIMULATED_LOG)})
_ACCESS_LIST = Shape({"accessList": _STRICT, "error": None})

_SHAPES: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(("eth_getBlockByHash", "eth_getBlockByNumber"), _BLOCK),
    **dict.fromkeys(("eth_getHeaderByHash", "eth_getHeaderByNumber"), _BLOCK),
    **dict.fromkeys(("eth_getUncleByBlockHashAndIndex", "eth_getUncleByBlockNumberAndIndex"), _BLOCK),
    "eth_getTransactionByHash": _TRANSACTION,
    "eth_getTransactionByBlockHashAndIndex": _TRANSACTION,
    "eth_getTransactionByBlockNumberAndIndex": _TRANSACTION,
    **dict.fromkeys(("eth_getTransactionReceipt", "eth_getBlockReceipts"), _RECEIPT),
    "eth_getLogs": _LOG,
    "eth_simulateV1": _SIMULATED,
    "eth_createAccessList": _ACCESS_LIST,
}
_DATA_RESULTS = ("eth_call", "eth_getCode")
_HEX = re.compile(r"0x[0-9a-fA-F]*", re.ASCII)
_MAX_NUMBER_CHARS = 66


def merged(method: str, first: Any, second: Any) -> Any:
    """Returns what two results of a method both say. Raises ``Differ`` when they contradict each other."""
    if first == second:
        return first
    if method == "eth_createAccessList":
        first, second = _in_order(first), _in_order(second)
    return _merged(first, second, _SHAPES.get(method, _STRICT), "result", is_data=method in _DATA_RESULTS)


def _merged(first: Any, second: Any, shape: Shape, path: str, *, is_data: bool) -> Any:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return _members(first, second, shape, path)
    if isinstance(first, list) and isinstance(second, list):
        if len(first) != len(second):
            raise Differ(path)
        pairs = zip(first, second, strict=True)
        return [_merged(a, b, shape, f"{path}[{at}]", is_data=is_data) for at, (a, b) in enumerate(pairs)]
    if _alike(first, second, is_data=is_data):
        return first
    raise Differ(path)


def _members(first: Mapping[str, Any], second: Mapping[str, Any], shape: Shape, path: str) -> dict[str, Any]:
    both: dict[str, Any] = {}
    for name in (*first, *(name for name in second if name not in first)):
        one, other = first.get(name), second.get(name)
        if one is None and other is None:
            if name in first:
                both[name] = None
            continue
        is_specified = shape.strict or name in shape.members
        inner = _STRICT if shape.strict else shape.members.get(name) or (_STRICT if is_specified else _LOOSE)
        try:
            both[name] = _merged(one, other, inner, f"{path}.{name}", is_data=name in shape.exact)
        except Differ:
            if is_specified:
                raise
    return both


def _alike(first: Any, second: Any, *, is_data: bool) -> bool:
    if isinstance(first, str) and isinstance(second, str):
        if not (_HEX.fullmatch(first) and _HEX.fullmatch(second)):
            return first == second
        if is_data or max(len(first), len(second)) > _MAX_NUMBER_CHARS:
            return first.lower() == second.lower()
        return int(first[2:] or "0", 16) == int(second[2:] or "0", 16)
    if isinstance(first, float) or isinstance(second, float):  # eth_feeHistory's gasUsedRatio
        numbers = isinstance(first, (int, float)) and isinstance(second, (int, float))
        return numbers and math.isclose(first, second, rel_tol=1e-6, abs_tol=1e-9)
    return type(first) is type(second) and bool(first == second)


def _in_order(answer: Any) -> Any:
    """Sorts an access list: its order means nothing (EIP-2930)."""
    if not isinstance(answer, Mapping) or not isinstance(answer.get("accessList"), list):
        return answer
    entries = [
        {"address": str(entry.get("address")).lower(), "storageKeys": sorted(map(str, keys))}
        for entry in answer["accessList"]
        if isinstance(entry, Mapping) and isinstance(keys := entry.get("storageKeys", []), list)
    ]
    return {**answer, "accessList": sorted(entries, key=lambda entry: str(entry["address"]))}


# --- errors -----------------------------------------------------------------------------------------------

_REVERT_CODE = 3


def is_revert(error: RpcError) -> bool:
    """Whether a node says that the call reverted: geth by code 3 (EIP-1474 has none), others by the text."""
    return error.rpc_code == _REVERT_CODE or "revert" in error.rpc_message.lower()


def same_error(first: RpcError, second: RpcError) -> bool:
    """Whether two nodes give the same error. Reverts are compared by their data, others by their code.

    The texts differ between kinds of nodes, and so does the code of a revert.
    """
    if is_revert(first) != is_revert(second):
        return False
    return _data(first) == _data(second) if is_revert(first) else first.rpc_code == second.rpc_code


def _data(error: RpcError) -> str:
    data = error.data
    if isinstance(data, Mapping):  # Parity's descendants wrap it
        data = data.get("data")
    return data.lower() if isinstance(data, str) and data.startswith("0x") else "0x"
