"""Finds accounts without code: contracts that a deployment expects and its network does not have."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from quoteway.errors import Reason, UpstreamError
from quoteway.evm.chain import RpcChain
from quoteway.evm.erc20 import word
from quoteway.models import Address, CodeSize

_ASKED_AGAIN = 8
"""How many accounts that seem to have no code are asked for in another way."""


async def without_code(
    chain: RpcChain, accounts: Collection[Address], *, known: Address | None = None
) -> frozenset[Address]:
    """Returns which of ``accounts`` have no code at the node's newest block, by one batched request.

    A node that is still synchronising, or answers wrongly, may know no account at all. So a few of those
    without code are asked for by ``eth_getCode`` too, and ``known``, a contract of this chain, must have
    code. Raises ``UpstreamError`` when the answers contradict each other, or the chain cannot be read.
    """
    asked = [*accounts, *([] if known is None else [known])]
    sizes = [
        word(output) for output in await chain.call_many([CodeSize(each) for each in asked], block="latest")
    ]
    absent = [account for account, size in zip(asked, sizes, strict=True) if size == 0]
    codes = await asyncio.gather(*(chain.code(each, block="latest") for each in absent[:_ASKED_AGAIN]))
    if None in sizes or any(codes) or known in absent:
        text = f"The answers of the nodes of {chain.network.name} about code contradict each other."
        raise UpstreamError(text, reason=Reason.RPC_ERROR, retryable=True)
    return frozenset(absent)
