"""The pools of a deployment: those of its row, and those that its factories made, found by their logs."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Iterable

from quoteway import Address, Chain, GatewayError
from quoteway.evm.abi import event_topic
from quoteway.evm.address import checksum
from quoteway_router.logs import ALL_BLOCKS, Logs

from quoteway_balancer.deployments import Deployment
from quoteway_balancer.pool_facts import PoolFacts, factories_of, read_facts

log = logging.getLogger(__name__)

POOL_CREATED = event_topic("PoolCreated(address)")
NEW_AFTER_S = 30
"""How often new pools are looked for, while there are quotes."""
_REORGANISED = 64
"""How many blocks are searched again, because a reorganisation may have replaced them."""
_MOST_TRIES = 5
"""How often a pool is read that does not answer as one: a node may lag behind the log of its creation."""


class PoolBook:
    """Knows the pools of one deployment. Searches run in the background; only the first is waited for."""

    def __init__(self, chain: Chain, deployment: Deployment, clock: Callable[[], float]) -> None:
        self._chain = chain
        self._deployment = deployment
        self._clock = clock
        # Pools of few factories are few: all blocks are asked for at once.
        self._logs = Logs(chain, ALL_BLOCKS)
        self._known: dict[Address, PoolFacts] = {}
        self._waiting: dict[Address, str] = {}
        self._tries: dict[Address, int] = {}
        self._next = deployment.since_block
        self._due_s = 0.0
        self._complete = False
        self._failure: GatewayError | None = None
        self._task: asyncio.Task[None] | None = None

    async def known(self) -> list[PoolFacts]:
        """Returns the known pools. Raises UpstreamError when the first search for them failed."""
        if (self._task is None or self._task.done()) and self._clock() >= self._due_s:
            self._due_s = self._clock() + NEW_AFTER_S
            # A context of its own: it outlives the request that happens to start it.
            self._task = asyncio.create_task(
                self._search(), name="search for Balancer pools", context=contextvars.Context()
            )
        if not self._complete and self._task is not None:
            self._due_s = 0.0
            # A request that ends does not end the search.
            await asyncio.shield(self._task)
            if self._failure is not None:
                raise self._failure
        return [*self._known.values()]

    async def close(self) -> None:
        """Ends the search under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=1.0)

    async def _search(self) -> None:
        """Looks for pools. Requests that wait for the first search fail with it."""
        self._failure = None
        try:
            if not self._complete:
                await self._configured()
            await self._created()
            await self._read()
            self._complete = True
        except GatewayError as error:
            log.info("Balancer pools of %s were not looked for: %s", self._chain.network.slug, error)
            self._failure = error

    async def _configured(self) -> None:
        """Takes the pools of the row that one of its factories made."""
        addresses = {checksum(pool_id[:42]): pool_id for pool_id in self._deployment.pools}
        made = await factories_of(self._chain, self._deployment, [*addresses])
        for address, pool_id in addresses.items():
            if address not in made:
                log.warning("pool %s is of no configured factory: it is not used", pool_id)
        self._take(made.items())

    async def _created(self) -> None:
        """Takes the pools of the logs since the last search."""
        if self._next is None:
            return
        head = await self._chain.head()
        first, last, factories = self._next, head.number, self._deployment.factories
        while last >= first:
            found = await self._logs.search([*factories], [POOL_CREATED], first, last)
            self._take(
                (checksum("0x" + each.topics[1][-40:]), factories[each.address])
                for each in found.logs
                if each.address in factories and len(each.topics) == 2
            )
            last = found.first - 1
        since = self._deployment.since_block or 0
        self._next = max(since, head.number + 1 - _REORGANISED)

    def _take(self, pools: Iterable[tuple[Address, str]]) -> None:
        for address, family in pools:
            if address not in self._known and self._tries.get(address, 0) < _MOST_TRIES:
                self._waiting[address] = family

    async def _read(self) -> None:
        if not self._waiting:
            return
        found = await read_facts(self._chain, self._deployment, self._waiting)
        self._known |= found
        for address in [*self._waiting]:
            self._tries[address] = self._tries.get(address, 0) + 1
            if address in found or self._tries[address] >= _MOST_TRIES:
                del self._waiting[address]
