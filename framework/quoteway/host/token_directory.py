"""Reads token facts from the catalogs, else from the chain, and caches them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import cast

from cachetools import TTLCache

from quoteway.evm.erc20 import token_facts
from quoteway.guard.findings import check_form
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.models import NATIVE, Address, Capability, Token, TokenProfile
from quoteway.providers import Provider, TokenCatalog

TOKEN_CACHE_S = 300


class TokenDirectory:
    """Finds tokens that the catalogs list, and others on the chain."""

    def __init__(self, runtime: Runtime, registry: Registry) -> None:
        self._runtime = runtime
        self._registry = registry
        self._tokens: TTLCache[tuple[int, Address], Token] = TTLCache(10_000, TOKEN_CACHE_S)
        self._listed: dict[tuple[str, int], tuple[str, Mapping[Address, Token]]] = {}

    async def find(self, chain_id: int, address: Address) -> Token | None:
        """Returns a token's facts from the catalogs, else the chain, or None when it is not an ERC-20 token.

        ``address`` must be EIP-55. Raises ``UpstreamError`` when the chain cannot be read.
        """
        key = (chain_id, address)
        known = self._tokens.get(key)  # one lookup: the entry may expire before a second one
        if known is not None:
            return known
        token = await self._look_up(chain_id, address)
        if token is not None:  # None is not cached: the contract may be deployed in the next block
            self._tokens[key] = token
        return token

    async def find_each(self, chain_id: int, addresses: Iterable[Address]) -> dict[Address, Token]:
        """Returns token facts by address. Leaves out addresses that are no ERC-20 token or cannot be read."""
        asked = [self.find(chain_id, address) for address in set(addresses)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        return {fact.address: fact for fact in found if isinstance(fact, Token)}

    async def listed(self, chain_id: int, addresses: Iterable[Address] = ()) -> dict[Address, Token]:
        """Returns the listed tokens of a network and the cached ones of ``addresses``, by address."""
        listed: dict[Address, Token] = {}
        asked = {address: self._tokens.get((chain_id, address)) for address in addresses}
        met = {address: token for address, token in asked.items() if token is not None}
        outcomes = await self._registry.calls.ask_all(
            self._registry.enabled(Capability.TOKENS, chain_id),
            lambda catalog: self._listed_by(cast(TokenCatalog, catalog), chain_id),
            verb="list",
        )
        for outcome in outcomes:
            for address, token in (outcome.value or {}).items():
                listed.setdefault(address, token)
        return {**met, **listed}

    def remember(self, token: Token) -> None:
        """Caches facts that were read from the chain."""
        self._tokens.setdefault((token.chain_id, token.address), token)

    def coin(self, chain_id: int) -> Token:
        """Returns the native coin of a network of this deployment."""
        network = self._runtime.networks.by_chain_id(chain_id)
        assert network is not None, f"chain {chain_id} is not served"
        return Token(chain_id, NATIVE, network.native_decimals, network.native_symbol, network.native_name)

    async def _listed_by(self, catalog: TokenCatalog, chain_id: int) -> Mapping[Address, Token]:
        """Returns a catalog's tokens by address. Rebuilds the mapping when its ``revision`` changes."""
        key, revision = (catalog.id, chain_id), catalog.revision()
        kept = self._listed.get(key)
        if kept is not None and kept[0] == revision:
            return kept[1]
        listed: dict[Address, Token] = {}
        profiles = tuple(await catalog.tokens(chain_id))
        check_form(catalog, profiles, tuple[TokenProfile, ...])
        for profile in profiles:
            for token in profile.contracts:
                if token.chain_id == chain_id:
                    listed.setdefault(token.address, token)
        self._listed[key] = revision, listed
        return listed

    async def _look_up(self, chain_id: int, address: Address) -> Token | None:
        if self._runtime.networks.by_chain_id(chain_id) is None:
            return None
        if address == NATIVE:
            return self.coin(chain_id)

        async def ask(catalog: Provider) -> Token | None:
            token = await cast(TokenCatalog, catalog).token(chain_id, address)
            check_form(catalog, token, Token | None)
            return token

        catalogs = self._registry.enabled(Capability.TOKENS, chain_id)
        for outcome in await self._registry.calls.ask_all(catalogs, ask, verb="token"):
            found = outcome.value
            if isinstance(found, Token) and (found.chain_id, found.address) == (chain_id, address):
                return found
        return await token_facts(self._runtime.chains[chain_id], address)
