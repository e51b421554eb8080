"""Finds tokens: their facts are read from the chain, and the catalogs give them labels.

Decimals decide what an amount means, so no catalog is believed: a row whose decimals are not the contract's
is refused with its labels.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from cachetools import LRUCache

from quoteway.errors import GatewayError
from quoteway.evm.erc20 import TokenFacts, read_tokens
from quoteway.evm.token_text import MAX_LISTED_SYMBOL_CHARS, folded, shown_symbol, skeleton
from quoteway.host.chain_tokens import CatalogList, CatalogToken, ListedTokens
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.host.token_lists import Searchable, TokenLists
from quoteway.models import NATIVE, Address, Token, TokenProfile, TokenRow
from quoteway.providers import Provider

log = logging.getLogger("quoteway.host.token_directory")

MOST_TOKENS = 20_000


class TokenDirectory:
    """The tokens of one gateway. A token's facts do not change, so they are read once."""

    def __init__(self, runtime: Runtime, registry: Registry) -> None:
        self._runtime = runtime
        self._facts: defaultdict[int, LRUCache[Address, TokenFacts]] = defaultdict(
            lambda: LRUCache(MOST_TOKENS)
        )
        self._lists = TokenLists(registry, runtime.clock)
        self._refused: LRUCache[tuple[str, int, Address], int] = LRUCache(MOST_TOKENS)
        """The decimals in the refused rows, by catalog, chain id and address."""

    def warm(self) -> set[asyncio.Task[None]]:
        """Starts to read the lists of the catalogs, and returns the reads."""
        return self._lists.warm()

    def rows_of(self, catalog_id: str) -> Iterator[TokenRow]:
        """Yields the rows of a catalog that are in memory."""
        return self._lists.rows_of(catalog_id)

    def is_unread(self, provider: Provider) -> bool:
        """Returns whether a provider is a catalog whose list has never been read."""
        return self._lists.is_unread(provider)

    async def close(self) -> None:
        """Stops reads in progress."""
        await self._lists.close()

    async def find(self, chain_id: int, address: Address) -> Token | None:
        """Returns a token, or None when the address is not an ERC-20 token.

        ``address`` must be EIP-55. Raises ``UpstreamError`` when the chain cannot be read.
        """
        return (await self.find_all(chain_id, [address])).get(address)

    async def find_all(self, chain_id: int, addresses: Collection[Address]) -> dict[Address, Token]:
        """Returns tokens by address. New ones are read from the chain in one round trip.

        Leaves out addresses that are no ERC-20 token. They are looked for again in the next call, because a
        contract may be deployed in the next block. Raises ``UpstreamError`` when the chain cannot be read.
        """
        if self._runtime.networks.by_chain_id(chain_id) is None:
            return {}
        asked = dict.fromkeys(addresses)
        facts = {address: self._facts[chain_id].get(address) for address in asked if address != NATIVE}
        new = [address for address, known in facts.items() if known is None]
        lists, read = await asyncio.gather(self._lists.get(chain_id), self._read(chain_id, new))
        facts |= read
        found = {address: self._labelled(known, lists) for address, known in facts.items() if known}
        return found | ({NATIVE: self.coin(chain_id)} if NATIVE in asked else {})

    async def find_each(self, chain_id: int, addresses: Iterable[Address]) -> dict[Address, Token]:
        """Returns tokens as ``find_all`` does, but those in memory when the chain cannot be read."""
        asked = set(addresses)
        try:
            return await self.find_all(chain_id, asked)
        except GatewayError:
            return await self.find_all(chain_id, asked & {NATIVE, *self._facts[chain_id]})

    async def listed(self, chain_id: int, addresses: Collection[Address] = ()) -> Mapping[Address, Token]:
        """Returns the listed tokens of a network and the known ones of ``addresses``, by address.

        The decimals of a token that was not used yet are the catalog's. Sends no request.
        """
        lists = await self._lists.get(chain_id)
        tokens = [each.tokens for each in lists]
        return ListedTokens(tokens, self._facts[chain_id], partial(self._labelled, lists=lists), addresses)

    async def named(self, chain_id: int, name: str) -> Sequence[CatalogToken]:
        """Returns the listed tokens of a network with this symbol or id, each once, with its id in the first
        catalog. Their decimals are not checked. Sends no request.

        Raises ``UpstreamError`` while a catalog of the network has not been read.
        """
        found: dict[Address, CatalogToken] = {}
        for each in await self._lists.whole(chain_id):
            for row in each.tokens.named(name):
                found.setdefault(row.token.address, row)
        return list(found.values())

    async def searchable(self) -> Searchable:
        """Returns the tokens of all catalogs, as ``TokenLists.searchable``."""
        return await self._lists.searchable()

    async def look_alike(self, token: Token) -> Token | None:
        """Returns a listed token, or the coin, of the same chain whose symbol another token has; else None.

        For a listed token only the same symbol counts, for others also one that looks like it.
        """
        if self._runtime.networks.by_chain_id(token.chain_id) is None:
            return None
        facts = self._facts[token.chain_id].get(token.address)
        symbol = token.symbol if token.listed or facts is None else facts.raw_symbol
        mark = skeleton(symbol or "")
        if not symbol or not mark:
            return None
        coin = self.coin(token.chain_id)
        lists = await self._lists.get(token.chain_id)
        for other in (coin, *(each.tokens.with_symbol(mark) for each in lists)):
            if other is None or other.address == token.address or skeleton(other.symbol or "") != mark:
                continue
            if self.decimals(other.chain_id, other.address) not in (None, other.decimals):
                continue
            if not token.listed or folded(other.symbol or "") == folded(symbol):
                return other
        return None

    def read_before(self, chain_id: int, addresses: Iterable[Address]) -> dict[Address, Token]:
        """Returns those of the tokens that were read from the chain, as their contracts describe them."""
        facts = self._facts[chain_id]
        return {address: known.token for address in addresses if (known := facts.get(address)) is not None}

    def facts(self, chain_id: int, address: Address) -> TokenFacts | None:
        """Returns what was read of a token from the chain, from memory."""
        return self._facts[chain_id].get(address)

    def remember(self, facts: TokenFacts) -> None:
        """Keeps facts that were read from the chain."""
        self._facts[facts.token.chain_id].setdefault(facts.token.address, facts)

    def coin(self, chain_id: int) -> Token:
        """Returns the native coin of a network of this deployment."""
        network = self._runtime.networks.by_chain_id(chain_id)
        assert network is not None, f"chain {chain_id} is not served"
        symbol, name = network.native_symbol, network.native_name
        return Token(chain_id, NATIVE, network.native_decimals, symbol, name, listed=True)

    def decimals(self, chain_id: int, address: Address) -> int | None:
        """Returns a token's decimals by the chain; None when they were not read yet."""
        if address == NATIVE:
            network = self._runtime.networks.by_chain_id(chain_id)
            return None if network is None else network.native_decimals
        known = self._facts[chain_id].get(address)
        return None if known is None else known.token.decimals

    def checked(self, profile: TokenProfile) -> TokenProfile | None:
        """Returns a catalog's profile without the contracts whose decimals are not the chain's, and whether
        all are ``verified``. None when no contract is left. Sends no request.
        """
        read = [self.decimals(token.chain_id, token.address) for token in profile.contracts]
        pairs = zip(profile.contracts, read, strict=True)
        contracts = tuple(token for token, decimals in pairs if decimals in (None, token.decimals))
        verified = None not in read
        if len(contracts) == len(read) and profile.verified is verified:
            return profile
        return replace(profile, contracts=contracts, verified=verified) if contracts else None

    def refusals(self, chain_ids: Collection[int]) -> set[str]:
        """Returns the ids of the catalogs of which a row for one of these chains is refused."""
        return {catalog for catalog, chain_id, _ in self._refused if chain_id in chain_ids}

    async def _read(self, chain_id: int, addresses: Sequence[Address]) -> dict[Address, TokenFacts]:
        if not addresses:
            return {}
        read = await read_tokens(self._runtime.chain(chain_id), addresses)
        for facts in read.values():
            self.remember(facts)
        return read

    def _labelled(self, facts: TokenFacts, lists: Sequence[CatalogList]) -> Token:
        """Returns a token with the labels of the catalogs.

        Of several symbols one that agrees with the contract's own is taken, else the first catalog's.
        """
        token = facts.token
        rows = [row for each in lists if (row := self._row(each, token)) is not None]
        if not rows:
            return token
        own = skeleton(facts.raw_symbol or "")
        label = next((row for row in rows if row.symbol and skeleton(row.symbol) == own), rows[0])
        return replace(
            token,
            symbol=shown_symbol(label.symbol, MAX_LISTED_SYMBOL_CHARS) or token.symbol,
            name=label.name or token.name,
            logo_uri=label.logo_uri or next((row.logo_uri for row in rows if row.logo_uri), None),
            listed=True,
        )

    def _row(self, catalog_list: CatalogList, token: Token) -> Token | None:
        """Returns a catalog's row of a token; None without one. Refuses one with other decimals."""
        row = catalog_list.tokens.get(token.address)
        key = catalog_list.catalog, token.chain_id, token.address
        if row is None or row.decimals == token.decimals:
            self._refused.pop(key, None)  # the catalog may have corrected it
            return row
        if self._refused.get(key) != row.decimals:
            self._refused[key] = row.decimals
            log.warning(
                "catalog %r gives token %s on chain %d %d decimals, its contract says %d: the row is refused",
                *(catalog_list.catalog, token.address, token.chain_id, row.decimals, token.decimals),
            )
        return None
