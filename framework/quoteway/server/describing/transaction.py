"""The transaction that is described: from its hash, or as the command line gives it."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway.errors import GatewayError
from quoteway.evm.address import parse_address
from quoteway.evm.answers import quantity
from quoteway.evm.chain import RpcChain
from quoteway.models import Address, Block
from quoteway.server.describing.errors import CannotDescribe


@dataclass(frozen=True, slots=True)
class Example:
    """A transaction, and the block on whose state it runs. ``value`` is in wei."""

    to: Address
    data: bytes
    value: int
    sender: Address
    block: Block


async def mined(chain: RpcChain, transaction: str) -> Example:
    """Returns a transaction by its hash, on the state before its block; a pending one at the head.

    Raises ``CannotDescribe`` when the chain does not have it, or it makes a contract.
    """
    found = await chain.request("eth_getTransactionByHash", [transaction])
    if found is None:
        raise CannotDescribe(
            f"{chain.network.name} has no transaction {transaction}: check the hash and --network"
        )
    try:
        to, number = found["to"], found["blockNumber"]
        if to is None:
            raise CannotDescribe("the transaction makes a contract: give one that calls it")
        block = await (chain.head() if number is None else chain.block(max(quantity(number) - 1, 0)))
        data, value = bytes.fromhex(found["input"][2:]), quantity(found["value"])
        return Example(parse_address(to), data, value, parse_address(found["from"]), block)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise CannotDescribe(
            "the node answers something that is no transaction: give another --rpc"
        ) from None


async def code_of(chain: RpcChain, example: Example) -> bytes:
    """Returns the code of the contract that is called. Raises ``CannotDescribe`` when there is none, or the
    node does not have the state."""
    try:
        code = await chain.code(example.to, block=example.block)
    except GatewayError as error:
        raise CannotDescribe(
            f"the state of block {example.block.number} cannot be read ({error.message.rstrip('.')}): give "
            "--rpc, a node that has it, or a newer transaction"
        ) from None
    if not code:
        raise CannotDescribe(
            f"{example.to} has no code at block {example.block.number} of {chain.network.name}: check the "
            "address and --network"
        )
    return code


IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
"""Where a proxy keeps the address of its implementation (ERC-1967)."""


async def is_proxy(chain: RpcChain, example: Example) -> bool:
    """Returns whether the contract is a proxy by ERC-1967."""
    word = await chain.pinned("eth_getStorageAt", [example.to, IMPLEMENTATION_SLOT], example.block)
    return isinstance(word, str) and bool(word.strip("0x"))
