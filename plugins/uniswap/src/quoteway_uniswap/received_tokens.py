"""Finds the v4 position tokens that a wallet owns. No contract lists them: they are found by their transfers.

The wallet's balance tells how many there are. Where an index does not name them all, a search goes back from
the newest block until all are found. It goes on in the background where nodes limit the range of logs, and
each later look continues it.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from dataclasses import dataclass, field

from cachetools import LRUCache
from quoteway import Address, Block, Chain, GatewayError, WalletHistory
from quoteway.evm.abi import event_topic
from quoteway.evm.erc20 import BALANCE_OF
from quoteway_router.logs import Logs

from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.known_pools import manager_of
from quoteway_uniswap.liquidity_state import Nft, Reading, read_nfts

log = logging.getLogger("quoteway_uniswap")

WAIT_S = 1.2
"""How long a look waits for the search, in seconds."""
STEP_REQUESTS = 32
"""After so many requests what was found is compared with the wallet's balance."""
AT_ONCE = 4
"""Searches of one chain at a time: each may take thousands of requests."""
MOST_PAIRS = 500
"""Of one wallet, of those that the catalog has not."""
_MOST_SEARCHES = 64
"""Under way and waiting. A look beyond them is told to be incomplete."""
_WALLETS_KEPT = 1_024
_REORG_BLOCKS = 64
_TRANSFER = event_topic("Transfer(address,address,uint256)")


@dataclass(slots=True, eq=False)
class _Received:
    """The tokens that a wallet received in blocks ``first`` to ``last``; ``last`` None: none was searched."""

    deployment: Deployment
    manager: Address
    wallet: Address
    first: int = 0
    last: int | None = None
    token_ids: set[int] = field(default_factory=set)
    task: asyncio.Task[None] | None = None


class ReceivedTokens:
    """The v4 position tokens of wallets on one chain."""

    def __init__(self, chain: Chain, logs: Logs, history: WalletHistory) -> None:
        self._chain = chain
        self._history = history
        self._logs = logs
        self._received: LRUCache[tuple[Address, Address], _Received] = LRUCache(_WALLETS_KEPT)
        self._tasks: set[asyncio.Task[None]] = set()
        self._lane = asyncio.Semaphore(AT_ONCE)

    async def owned(self, block: Block, wallet: Address, deployment: Deployment) -> tuple[list[Nft], bool]:
        """Returns the wallet's position tokens at ``block``, oldest first, and whether these are all.

        Raises UpstreamError or RpcError when the chain cannot be read.
        """
        manager = manager_of(deployment, "v4")
        held = 0 if manager is None else await self._held(block, manager, wallet)
        if manager is None or not held:
            return [], True
        received: _Received | None = self._received.get((manager, wallet))
        if received is None:
            received = self._received[manager, wallet] = _Received(deployment, manager, wallet)
        found = await self._owned(block, received)
        if len(found) < held and await self._read_index(received):
            found = await self._owned(block, received)
        if len(found) < held:
            idle = received.task is None or received.task.done()
            if idle and len(self._tasks) < _MOST_SEARCHES:
                # A context of its own: it outlives the request that happens to start it.
                received.task = asyncio.create_task(
                    self._search(block, received, held),
                    name="search for positions",
                    context=contextvars.Context(),
                )
                self._tasks.add(received.task)
                received.task.add_done_callback(self._tasks.discard)
            if received.task is not None and not received.task.done():
                await asyncio.wait([received.task], timeout=WAIT_S)
                found = await self._owned(block, received)
        return found, len(found) >= held

    async def close(self) -> None:
        """Ends the searches under way."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)

    async def _held(self, block: Block, manager: Address, wallet: Address) -> int:
        reading = Reading()
        count = reading.add(manager, BALANCE_OF, wallet)
        await reading.run(self._chain, block)
        return reading.word(count) if reading.words(count) else 0

    async def _owned(self, block: Block, received: _Received) -> list[Nft]:
        token_ids = sorted(received.token_ids)
        nfts = await read_nfts(self._chain, block, received.deployment, "v4", token_ids)
        return [nft for nft in nfts if nft.owner == received.wallet]

    async def _read_index(self, received: _Received) -> bool:
        """Adds the tokens that an index names. Returns whether there are new ones."""
        known = len(received.token_ids)
        chain_id = self._chain.network.chain_id
        try:
            indexed = await self._history.owned_nfts(chain_id, received.manager, received.wallet)
        except GatewayError as error:
            log.info("positions on %s could not be read from the index: %s", self._chain.network.slug, error)
            return False
        if indexed is not None:
            received.token_ids.update(indexed.token_ids)
        return len(received.token_ids) > known

    async def _search(self, block: Block, received: _Received, held: int) -> None:
        """Looks for tokens in new blocks, then in older ones, until as many are found as the wallet has."""
        assert received.deployment.v4 is not None
        since = received.deployment.v4.since_block
        try:
            async with self._lane:
                await self._read_new(received, since, block.number)
                while received.first > since and len(await self._owned(block, received)) < held:
                    received.first = await self._read(received, since, received.first - 1)
        except GatewayError as error:
            log.info("positions on %s could not be looked for: %s", self._chain.network.slug, error)

    async def _read_new(self, received: _Received, since: int, last: int) -> None:
        # The last blocks are read again: a reorganisation may have replaced them.
        start = since if received.last is None else max(since, received.last - _REORG_BLOCKS)
        first = await self._read(received, start, last)
        if received.last is None or first > start:
            received.first = first
        received.last = last

    async def _read(self, received: _Received, first: int, last: int) -> int:
        """Reads some transfers of these blocks, newest first, and returns the first block of those read."""
        topics = [_TRANSFER, None, "0x" + received.wallet[2:].lower().rjust(64, "0")]
        found = await self._logs.search(received.manager, topics, first, last, max_requests=STEP_REQUESTS)
        received.token_ids |= {int(log.topics[3], 16) for log in found.logs if len(log.topics) == 4}
        return found.first


async def received_pairs(history: WalletHistory, chain: Chain, wallet: Address) -> list[Address]:
    """Returns the pairs whose shares a wallet received, as an index names them: at most ``MOST_PAIRS``."""
    try:
        indexed = await history.wallet_tokens(chain.network.chain_id, wallet)
    except GatewayError as error:
        log.info("pairs on %s could not be read from the index: %s", chain.network.slug, error)
        return []
    received = () if indexed is None else indexed.received
    return [each.token for each in received if each.kind == "pair"][:MOST_PAIRS]
