"""Maps the state of a transfer in LI.FI's ``/status`` to the gateway's.

Sources: ``StatusResponse``, ``StatusMessage`` and ``Substatus`` of @lifi/types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from quoteway import TransferState, TransferStatus

_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)

# (status, substatus), the latter "" for any other.
_STATES: Mapping[tuple[str, str], TransferStatus] = {
    ("PENDING", "WAIT_SOURCE_CONFIRMATIONS"): "origin_pending",
    ("PENDING", "WAIT_DESTINATION_TRANSACTION"): "fill_pending",
    ("PENDING", "REFUND_IN_PROGRESS"): "refund_pending",
    ("DONE", "COMPLETED"): "filled",
    ("DONE", "REFUNDED"): "refunded",
    ("DONE", "PARTIAL"): "action_required",
    ("FAILED", ""): "action_required",
}
_REASONS: Mapping[str, str] = {"DONE": "another_token_arrived", "FAILED": "transfer_failed"}


def state_of(body: Mapping[str, Any], chain_id: int, transaction_hash: str) -> TransferState | None:
    """Returns the state; None when the answer is about no transfer, or another one.

    A status without an entry is ``unknown``, which never means failed.
    """
    status, substatus = body.get("status"), body.get("substatus")
    sending, receiving = _table(body.get("sending")), _table(body.get("receiving"))
    if not isinstance(status, str) or status in ("NOT_FOUND", "INVALID"):
        return None
    if str(sending.get("txHash", transaction_hash)).lower() != transaction_hash.lower():
        return None
    key = status, substatus if isinstance(substatus, str) else ""
    state = _STATES.get(key) or _STATES.get((status, "")) or "unknown"
    target, arrival = receiving.get("chainId"), receiving.get("txHash")
    if target == chain_id:
        return None  # a swap
    arrived = arrival if isinstance(arrival, str) and _HASH.fullmatch(arrival) else None
    return TransferState(
        state,
        origin_chain_id=chain_id,
        destination_chain_id=target if type(target) is int else None,
        fill_hash=arrived if state == "filled" else None,
        refund_hash=arrived if state == "refunded" else None,
        reason=_REASONS[status] if state == "action_required" else None,
    )


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
