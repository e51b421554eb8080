"""Keeps what catalogs list in memory, so that neither a quote nor a search waits for a catalog that hangs."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from quoteway.errors import Reason, UpstreamError
from quoteway.guard.packed_tokens import check_rows
from quoteway.host.chain_tokens import CatalogList, by_chain
from quoteway.host.list_rows import checked_rows
from quoteway.host.refresh import Clock, Refresher, RefreshPolicy
from quoteway.host.registry import Registry
from quoteway.host.token_facts import CatalogProfiles, TokenFactsOfCatalogs
from quoteway.host.token_search import TokenSearch
from quoteway.models import Capability, TokenProfile, TokenRow, TokenRows
from quoteway.providers import Provider, TokenCatalog

log = logging.getLogger("quoteway.host.token_lists")

POLICY = RefreshPolicy(retry_s=10.0, newer_wait_s=0.05, first_wait_s=0.5)
READ_TIMEOUT_S = 30.0
MOST_CATALOGS = 256
MOST_TOKENS = 250_000
"""The most tokens of one catalog."""
REST = 10
"""What took longer than a request waits for it begins again so many times its duration later: a long list
that has changed at each request costs a tenth of a processor."""
SEARCH_WAIT_S = 2.0
"""How long the first requests for the list wait for its index."""


@dataclass(frozen=True, slots=True)
class CatalogRead:
    """What one catalog lists: its profiles, checked, and their tokens by chain.

    ``read_at`` is in Unix seconds; ``again_s``, of the monotonic clock, is when it may be read again.
    """

    revision: str
    profiles: TokenRows
    chains: Mapping[int, CatalogList]
    read_at: float
    again_s: float


@dataclass(frozen=True, slots=True)
class Searchable:
    """The tokens of all catalogs, and what these say of them.

    ``missing`` has the id and reason of each catalog that has not answered yet or whose last read failed.
    ``read_at`` is the time of the oldest answer in Unix seconds.
    """

    search: TokenSearch
    facts: TokenFactsOfCatalogs
    missing: Sequence[tuple[str, Reason]]
    read_at: float | None


_Parts = tuple[tuple[str, CatalogRead], ...]
"""What is searched, by catalog in configured order."""


class TokenLists:
    """The lists of all catalogs. One is read again when its catalog's ``revision`` changes."""

    def __init__(self, registry: Registry, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock
        self._reads: Refresher[str, CatalogRead] = Refresher(self._read, POLICY, most_keys=MOST_CATALOGS)
        self._parts: _Parts = ()
        self._search, self._facts = TokenSearch(TokenRows()), TokenFactsOfCatalogs(())
        self._building: asyncio.Task[None] | None = None
        self._again_s = 0.0

    def warm(self) -> set[asyncio.Task[None]]:
        """Starts a read of every list, and returns the reads."""
        ids = [catalog.id for catalog in self._catalogs()]
        for catalog_id in ids:
            self._reads.begin(catalog_id)
        return self._reads.running(ids)

    async def get(self, chain_id: int) -> Sequence[CatalogList]:
        """Returns the lists of a chain, of catalogs in configured order. Leaves out those not read in time.

        Answers from memory unless a list is new or changed; then it waits for a short time.
        """
        catalogs = self._registry.enabled(Capability.TOKENS, chain_id)
        await self._renew(catalogs)
        kept = (self._reads.known(catalog.id).value for catalog in catalogs)
        return [read.chains[chain_id] for read in kept if read is not None and chain_id in read.chains]

    async def whole(self, chain_id: int) -> Sequence[CatalogList]:
        """Returns the lists of a chain, as ``get``, of all its catalogs.

        Raises ``UpstreamError`` while one of them has not been read.
        """
        lists = await self.get(chain_id)
        for catalog in self._registry.enabled(Capability.TOKENS, chain_id):
            if self.is_unread(catalog):
                text = f"The token list {catalog.id!r} has not been read yet: name tokens by their addresses."
                reason = self._reads.known(catalog.id).failure or Reason.PROVIDER_TIMEOUT
                raise UpstreamError(text, reason=reason, retryable=True)
        return lists

    def is_unread(self, provider: Provider) -> bool:
        """Returns whether a provider is a catalog whose list has never been read."""
        is_catalog = provider.capability is Capability.TOKENS and cast(TokenCatalog, provider).lists
        return is_catalog and self._reads.known(provider.id).value is None

    async def searchable(self) -> Searchable:
        """Returns the tokens of all catalogs, from memory, or after a bounded wait.

        Raises ``UpstreamError`` when no catalog has an answer and one failed for another reason than a
        timeout: an empty list would be wrong.
        """
        catalogs = self._catalogs()
        await self._renew(catalogs)
        states = {catalog.id: self._reads.known(catalog.id) for catalog in catalogs}
        parts = tuple((name, kept.value) for name, kept in states.items() if kept.value is not None)
        missing = [
            (name, kept.failure or Reason.PROVIDER_TIMEOUT)
            for name, kept in states.items()
            if kept.failure is not None or kept.value is None
        ]
        if states and not parts:
            failed = next((reason for _, reason in missing if reason is not Reason.PROVIDER_TIMEOUT), None)
            if failed is not None:
                raise UpstreamError("The list could not be read.", reason=failed, retryable=True)
        await self._index(parts)
        return Searchable(
            self._search, self._facts, missing, min((read.read_at for _, read in parts), default=None)
        )

    def rows_of(self, catalog_id: str) -> Iterator[TokenRow]:
        """Yields the rows of a catalog that are in memory; none before it was read."""
        read = self._reads.known(catalog_id).value
        return iter(()) if read is None else read.profiles.rows()

    async def close(self) -> None:
        """Stops reads in progress."""
        await self._reads.close()
        if self._building is not None:
            self._building.cancel()

    def _catalogs(self) -> Sequence[Provider]:
        return self._registry.enabled(Capability.TOKENS)

    async def _renew(self, catalogs: Sequence[Provider]) -> None:
        due = [catalog.id for catalog in catalogs if self._has_changed(catalog)]
        if due:
            await self._reads.get(due)

    def _has_changed(self, catalog: Provider) -> bool:
        kept = self._reads.known(catalog.id).value
        if kept is None:
            return True
        return time.monotonic() >= kept.again_s and kept.revision != cast(TokenCatalog, catalog).revision()

    async def _index(self, parts: _Parts) -> None:
        """Indexes what is new in the background, and waits for it: shortly where there is an older index."""
        due = time.monotonic() >= self._again_s and not _same(parts, self._parts)
        if due and self._building is None:
            self._building = asyncio.create_task(self._build(parts), name="index of tokens")
        if self._building is not None:
            wait_s = SEARCH_WAIT_S if not self._parts else POLICY.newer_wait_s
            await asyncio.wait([self._building], timeout=wait_s)

    async def _build(self, parts: _Parts) -> None:
        began_s = time.monotonic()
        try:
            listing = {each.id: cast(TokenCatalog, each).lists for each in self._catalogs()}
            catalogs = [CatalogProfiles(name, read.profiles, listing.get(name, True)) for name, read in parts]
            gc.collect(1)  # of young objects, which takes little: garbage that is frozen below stays for ever
            self._search, self._facts = await asyncio.to_thread(_indexed, catalogs)
            self._parts = parts
            # Long lists stay: to walk a million objects at each collection stops the loop for half a second.
            gc.freeze()
        except Exception:
            log.exception("indexing the tokens failed")
        finally:
            self._building = None
            self._again_s = _again_s(began_s)

    async def _read(self, names: Sequence[str]) -> dict[str, CatalogRead]:
        async def ask(catalog: Provider) -> CatalogRead:
            asked, began_s = cast(TokenCatalog, catalog), time.monotonic()
            revision, answer = asked.revision(), await asked.tokens(None)
            before = self._reads.known(catalog.id).value
            profiles = await _checked(catalog, answer, None if before is None else before.profiles)
            chains = await asyncio.to_thread(by_chain, catalog.id, profiles) if asked.lists else {}
            return CatalogRead(revision, profiles, chains, self._clock(), _again_s(began_s))

        catalogs = [each for each in self._catalogs() if each.id in names]
        outcomes = await self._registry.calls.ask_all(catalogs, ask, verb="list", timeout_s=READ_TIMEOUT_S)
        read = {outcome.provider.id: outcome.value for outcome in outcomes if outcome.value is not None}
        if not read:
            raise next((outcome.failure() for outcome in outcomes if outcome.failed), _disabled())
        return read


def _indexed(catalogs: Sequence[CatalogProfiles]) -> tuple[TokenSearch, TokenFactsOfCatalogs]:
    facts = TokenFactsOfCatalogs(catalogs)
    return TokenSearch(facts.listed()), facts


def _again_s(began_s: float) -> float:
    """Returns when what began then and ends now may begin again, on the monotonic clock."""
    now_s = time.monotonic()
    taken_s = now_s - began_s
    return now_s + (REST * taken_s if taken_s > POLICY.newer_wait_s else 0.0)


def _disabled() -> UpstreamError:
    return UpstreamError("The provider is no longer enabled.", reason=Reason.CAPABILITY_DISABLED)


def _same(parts: _Parts, others: _Parts) -> bool:
    if len(parts) != len(others):
        return False
    return all(a[0] == b[0] and a[1] is b[1] for a, b in zip(parts, others, strict=True))


async def _checked(catalog: Provider, answer: Sequence[TokenProfile], before: TokenRows | None) -> TokenRows:
    """Returns what a catalog lists, packed. Raises ``UnsafeAnswer`` as ``checked_rows`` does.

    Rows that are the same as ``before`` are not checked again.
    """
    if type(answer) is TokenRows:
        known = frozenset(() if before is None else before.packed)
        return await asyncio.to_thread(check_rows, catalog, answer, MOST_TOKENS, known)
    profiles = await checked_rows(catalog, answer, TokenProfile, MOST_TOKENS)
    return await asyncio.to_thread(TokenRows.of, profiles)
