"""Reads the logs of a run: transfers and approvals of every token standard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quoteway.evm import erc20, permit2
from quoteway.evm.abi import event_topic
from quoteway.evm.address import ERC7528_NATIVE, checksum
from quoteway.evm.chain import Log
from quoteway.models import MAX_UINT256, NATIVE, Address

_ERC1155_TRANSFERS = (
    event_topic("TransferSingle(address,address,address,uint256,uint256)"),
    event_topic("TransferBatch(address,address,address,uint256[],uint256[])"),
)
_ERC6909_TRANSFER = event_topic("Transfer(address,address,address,uint256,uint256)")
_ERC6909_APPROVAL = event_topic("Approval(address,address,uint256,uint256)")
_OPERATOR_EVENTS = (
    event_topic("OperatorSet(address,address,bool)"),
    event_topic("ApprovalForAll(address,address,bool)"),
)
_SWAPS = (
    event_topic("Swap(address,uint256,uint256,uint256,uint256,address)"),  # UniswapV2Pair
    event_topic("Swap(address,address,int256,int256,uint160,uint128,int24)"),  # IUniswapV3PoolEvents
)
_SWAP_BY_ID = event_topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
"""IPoolManager of v4-core, which has all pools: the first topic is the pool's id."""
_VAULT_SWAP = event_topic("Swap(bytes32,address,address,uint256,uint256)")
"""IVault of Balancer v2: the same."""
_SWAPS_BY_ID = (_SWAP_BY_ID, _VAULT_SWAP)
_SWAP_BY_ADDRESS = event_topic("Swap(address,address,address,uint256,uint256,uint256,uint256)")
"""IVaultEvents of Balancer v3, which has all pools: the first topic is the pool's address."""
_KNOWN = {
    *_SWAPS,
    *_SWAPS_BY_ID,
    _SWAP_BY_ADDRESS,
    *(erc20.TRANSFER_EVENT, erc20.APPROVAL_EVENT, _ERC6909_TRANSFER, _ERC6909_APPROVAL),
    *(*permit2.EVENTS, *_ERC1155_TRANSFERS, *_OPERATOR_EVENTS),
}


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer by its log; ``NATIVE``: the chain's coin. ERC-721 tokens count as 1."""

    step: int
    token: Address
    sender: Address
    recipient: Address
    amount: int


@dataclass(frozen=True, slots=True)
class ApprovalEvent:
    """An approval by its log: ERC-20, ERC-721, operator, or through Permit2."""

    step: int
    token: Address
    owner: Address
    spender: Address
    amount: int


@dataclass(frozen=True, slots=True)
class Trace:
    """What the logs of a run say, in order; ``step`` is the transaction's index.

    ``items`` are transfers of ERC-1155 and ERC-6909 tokens, each counted as 1. ``previews`` are the answers
    to the build's previews, read before the first transaction; None: no answer. ``returned`` is what each
    transaction's call returned. ``swapped`` are the pools that say that they swapped, once each: by address
    (Uniswap v2, v3 and forks with their events, Balancer v3), or 32-byte id (Uniswap v4, Balancer v2).
    """

    transfers: tuple[Transfer, ...] = ()
    approvals: tuple[ApprovalEvent, ...] = ()
    previews: tuple[int | None, ...] = ()
    items: tuple[Transfer, ...] = ()
    returned: tuple[bytes, ...] = ()
    swapped: tuple[str, ...] = ()

    def slots_raised(self, step: int) -> int:
        """How many balances, supplies and allowances a transaction raises: one storage slot each."""
        raised: set[tuple[Address, ...]] = set()
        for transfer in (*self.transfers, *self.items):
            if transfer.step == step and transfer.token != NATIVE:
                raised.add((transfer.token, transfer.recipient))
                if transfer.sender == NATIVE:  # a mint, which raises the supply
                    raised.add((transfer.token,))
        raised |= {(a.token, a.owner, a.spender) for a in self.approvals if a.step == step and a.amount}
        return len(raised)


def trace_of(logs: Sequence[Sequence[Log]]) -> Trace:
    """Reads the logs of transactions: one list each, in order."""
    transfers, approvals, items = [], [], []
    swapped: dict[str, None] = {}
    for step, entries in enumerate(logs):
        for entry in entries:
            topic, words = entry.topics[0] if entry.topics else "", _words(entry)
            if topic not in _KNOWN or len(words) < 3:
                continue
            token, is_erc721 = entry.address, len(entry.topics) == 4
            first, second, third = map(_account, words[:3])
            if topic == erc20.TRANSFER_EVENT:
                token = NATIVE if token == ERC7528_NATIVE else token
                transfers.append(Transfer(step, token, first, second, 1 if is_erc721 else words[2]))
            elif topic == erc20.APPROVAL_EVENT:
                # ERC-721: the token's id is in place of the amount, and the zero address revokes.
                amount = int(words[1] != 0) if is_erc721 else words[2]
                approvals.append(ApprovalEvent(step, token, first, second, amount))
            elif topic in _ERC1155_TRANSFERS:  # first: the operator
                items.append(Transfer(step, token, second, third, 1))
            elif topic == _ERC6909_TRANSFER:
                items.append(Transfer(step, token, first, second, 1))
            elif topic == _ERC6909_APPROVAL and len(words) >= 4:
                approvals.append(ApprovalEvent(step, token, first, second, words[3]))
            elif topic in _OPERATOR_EVENTS:
                approvals.append(ApprovalEvent(step, token, first, second, MAX_UINT256 if words[2] else 0))
            elif topic in _SWAPS:
                swapped[entry.address] = None
            elif topic in _SWAPS_BY_ID and len(entry.topics) > 1:
                swapped[entry.topics[1].lower()] = None
            elif topic == _SWAP_BY_ADDRESS:
                swapped[first] = None
            elif topic in permit2.EVENTS and token == permit2.ADDRESS:
                approvals.append(ApprovalEvent(step, second, first, third, words[3]))
    return Trace(tuple(transfers), tuple(approvals), items=tuple(items), swapped=tuple(swapped))


def _words(entry: Log) -> list[int]:
    """The event's arguments in order: contracts differ in which of them they index."""
    data = [int.from_bytes(entry.data[at : at + 32], "big") for at in range(0, len(entry.data) - 31, 32)]
    return [int(topic, 16) for topic in entry.topics[1:]] + data


def _account(value: int) -> Address:
    return checksum(f"0x{value & ((1 << 160) - 1):040x}")
