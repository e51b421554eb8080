"""Which block a call is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quoteway import UpstreamError
from quoteway.evm.answers import quantity

AT: Mapping[str, int] = {
    "eth_getBlockByNumber": 0,
    "eth_getBlockReceipts": 0,
    "eth_getBlockTransactionCountByNumber": 0,
    "eth_getTransactionByBlockNumberAndIndex": 0,
    "eth_getBalance": 1,
    "eth_getCode": 1,
    "eth_getTransactionCount": 1,
    "eth_call": 1,
    "eth_estimateGas": 1,
    "eth_createAccessList": 1,
    "eth_simulateV1": 1,
    "eth_feeHistory": 1,
    "eth_getStorageAt": 2,
    "eth_getProof": 2,
}
"""The parameter that names the block (execution-apis)."""
HEADLESS = frozenset({"eth_blockNumber", "eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_blobBaseFee"})
"""Methods without parameters whose answer is about the newest block."""


def block_of(method: str, params: Sequence[Any]) -> int | str | None:
    """Returns the number, hash or tag of the block that a call needs, None when it names none.

    An omitted block is ``latest``; of ``eth_getLogs`` it is the last block of the range.
    """
    if method in HEADLESS:
        return "latest"
    if method == "eth_getLogs":
        given = params[0] if params and isinstance(params[0], Mapping) else {}
        found = given.get("blockHash") or given.get("toBlock")
    elif method in AT:
        found = params[AT[method]] if len(params) > AT[method] else None
    else:
        return params[0] if method == "eth_getBlockByHash" and params and type(params[0]) is str else None
    if isinstance(found, Mapping):  # EIP-1898
        found = found.get("blockHash") or found.get("blockNumber")
    if found is None:
        return "latest"
    return number_of(found) if isinstance(found, str) else None


def number_of(text: str) -> int | str:
    """Returns the integer of a quantity; a hash or a tag as it is."""
    if not text.startswith("0x") or len(text) == 66:
        return text
    try:
        return quantity(text)
    except UpstreamError:
        return text
