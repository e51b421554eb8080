"""The JSON-RPC methods that are forwarded for clients, with their limits. All others are refused.

Names are compared exactly, after JSON decoding. Never to be listed: methods that sign or send
(``eth_send*``, ``eth_sign*``, ``personal_*``), that make a node hold state for one client, or that load or
change a node (``debug_*``, ``trace_*``, ``admin_*``, ``anvil_*``...). Polling filters have a list of their
own: they are answered from reads, and no node is asked to hold one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.evm.address import keccak256
from quoteway.evm.known_members import MisspeltMemberError, rebuilt
from quoteway.networks import Network

MAX_PARAMS: Final = 16
MAX_PARAMS_DEPTH: Final = 32
MAX_LOG_RANGE_BLOCKS: Final = 10_000
MAX_CALL_GAS: Final = 50_000_000
MAX_CALLDATA_CHARS: Final = 2 + 2 * 131_072
MAX_SIMULATED_CALLS: Final = 64
MAX_FEE_HISTORY_BLOCKS: Final = 1_024
MAX_STORAGE_KEYS: Final = 256

_QUANTITY = re.compile(r"0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})", re.ASCII)
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_TOPIC = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Method:
    """One allowed method: the least and greatest number of parameters, and a further check.

    ``check`` may return the parameters to forward instead.
    """

    least: int
    most: int
    check: Callable[[Sequence[Any]], list[Any] | None] | None = None


def check(
    network: Network, method: str, params: Any, methods: Mapping[str, Method] | None = None
) -> list[Any]:
    """The parameters to forward, with the known members of their objects.

    ``methods`` are those allowed: ``METHODS``, or ``FILTER_METHODS``, which are never to be forwarded.
    Raises ``InvalidRequest`` (method_not_allowed, invalid_format...).
    """
    allowed = (METHODS if methods is None else methods).get(method)
    if allowed is None:
        # The caller's text is not repeated.
        raise InvalidRequest(
            f"This method is not forwarded on {network.name}: only listed read methods are.",
            reason=Reason.METHOD_NOT_ALLOWED,
            fields=[FieldError("method", Reason.METHOD_NOT_ALLOWED, "is not an allowed read method")],
        )
    if not isinstance(params, (list, tuple)):
        raise _refused("params", Reason.INVALID_FORMAT, "must be an array")
    if not allowed.least <= len(params) <= allowed.most:
        raise _refused(
            "params", Reason.OUT_OF_RANGE, f"must have {allowed.least} to {allowed.most} members for {method}"
        )
    if _is_deeper_than(MAX_PARAMS_DEPTH, params):
        # No upstream could be sent them, and each would count as failed.
        raise _refused("params", Reason.OUT_OF_RANGE, f"must be at most {MAX_PARAMS_DEPTH} levels deep")
    try:
        known = rebuilt(method, params)
    except MisspeltMemberError as error:
        raise _refused(error.path, Reason.INVALID_FORMAT, f"must spell {error.name} as it is") from None
    limited = None if allowed.check is None else allowed.check(known)
    return known if limited is None else limited


def cost_of(method: str) -> int:
    """Returns what a call of a method, also of one that is refused, counts as against a rate limit."""
    return COSTLY_CALL if method in COSTLY else 1


def answered_locally(network: Network, method: str, params: Sequence[Any]) -> Any | None:
    """The answer to a checked method that needs no node; None for all others."""
    if method == "eth_chainId":
        return hex(network.chain_id)
    if method == "net_version":
        return str(network.chain_id)
    if method == "web3_sha3":
        return "0x" + keccak256(bytes.fromhex(params[0][2:])).hex()
    return None


# --- checks -----------------------------------------------------------------------------------------------


def _refused(path: str, reason: Reason, message: str) -> InvalidRequest:
    return InvalidRequest(f"{path} {message}.", reason=reason, fields=[FieldError(path, reason, message)])


def _is_deeper_than(levels: int, value: Any) -> bool:
    items = [value]
    for _ in range(levels):
        members = [each.values() if isinstance(each, dict) else each for each in items]
        items = [inner for each in members for inner in each if isinstance(inner, (dict, list, tuple))]
        if not items:
            return False
    return True


def _quantity(path: str, value: Any, most: int) -> None:
    if not isinstance(value, str) or _QUANTITY.fullmatch(value) is None:
        raise _refused(path, Reason.INVALID_FORMAT, "must be a 0x quantity without leading zeros")
    if int(value, 16) > most:
        raise _refused(path, Reason.OUT_OF_RANGE, f"must be at most {hex(most)}")


def _check_data(params: Sequence[Any]) -> None:
    value = params[0]
    if not isinstance(value, str) or _HEX.fullmatch(value) is None:
        raise _refused("params[0]", Reason.INVALID_FORMAT, "must be 0x hex data of whole bytes")


def _member(value: Mapping[str, Any], name: str, path: str) -> Any:
    """The member with this name. Refuses another spelling: nodes in Go read ``GAS`` as ``gas``."""
    for other in value:
        if other != name and other.casefold() == name.casefold():
            raise _refused(path, Reason.INVALID_FORMAT, f"must spell {name} as it is")
    return value.get(name)


def _stated_gas(value: Any, path: str) -> int | None:
    """Checks a transaction object. Returns the gas that it states."""
    if not isinstance(value, Mapping):
        raise _refused(path, Reason.INVALID_FORMAT, "must be a transaction object")
    for member in ("data", "input"):
        data = _member(value, member, path)
        if isinstance(data, str) and len(data) > MAX_CALLDATA_CHARS:
            raise _refused(f"{path}.{member}", Reason.OUT_OF_RANGE, "is too long")
    gas = _member(value, "gas", path)
    if gas is None:
        return None
    _quantity(f"{path}.gas", gas, MAX_CALL_GAS)
    return int(gas, 16)


def _limit_call(params: Sequence[Any]) -> list[Any]:
    """A call without gas would get the node's own limit, which may be none."""
    gas = _stated_gas(params[0], "params[0]")
    return list(params) if gas is not None else [{**params[0], "gas": hex(MAX_CALL_GAS)}, *params[1:]]


def _limit_simulation(params: Sequence[Any]) -> list[Any]:
    """All calls together get the gas of one; those without gas share equally what the others leave."""
    simulated = params[0]
    blocks = _member(simulated, "blockStateCalls", "params[0]") if isinstance(simulated, Mapping) else None
    if not isinstance(blocks, list):
        raise _refused("params[0].blockStateCalls", Reason.INVALID_FORMAT, "must be an array")
    total, stated, unstated = 0, 0, 0
    for at, block in enumerate(blocks):
        path = f"params[0].blockStateCalls[{at}]"
        calls = _member(block, "calls", path) if isinstance(block, Mapping) else None
        # A block without calls counts as one: the node makes the block.
        total += max(1, len(calls)) if isinstance(calls, list) else 1
        if total > MAX_SIMULATED_CALLS:
            raise _refused("params[0]", Reason.OUT_OF_RANGE, f"must hold at most {MAX_SIMULATED_CALLS} calls")
        if calls is not None and not isinstance(calls, list):
            raise _refused(f"{path}.calls", Reason.INVALID_FORMAT, "must be an array")
        for index, call in enumerate(calls or ()):
            gas = _stated_gas(call, f"{path}.calls[{index}]")
            stated, unstated = stated + (gas or 0), unstated + (gas is None)
    if stated > MAX_CALL_GAS:
        text = f"must state at most {MAX_CALL_GAS} gas for all calls together"
        raise _refused("params[0]", Reason.OUT_OF_RANGE, text)
    if not unstated:
        return list(params)
    share = {"gas": hex((MAX_CALL_GAS - stated) // unstated)}

    def limited(block: Any) -> Any:
        if not isinstance(block, Mapping) or not block.get("calls"):
            return block
        calls = [call if call.get("gas") is not None else {**call, **share} for call in block["calls"]]
        return {**block, "calls": calls}

    return [{**simulated, "blockStateCalls": [limited(block) for block in blocks]}, *params[1:]]


def _check_logs(params: Sequence[Any]) -> None:
    """Limits a range with numbers at both ends; with a tag, the provider does when it knows the block."""
    wanted = params[0]
    if not isinstance(wanted, Mapping):
        raise _refused("params[0]", Reason.INVALID_FORMAT, "must be a filter object")
    ends = [_member(wanted, name, "params[0]") for name in ("fromBlock", "toBlock")]
    if not all(isinstance(end, str) and end.startswith("0x") for end in ends):
        return
    for name, end in zip(("fromBlock", "toBlock"), ends, strict=True):
        _quantity(f"params[0].{name}", end, (1 << 64) - 1)
    first, last = (int(str(end), 16) for end in ends)
    if last - first + 1 > MAX_LOG_RANGE_BLOCKS:
        raise _refused("params[0]", Reason.OUT_OF_RANGE, f"must span at most {MAX_LOG_RANGE_BLOCKS} blocks")


def _check_filter(params: Sequence[Any]) -> None:
    """The criteria of a polling filter, which has no single block and neither begins nor ends at a tag that
    moves back.
    """
    _check_logs(params)
    wanted = params[0]
    if _member(wanted, "blockHash", "params[0]") is not None:
        raise _refused("params[0].blockHash", Reason.CONFLICT, "has no place in a filter: use eth_getLogs")
    for name in ("fromBlock", "toBlock"):
        end = wanted.get(name)
        if end not in (None, "latest") and not (name == "fromBlock" and end == "earliest"):
            _quantity(f"params[0].{name}", end, (1 << 64) - 1)
    addresses = _member(wanted, "address", "params[0]")
    for address in addresses if isinstance(addresses, list) else [addresses]:
        if not (address is None or (isinstance(address, str) and _ADDRESS.fullmatch(address))):
            raise _refused("params[0].address", Reason.INVALID_FORMAT, "must be 0x addresses of 20 bytes")
    topics = _member(wanted, "topics", "params[0]")
    if not isinstance(topics, (list, type(None))) or len(topics or ()) > 4:
        raise _refused("params[0].topics", Reason.INVALID_FORMAT, "must be an array of up to 4 topics")
    for topic in topics or ():
        for each in topic if isinstance(topic, list) else [topic]:
            if not (each is None or (isinstance(each, str) and _TOPIC.fullmatch(each))):
                text = "must be null, 0x words of 32 bytes, or arrays of them"
                raise _refused("params[0].topics", Reason.INVALID_FORMAT, text)


def _check_fee_history(params: Sequence[Any]) -> None:
    count = params[0]
    if isinstance(count, str):
        _quantity("params[0]", count, MAX_FEE_HISTORY_BLOCKS)
    elif type(count) is not int or not 0 <= count <= MAX_FEE_HISTORY_BLOCKS:
        raise _refused("params[0]", Reason.OUT_OF_RANGE, f"must be a count up to {MAX_FEE_HISTORY_BLOCKS}")


def _check_proof(params: Sequence[Any]) -> None:
    if not isinstance(params[1], list) or len(params[1]) > MAX_STORAGE_KEYS:
        raise _refused("params[1]", Reason.OUT_OF_RANGE, f"must be an array of up to {MAX_STORAGE_KEYS} keys")


def _check_storage_values(params: Sequence[Any]) -> None:
    wanted = params[0]
    if not isinstance(wanted, Mapping) or not all(isinstance(keys, list) for keys in wanted.values()):
        raise _refused("params[0]", Reason.INVALID_FORMAT, "must map addresses to arrays of keys")
    if sum(len(keys) for keys in wanted.values()) > MAX_STORAGE_KEYS:
        raise _refused("params[0]", Reason.OUT_OF_RANGE, f"must hold at most {MAX_STORAGE_KEYS} keys")


def _methods(
    least: int, most: int, *names: str, check: Callable[[Sequence[Any]], list[Any] | None] | None = None
) -> Mapping[str, Method]:
    return dict.fromkeys(names, Method(least, most, check))


METHODS: Final[Mapping[str, Method]] = {
    # answered here
    **_methods(0, 0, "eth_chainId", "net_version"),
    **_methods(1, 1, "web3_sha3", check=_check_data),
    # the node's own, as it says
    **_methods(0, 0, "web3_clientVersion"),
    # the chain's present state
    **_methods(0, 0, "eth_blockNumber", "eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_blobBaseFee"),
    **_methods(0, 0, "eth_baseFee", "eth_syncing", "eth_config", "eth_capabilities", "net_listening"),
    **_methods(2, 3, "eth_feeHistory", check=_check_fee_history),
    # blocks
    **_methods(1, 2, "eth_getBlockByHash", "eth_getBlockByNumber"),
    **_methods(1, 1, "eth_getBlockTransactionCountByHash", "eth_getBlockTransactionCountByNumber"),
    **_methods(1, 1, "eth_getUncleCountByBlockHash", "eth_getUncleCountByBlockNumber"),
    **_methods(2, 2, "eth_getUncleByBlockHashAndIndex", "eth_getUncleByBlockNumberAndIndex"),
    **_methods(1, 1, "eth_getHeaderByHash", "eth_getHeaderByNumber"),
    **_methods(1, 1, "eth_getBlockReceipts", "eth_getBlockAccessList"),
    # transactions
    **_methods(1, 1, "eth_getTransactionByHash", "eth_getTransactionReceipt"),
    **_methods(2, 2, "eth_getTransactionByBlockHashAndIndex", "eth_getTransactionByBlockNumberAndIndex"),
    **_methods(1, 1, "eth_getLogs", check=_check_logs),
    # accounts
    **_methods(1, 2, "eth_getBalance", "eth_getCode", "eth_getTransactionCount", "eth_getAccount"),
    **_methods(2, 3, "eth_getStorageAt"),
    **_methods(1, 2, "eth_getStorageValues", check=_check_storage_values),
    **_methods(2, 3, "eth_getProof", check=_check_proof),
    # calls
    **_methods(1, 4, "eth_call", "eth_estimateGas", check=_limit_call),
    **_methods(1, 3, "eth_createAccessList", check=_limit_call),
    **_methods(1, 2, "eth_simulateV1", check=_limit_simulation),
}

COSTLY: Final = frozenset(
    (
        *("eth_getLogs", "eth_getFilterLogs", "eth_getBlockReceipts"),
        *("eth_getProof", "eth_createAccessList", "eth_simulateV1"),
    )
)
"""The methods for which a node searches many blocks or runs many transactions, or whose answers are long."""
COSTLY_CALL: Final = 5
"""What a call of them counts as against a rate limit; every other counts as one."""

FILTER_METHODS: Final[Mapping[str, Method]] = {
    **_methods(1, 1, "eth_newFilter", check=_check_filter),
    **_methods(0, 0, "eth_newBlockFilter"),
    **_methods(1, 1, "eth_getFilterChanges", "eth_getFilterLogs", "eth_uninstallFilter"),
}
"""Polling filters without those of pending transactions, which public nodes do not have either."""
