"""Models of tokens.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import field

from quoteway_client.models.shared import FailedSource, TradeTax
from quoteway_client.wire import Model


class Contract(Model, frozen=True, kw_only=True):
    """`Contract` of the document."""

    address: str
    """Contract of the token on this network; the zero address stands for the native coin."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    explorer_url: str | None
    """Page of the token in the network's explorer. Null where the network has none."""
    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    decimals: int
    """Number of decimals: one whole token is 10^decimals base units."""


class TokenEntry(Model, frozen=True, kw_only=True):
    """`TokenEntry` of the document."""

    id: str
    """Id of the token in its catalog, for `GET /v2/tokens/{id}`."""
    ucid: str | None
    """CoinMarketCap's id of the token. Null when not known."""
    name: str
    """Name of the token."""
    symbol: str
    """Ticker of the token. Tokens may share one."""
    logo_uri: str | None
    """Link to the logo of the token. Null when not known."""
    price_usd: float | None
    """Price of one whole token. US dollars. Null when not known."""
    rank: int | None
    """Place by market capitalisation; 1 is the largest. Null when not known."""
    tags: tuple[str, ...]
    """Tags that the catalog gives the token, such as `stablecoin`."""
    contracts: tuple[Contract, ...]
    """Contracts of the token on the networks of this deployment."""
    verified: bool
    """Whether the decimals of every contract were compared with the chain and are equal."""
    look_alike_of: str | None
    """Id of a token that is listed before this one and whose symbol looks the same. Null without one."""


class TokenPage(Model, frozen=True, kw_only=True):
    """`TokenPage` of the document."""

    partial: tuple[FailedSource, ...]
    """Providers whose rows are missing; ask again while there are any."""
    next_cursor: str | None
    """Value of `cursor` for the next page. Null on the last page."""
    total: int | None
    """Number of rows that the request selects, on all pages. Null when not known."""
    preview: bool
    """Whether a provider marks a row of the page as a preview, with values that are not live."""
    updated_at: datetime
    """Time of the newest data among the rows that the request selects. RFC 3339 in UTC."""
    data: tuple[TokenEntry, ...]
    """Tokens, the best match first."""


class Social(Model, frozen=True, kw_only=True):
    """`Social` of the document."""

    type: str
    """Name of the service, such as `twitter`."""
    url: str
    """Link to the token's page at the service."""


class Profile(Model, frozen=True, kw_only=True):
    """`Profile` of the document."""

    id: str
    """Id of the token in its catalog, for `GET /v2/tokens/{id}`."""
    ucid: str | None
    """CoinMarketCap's id of the token. Null when not known."""
    name: str
    """Name of the token."""
    symbol: str
    """Ticker of the token. Tokens may share one."""
    logo_uri: str | None
    """Link to the logo of the token. Null when not known."""
    price_usd: float | None
    """Price of one whole token. US dollars. Null when not known."""
    rank: int | None
    """Place by market capitalisation; 1 is the largest. Null when not known."""
    tags: tuple[str, ...]
    """Tags that the catalog gives the token, such as `stablecoin`."""
    contracts: tuple[Contract, ...]
    """Contracts of the token on the networks of this deployment."""
    verified: bool
    """Whether the decimals of every contract were compared with the chain and are equal."""
    look_alike_of: str | None
    """Id of a token that is listed before this one and whose symbol looks the same. Null without one."""
    description: str | None
    """Description of the token, a text of the catalog. Null when not known."""
    issuer: str | None
    """Issuer of the token. Null when not known."""
    website: str | None
    """Link to the website of the project. Null when not known."""
    whitepaper: str | None
    """Link to the white paper of the project. Null when not known."""
    holders: int | None
    """Number of accounts that hold the token. Null when not known."""
    price_change24h_pct: float | None = field(name="priceChange24hPct")
    """Change of the price in the last 24 hours, in percent: 5 is 5 %. Null when not known."""
    market_cap_usd: float | None
    """Market capitalisation: price times circulating supply. US dollars. Null when not known."""
    fdv_usd: float | None
    """Fully diluted valuation, as the catalog computes it. US dollars. Null when not known."""
    volume24h_usd: float | None
    """Volume of the trades of the last 24 hours on the markets that the catalog counts. US dollars. Null
    when not known.
    """
    circulating_supply: str | None
    """Circulating supply in whole tokens, as a decimal number in text. Null when not known."""
    total_supply: str | None
    """Total supply in whole tokens, as a decimal number in text. Null when not known."""
    max_supply: str | None
    """Maximum supply in whole tokens, as a decimal number in text. Null when not known."""
    audit_score: float | None
    """Score of a third party's security audit, as the catalog gives it. Null when not known."""
    updated_at: datetime
    """Time of the catalog's data of the token. RFC 3339 in UTC."""
    socials: tuple[Social, ...]
    """Pages of the token at other services."""
    trade_tax: TradeTax | None
    """Taxes of the token, where a quote of this unlisted token measured them lately. Null without a
    measurement.
    """
    listed: bool
    """Whether a catalog of this deployment lists the token."""
    sources: dict[str, str]
    """By name of a member: id of the catalog that gave it, for members that the first catalog lacks."""
