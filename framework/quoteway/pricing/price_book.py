"""Reads USD prices from the price sources in the background and caches them by block and source."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import cast

from cachetools import LRUCache

from quoteway.guard.model_types import flaw
from quoteway.host.refresh import Clock, Refresher, RefreshPolicy
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.models import NATIVE, Address, Capability, Price
from quoteway.pricing.agreement import Agreement, agree
from quoteway.providers import PriceSource, Provider

log = logging.getLogger("quoteway.pricing.price_book")

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
HOLD_S = 1.0
"""How long the price of a single source is held back for the others, so that the fastest does not decide
alone. A source that takes longer is not waited for until it answers again."""
RETRY_S = 5.0
"""The delay before a source is asked again for a token after it failed for it."""
MOST_PRICES = 60_000
"""Answers in memory: of 20,000 tokens by three sources."""

_Token = tuple[int, Address]
_Key = tuple[str, int, Address]
"""Source id, chain id and address."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer of one source for a token at a block. ``price`` None: it knows no price."""

    price: Price | None
    block_hash: str


class PriceBook:
    """The prices of one gateway.

    Each source is asked for each token once per block, in the background and under a deadline of its own.
    Callers get at once what the sources that have answered agree on (see ``agree``), and wait only for tokens
    without a price for which a source that answers is still being asked.
    """

    def __init__(self, runtime: Runtime, registry: Registry, clock: Clock = time.monotonic) -> None:
        self._runtime = runtime
        self._registry = registry
        self._settings = runtime.config.prices
        self._clock = clock
        self._answers: Refresher[_Key, _Answer] = Refresher(
            self._read, RefreshPolicy(retry_s=RETRY_S), most_keys=MOST_PRICES, clock=clock
        )
        self._late: set[tuple[str, int]] = set()
        """Source and chain ids of the last calls that failed or took longer than ``HOLD_S``."""
        self._outliers: LRUCache[_Token, frozenset[str]] = LRUCache(MOST_PRICES)
        """The sources whose price of a token does not count, while it lasts."""

    async def close(self) -> None:
        """Stops calls in progress."""
        await self._answers.close()

    def begin(self, tokens: Iterable[_Token]) -> None:
        """Starts to read the unknown prices of tokens (chain id, address) in the background.

        Known prices are refreshed later by ``get``, so that they do not delay the caller's other requests.
        """
        keys = self._keys({self._priced(token) for token in tokens})
        self._start(key for key in keys if self._answer(key) is None)

    async def get(
        self, chain_id: int, addresses: Sequence[Address], *, wait_s: float = WAIT_S
    ) -> Mapping[Address, Price]:
        """Returns the prices of tokens of one chain as ``get_each`` does, by address."""
        known = await self.get_each([(chain_id, address) for address in addresses], wait_s=wait_s)
        return {address: price for (_, address), price in known.items()}

    async def get_each(self, tokens: Collection[_Token], *, wait_s: float = WAIT_S) -> dict[_Token, Price]:
        """Returns the prices of tokens (``NATIVE`` included) that are known within ``wait_s`` seconds.

        A token without a known price is absent.
        """
        wanted = {token: self._priced(token) for token in tokens}
        priced = set(wanted.values())
        self._start(self._keys(priced))
        prices = self._prices(priced)
        try:
            async with asyncio.timeout(wait_s):
                while running := self._awaited(prices):
                    # A call that runs for HOLD_S is not waited for any more.
                    await asyncio.wait(running, timeout=HOLD_S, return_when=asyncio.FIRST_COMPLETED)
                    prices = self._prices(priced)
        except TimeoutError:
            prices = self._prices(priced)
        return _known(wanted, prices)

    def known(self, tokens: Iterable[_Token]) -> dict[_Token, Price]:
        """Returns the known prices of tokens (chain id, address) without asking a source."""
        wanted = {token: self._priced(token) for token in tokens}
        return _known(wanted, self._prices(set(wanted.values())))

    def outliers(self) -> Counter[str]:
        """Returns, by source id, the number of tokens for which the source's price does not count now."""
        self._prices(set(self._outliers))
        return Counter(source for sources in self._outliers.values() for source in sources)

    def _priced(self, token: _Token) -> _Token:
        """Returns the token that is priced. The native coin has the price of its wrapped token (1:1)."""
        chain_id, address = token
        network = self._runtime.networks.by_chain_id(chain_id)
        if address == NATIVE and network is not None and network.wrapped_native is not None:
            return chain_id, network.wrapped_native
        return token

    def _keys(self, tokens: Iterable[_Token]) -> Iterator[_Key]:
        """Yields the keys of these tokens at every source of their chain."""
        for chain_id, own in groupby(sorted(tokens), key=itemgetter(0)):
            sources = self._registry.enabled(Capability.PRICES, chain_id)
            for _, address in own:
                for source in sources:
                    yield source.id, chain_id, address

    def _prices(self, tokens: Collection[_Token]) -> dict[_Token, Price | None]:
        """Returns what the sources that have answered agree on, and notes those that do not."""
        found: dict[_Token, dict[str, Price]] = {token: {} for token in tokens}
        awaited: set[_Token] = set()
        for key in self._keys(tokens):
            source, chain_id, address = key
            answer = self._answer(key)
            if answer is not None and answer.price is not None:
                found[chain_id, address][source] = answer.price
            elif answer is None and self._is_awaited(key):
                awaited.add((chain_id, address))
        plugins = self._registry.plugins_of(Capability.PRICES)
        return {token: self._agreed(token, said, token in awaited, plugins) for token, said in found.items()}

    def _agreed(
        self, token: _Token, prices: Mapping[str, Price], is_awaited: bool, plugins: Mapping[str, str]
    ) -> Price | None:
        """Returns the price of a token. That of one plugin is None while another source ``is_awaited``."""
        if not prices and token not in self._outliers:
            return None
        if is_awaited and len({plugins[source] for source in prices}) < 2:
            return None
        agreement = agree(prices, self._settings.band_bps, self._settings.preferred, plugins)
        if agreement.outliers or token in self._outliers:
            self._note(token, prices, agreement)
        return agreement.price

    def _note(self, token: _Token, prices: Mapping[str, Price], agreement: Agreement) -> None:
        """Keeps the outliers of a token. Logs and counts those that were none before."""
        new = agreement.outliers - self._outliers.pop(token, frozenset())
        if agreement.outliers:
            self._outliers[token] = agreement.outliers
        for source in sorted(new):
            chain_id, address = token
            kept = ", ".join(f"{name} {prices[name].usd!r}" for name in sorted(prices) if name != source)
            log.warning(
                "price source %r says %r for token %s on chain %d, the others: %s. The price is %s",
                *(source, prices[source].usd, address, chain_id, kept),
                None if agreement.price is None else agreement.price.usd,
            )
            entry = self._registry.get(Capability.PRICES, source)
            if entry is not None:
                self._registry.calls.report(entry, "price", "outlier", 0.0)

    def _answer(self, key: _Key, max_age_s: float = MAX_AGE_S) -> _Answer | None:
        kept = self._answers.known(key)
        is_recent = kept.read_at_s is not None and self._clock() - kept.read_at_s <= max_age_s
        return kept.value if is_recent else None

    def _is_awaited(self, key: _Key) -> bool:
        return key[:2] not in self._late and bool(self._answers.running([key]))

    def _awaited(self, prices: Mapping[_Token, Price | None]) -> set[asyncio.Task[None]]:
        """Returns the calls in progress that may give a price to a token without one."""
        unpriced = [token for token, price in prices.items() if price is None]
        keys = (key for key in self._keys(unpriced) if self._is_awaited(key) and self._answer(key) is None)
        return self._answers.running(keys)

    def _start(self, keys: Iterable[_Key]) -> None:
        """Starts to read what has no recent answer at the known head of its chain."""
        for (_, chain_id), own in groupby(sorted(keys), key=itemgetter(0, 1)):
            chain = self._runtime.chains.get(chain_id)
            if chain is None:
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
        """Returns a source's answers at the newest block; none when it fails.

        Asks only for tokens without an answer at that block.
        """
        source_id, chain_id, _ = keys[0]
        block = await self._runtime.chains[chain_id].head()
        before = {key: self._answers.known(key).value for key in keys}
        found = {key: old for key, old in before.items() if old is not None and old.block_hash == block.hash}
        addresses = [key[2] for key in keys if key not in found]
        source = self._registry.get(Capability.PRICES, source_id)
        if not addresses or source is None:
            return found

        async def ask(asked: Provider) -> Mapping[Address, Price]:
            answer = await cast(PriceSource, asked).prices(chain_id, addresses, block)
            # Validated here, so that an exception counts as a failure of this source only.
            return {name: price for name in addresses if (price := _usable(answer.get(name))) is not None}

        place = source_id, chain_id
        held = asyncio.get_running_loop().call_later(HOLD_S, self._late.add, place)
        try:
            (outcome,) = await self._registry.calls.ask_all(
                [source], ask, verb="prices", timeout_s=ASK_TIMEOUT_S
            )
        finally:
            held.cancel()
        if outcome.value is None:
            self._late.add(place)
            return found
        self._late.discard(place)
        return found | {
            (*place, address): _Answer(outcome.value.get(address), block.hash) for address in addresses
        }


def _known(wanted: Mapping[_Token, _Token], prices: Mapping[_Token, Price | None]) -> dict[_Token, Price]:
    """Returns the known prices of tokens, given which token each one is priced as."""
    return {token: price for token, priced in wanted.items() if (price := prices[priced]) is not None}


def _usable(price: object) -> Price | None:
    """Returns the price if it is a positive finite number of dollars with a possible depth, else None."""
    if not isinstance(price, Price) or flaw(price, Price) is not None or price.usd is None:
        return None
    return price if price.usd > 0 and (price.depth_usd is None or price.depth_usd >= 0) else None
