"""Compares the amounts that a mined transaction moved with the quoted amounts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from quoteway.engine.quote_tokens import TransactionCommitment
from quoteway.errors import GatewayError
from quoteway.evm.address import ERC7528_NATIVE, checksum
from quoteway.evm.chain import Log, RpcChain, SimulatedCall, SimulationUnsupported
from quoteway.evm.simulated_calls import logs_of
from quoteway.guard.findings import totals
from quoteway.models import NATIVE, Address, AssetChange
from quoteway.simulation.trace import Transfer, trace_of

MAX_REPLAYED = 32
"""The maximum number of preceding transactions of the block that are replayed to find native transfers."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """The result of a mined transaction.

    ``changes`` are the balance changes of the sender and of the quoted recipients, without gas.
    ``native_known`` tells whether they include native transfers, which emit no log. ``vs_quote_bps`` compares
    the output with the quoted output: 0 when equal, negative when lower, None when unknown.
    """

    status: Literal["confirmed", "reverted", "unknown"]
    block_number: int
    block_hash: str
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
    """Returns the settlement of a receipt; ``unknown`` when its block is no longer canonical.

    Raises ``UpstreamError`` when no node answers, and ``LookupError``, ``TypeError`` or ``ValueError`` for a
    receipt that cannot be read.
    """
    number, gas_used = int(receipt["blockNumber"], 16), int(receipt["gasUsed"], 16)
    # Not cached: a reorganisation may have replaced the block.
    block = await chain.block(number, shared=False)
    if block.hash != receipt["blockHash"]:
        return Settlement("unknown", number, block.hash, 0, gas_used)
    head = await chain.head()
    confirmations = max(1, head.number - number + 1)
    if int(receipt["status"], 16) != 1:
        return Settlement("reverted", number, block.hash, confirmations, gas_used, native_known=True)
    logs = logs_of(receipt["logs"])
    transfers = list(trace_of([logs]).transfers)
    # From the receipt: the transaction may have been read while it was pending, without an index.
    index = int(receipt["transactionIndex"], 16)
    coins = await _native_transfers(chain, transaction, number, index, logs)
    watched = {checksum(transaction["from"]), *(account for _, account, _ in commitment.outputs)}
    changes = _changes([*transfers, *(coins or ())], watched)
    native_known = coins is not None
    vs_quote_bps = _vs_quote(commitment.outputs, changes, native_known) if matches else None
    place = number, block.hash, confirmations
    return Settlement("confirmed", *place, gas_used, changes, native_known, vs_quote_bps)


def _changes(transfers: Iterable[Transfer], accounts: set[Address]) -> tuple[AssetChange, ...]:
    deltas = totals(
        ((account, transfer.token), amount)
        for transfer in transfers
        for account, amount in ((transfer.sender, -transfer.amount), (transfer.recipient, transfer.amount))
        if account in accounts
    )
    return tuple(AssetChange(account, token, delta) for (account, token), delta in deltas.items() if delta)


def _vs_quote(
    quoted: Sequence[tuple[Address, Address, int]], changes: Iterable[AssetChange], native_known: bool
) -> int | None:
    """Returns the lowest ``vs_quote_bps`` of the outputs; None without outputs or when one is unknown."""
    if not quoted or any(token == NATIVE and not native_known for token, _, _ in quoted):
        return None
    got = {(change.token, change.account): change.delta for change in changes}
    shares = [(got.get((token, payee), 0) - due) * 10_000 // due for token, payee, due in quoted if due]
    return min(shares) if shares else None


# --- native coins -----------------------------------------------------------------------------------------


async def _native_transfers(
    chain: RpcChain, transaction: Mapping[str, Any], number: int, index: int, logs: Sequence[Log]
) -> list[Transfer] | None:
    """Returns the native transfers of a transaction from its replay; None when the replay differs.

    Replays the preceding transactions of the block on the parent's state, then the transaction. The replay is
    accepted only when its logs equal the logs of the receipt.
    """
    try:
        calls = [_call(transaction)]
        if 0 < index <= MAX_REPLAYED:
            block = await chain.request("eth_getBlockByNumber", [hex(number), True])
            calls = [_call(before) for before in block["transactions"][:index]] + calls
        results = await chain.simulate(calls, block=await chain.block(number - 1))
    except (GatewayError, SimulationUnsupported, LookupError, TypeError, ValueError, AttributeError):
        return None  # no such method, no state of that block, or a contract creation
    replayed = results[-1]
    events = tuple(log for log in replayed.logs if log.address != ERC7528_NATIVE)
    if not replayed.ok or events != logs:
        return None
    return [transfer for transfer in trace_of([replayed.logs]).transfers if transfer.token == NATIVE]


def _call(transaction: Mapping[str, Any]) -> SimulatedCall:
    data = bytes.fromhex(transaction["input"][2:])
    value, gas = int(transaction["value"], 16), int(transaction["gas"], 16)
    return SimulatedCall(checksum(transaction["from"]), checksum(transaction["to"]), data, value, gas)
