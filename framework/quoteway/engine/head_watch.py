"""The newest block of each network, for all that follow it: one watcher, and no reads of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Final, TypeAlias

from quoteway.engine.newest import Newest
from quoteway.errors import GatewayError, Reason, UpstreamError
from quoteway.evm.chain import RpcChain
from quoteway.host.runtime import Runtime
from quoteway.models import Block

HeadOrError: TypeAlias = Block | GatewayError
"""The newest block, or why it is not known."""

LOOK_S: Final = 1.0
"""How often the watcher of a head asks whether the nodes fail. It asks the memory only."""


class HeadWatch:
    """Follows the heads of the networks of one gateway. A network that nobody follows is not read."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._heads: dict[int, Newest[HeadOrError]] = {}

    def of(self, chain_id: int) -> Newest[HeadOrError]:
        """Returns the head of a network, which tells its error while no node gives it.

        Raises ``ProviderUnavailable`` when the network is not served.
        """
        found = self._heads.get(chain_id)
        if found is None:
            chain = self._runtime.chain(chain_id)
            found = Newest(f"stream: head of {chain.network.slug}", partial(_heads_of, chain))
            self._heads[chain_id] = found
        return found


async def _heads_of(chain: RpcChain) -> AsyncIterator[HeadOrError]:
    """Yields each head, the error while there is none, and the head again after that."""
    newest: Block | None = None
    while newest is None:
        try:
            newest = await chain.head()
        except GatewayError as error:
            yield error
            await asyncio.sleep(LOOK_S)
    yield newest
    has_failed = False
    while True:
        try:
            async with asyncio.timeout(LOOK_S):
                newest = await chain.head_other_than(newest.hash)
            has_failed = False
        except TimeoutError:
            if chain.head_fails == has_failed:
                continue
            has_failed = chain.head_fails
        yield _no_head(chain) if has_failed else newest


def _no_head(chain: RpcChain) -> UpstreamError:
    text = f"No node of {chain.network.name} tells its newest block."
    return UpstreamError(text, reason=Reason.RPC_ERROR, retryable=True)
