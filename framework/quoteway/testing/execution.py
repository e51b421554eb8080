"""Sends actions to the devnet and measures the balance changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from quoteway import NATIVE, Address
from quoteway.evm.erc20 import BALANCE_OF

if TYPE_CHECKING:
    from quoteway.models import Action

_GAS = 8_000_000
"""The gas limit of a transaction that names none."""


class LocalChains(Protocol):
    """The interface of the running chains of ``quoteway-devnet`` (its ``Devnet``)."""

    chains: Mapping[str, Any]

    def rpc(self, slug: str) -> AbstractContextManager[Any]:
        """Returns a JSON-RPC client of one chain: ``rpc(method, *params)`` and ``rpc.batch(requests)``."""

    def snapshot(self) -> Any:
        """Takes a snapshot of the chains for ``revert``."""

    def revert(self, snapshot: Any) -> None:
        """Restores the chains to a snapshot."""

    def restored(self) -> AbstractContextManager[Any]:
        """Restores the chains after the block to their state before it; the block begins with a new block."""


@dataclass(frozen=True, slots=True)
class Executed:
    """The result of a sent action. ``deltas`` are balance changes in base units, without gas costs."""

    deltas: Mapping[tuple[Address, Address], int]
    """(account, token) -> change."""
    receipts: tuple[Mapping[str, Any], ...]

    @property
    def reverted(self) -> bool:
        """Returns whether a transaction failed."""
        return any(receipt["status"] != "0x1" for receipt in self.receipts)


async def execute(
    devnet: LocalChains, action: Action, watch: Iterable[tuple[Address, Address]] = ()
) -> Executed:
    """Sends every transaction of an action from its sender, in order, and measures the balance of each leg
    and of each (account, token) to ``watch``.

    Impersonates the sender, so any account with native coin for gas works. Sends to the node directly, as a
    wallet does, without the gateway.
    """
    return await asyncio.to_thread(_execute, devnet, action, watch)


async def send(devnet: LocalChains, chain_id: int, sender: Address, to: Address, data: bytes) -> None:
    """Sends one transaction from any account. Raises AssertionError when it reverts."""

    def sent() -> Mapping[str, Any]:
        with devnet.rpc(_slug(devnet, chain_id)) as rpc:
            rpc("anvil_impersonateAccount", sender)
            receipt = _receipt(rpc, _transaction(sender, to, data))
            rpc("anvil_stopImpersonatingAccount", sender)
        return receipt

    receipt = await asyncio.to_thread(sent)
    assert receipt["status"] == "0x1", f"a transaction from {sender} to {to} reverts"


def _transaction(
    sender: Address, to: Address, data: bytes, value: int = 0, gas: int | None = None
) -> dict[str, str]:
    fields = {"from": sender, "to": to, "data": "0x" + data.hex(), "value": hex(value)}
    return {**fields, "gas": hex(gas or _GAS)}


def _receipt(rpc: Any, transaction: Mapping[str, str]) -> Mapping[str, Any]:
    """Sends a transaction and returns its receipt once it is mined: anvil responds before that."""
    identity = rpc("eth_sendTransaction", transaction)
    receipt: Mapping[str, Any] | None = None
    while receipt is None:
        receipt = rpc("eth_getTransactionReceipt", identity)
    return receipt


def _slug(devnet: LocalChains, chain_id: int) -> str:
    return next(slug for slug, chain in devnet.chains.items() if chain.chain_id == chain_id)


def _execute(devnet: LocalChains, action: Action, watch: Iterable[tuple[Address, Address]]) -> Executed:
    legs = [(leg.account, leg.token.address) for leg in (*action.inputs, *action.outputs)]
    watched = list(dict.fromkeys((*legs, *watch)))
    with devnet.rpc(_slug(devnet, action.chain_id)) as rpc:

        def balances() -> list[int]:
            return [int(word, 16) for word in rpc.batch([_balance(*pair) for pair in watched])]

        before = balances()
        rpc("anvil_impersonateAccount", action.sender)
        receipts = [
            _receipt(rpc, _transaction(action.sender, step.to, step.data, step.value, step.gas_limit))
            for step in action.steps
        ]
        rpc("anvil_stopImpersonatingAccount", action.sender)
        after = balances()
    gas = sum(int(r["gasUsed"], 16) * int(r["effectiveGasPrice"], 16) for r in receipts)
    deltas = {
        pair: now - was + (gas if pair == (action.sender, NATIVE) else 0)
        for pair, was, now in zip(watched, before, after, strict=True)
    }
    return Executed(deltas, tuple(receipts))


def _balance(account: Address, token: Address) -> tuple[str, list[Any]]:
    if token == NATIVE:
        return "eth_getBalance", [account, "latest"]
    return "eth_call", [{"to": token, "data": "0x" + BALANCE_OF.encode([account]).hex()}, "latest"]
