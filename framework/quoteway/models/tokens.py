"""Tokens, prices, token profiles and blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

from quoteway.models.notices import Notice

NATIVE = "0x0000000000000000000000000000000000000000"
"""The address that stands for a network's native coin."""

MAX_UINT256 = (1 << 256) - 1
"""The largest amount of a token: contracts count in 256 bits."""

MOVED_PCT = 2.0
"""From how far on the move of a price within an hour is a warning, in percent."""

_PRICE_MOVED = Notice(
    "price_moved",
    f"The market's price moved by {MOVED_PCT:g} % or more within the last hour. It may be a trade that "
    "nobody has undone yet.",
)


Address: TypeAlias = str
"""An address as 0x and 40 hexadecimal digits in EIP-55 form (``quoteway.evm.address.parse_address``)."""

Json: TypeAlias = Any
"""What JSON can say: dict, list, str, int, float, bool or None."""


@dataclass(frozen=True, slots=True)
class Block:
    """The block at which data was read."""

    number: int
    hash: str
    timestamp: int
    base_fee_wei: int | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """A block, the hash of its parent, and the 2,048-bit filter of its logs (yellow paper, section 4.3.1).

    ``parent`` and ``logs_bloom`` are None when the node does not tell them.
    """

    block: Block
    parent: str | None
    logs_bloom: int | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """An ERC-20 token or, at ``NATIVE``, the chain's native coin. Unknown members are None.

    ``listed``: a catalog of the deployment has it. The core sets it; what a provider sets does not count.
    """

    chain_id: int
    address: Address
    decimals: int
    symbol: str | None = None
    name: str | None = None
    logo_uri: str | None = None
    price_usd: float | None = None
    listed: bool = False

    @property
    def is_native(self) -> bool:
        """Returns whether it is the network's native coin."""
        return self.address == NATIVE

    @property
    def unit(self) -> tuple[int, Address, int]:
        """Returns what its amounts count: chain id, address and decimals."""
        return self.chain_id, self.address, self.decimals


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one whole token in US dollars, read at ``block``.

    ``usd`` None: the source knows the token but has no price (too little liquidity). ``confidence`` is the
    source's own measure, between 0 and 1; None if it has none. ``depth_usd`` is what can be sold near that
    price, in US dollars; None if the source does not know it.

    ``anchored``: it is confirmed from independent sides: it is reached through pools that stood for a while,
    from dollar tokens that agree with each other, or sources of different plugins agree on it.
    ``moved_1h_pct`` is how far the market's present price is from what it was within the last hour, in
    percent, where that was most; None if the source does not know it.
    """

    usd: float | None
    source: str
    block: Block
    confidence: float | None = None
    depth_usd: float | None = None
    anchored: bool = False
    moved_1h_pct: float | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """Returns the ids of the sources that agree on it."""
        return tuple(self.source.split(", "))

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """Returns what a reader of the price has to know."""
        return (_PRICE_MOVED,) if abs(self.moved_1h_pct or 0.0) >= MOVED_PCT else ()

    def confirms(self, token: Token) -> bool:
        """Returns whether any amount of ``token`` is worth its whole price: it is listed, and the price is
        anchored and has not moved of late.
        """
        return token.listed and self.anchored and not self.warnings

    def worth(self, token: Token, amount: int, payout_usd: float | None = None) -> float | None:
        """Returns the US dollars of ``amount`` base units of ``token``; None if not finite or not known.

        Anybody can make pools of an own token with any price, and a single market can be moved. So what no
        catalog lists, or what has no anchored price or one that moved within the hour, is worth no more than
        can be sold near its price, or than ``payout_usd``, what a sale of this amount pays, where known.
        """
        if self.usd is None:
            return None
        value = amount / 10**token.decimals * self.usd
        most = self.depth_usd if payout_usd is None else payout_usd
        if not self.confirms(token) and most is not None:
            value = min(value, most)
        return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class TradeTax:
    """What a purchase and a sale of a token lose to its own taxes, measured in a simulation against a pool.

    Basis points of the amount; None: not measured. ``sellable`` False: the simulated sale failed.
    """

    token: Address
    buy_bps: int | None
    sell_bps: int | None
    sellable: bool | None


@dataclass(frozen=True, slots=True)
class TokenProfile:
    """The profile of a token in the token catalog. ``id`` is a short slug; unknown members are None.

    Supplies are decimal texts in whole coins. ``verified``: the decimals of every contract are those that the
    chain has. ``look_alike_of``: the id of a token listed before this one, whose symbol looks the same.
    ``sources``: the members that another catalog added, with its id. The core sets these and ``trade_tax``.
    """

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
    verified: bool = False
    look_alike_of: str | None = None
    trade_tax: TradeTax | None = None
    sources: tuple[tuple[str, str], ...] = ()
