"""Keeps the tokens that catalogs list in memory, so that no quote waits for a catalog that hangs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from quoteway.evm.token_text import skeleton
from quoteway.host.list_rows import checked_rows, slices
from quoteway.host.refresh import Refresher, RefreshPolicy
from quoteway.host.registry import Registry
from quoteway.models import Address, Capability, Token, TokenProfile
from quoteway.providers import Provider, TokenCatalog

POLICY = RefreshPolicy(retry_s=10.0, newer_wait_s=0.05, first_wait_s=0.5)
READ_TIMEOUT_S = 10.0
MOST_LISTS = 4_096

_Key = tuple[str, int]
"""Catalog id and chain id."""


@dataclass(frozen=True, slots=True)
class CatalogList:
    """The tokens of one chain that one catalog lists. Their decimals are not checked.

    ``symbols`` has, by skeleton, the first token that the catalog lists with such a symbol.
    """

    catalog: str
    revision: str
    tokens: Mapping[Address, Token]
    symbols: Mapping[str, Token]


class TokenLists:
    """The lists of all catalogs. One is read again when its catalog's ``revision`` changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._lists: Refresher[_Key, CatalogList] = Refresher(self._read, POLICY, most_keys=MOST_LISTS)

    def warm(self, chain_ids: Iterable[int]) -> None:
        """Starts a read of every list."""
        for chain_id in chain_ids:
            for catalog in self._registry.enabled(Capability.TOKENS, chain_id):
                self._lists.begin((catalog.id, chain_id))

    async def get(self, chain_id: int) -> Sequence[CatalogList]:
        """Returns the lists of a chain, of catalogs in configured order. Leaves out those not read in time.

        Answers from memory unless a list is new or changed; then it waits for a short time.
        """
        catalogs = self._registry.enabled(Capability.TOKENS, chain_id)
        due = [(catalog.id, chain_id) for catalog in catalogs if self._has_changed(catalog, chain_id)]
        if due:
            await self._lists.get(due)
        kept = (self._lists.known((catalog.id, chain_id)).value for catalog in catalogs)
        return [each for each in kept if each is not None]

    def known(self, catalog: str, chain_id: int) -> CatalogList | None:
        """Returns a list in memory."""
        return self._lists.known((catalog, chain_id)).value

    async def close(self) -> None:
        """Stops reads in progress."""
        await self._lists.close()

    def _has_changed(self, catalog: Provider, chain_id: int) -> bool:
        kept = self.known(catalog.id, chain_id)
        return kept is None or kept.revision != cast(TokenCatalog, catalog).revision()

    async def _read(self, keys: Sequence[_Key]) -> dict[_Key, CatalogList]:
        ((catalog_id, chain_id),) = keys
        catalogs = [c for c in self._registry.enabled(Capability.TOKENS, chain_id) if c.id == catalog_id]

        async def ask(catalog: Provider) -> CatalogList:
            asked = cast(TokenCatalog, catalog)
            revision, answer = asked.revision(), await asked.tokens(chain_id)
            profiles = await checked_rows(catalog, answer, TokenProfile)
            return await _list_of(catalog_id, revision, chain_id, profiles)

        outcomes = await self._registry.calls.ask_all(catalogs, ask, verb="list", timeout_s=READ_TIMEOUT_S)
        read = next((outcome.value for outcome in outcomes), None)
        return {} if read is None else {keys[0]: read}


async def _list_of(
    catalog: str, revision: str, chain_id: int, profiles: Sequence[TokenProfile]
) -> CatalogList:
    tokens: dict[Address, Token] = {}
    symbols: dict[str, Token] = {}
    async for part in slices(profiles):
        for token in (token for profile in part for token in profile.contracts):
            if token.chain_id == chain_id:
                tokens.setdefault(token.address, replace(token, listed=True))
                symbols.setdefault(skeleton(token.symbol or ""), token)
    return CatalogList(catalog, revision, tokens, symbols)
