"""The members of objects in JSON-RPC parameters: a request is rebuilt from those that are known.

What a client writes beside them never reaches a node. Nodes ignore members that they do not know, so ordinary
clients, some of which send members of their own, notice nothing; an extension that only some nodes have (a
tracer, a bundle, another spelling) cannot be reached. Names: execution-apis, ``src/schemas``; EIP-1898 for
blocks; geth's ``internal/ethapi`` for overrides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Members:
    """The known members of an object, or of each object of a list. ``of_any``: those below any key."""

    names: Mapping[str, Members | None] = field(default_factory=dict)
    of_any: Members | None = None
    folded: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", {name.casefold(): name for name in self.names})


class MisspeltMemberError(ValueError):
    """A member has the name of a known one in other letters, which nodes in Go read as that one."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(name)
        self.path = path
        self.name = name


def _members(names: str, **nested: Members) -> Members:
    return Members({**dict.fromkeys(names.split()), **nested})


_BLOCK: Final = _members("blockNumber blockHash requireCanonical")
_TRANSACTION: Final = _members(
    "type from to gas gasPrice maxFeePerGas maxPriorityFeePerGas maxFeePerBlobGas value nonce data input "
    "chainId blobVersionedHashes blobs commitments proofs",
    accessList=_members("address storageKeys"),
    authorizationList=_members("chainId address nonce yParity r s"),
)
_STATE: Final = Members(
    of_any=Members(
        {
            **dict.fromkeys(("balance", "nonce", "code", "movePrecompileToAddress")),
            # Below these are slots, not names.
            "state": Members(of_any=Members()),
            "stateDiff": Members(of_any=Members()),
        }
    )
)
_BLOCK_OVERRIDES: Final = _members(
    "number difficulty time gasLimit feeRecipient coinbase prevRandao random baseFeePerGas baseFee "
    "blobBaseFee beaconRoot",
    withdrawals=_members("index validatorIndex address amount"),
)
_SIMULATION: Final = _members(
    "traceTransfers validation returnFullTransactions",
    blockStateCalls=Members(
        {"blockOverrides": _BLOCK_OVERRIDES, "stateOverrides": _STATE, "calls": _TRANSACTION}
    ),
)
_FILTER: Final = _members("fromBlock toBlock blockHash address topics")
_CALL: Final = (_TRANSACTION, _BLOCK, _STATE, _BLOCK_OVERRIDES)

_PARAMS: Final[Mapping[str, Sequence[Members | None]]] = {
    **dict.fromkeys(("eth_call", "eth_estimateGas", "eth_createAccessList"), _CALL),
    "eth_simulateV1": (_SIMULATION, _BLOCK),
    "eth_getLogs": (_FILTER,),
    **dict.fromkeys(("eth_getBalance", "eth_getCode", "eth_getTransactionCount"), (None, _BLOCK)),
    "eth_getAccount": (None, _BLOCK),
    **dict.fromkeys(("eth_getStorageAt", "eth_getProof"), (None, None, _BLOCK)),
    "eth_getStorageValues": (None, _BLOCK),
    **dict.fromkeys(("eth_getBlockReceipts", "eth_getBlockAccessList"), (_BLOCK,)),
}


def rebuilt(method: str, params: Sequence[Any]) -> list[Any]:
    """Returns the parameters with their known members only. Raises ``MisspeltMemberError``."""
    shapes = _PARAMS.get(method, ())
    return [
        _rebuilt(value, shapes[at] if at < len(shapes) else None, f"params[{at}]")
        for at, value in enumerate(params)
    ]


def _rebuilt(value: Any, members: Members | None, path: str) -> Any:
    if members is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_rebuilt(item, members, f"{path}[{at}]") for at, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    if members.of_any is not None:
        # The caller's key is not repeated in a message.
        return {name: _rebuilt(inner, members.of_any, f"{path}[...]") for name, inner in value.items()}
    known: dict[str, Any] = {}
    for name, inner in value.items():
        meant = name if name in members.names else members.folded.get(name.casefold())
        if meant is None:
            continue
        if meant != name:
            raise MisspeltMemberError(path, meant)
        known[name] = _rebuilt(inner, members.names[name], f"{path}.{name}")
    return known
