"""Simulated transactions and logs, as nodes write and read them (execution-apis, ``eth_simulateV1``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from quoteway.evm.address import checksum
from quoteway.evm.answers import quantity, unreadable
from quoteway.models import Log, SimulatedCall, SimulatedResult


def transaction_of(call: SimulatedCall) -> dict[str, str]:
    """Returns a transaction as ``eth_simulateV1`` takes it."""
    transaction = {"from": call.sender, "to": call.to, "input": hex_of(call.data), "value": hex(call.value)}
    if call.gas is not None:
        transaction["gas"] = hex(call.gas)
    return transaction


def result_of(result: Mapping[str, Any]) -> SimulatedResult:
    """Returns what became of one. Raises as reading a malformed object does."""
    error = result.get("error") or {}
    ok = quantity(result["status"]) == 1
    output = bytes_of(result.get("returnData") or "0x")
    # geth has the revert data in error.data, anvil in returnData.
    if not ok and not output and isinstance(error.get("data"), str):
        output = bytes_of(error["data"])
    gas_used, peak = quantity(result["gasUsed"]), result.get("maxUsedGas")
    peak_gas = None if peak is None else quantity(peak)
    logs = logs_of(result.get("logs") or ())
    return SimulatedResult(ok, gas_used, output, logs, error.get("code"), peak_gas)


def logs_of(entries: Iterable[Mapping[str, Any]]) -> tuple[Log, ...]:
    """Returns the logs of a receipt or a simulated transaction."""
    return tuple(
        Log(checksum(row["address"]), tuple(row["topics"]), bytes_of(row["data"])) for row in entries
    )


def hex_of(data: bytes) -> str:
    """Returns bytes as nodes take them, with 0x."""
    return "0x" + data.hex()


def bytes_of(value: Any) -> bytes:
    """Returns the bytes of 0x hex. Raises ``UpstreamError`` for anything else."""
    try:
        if value[:2] == "0x":
            return bytes.fromhex(value[2:])
    except (TypeError, ValueError):
        pass
    raise unreadable()
