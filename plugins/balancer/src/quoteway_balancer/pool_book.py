"""The pools of a deployment: those of its row, and those that its factories made, found by their logs."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from quoteway import Address, Chain, GatewayError
from quoteway.evm.abi import event_topic, function
from quoteway.evm.address import checksum
from quoteway.evm.chain import Call
from quoteway_router.logs import ALL_BLOCKS, Logs

from quoteway_balancer.reading import decoded

log = logging.getLogger(__name__)

POOL_CREATED = event_topic("PoolCreated(address)")
_IS_MADE = function("isPoolFromFactory(address pool) returns (bool)")
NEW_AFTER_S = 30
"""How often new pools are looked for, while there are quotes."""
_REORGANISED = 64
"""How many blocks are searched again, because a reorganisation may have replaced them."""
_MOST_TRIES = 5
"""How often a pool is read that does not answer as one: a node may lag behind the log of its creation."""


Facts = TypeVar("Facts")


class Factories(Protocol):
    """What a book needs of a deployment: the names of its factories' families, and the pools to use."""

    @property
    def factories(self) -> Mapping[Address, str]: ...

    @property
    def listed(self) -> Sequence[Address]:
        """The addresses of pools of these factories that are used besides those found by logs."""

    @property
    def since_block(self) -> int | None:
        """Where the search for logs begins; None: there is none."""


class PoolBook(Generic[Facts]):
    """Knows the pools of one deployment. Searches run in the background; only the first is waited for.

    ``read`` returns the facts of pools by address, of the families given with them. It leaves out those that
    answer otherwise than such pools.
    """

    def __init__(
        self,
        chain: Chain,
        deployment: Factories,
        read: Callable[[Mapping[Address, str]], Awaitable[Mapping[Address, Facts]]],
        clock: Callable[[], float],
    ) -> None:
        self._chain = chain
        self._deployment = deployment
        self._facts = read
        self._clock = clock
        # Pools of few factories are few: all blocks are asked for at once.
        self._logs = Logs(chain, ALL_BLOCKS)
        self._known: dict[Address, Facts] = {}
        self._waiting: dict[Address, str] = {}
        self._tries: dict[Address, int] = {}
        self._next = deployment.since_block
        self._due_s = 0.0
        self._complete = False
        self._failure: GatewayError | None = None
        self._task: asyncio.Task[None] | None = None

    async def known(self) -> list[Facts]:
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
        listed = self._deployment.listed
        made = await self._made_by_factories(listed)
        for address in listed:
            if address not in made:
                log.warning("pool %s is of no configured factory: it is not used", address)
        self._take(made.items())

    async def _made_by_factories(self, addresses: Sequence[Address]) -> dict[Address, str]:
        """Returns the families of the pools that the deployment's factories say they made."""
        factories = self._deployment.factories
        asked = [(pool, factory) for pool in addresses for factory in factories]
        calls = [Call(factory, _IS_MADE.encode([pool]), max_output=32) for pool, factory in asked]
        answers = await self._chain.call_many(calls, block="latest")
        return {
            pool: factories[factory]
            for (pool, factory), answer in zip(asked, answers, strict=True)
            if decoded(_IS_MADE, answer) == (True,)
        }

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
        found = await self._facts(self._waiting)
        self._known |= found
        for address in [*self._waiting]:
            self._tries[address] = self._tries.get(address, 0) + 1
            if address in found or self._tries[address] >= _MOST_TRIES:
                del self._waiting[address]
