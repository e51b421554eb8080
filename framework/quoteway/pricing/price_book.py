"""Reads USD prices from the price sources in the background and caches them by block."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import cast

from quoteway.guard.model_types import flaw
from quoteway.host.refresh import Clock, Refresher, RefreshPolicy
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.models import NATIVE, Address, Capability, Price
from quoteway.providers import PriceSource, Provider

WAIT_S = 0.05
"""How long a finished quote waits for missing prices."""
MAX_AGE_S = 60.0
"""The maximum age of a price of an earlier block, served while a newer one is not available."""
MOST_NEW = 64
"""How many never-priced tokens one call starts to read. Later calls start the rest."""
SLICE = 8
"""How many tokens one call to a source contains. All calls run concurrently and succeed or fail alone."""
ASK_TIMEOUT_S = 10.0
"""The timeout of one call to a source, in the background. Callers wait for ``wait_s`` only."""
RETRY_S = 5.0
"""The delay before sources are asked again for a token after they failed for it."""
MOST_PRICES = 20_000

_Key = tuple[int, Address]


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer of the sources for a token at a block. ``price`` None: the token has no price."""

    price: Price | None
    block_hash: str


class PriceBook:
    """The prices of one gateway.

    Each token is read once per block, in the background. Callers get the known prices at once and wait only
    for tokens without an answer.
    """

    def __init__(self, runtime: Runtime, registry: Registry, clock: Clock = time.monotonic) -> None:
        self._runtime = runtime
        self._registry = registry
        self._clock = clock
        self._answers: Refresher[_Key, _Answer] = Refresher(
            self._read, RefreshPolicy(retry_s=RETRY_S), most_keys=MOST_PRICES, clock=clock
        )

    async def close(self) -> None:
        """Stops calls in progress."""
        await self._answers.close()

    def begin(self, tokens: Iterable[_Key]) -> None:
        """Starts to read the unknown prices of tokens (chain id, address) in the background.

        Known prices are refreshed later by ``get``, so that they do not delay the caller's other requests.
        """
        keys = {self._key(*token) for token in tokens}
        self._start(key for key in keys if self._answer(key) is None)

    async def get(
        self, chain_id: int, addresses: Sequence[Address], *, wait_s: float = WAIT_S
    ) -> Mapping[Address, Price]:
        """Returns the prices of tokens of one chain as ``get_each`` does, by address."""
        known = await self.get_each([(chain_id, address) for address in addresses], wait_s=wait_s)
        return {address: price for (_, address), price in known.items()}

    async def get_each(self, tokens: Collection[_Key], *, wait_s: float = WAIT_S) -> dict[_Key, Price]:
        """Returns the prices of tokens (``NATIVE`` included) that are known within ``wait_s`` seconds.

        A token without a known price is absent.
        """
        keys = {self._key(*token) for token in tokens}
        self._start(keys)
        running = self._answers.running(key for key in keys if self._answer(key) is None)
        if running:
            await asyncio.wait(running, timeout=wait_s)
        return self.known(tokens)

    def known(self, tokens: Iterable[_Key]) -> dict[_Key, Price]:
        """Returns the known prices of tokens (chain id, address) without asking a source."""
        answers = {token: self._answer(self._key(*token)) for token in tokens}
        return {token: answer.price for token, answer in answers.items() if answer and answer.price}

    def _key(self, chain_id: int, address: Address) -> _Key:
        """Returns the key of a price. The native coin uses the price of its wrapped token, which is 1:1."""
        network = self._runtime.networks.by_chain_id(chain_id)
        if address == NATIVE and network is not None and network.wrapped_native is not None:
            return chain_id, network.wrapped_native
        return chain_id, address

    def _answer(self, key: _Key, max_age_s: float = MAX_AGE_S) -> _Answer | None:
        kept = self._answers.known(key)
        is_recent = kept.read_at_s is not None and self._clock() - kept.read_at_s <= max_age_s
        return kept.value if is_recent else None

    def _start(self, keys: Iterable[_Key]) -> None:
        """Starts to read tokens without a recent answer at the known head of their chain."""
        for chain_id, own in groupby(sorted(keys), key=itemgetter(0)):
            chain = self._runtime.chains.get(chain_id)
            if chain is None or not self._registry.enabled(Capability.PRICES, chain_id):
                continue
            head = None if chain.known_head is None else chain.known_head.hash
            stale: list[_Key] = []
            new: list[_Key] = []
            for key in own:
                answer = self._answer(key, MAX_AGE_S / 2)
                if answer is None or answer.block_hash != head:
                    (new if self._answers.known(key).ended_at_s is None else stale).append(key)
            due = stale + new[:MOST_NEW]
            for start in range(0, len(due), SLICE):
                self._answers.begin(*due[start : start + SLICE])

    async def _read(self, keys: Sequence[_Key]) -> dict[_Key, _Answer]:
        """Returns the answers at the newest block. Asks only for tokens without an answer at that block.

        Omits a token when a source failed for it and no other source has its price.
        """
        chain_id = keys[0][0]
        block = await self._runtime.chains[chain_id].head()
        before = {key: self._answers.known(key).value for key in keys}
        found = {key: old for key, old in before.items() if old is not None and old.block_hash == block.hash}
        addresses = [address for _, address in keys if (chain_id, address) not in found]
        if not addresses:
            return found

        async def ask(source: Provider) -> Mapping[Address, Price]:
            answer = await cast(PriceSource, source).prices(chain_id, addresses, block)
            # Validated here, so that an exception counts as a failure of this source only.
            return {name: price for name in addresses if (price := _usable(answer.get(name))) is not None}

        outcomes = await self._registry.calls.ask_all(
            self._registry.enabled(Capability.PRICES, chain_id), ask, verb="prices", timeout_s=ASK_TIMEOUT_S
        )
        answers = [outcome.value for outcome in outcomes if outcome.value is not None]
        for address in addresses:
            price = next((answer[address] for answer in answers if address in answer), None)
            if price is not None or len(answers) == len(outcomes):
                found[chain_id, address] = _Answer(price, block.hash)
        return found


def _usable(price: object) -> Price | None:
    """Returns the price if it is a positive finite number of dollars, else None."""
    if not isinstance(price, Price) or flaw(price, Price) is not None or price.usd is None:
        return None
    return price if price.usd > 0 else None
