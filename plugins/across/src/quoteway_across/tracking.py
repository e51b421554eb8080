"""The state of a transfer, read from both chains for every request: nothing is cached, so a reorg shows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quoteway import (
    Chain,
    Context,
    GatewayError,
    Reason,
    TransferRefund,
    TransferState,
    UpstreamError,
)

from quoteway_across.deployments import Deployment
from quoteway_across.spoke_pool import (
    FILL_STATUSES,
    FILLED,
    FILLED_RELAY,
    FUNDS_DEPOSITED,
    REFUND_EXECUTED,
    Deposit,
    address_of,
    read_deposit,
    refunds,
)

LOG_WINDOW_BLOCKS = 10_000
"""Blocks that nodes usually allow in one eth_getLogs."""
MAX_WINDOWS = 5
CLOCK_DRIFT_S = 120
"""While the destination mines no blocks, a deadline counts as passed this long after it on the wall clock."""


class Tracker:
    """Tracks deposits made on any of ``deployments``."""

    def __init__(self, context: Context, deployments: Mapping[int, Deployment]) -> None:
        self._context = context
        self._deployments = deployments

    async def track(self, chain_id: int, transaction_hash: str) -> TransferState | None:
        """Returns the state; None when the transaction is not a deposit of this bridge.

        ``unknown``: the origin's nodes do not know the transaction now. It was not sent, not seen yet, or
        dropped by a reorg. Raises UpstreamError when a chain cannot be read.
        """
        origin = self._deployments.get(chain_id)
        if origin is None:
            return None
        chain = self._context.chain(chain_id)
        # Unshared: an answer from before a reorg must not serve a request made after it.
        found, receipt, head = await asyncio.gather(
            chain.request("eth_getTransactionByHash", [transaction_hash], shared=False),
            chain.request("eth_getTransactionReceipt", [transaction_hash], shared=False),
            chain.head(fresh=True),
        )
        try:
            if not isinstance(found, Mapping):
                return TransferState("unknown")
            direct = str(found.get("to")).lower() == origin.spoke_pool.lower()
            if not isinstance(receipt, Mapping):
                # A deposit inside a smart account's batch is visible in its logs only.
                return TransferState("origin_pending" if direct else "unknown")
            if int(receipt["status"], 16) != 1:
                return TransferState("action_required", reason="origin_reverted") if direct else None
            deposit = _deposit_in(receipt, origin)
            block = int(receipt["blockNumber"], 16)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise UpstreamError("A node's answer cannot be read.", reason=Reason.RPC_ERROR) from error
        if deposit is None:
            return None
        progress = await self._progress(chain, origin, deposit, block, head.number)
        return replace(
            progress,
            origin_chain_id=chain_id,
            destination_chain_id=deposit.destination_chain_id,
            deposit_id=str(deposit.deposit_id),
            fill_deadline=deposit.fill_deadline,
        )

    async def _progress(
        self, chain: Chain, origin: Deployment, deposit: Deposit, block: int, head: int
    ) -> TransferState:
        """Returns the state of a deposit that is mined in ``block``."""
        destination = self._deployments.get(deposit.destination_chain_id)
        if destination is None:
            return TransferState("origin_confirmed")
        other = self._context.chain(destination.chain_id)
        there = await other.head(fresh=True)
        call = FILL_STATUSES.encode([deposit.relay_hash])
        answer = await other.call(destination.spoke_pool, call, block=there)
        try:
            (status,) = FILL_STATUSES.decode_output(answer)
        except ValueError as error:
            raise UpstreamError("The fill status cannot be read.", reason=Reason.RPC_ERROR) from error
        if status == FILLED:
            return TransferState("filled", fill_hash=await self._fill_hash(other, destination, deposit))
        now = self._context.now()
        if max(there.timestamp, now - CLOCK_DRIFT_S) > deposit.fill_deadline:
            return await self._refund(chain, origin, deposit, block, head)
        mined = await chain.block(block)
        settled = head > block or now >= mined.timestamp + origin.block_time_s
        return TransferState("fill_pending" if settled else "origin_confirmed")

    async def _fill_hash(self, chain: Chain, destination: Deployment, deposit: Deposit) -> str | None:
        """Returns the filling transaction if it is among the last blocks; the state does not depend on it."""
        head = await chain.head()
        topics = [FILLED_RELAY, f"0x{deposit.origin_chain_id:064x}", f"0x{deposit.deposit_id:064x}"]
        start = max(0, head.number - LOG_WINDOW_BLOCKS + 1)
        try:
            logs = await _logs(chain, destination, topics, start, head.number)
            return str(logs[0]["transactionHash"]) if logs else None
        except (GatewayError, KeyError, TypeError):
            return None

    async def _refund(
        self, chain: Chain, origin: Deployment, deposit: Deposit, block: int, head: int
    ) -> TransferState:
        """Returns the refund of an expired deposit: a later settlement that pays the depositor at least as
        much.

        Settlements name accounts and sums, not deposits: of several expired deposits of one account in one
        token, the first refund that is large enough is returned for each.
        """
        account, token = address_of(deposit.depositor), address_of(deposit.token_in)
        refund = TransferRefund(origin.chain_id, token, account, deposit.amount_in)
        topics = [REFUND_EXECUTED, f"0x{origin.chain_id:064x}"]
        start = max(block, head - MAX_WINDOWS * LOG_WINDOW_BLOCKS + 1)
        for first in range(start, head + 1, LOG_WINDOW_BLOCKS):
            last = min(first + LOG_WINDOW_BLOCKS - 1, head)
            for entry in await _logs(chain, origin, topics, first, last):
                try:
                    paid_token, paid, deferred = refunds(entry)
                    transaction = str(entry["transactionHash"])
                except (KeyError, TypeError, ValueError) as error:
                    raise UpstreamError("A node's answer cannot be read.", reason=Reason.RPC_ERROR) from error
                if paid_token == token and paid.get(account, 0) >= deposit.amount_in:
                    if deferred:
                        # claimRelayerRefund pays out a refund whose transfer failed.
                        return TransferState("action_required", refund=refund, reason="refund_to_claim")
                    return TransferState("refunded", refund=refund, refund_hash=transaction)
        return TransferState("refund_pending", refund=refund)


async def _logs(
    chain: Chain, deployment: Deployment, topics: list[str], first: int, last: int
) -> list[Mapping[str, Any]]:
    wanted = {
        "address": deployment.spoke_pool,
        "topics": topics,
        "fromBlock": hex(first),
        "toBlock": hex(last),
    }
    answer = await chain.request("eth_getLogs", [wanted], shared=False)
    if not isinstance(answer, list):
        raise UpstreamError("A node's answer cannot be read.", reason=Reason.RPC_ERROR)
    return answer


def _deposit_in(receipt: Mapping[str, Any], origin: Deployment) -> Deposit | None:
    """Returns the deposit among a receipt's logs. Raises ValueError, KeyError, TypeError or IndexError."""
    for entry in receipt["logs"]:
        if entry["address"].lower() == origin.spoke_pool.lower() and entry["topics"][0] == FUNDS_DEPOSITED:
            return read_deposit(origin.chain_id, entry["topics"], bytes.fromhex(entry["data"][2:]))
    return None
