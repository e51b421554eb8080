"""Catalogs, price sources, pool and vault providers with one fault."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from quoteway import (
    NATIVE,
    Address,
    Block,
    Context,
    Pool,
    PoolProvider,
    Price,
    PriceSource,
    Token,
    TokenCatalog,
    TokenProfile,
    Vault,
    VaultProvider,
)

from .row import BadPlugin, provider
from .swaps import SHORT_S

Rows = Callable[[], Awaitable[Any]]
"""Returns what a provider lists."""


async def hang() -> None:
    await asyncio.Event().wait()


async def fail() -> None:
    raise RuntimeError("the canary is hunter2")


async def block() -> list[Any]:
    time.sleep(SHORT_S)  # noqa: ASYNC251 - that is the fault
    return []


async def hang_for(chain_id: int, address: Address) -> Token | None:
    await hang()
    return None


async def lie_about(chain_id: int, address: Address) -> Token | None:
    return Token(chain_id, address, 2, "LIE", "Not its decimals")


def answering(rows: Any) -> Rows:
    async def answer() -> Any:
        return rows() if callable(rows) else rows

    return answer


def profile_of(chain_id: int, number: int, symbol: str = "BAD", decimals: int = 18) -> TokenProfile:
    """A row of a catalog, of a token that does not exist."""
    token = Token(chain_id, f"0x{number:040d}", decimals, symbol, "Bad")
    return TokenProfile(f"{chain_id}:{token.address}", "Bad", symbol, 0, (token,))


def endless() -> Iterator[TokenProfile]:
    while True:
        yield profile_of(31337, 1)


def many() -> list[TokenProfile]:
    return [profile_of(31337, 1)] * 300_000


async def endless_stream() -> AsyncIterator[TokenProfile]:
    while True:
        yield profile_of(31337, 1)


class BadCatalog(TokenCatalog):
    """Lists what ``rows`` returns. ``find`` returns a token by its address, and ``change`` a revision."""

    title = "Bad catalog"

    def __init__(
        self,
        context: Context,
        name: str,
        *,
        rows: Rows,
        find: Callable[[int, Address], Awaitable[Token | None]] | None = None,
        change: Callable[[], Any] = lambda: "0",
    ) -> None:
        self.id = name
        self.networks = frozenset(network.chain_id for network in context.networks)
        self._rows, self._find, self._change = rows, find, change

    async def tokens(self, chain_id: int | None) -> Sequence[TokenProfile]:
        rows: Sequence[TokenProfile] = await self._rows()
        return rows

    async def profile(self, token_id: str) -> TokenProfile | None:
        await self._rows()
        return None

    async def token(self, chain_id: int, address: Address) -> Token | None:
        if self._find is not None:
            return await self._find(chain_id, address)
        await self._rows()
        return None

    def revision(self) -> str:
        revision: str = self._change()
        return revision


class BadPrices(PriceSource):
    """Answers what ``answer`` makes of the token's address."""

    title = "Bad prices"

    def __init__(self, context: Context, name: str, *, usd: float = 1.0, answer: Rows | None = None) -> None:
        self.id = name
        self.networks = frozenset(network.chain_id for network in context.networks)
        self._usd, self._answer = usd, answer

    async def prices(
        self, chain_id: int, addresses: Sequence[Address], block: Block
    ) -> Mapping[Address, Price]:
        if self._answer is not None:
            found: Mapping[Address, Price] = await self._answer()
            return found
        return {address: Price(self._usd, self.id, block) for address in addresses}


class BadPools(PoolProvider):
    """Lists what ``rows`` returns, as pools and positions."""

    title = "Bad pools"

    def __init__(self, context: Context, name: str, *, rows: Rows) -> None:
        self.id = name
        self.networks = frozenset(network.chain_id for network in context.networks)
        self._rows = rows

    async def pools(self, chain_id: int | None) -> Sequence[Pool]:
        rows: Sequence[Pool] = await self._rows()
        return rows

    async def pool(self, pool_id: str) -> Pool | None:
        await self._rows()
        return None


class BadVaults(VaultProvider):
    """Lists what ``rows`` returns."""

    title = "Bad vaults"

    def __init__(self, context: Context, name: str, *, rows: Rows) -> None:
        self.id = name
        self.networks = frozenset(network.chain_id for network in context.networks)
        self._rows = rows

    async def vaults(self, chain_id: int | None) -> Sequence[Vault]:
        rows: Sequence[Vault] = await self._rows()
        return rows

    async def vault(self, vault_id: str) -> Vault | None:
        await self._rows()
        return None


def _revision_fails() -> str:
    raise RuntimeError("the canary is hunter2")


def _listed(name: str, fault: str, kind: Any, **options: Any) -> BadPlugin:
    """A provider whose list fails by itself and which is named in ``partial``."""
    return BadPlugin(name, fault, "itself", "partial", provider(kind, **options))


_ALIKE = answering([profile_of(31337, 7, "USDC", 6)])

SOURCES: tuple[BadPlugin, ...] = (
    _listed("catalog-hangs", "tokens never ends", BadCatalog, rows=hang),
    _listed("catalog-fails", "tokens raises", BadCatalog, rows=fail),
    _listed("catalog-of-none", "tokens lists None", BadCatalog, rows=answering([None])),
    _listed("catalog-of-text", "tokens returns a string", BadCatalog, rows=answering("USDC")),
    _listed("catalog-is-a-number", "tokens returns 7", BadCatalog, rows=answering(7)),
    _listed(
        "catalog-streams", "tokens returns an endless stream", BadCatalog, rows=answering(endless_stream)
    ),
    _listed(
        "catalog-without-end", "tokens returns an endless generator", BadCatalog, rows=answering(endless)
    ),
    _listed("catalog-of-300000", "tokens lists 300,000 rows", BadCatalog, rows=answering(many)),
    BadPlugin(
        "token-hangs",
        "token never ends",
        *("itself", "nowhere"),
        provider(BadCatalog, rows=answering([]), find=hang_for),
    ),
    BadPlugin(
        "token-lies",
        "token gives every token 2 decimals",
        *("itself", "nowhere"),
        provider(BadCatalog, rows=answering([]), find=lie_about),
    ),
    BadPlugin(
        "catalog-of-a-twin",
        "tokens lists another USDC",
        *("itself", "nowhere"),
        provider(BadCatalog, rows=_ALIKE),
    ),
    BadPlugin(
        "revision-fails",
        "revision raises",
        *("itself", "log"),
        provider(BadCatalog, rows=answering([]), change=_revision_fails),
    ),
    BadPlugin(
        "revision-is-always-new",
        "revision is another object at each call",
        *("itself", "nowhere"),
        provider(BadCatalog, rows=answering([]), change=object),
    ),
    BadPlugin(
        "prices-of-1e12",
        "every token costs 1e12 dollars",
        *("itself", "log"),
        provider(BadPrices, usd=1e12),
    ),
    BadPlugin(
        "prices-are-nan", "no price is a number", "itself", "nowhere", provider(BadPrices, usd=math.nan)
    ),
    BadPlugin("prices-fail", "prices raises", "itself", "log", provider(BadPrices, answer=fail)),
    BadPlugin("prices-hang", "prices never ends", "itself", "nowhere", provider(BadPrices, answer=hang)),
    BadPlugin(
        "prices-are-a-list",
        "prices returns a list",
        "itself",
        "log",
        provider(BadPrices, answer=answering([1])),
    ),
    _listed("pools-hang", "pools never ends", BadPools, rows=hang),
    _listed("pools-fail", "pools raises", BadPools, rows=fail),
    _listed("pools-are-tokens", "pools lists tokens", BadPools, rows=answering([Token(31337, NATIVE, 18)])),
    _listed("vaults-hang", "vaults never ends", BadVaults, rows=hang),
    _listed("vaults-fail", "vaults raises", BadVaults, rows=fail),
    BadPlugin(
        "sleeps-in-a-catalog",
        "tokens calls time.sleep",
        *("blocks the loop", "log"),
        provider(BadCatalog, rows=block),
        "process",
    ),
)
