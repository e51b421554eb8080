"""Signs and sends the transactions of an action in their order, and waits for each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quoteway_client.errors import (
    ActionMismatch,
    ApiError,
    ConnectionFailed,
    Difference,
    NotConfirmed,
    NotExecutable,
    QuotewayError,
    RpcError,
    TransactionFailed,
)
from quoteway_client.exchange import Flow, Gateway, Pause
from quoteway_client.nodes import Node, quantity
from quoteway_client.revocations import revocation_built
from quoteway_client.signing import Signer, signed_calldata

if TYPE_CHECKING:
    from quoteway_client.acting import AnyAction, AnyQuote
    from quoteway_client.models.portfolio import RevokeBody

GAS_RESERVE = (5, 4)
"""Factor of an estimate, where the action has no gas limit."""


@dataclass(frozen=True, slots=True)
class SentTransaction:
    """A mined transaction. ``receipt`` is the node's, as JSON-RPC writes it."""

    tx_id: str
    hash: str
    raw: str
    receipt: Mapping[str, Any]

    @property
    def block_number(self) -> int:
        """The block that has the transaction."""
        return quantity(self.receipt.get("blockNumber"))

    @property
    def gas_used(self) -> int:
        """Units of gas that the transaction used."""
        return quantity(self.receipt.get("gasUsed"))

    @property
    def fee_wei(self) -> int:
        """What the sender paid for gas on this chain, without a rollup's fee for data."""
        return self.gas_used * quantity(self.receipt.get("effectiveGasPrice"))


@dataclass(frozen=True, slots=True)
class Sent:
    """An action whose transactions are all mined."""

    action: AnyAction
    transactions: tuple[SentTransaction, ...]

    @property
    def hash(self) -> str:
        """Hash of the last transaction, which does what was quoted."""
        return self.transactions[-1].hash

    @property
    def tx_id(self) -> str:
        """``txId`` of the last transaction, by which the gateway tells what became of it."""
        return self.transactions[-1].tx_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """How transactions are sent.

    ``rpc_url`` is the caller's node; without it the gateway reads the chain, and broadcasts where it has a
    relay. ``max_fee_per_gas`` is the most to pay for a unit of gas, in wei. ``receipt_timeout_s`` is how long
    a transaction may take to be mined.
    """

    rpc_url: str | None = None
    max_fee_per_gas: int | None = None
    receipt_timeout_s: float = 180.0
    poll_s: float = 1.0


def sending(
    gateway: Gateway, action: AnyAction, account: Signer, asked: AnyQuote | RevokeBody, options: Sending
) -> Flow[Sent]:
    """Compares an action with its quote, or with the approvals that were to end. Then signs and sends its
    transactions, each after the receipt of the one before.

    Raises ``ActionMismatch`` before anything is signed, ``NotExecutable`` when it cannot succeed or is too
    late, ``TransactionFailed`` when one reverts, and ``NotConfirmed`` when it is not known whether one was
    mined.
    """
    _compare(action, asked)
    address = str(account.address)
    if address.lower() != action.from_.lower():
        raise ActionMismatch([Difference("from", f"the account that signs, {address}", action.from_)])
    _require_executable(action)
    node = Node(gateway, action.chain_id, options.rpc_url)
    chain_id = yield from node.quantity("eth_chainId")
    if chain_id != action.chain_id:
        raise ActionMismatch([Difference("the node's chain id", str(action.chain_id), str(chain_id))])
    data = [bytes.fromhex(each.data[2:]) for each in action.transactions]
    if not isinstance(asked, Mapping):
        data = signed_calldata(action, asked, account)
    sent = []
    for index, (transaction, step) in enumerate(zip(action.transactions, action.steps, strict=True)):
        _require_time(action)
        members: dict[str, Any] = {
            "to": transaction.to,
            "data": "0x" + data[index].hex(),
            "value": int(transaction.value),
            "chainId": action.chain_id,
        }
        nonce = yield from node.quantity("eth_getTransactionCount", address, "pending")
        gas = step.gas_limit or (yield from _estimated(node, address, members))
        fees = yield from _fees(node, options.max_fee_per_gas)
        signed = account.sign_transaction({**members, **fees, "nonce": nonce, "gas": int(gas)})
        raw, hash_ = _hex(signed.raw_transaction), _hex(signed.hash)
        receipt = yield from _mined(node, index, raw, hash_, step.tx_id, options)
        if quantity(receipt.get("status")) != 1:
            raise TransactionFailed(index, hash_, receipt)
        sent.append(SentTransaction(step.tx_id, hash_, raw, receipt))
    return Sent(action, tuple(sent))


def compared_with(quote: AnyQuote | None, revoking: RevokeBody | None) -> AnyQuote | RevokeBody:
    """Returns what an action is compared with. Raises ``TypeError`` unless that is one of the two."""
    if quote is not None and revoking is None:
        return quote
    if quote is None and revoking is not None:
        return revoking
    raise TypeError("An action is compared with either its quote or the approvals that it revokes.")


def _compare(action: AnyAction, asked: AnyQuote | RevokeBody) -> None:
    if isinstance(asked, Mapping):
        revocation_built(asked, action)
        return
    from quoteway_client.calldata import check_action

    check_action(action, asked)


def _require_executable(action: AnyAction) -> None:
    lacking = [each for each in action.simulation.assumptions if "balance" in each]
    if lacking:
        raise NotExecutable(
            f"the wallet lacks what the action pays ({', '.join(lacking)}): fund it, and request a new action"
        )
    if action.simulation.status == "reverted":
        raise NotExecutable(f"the action reverts in its simulation: {action.simulation.revert_reason}")


def _require_time(action: AnyAction) -> None:
    if action.expires_at.timestamp() <= time.time():
        raise NotExecutable(f"the action expired at {action.expires_at.isoformat()}: request a new quote")


def _estimated(node: Node, sender: str, members: Mapping[str, Any]) -> Flow[int]:
    call = {"from": sender, "to": members["to"], "data": members["data"], "value": hex(members["value"])}
    factor, divisor = GAS_RESERVE
    return (yield from node.quantity("eth_estimateGas", call)) * factor // divisor


def _fees(node: Node, limit: int | None) -> Flow[dict[str, int]]:
    """Twice the base fee of the newest block, so that the transaction stays valid for six full blocks
    (EIP-1559).
    """
    head = yield from node.block("latest")
    if head.get("baseFeePerGas") is None:
        price = yield from node.quantity("eth_gasPrice")
        if limit is not None and price > limit:
            raise NotExecutable(f"the gas price is {price} wei, above max_fee_per_gas: {limit}")
        return {"gasPrice": price}
    base = quantity(head["baseFeePerGas"])
    if limit is not None and base > limit:
        raise NotExecutable(f"the base fee is {base} wei, above max_fee_per_gas: {limit}")
    tip = yield from node.quantity("eth_maxPriorityFeePerGas")
    most = 2 * base + tip
    most = most if limit is None else min(most, limit)
    return {"maxFeePerGas": most, "maxPriorityFeePerGas": min(tip, most)}


def _mined(
    node: Node, index: int, raw: str, hash_: str, tx_id: str, options: Sending
) -> Flow[Mapping[str, Any]]:
    """Broadcasts signed bytes and waits for their receipt. Nothing else is signed in their place."""
    clock = node.gateway.retrying.clock
    ends_at = clock() + options.receipt_timeout_s
    try:
        yield from node.broadcast(raw, hash_, tx_id)
        pause_s = min(0.05, options.poll_s)
        while True:
            receipt = yield from node.ask("eth_getTransactionReceipt", hash_)
            if isinstance(receipt, dict):
                return receipt
            if clock() >= ends_at:
                raise NotConfirmed(index, hash_, raw, f"no receipt within {options.receipt_timeout_s:g} s")
            yield Pause(pause_s)
            pause_s = min(2 * pause_s, options.poll_s)
    except (ApiError, RpcError, NotConfirmed):
        raise
    except ConnectionFailed as error:
        raise NotConfirmed(index, hash_, raw, str(error)) from error
    except QuotewayError as error:
        raise NotConfirmed(index, hash_, raw, str(error)) from error


def _hex(value: Any) -> str:
    return "0x" + bytes(value).hex()
