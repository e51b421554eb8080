"""The documented answers of CoinMarketCap, and the profiles that are made of them.

A row that does not follow the documentation is left out; it costs no other. Members are bounded: they are
shown to people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeVar

import msgspec
from quoteway import NATIVE, Address, Token, TokenProfile
from quoteway.evm.address import parse_address

from quoteway_coinmarketcap.platforms import BY_COIN, BY_NAME, NATIVE_COINS

MOST_CHARS = 2_000
MOST_TAGS, MOST_LINKS, MOST_CONTRACTS = 32, 16, 64
_MOST_URL_CHARS = 512
_MOST_DIGITS = 60
_MOST_UCID = 1 << 53
_SOCIALS = ("twitter", "reddit", "chat", "message_board", "announcement", "facebook", "source_code")

_Row = TypeVar("_Row", bound=msgspec.Struct)


class Quote(msgspec.Struct):
    """In US dollars."""

    volume_24h: float | None = None
    percent_change_24h: float | None = None
    market_cap: float | None = None
    fully_diluted_market_cap: float | None = None


class Platform(msgspec.Struct):
    """Where the first contract of a coin is."""

    id: int
    token_address: str = ""


class Listing(msgspec.Struct):
    """A row of ``/v1/cryptocurrency/listings/latest``."""

    id: int
    name: str
    symbol: str
    quote: dict[str, Quote]
    cmc_rank: int | None = None
    circulating_supply: Decimal | None = None
    total_supply: Decimal | None = None
    max_supply: Decimal | None = None
    tags: list[str] | None = None
    platform: Platform | None = None


class PlatformCoin(msgspec.Struct):
    id: int | str | None = None


class ContractPlatform(msgspec.Struct):
    name: str = ""
    coin: PlatformCoin | None = None


class Contract(msgspec.Struct):
    """A contract of a coin."""

    contract_address: str
    platform: ContractPlatform


class Details(msgspec.Struct):
    """A coin of ``/v2/cryptocurrency/info``."""

    id: int
    description: str | None = None
    logo: str | None = None
    urls: dict[str, list[str]] = {}
    contract_address: list[Contract] = []


def rows_of(raw: Iterable[msgspec.Raw], kind: type[_Row]) -> tuple[list[_Row], int]:
    """Returns the rows that follow the documentation, and how many do not."""
    found, bad = [], 0
    for row in raw:
        try:
            found.append(msgspec.json.decode(row, type=kind))
        except (msgspec.MsgspecError, RecursionError):
            bad += 1
    return found, bad


def profile_of(
    listing: Listing, details: Details | None, served: frozenset[int], platforms: Mapping[str, int], now: int
) -> TokenProfile | None:
    """Returns what CoinMarketCap says of a coin; None for one without a contract on a served network."""
    contracts = dict.fromkeys(_contracts(listing, details, platforms))
    tokens = [Token(chain_id, address, 0) for chain_id, address in contracts if chain_id in served]
    if not 0 < listing.id < _MOST_UCID or not tokens:
        return None
    quote, urls = listing.quote.get("USD") or Quote(), {} if details is None else details.urls
    return TokenProfile(
        id=f"ucid-{listing.id}",
        name=_text(listing.name, 128) or "",
        symbol=_text(listing.symbol, 32) or "",
        updated_at=now,
        contracts=tuple(tokens[:MOST_CONTRACTS]),
        ucid=str(listing.id),
        description=None if details is None else _text(details.description, MOST_CHARS),
        logo_uri=None if details is None else _url(details.logo),
        website=_first_url(urls, "website"),
        whitepaper=_first_url(urls, "technical_doc"),
        rank=listing.cmc_rank if listing.cmc_rank and listing.cmc_rank > 0 else None,
        price_change_24h_pct=quote.percent_change_24h,
        market_cap_usd=_not_negative(quote.market_cap),
        fdv_usd=_not_negative(quote.fully_diluted_market_cap),
        volume_24h_usd=_not_negative(quote.volume_24h),
        circulating_supply=_coins(listing.circulating_supply),
        total_supply=_coins(listing.total_supply),
        max_supply=_coins(listing.max_supply),
        tags=tuple(tag for tag in (listing.tags or ())[:MOST_TAGS] if _text(tag, 64) == tag),
        socials=tuple(_socials(urls))[:MOST_LINKS],
    )


def _contracts(
    listing: Listing, details: Details | None, platforms: Mapping[str, int]
) -> Iterator[tuple[int, Address]]:
    for chain_id in NATIVE_COINS.get(listing.id, ()):
        yield chain_id, NATIVE
    named: list[tuple[int | None, str]] = []
    if listing.platform is not None:
        named.append((BY_COIN.get(listing.platform.id), listing.platform.token_address))
    for contract in () if details is None else details.contract_address:
        named.append((_chain_of(contract.platform, platforms), contract.contract_address))
    for known, text in named:
        if known is not None:
            try:
                address = parse_address(text.strip())
            except ValueError:
                continue
            if address != NATIVE:
                yield known, address


def _chain_of(platform: ContractPlatform, platforms: Mapping[str, int]) -> int | None:
    name = platform.name.strip().lower()
    coin = "" if platform.coin is None else str(platform.coin.id)
    by_coin = BY_COIN.get(int(coin)) if coin.isascii() and coin.isdigit() and len(coin) < 10 else None
    return platforms.get(name) or BY_NAME.get(name) or by_coin


def _socials(urls: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    for kind in _SOCIALS:
        for text in urls.get(kind, ())[:4]:
            if (url := _url(text)) is not None:
                yield kind, url


def _first_url(urls: Mapping[str, list[str]], kind: str) -> str | None:
    return next((url for text in urls.get(kind, ())[:4] if (url := _url(text)) is not None), None)


def _url(text: Any) -> str | None:
    """Returns an http(s) URL without signs that could be read as something else."""
    if not isinstance(text, str) or len(text) > _MOST_URL_CHARS or not text.isascii():
        return None
    good = (
        text.startswith(("https://", "http://")) and text.isprintable() and not set(text) & set(" <>\"'`\\")
    )
    return text if good else None


def _text(text: str | None, most: int) -> str | None:
    """Returns a text on one line, without signs that cannot be seen; None for an empty one."""
    if text is None:
        return None
    cleaned = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * most]).split())
    return cleaned[:most] or None


def _not_negative(value: float | None) -> float | None:
    return value if value is not None and value >= 0 else None


def _coins(value: Decimal | None) -> str | None:
    """Returns a supply as a plain decimal text; None for what is no supply."""
    if value is None or not value.is_finite() or value < 0:
        return None
    if value.adjusted() > _MOST_DIGITS or value.as_tuple().exponent < -_MOST_DIGITS:  # type: ignore[operator]
        return None
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
