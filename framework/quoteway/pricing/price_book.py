"""USD prices from the price sources, remembered by block and never waited for long."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from cachetools import LRUCache

from quoteway.config.model import Config
from quoteway.errors import GatewayError
from quoteway.guard.model_types import flaw
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.models import NATIVE, Address, Block, Capability, Price
from quoteway.providers import PriceSource, Provider

log = logging.getLogger("quoteway.pricing.price_book")

WAIT_S = 0.05
"""How long a quote that is ready waits for prices that are not."""

MAX_AGE_S = 60.0
"""How long the price of an earlier block is served while a newer one is read or cannot be."""

MOST_NEW = 64
"""How many tokens that were never priced one caller has looked up; the next one goes on with the rest."""

SLICE = 8
"""How many tokens a source is asked for in one call. All calls run at once, each answer counts by itself."""

ASK_TIMEOUT_S = 10.0
"""How long a source may take. It is asked in the background: callers wait only as long as they choose."""

_REMEMBERED = 20_000

_Key = tuple[int, Address]


RETRY_S = 5.0
"""How long a source that failed for a token is left alone, unless there is a new block."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """What was last answered for a token: at which block, and when that was last the newest.

    ``tried_at`` is the block it was last asked for at, ``tried_s`` when; a try that failed answers nothing.
    """

    price: Price | None
    answered_at: str
    confirmed_s: float
    tried_at: str
    tried_s: float


class PriceBook:
    """The prices of one gateway.

    A token is asked for once per block, in the background: callers get what is known when they ask, and wait
    only for a token that was never answered.
    """

    def __init__(
        self,
        config: Config,
        runtime: Runtime,
        registry: Registry,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._runtime = runtime
        self._registry = registry
        self._clock = clock
        self._entries: LRUCache[_Key, _Entry] = LRUCache(_REMEMBERED)
        self._asking: dict[_Key, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Ends what is still being asked."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)

    def begin(self, chain_id: int, addresses: Iterable[Address]) -> None:
        """Has prices that are not known looked up while something else is waited for.

        Known ones are refreshed by ``get`` after it: they must not compete with what is waited for.
        """
        if self._registry.enabled(Capability.PRICES, chain_id):
            names = {self._asked_as(chain_id, address) for address in addresses}
            self._start(chain_id, {name for name in names if self._entry((chain_id, name)) is None})

    async def get(
        self, chain_id: int, addresses: Sequence[Address], *, wait_s: float = WAIT_S
    ) -> Mapping[Address, Price]:
        """What is known of these tokens (``NATIVE`` too) within ``wait_s`` seconds.

        Only prices that are numbers; an absent token is one without a known price.
        """
        if not self._registry.enabled(Capability.PRICES, chain_id):
            return {}
        asked_as = {address: self._asked_as(chain_id, address) for address in addresses}
        started = self._start(chain_id, set(asked_as.values()))
        missing = [key for name in asked_as.values() if self._entry(key := (chain_id, name)) is None]
        if missing:
            under_way = {task for key in missing if (task := self._asking.get(key)) is not None} | started
            if under_way:
                await asyncio.wait(under_way, timeout=wait_s)
        found = {}
        for address, name in asked_as.items():
            entry = self._entry((chain_id, name))
            if entry is not None and entry.price is not None:
                found[address] = entry.price
        return found

    def known(self, tokens: Iterable[_Key]) -> dict[_Key, Price]:
        """What is known of tokens (chain id, address) without asking anybody."""
        found = {}
        for chain_id, address in tokens:
            entry = self._entry((chain_id, self._asked_as(chain_id, address)))
            if entry is not None and entry.price is not None:
                found[chain_id, address] = entry.price
        return found

    def _asked_as(self, chain_id: int, address: Address) -> Address:
        """The native coin is priced as its wrapped token, which is one for one."""
        network = self._runtime.networks.by_chain_id(chain_id)
        if address == NATIVE and network is not None and network.wrapped_native is not None:
            return network.wrapped_native
        return address

    def _entry(self, key: _Key) -> _Entry | None:
        entry = self._entries.get(key)
        if entry is None or self._clock() - entry.confirmed_s > MAX_AGE_S:
            return None
        return entry

    def _start(self, chain_id: int, addresses: set[Address]) -> set[asyncio.Task[None]]:
        chain = self._runtime.chains.get(chain_id)
        head = None if chain is None else chain.known_head
        if head is not None:
            addresses = {name for name in addresses if not self._is_settled((chain_id, name), head)}
        new = sorted(name for name in addresses if (chain_id, name) not in self._entries)
        addresses = addresses - set(new[MOST_NEW:])
        if not addresses:
            return set()
        task = asyncio.create_task(self._look_up(chain_id, addresses), name=f"prices of {chain_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return {task}

    def _is_settled(self, key: _Key, head: Block) -> bool:
        """Whether there is nothing to look up: answered at this head, and that lately."""
        entry = self._entries.get(key)
        if entry is None or entry.answered_at != head.hash:
            return False
        return self._clock() - entry.confirmed_s < MAX_AGE_S / 2

    async def _look_up(self, chain_id: int, addresses: set[Address]) -> None:
        """Asks for what was not asked at the newest block yet and is not being asked already."""
        chain = self._runtime.chains.get(chain_id)
        if chain is None:
            return
        try:
            block = await chain.head()
        except GatewayError:
            return
        due = [
            address
            for address in sorted(addresses)
            if (chain_id, address) not in self._asking and self._is_due((chain_id, address), block)
        ]
        if not due:
            others = {
                task for address in addresses if (task := self._asking.get((chain_id, address))) is not None
            }
            if others:
                await asyncio.wait(others)
            return
        task = asyncio.current_task()
        assert task is not None
        for address in due:
            self._asking[chain_id, address] = task
        try:
            slices = [due[start : start + SLICE] for start in range(0, len(due), SLICE)]
            await asyncio.gather(*(self._ask(chain_id, each, block) for each in slices))
        finally:
            for address in due:
                del self._asking[chain_id, address]

    def _is_due(self, key: _Key, block: Block) -> bool:
        """Whether to ask for a token; the answer of a block that still is the newest stands."""
        entry, now = self._entries.get(key), self._clock()
        if entry is None:
            return True
        if entry.answered_at == block.hash:
            self._entries[key] = replace(entry, confirmed_s=now)
            return False
        return entry.tried_at != block.hash or now - entry.tried_s > RETRY_S

    async def _ask(self, chain_id: int, addresses: Sequence[Address], block: Block) -> None:
        async def ask(source: Provider) -> Mapping[Address, Price]:
            answer = await cast(PriceSource, source).prices(chain_id, addresses, block)
            # Read here, where what an odd one raises is its source's failure alone.
            return {name: price for name in addresses if (price := _usable(answer.get(name))) is not None}

        outcomes = await self._registry.calls.ask_all(
            self._registry.enabled(Capability.PRICES, chain_id),
            ask,
            verb="prices",
            timeout_s=ASK_TIMEOUT_S,
        )
        answers = [outcome.value for outcome in outcomes if outcome.value is not None]
        all_answered = len(answers) == len(outcomes)
        now = self._clock()
        for address in addresses:
            key = chain_id, address
            price = next((answer[address] for answer in answers if address in answer), None)
            before = self._entries.get(key)
            if price is None and not all_answered and before is not None:
                # Nobody said that there is none: the last one stands until it is too old.
                self._entries[key] = replace(before, tried_at=block.hash, tried_s=now)
            else:
                answered_at = block.hash if price is not None or all_answered else ""
                self._entries[key] = _Entry(price, answered_at, now, block.hash, now)


def _usable(price: object) -> Price | None:
    """The price when it is one: a positive finite number of dollars."""
    if not isinstance(price, Price) or flaw(price, Price) is not None or price.usd is None:
        return None
    return price if price.usd > 0 else None
