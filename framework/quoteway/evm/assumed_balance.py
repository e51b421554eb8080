"""Makes state overrides that give an account a balance for a simulation."""

from __future__ import annotations

import asyncio
from typing import Any

from quoteway.errors import RpcError
from quoteway.evm import erc20
from quoteway.evm.address import checksum
from quoteway.evm.balance_slot import layouts
from quoteway.evm.chain import RpcChain
from quoteway.models import Address, Block

_MAX_CANDIDATES = 16


async def assume_balance(
    chain: RpcChain, token: Address, account: Address, amount: int, block: Block
) -> dict[Address, dict[str, Any]] | None:
    """A state override that gives ``account`` at least ``amount`` of ``token``; None when none was found.

    The slot is searched once per token: of those that ``balanceOf`` reads (``eth_createAccessList``), the one
    whose change changes the answer.
    """
    known = chain.balance_slots.get(token)
    if known is not None:
        return _override(known.contract, known.of(account), amount)
    candidates = await _candidates(chain, token, account, block)
    overrides = [_override(contract, slot, amount) for contract, slot in candidates]
    outcomes = await asyncio.gather(*(_balance(chain, token, account, block, each) for each in overrides))
    # A token that counts shares (stETH) answers more than the slot holds: the smallest answer is best.
    fitting = [(held, at) for at, held in enumerate(outcomes) if held is not None and held >= amount]
    if not fitting:
        return None
    _, at = min(fitting)
    contract, slot = candidates[at]
    # Other layouts are searched again for each account.
    common = next((layout for layout in layouts(contract) if layout.of(account) == slot.lower()), None)
    if common is not None:
        chain.balance_slots[token] = common
    return overrides[at]


async def _candidates(
    chain: RpcChain, token: Address, account: Address, block: Block
) -> list[tuple[Address, str]]:
    call = {"from": account, "to": token, "data": "0x" + erc20.BALANCE_OF.encode([account]).hex()}
    try:
        answer = await chain.pinned("eth_createAccessList", [call], block)
        rows = answer["accessList"]
        touched = [(checksum(row["address"]), slot) for row in rows for slot in row["storageKeys"]]
    except (RpcError, LookupError, TypeError, ValueError):
        # Not every node has the method; most tokens have the balances in one of their first slots.
        touched = [(token, slot.of(account)) for slot in layouts(token) if slot.base < 8]
    return touched[:_MAX_CANDIDATES]


async def _balance(
    chain: RpcChain, token: Address, account: Address, block: Block, override: dict[Address, dict[str, Any]]
) -> int | None:
    try:
        data = erc20.BALANCE_OF.encode([account])
        return erc20.word(await chain.call(token, data, block=block, overrides=override))
    except RpcError:
        return None


def _override(contract: Address, slot: str, amount: int) -> dict[Address, dict[str, Any]]:
    return {contract: {"stateDiff": {slot: "0x" + amount.to_bytes(32, "big").hex()}}}
