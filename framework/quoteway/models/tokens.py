"""Tokens, prices, token profiles and blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

NATIVE = "0x0000000000000000000000000000000000000000"


MAX_UINT256 = (1 << 256) - 1


Address: TypeAlias = str


Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Block:
    """The block at which data was read."""

    number: int
    hash: str
    timestamp: int
    base_fee_wei: int | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """An ERC-20 token or, at ``NATIVE``, the chain's native coin. Unknown members are None."""

    chain_id: int
    address: Address
    decimals: int
    symbol: str | None = None
    name: str | None = None
    logo_uri: str | None = None
    price_usd: float | None = None

    @property
    def is_native(self) -> bool:
        return self.address == NATIVE

    @property
    def unit(self) -> tuple[int, Address, int]:
        """Returns what its amounts count: chain id, address and decimals."""
        return self.chain_id, self.address, self.decimals


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one whole token in US dollars, read at ``block``.

    ``usd`` None: the source knows the token but has no price (too little liquidity). ``confidence`` is the
    source's own measure, between 0 and 1; None if it has none.
    """

    usd: float | None
    source: str
    block: Block
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class TokenProfile:
    """The profile of a token in the token catalog. ``id`` is a short slug; unknown members are None."""

    id: str
    name: str
    symbol: str
    updated_at: int
    contracts: tuple[Token, ...]
    ucid: str | None = None
    description: str | None = None
    issuer: str | None = None
    logo_uri: str | None = None
    website: str | None = None
    whitepaper: str | None = None
    rank: int | None = None
    holders: int | None = None
    price_usd: float | None = None
    price_change_24h_pct: float | None = None
    market_cap_usd: float | None = None
    fdv_usd: float | None = None
    volume_24h_usd: float | None = None
    circulating_supply: str | None = None
    total_supply: str | None = None
    max_supply: str | None = None
    audit_score: float | None = None
    tags: tuple[str, ...] = ()
    socials: tuple[tuple[str, str], ...] = ()
    listed: bool = True
