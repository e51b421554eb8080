"""The token catalog: lists refreshed in the background, decimals read from the chain."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

from quoteway import (
    NATIVE,
    Address,
    Context,
    ProviderUnavailable,
    Token,
    TokenCatalog,
    TokenProfile,
    UpstreamError,
)
from quoteway.evm.address import is_native_alias, parse_address
from yarl import URL

from quoteway_tokenlist.document import ListError, TokenList, counted, parse_list
from quoteway_tokenlist.facts import ChainFacts
from quoteway_tokenlist.fetch import Limits
from quoteway_tokenlist.index import Index, Key, Snapshot
from quoteway_tokenlist.settings import TokenListSettings
from quoteway_tokenlist.sources import FileSource, ListSource, UrlSource


class TokenListCatalog(TokenCatalog):
    """Tokens of the built-in list, of every network's ``token_lists`` and of the configured ``lists``."""

    id = "tokenlist"
    title = "Token Lists"
    docs = "https://tokenlists.org"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._log = context.log
        # Without a settings section the defaults apply.
        self._settings = dict(context.settings) or TokenListSettings().load({})
        self.networks = frozenset(network.chain_id for network in context.networks)
        self._builtin = _builtin_list()
        self._sources = list(self._make_sources())
        self._facts = ChainFacts(context)
        self._corrections: dict[Key, int] = {}
        self._absent: set[Key] = set()
        self._index = Index(list(context.networks), self._builtin.rows[0].updated_at)
        self._building = asyncio.Lock()
        self._changes = self._built = 0
        self._snapshot = self._build()

    # --- TokenCatalog ---------------------------------------------------------------------------------------

    async def tokens(self, chain_id: int | None) -> Sequence[TokenProfile]:
        """Returns listed tokens by precedence. With ``chain_id``, profiles have only that chain's
        contract."""
        if chain_id is None:
            return self._snapshot.profiles
        snapshot = self._snapshot
        return await asyncio.to_thread(lambda: tuple(snapshot.of_chain(chain_id)))

    def revision(self) -> str:
        return self._snapshot.revision

    async def token(self, chain_id: int, address: Address) -> Token | None:
        """Returns a token. Its decimals are read from the chain: amounts depend on them.

        Raises ``UpstreamError`` when the first read of the chain fails.
        """
        key = self._key(chain_id, address)
        return None if key is None else await self._token(key)

    async def profile(self, token_id: str) -> TokenProfile | None:
        """Returns the asset of a slug on all its networks, or the contract of ``{chainId}:{address}``,
        listed or not.

        ``total_supply`` is set when the profile has one contract. Several are not added up: a bridged
        token's supply is locked on one chain and issued again on the other.
        """
        if ":" not in token_id:
            found = self._snapshot.by_id(token_id.lower())
            return None if found is None else await self._with_supply(found)
        network_text, _, address = token_id.rpartition(":")
        network = self._context.networks.find(network_text)
        key = None if network is None else self._key(network.chain_id, address)
        if key is None:
            return None
        listed = self._snapshot.profile(key)
        if listed is not None:
            return await self._with_supply(listed)
        token = await self._token(key)
        return None if token is None else await self._with_supply(self._unlisted(token))

    # --- tokens ---------------------------------------------------------------------------------------------

    def _key(self, chain_id: int, address: str) -> Key | None:
        """Returns the key of a token; None for a network that is not served and for an invalid address."""
        if self._context.networks.by_chain_id(chain_id) is None:
            return None
        if is_native_alias(address):
            return chain_id, NATIVE
        try:
            return chain_id, parse_address(address)
        except ValueError:
            return None

    async def _token(self, key: Key) -> Token | None:
        profile = self._snapshot.profile(key)
        if profile is None:
            return await self._facts.token(key)
        listed = profile.contracts[0]
        if listed.is_native:
            return listed
        try:
            read = await self._facts.token(key)
        except ProviderUnavailable:
            return listed  # this chain cannot be read, so no amount is computed on it
        if read is None:
            self._warn_absent(key)
            return None
        if read.decimals != listed.decimals:
            await self._correct(listed, read.decimals)
            return replace(listed, decimals=read.decimals)
        return listed

    async def _correct(self, listed: Token, decimals: int) -> None:
        key = listed.chain_id, listed.address
        if self._corrections.get(key) == decimals:
            return  # another request corrects it
        self._corrections[key] = decimals
        self._log.warning(
            "a list gives token %s on chain %d %d decimals, its contract says %d: the contract's are used",
            listed.address,
            listed.chain_id,
            listed.decimals,
            decimals,
        )
        await self._rebuild()

    def _warn_absent(self, key: Key) -> None:
        if key not in self._absent:
            self._absent.add(key)
            self._log.warning("a list names %s on chain %d, which is not a token", key[1], key[0])

    # --- profiles -------------------------------------------------------------------------------------------

    async def _with_supply(self, profile: TokenProfile) -> TokenProfile:
        """Returns the profile with its supply; unchanged when the chain cannot be read."""
        if len(profile.contracts) != 1 or profile.contracts[0].is_native:
            return profile
        contract = profile.contracts[0]
        try:
            token = await self._token((contract.chain_id, contract.address))
            supply = None if token is None else await self._facts.supply(token)
        except (UpstreamError, ProviderUnavailable):
            return profile
        if token is None or supply is None:
            return profile
        return replace(
            profile,
            contracts=(token,),
            total_supply=supply.whole,
            updated_at=max(profile.updated_at, supply.read_at),
        )

    def _unlisted(self, token: Token) -> TokenProfile:
        """Returns the profile of an unlisted token. A symbol or name that the contract lacks is empty."""
        return TokenProfile(
            id=f"{token.chain_id}:{token.address}",
            name=token.name or "",
            symbol=token.symbol or "",
            updated_at=self._context.now(),
            contracts=(token,),
            tags=("unlisted",),
            listed=False,
        )

    # --- lists ----------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Refreshes the lists during the block. Files are read before it starts, URLs in the background."""
        failures: dict[ListSource, int] = {}
        for source in self._sources:
            if isinstance(source, FileSource):
                failures[source] = 0 if await self._refresh(source, quiet=False, rebuild=False) else 1
        if failures:
            await self._rebuild()
        tasks = [
            asyncio.create_task(self._follow(source, failures.get(source)), name=f"tokenlist:{source.label}")
            for source in self._sources
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, source: ListSource, failures: int | None) -> None:
        """Refreshes one source until cancelled. ``failures`` is None before the first read."""
        refresh_s = float(self._settings["refresh_s"])
        while True:
            if failures is not None:
                await asyncio.sleep(min(refresh_s, source.retry_s(failures)) if failures else refresh_s)
            good = await self._refresh(source, quiet=bool(failures))
            failures = 0 if good else (failures or 0) + 1

    async def _refresh(self, source: ListSource, *, quiet: bool, rebuild: bool = True) -> bool:
        """Reads a source and returns whether it is good. A bad one keeps its last list. ``quiet`` logs
        nothing."""
        try:
            changed = await source.refresh()
        except ListError as refused:
            if not quiet:
                kept = "none was read yet" if source.current is None else "the last good one is kept"
                self._log.warning("token list (%s) refused: %s; %s", source.label, refused, kept)
            return False
        except Exception:
            # A bug with one list must not stop the others: it is logged and retried.
            self._log.exception("token list (%s) failed", source.label)
            return False
        if changed and source.current is not None:
            self._log_read(source.label, source.current)
            if rebuild:
                await self._rebuild()
        return True

    def _log_read(self, label: str, read: TokenList) -> None:
        tokens, skipped = len(read.rows), counted(read.skipped)
        self._log.info("token list (%s) read: %d tokens, skipped: %s", label, tokens, skipped)

    async def _rebuild(self) -> None:
        """Replaces the snapshot, built in a thread; one at a time, so that the newest one stays.

        Changes during a build are all in the next one.
        """
        self._changes += 1
        changes = self._changes
        async with self._building:
            if self._built < changes:
                self._built = self._changes
                self._snapshot = await asyncio.to_thread(self._build)

    def _build(self) -> Snapshot:
        lists = [self._builtin, *(source.current for source in self._sources)]
        return self._index.update(lists, dict(self._corrections))

    def _make_sources(self) -> Iterator[ListSource]:
        """Yields the networks' lists first, then the configured ones, each once."""
        limits = Limits(
            max_bytes=self._settings["max_bytes"],
            timeout_s=self._settings["timeout_s"],
            allow_private=self._settings["allow_private"],
        )
        places = [place for network in self._context.networks for place in network.token_lists]
        for place in dict.fromkeys([*places, *self._settings["lists"]]):
            if "://" in place:
                document = self._context.shared_document([place], self._settings["refresh_s"])
                yield UrlSource(URL(place), limits, lambda: self._context.http, document)
            else:
                yield FileSource(self._folder() / place, limits.max_bytes)

    def _folder(self) -> Path:
        """Returns the folder of relative paths: the configuration file's."""
        path = self._context.config.path
        return Path() if path is None else path.parent


def _builtin_list() -> TokenList:
    return parse_list(resources.files("quoteway_tokenlist").joinpath("builtin.tokenlist.json").read_bytes())
