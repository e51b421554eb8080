"""A token catalog, and prices, of a JSON list that an upstream publishes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

from quoteway.context import Context
from quoteway.evm import erc20
from quoteway.evm.address import parse_address, parse_listed_address
from quoteway.models import NATIVE, Address, Block, Price, Token, TokenProfile
from quoteway.polled_json import PolledJson
from quoteway.providers import PriceSource, TokenCatalog

MOST_ROWS = 50_000
MOST_TEXT_CHARS = 100
MOST_LOGO_CHARS = 2_048
Key = tuple[int, Address]


@dataclass(frozen=True, slots=True)
class _Listing:
    """One version of the list: profiles in its order, and by the token that each is of."""

    profiles: tuple[TokenProfile, ...]
    by_key: Mapping[Key, TokenProfile]


class ListCatalog(TokenCatalog):
    """The tokens of one JSON document, kept fresh in the background.

    A subclass has ``id`` and ``title``, and reads a row with ``read_row``. The document is an array of rows,
    unless ``rows`` takes them out of it. Rows that cannot be read, name another network than those served or
    repeat a token are left out; their number is logged when it changes.

    Decimals are the contract's (``token``): those of the list are shown until a token is used.
    """

    def __init__(self, context: Context, url: str, every_s: float, **options: Any) -> None:
        """``options`` are those of ``PolledJson``. Raises ``ConfigError`` for a URL that cannot be used."""
        self.context = context
        self.networks = frozenset(network.chain_id for network in context.networks)
        self.document: PolledJson[_Listing] = context.poll_json(url, every_s, self._listing, **options)
        self._left_out = 0

    @classmethod
    def of(cls, context: Context, url: str, every_s: float, **options: Any) -> Self:
        """Returns the one catalog of the plugin, which several of its hooks share. Made at the first call."""
        found = context.state.get(cls.__qualname__)
        if not isinstance(found, cls):
            found = context.state[cls.__qualname__] = cls(context, url, every_s, **options)
        return found

    def rows(self, document: Any) -> Iterable[Any]:
        """Returns the rows of the document: the document itself by default."""
        if not isinstance(document, list):
            raise ValueError("the document is no array")
        return document

    @abstractmethod
    def read_row(self, row: Any) -> Token:
        """Returns the token of a row, with ``price_usd`` where the list has prices.

        Raises ``KeyError``, ``TypeError`` or ``ValueError`` for a row that cannot be read: it is left out.
        """

    def price_source(self) -> ListPrices:
        """Returns the source of the list's prices, for the hook ``quoteway_price_sources``."""
        return ListPrices(self)

    # --- TokenCatalog ---------------------------------------------------------------------------------------

    async def tokens(self, chain_id: int | None) -> Sequence[TokenProfile]:
        """Returns the list's tokens, from memory."""
        listing = self.document.known
        if listing is None:
            return ()
        if chain_id is None:
            return listing.profiles
        return [each for each in listing.profiles if each.contracts[0].chain_id == chain_id]

    async def profile(self, token_id: str) -> TokenProfile | None:
        """Returns a listed token by ``{chainId}:{address}``."""
        network, _, text = token_id.rpartition(":")
        listing = self.document.known
        try:
            key = int(network), parse_address(text)
        except ValueError:
            return None
        return None if listing is None else listing.by_key.get(key)

    async def token(self, chain_id: int, address: Address) -> Token | None:
        """Returns a token with its contract's decimals, or None when the address is not a token."""
        return await erc20.token_facts(self.context.chain(chain_id), address)

    def revision(self) -> str:
        return str(self.document.revision)

    # --- reading --------------------------------------------------------------------------------------------

    def _listing(self, document: Any) -> _Listing:
        """Returns the listing of a document. Raises what ``rows`` raises for one of another shape."""
        found: dict[Key, TokenProfile] = {}
        now, left_out = self.context.now(), 0
        for number, row in enumerate(self.rows(document)):
            if number == MOST_ROWS:
                self.context.log.warning("the list has more than %d rows: the rest is left out", MOST_ROWS)
                break
            try:
                token = self._checked(self.read_row(row))
            except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
                left_out += 1
                continue
            if token.chain_id not in self.networks or (token.chain_id, token.address) in found:
                continue
            found[token.chain_id, token.address] = TokenProfile(
                id=f"{token.chain_id}:{token.address}",
                name=token.name or "",
                symbol=token.symbol or "",
                updated_at=now,
                contracts=(token,),
                logo_uri=token.logo_uri,
                price_usd=token.price_usd,
            )
        if left_out != self._left_out:
            self.context.log.warning("%d rows of the list cannot be read and are left out", left_out)
        self._left_out = left_out
        return _Listing(tuple(found.values()), found)

    def _checked(self, token: Token) -> Token:
        """Returns a token whose members may be shown. Raises ``ValueError``."""
        is_whole = type(token.chain_id) is int and type(token.decimals) is int
        if not is_whole or not 0 <= token.decimals < 256:
            raise ValueError("its chain id or decimals are no such number")
        for text in (token.symbol, token.name):
            if not isinstance(text, str) or not text.strip() or not text.isprintable():
                raise ValueError("its symbol or name is no text that can be shown")
            if len(text) > MOST_TEXT_CHARS:
                raise ValueError("its symbol or name is too long")
        address = parse_listed_address(token.address)
        if address == NATIVE:
            raise ValueError("the native coin is the network's own")
        logo = token.logo_uri
        shown = isinstance(logo, str) and logo.startswith("https://") and logo.isprintable()
        return replace(
            token,
            address=address,
            logo_uri=logo if shown and len(logo or "") <= MOST_LOGO_CHARS else None,
            price_usd=_price(token.price_usd),
        )


class ListPrices(PriceSource):
    """The prices of a ``ListCatalog``. Its id is that of the catalog."""

    def __init__(self, catalog: ListCatalog) -> None:
        self.id = catalog.id
        self.title = catalog.title
        self.networks = catalog.networks
        self._catalog = catalog

    async def prices(
        self, chain_id: int, addresses: Sequence[Address], block: Block
    ) -> Mapping[Address, Price]:
        """Returns the list's prices. Raises ``UpstreamError`` when the list is too old or was never read."""
        listing = await self._catalog.document.get()
        profiles = {address: listing.by_key.get((chain_id, address)) for address in addresses}
        made = partial(Price, source=self.id, block=block)
        return {
            address: made(usd=profile.price_usd)
            for address, profile in profiles.items()
            if profile is not None and profile.price_usd is not None
        }


def _price(value: Any) -> float | None:
    """Returns a price in US dollars; None for what is no finite number above zero."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < math.inf else None
