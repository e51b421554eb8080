"""What a mined transaction really did: amounts that moved, against those the quote said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from quoteway.engine.transaction_ids import TransactionCommitment
from quoteway.errors import GatewayError
from quoteway.evm.address import ERC7528_NATIVE, checksum
from quoteway.evm.chain import Log, RpcChain, SimulatedCall, SimulationUnsupported
from quoteway.models import NATIVE, Address, AssetChange
from quoteway.simulation.trace import Transfer, trace_of

MAX_REPLAYED = 32
"""So many transactions before it in its block are replayed to see native coins move; more is too much."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """``changes`` are of the sender and of those the quote pays, gas aside. ``native_known`` tells whether
    movements of the native coin, which leave no log, are among them. ``vs_quote_bps`` is the outcome against
    the quoted output: 0 to the unit as quoted, below 0 for less; None where it cannot be told."""

    status: Literal["confirmed", "reverted", "unknown"]
    block_number: int
    confirmations: int
    gas_used: int
    changes: tuple[AssetChange, ...] = ()
    native_known: bool = False
    vs_quote_bps: int | None = None


async def settlement(
    chain: RpcChain,
    commitment: TransactionCommitment,
    transaction: Mapping[str, Any],
    receipt: Mapping[str, Any],
    *,
    matches: bool,
) -> Settlement:
    """Reads a receipt. ``unknown`` when its block is no longer part of the chain.

    Raises ``UpstreamError`` when no node answers, and ``LookupError``, ``TypeError`` or ``ValueError`` for a
    receipt that cannot be read.
    """
    number, gas_used = int(receipt["blockNumber"], 16), int(receipt["gasUsed"], 16)
    # Asked anew: a reorganisation is what this is about.
    block = await chain.block(number, shared=False)
    if block.hash != receipt["blockHash"]:
        return Settlement("unknown", number, 0, gas_used)
    head = await chain.head()
    confirmations = max(1, head.number - number + 1)
    if int(receipt["status"], 16) != 1:
        return Settlement("reverted", number, confirmations, gas_used, native_known=True)
    logs = [_log(entry) for entry in receipt["logs"]]
    transfers = list(trace_of([logs]).transfers)
    # The receipt's index: the transaction may have been read while it was still pending.
    index = int(receipt["transactionIndex"], 16)
    coins = await _native_transfers(chain, transaction, number, index, logs)
    watched = {checksum(transaction["from"]), *(account for _, account, _ in commitment.outputs)}
    changes = _changes([*transfers, *(coins or ())], watched)
    return Settlement(
        "confirmed",
        number,
        confirmations,
        gas_used,
        changes,
        native_known=coins is not None,
        vs_quote_bps=_vs_quote(commitment.outputs, changes, coins is not None) if matches else None,
    )


def _log(entry: Mapping[str, Any]) -> Log:
    return Log(checksum(entry["address"]), tuple(entry["topics"]), bytes.fromhex(entry["data"][2:]))


def _changes(transfers: Iterable[Transfer], accounts: set[Address]) -> tuple[AssetChange, ...]:
    deltas: dict[tuple[Address, Address], int] = {}
    for transfer in transfers:
        for account, sign in ((transfer.sender, -1), (transfer.recipient, 1)):
            if account in accounts:
                key = account, transfer.token
                deltas[key] = deltas.get(key, 0) + sign * transfer.amount
    return tuple(AssetChange(account, token, delta) for (account, token), delta in deltas.items() if delta)


def _vs_quote(
    quoted: Sequence[tuple[Address, Address, int]], changes: Iterable[AssetChange], native_known: bool
) -> int | None:
    """The worst of the outputs; None without any, or when one cannot be told."""
    if not quoted or any(token == NATIVE and not native_known for token, _, _ in quoted):
        return None
    got = {(change.token, change.account): change.delta for change in changes}
    shares = [
        (got.get((token, account), 0) - amount) * 10_000 // amount
        for token, account, amount in quoted
        if amount
    ]
    return min(shares) if shares else None


# --- native coins -----------------------------------------------------------------------------------------


async def _native_transfers(
    chain: RpcChain, transaction: Mapping[str, Any], number: int, index: int, logs: Sequence[Log]
) -> list[Transfer] | None:
    """The native coins a transaction moved, from its replay; None when that is not the same run.

    The transactions before it in its block are run again on the parent's state, then itself. Only when it
    leaves the very same logs is its replay taken for what happened.
    """
    try:
        calls = [_call(transaction)]
        if 0 < index <= MAX_REPLAYED:
            block = await chain.request("eth_getBlockByNumber", [hex(number), True])
            calls = [_call(before) for before in block["transactions"][:index]] + calls
        results = await chain.simulate(calls, block=await chain.block(number - 1))
    except (GatewayError, SimulationUnsupported, LookupError, TypeError, ValueError, AttributeError):
        return None  # the node has no such method or no state that old, or a contract was created
    replayed = results[-1]
    events = [log for log in replayed.logs if log.address != ERC7528_NATIVE]
    if not replayed.ok or events != list(logs):
        return None
    return [transfer for transfer in trace_of([replayed.logs]).transfers if transfer.token == NATIVE]


def _call(transaction: Mapping[str, Any]) -> SimulatedCall:
    return SimulatedCall(
        checksum(transaction["from"]),
        checksum(transaction["to"]),
        bytes.fromhex(transaction["input"][2:]),
        int(transaction["value"], 16),
        int(transaction["gas"], 16),
    )
