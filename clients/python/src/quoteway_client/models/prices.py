"""Models of prices.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from datetime import datetime

from quoteway_client.models.shared import BlockRef, Coverage, Notice, Partial, TokenRef
from quoteway_client.wire import Model


class PriceEntry(Model, frozen=True, kw_only=True):
    """`PriceEntry` of the document."""

    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    token: TokenRef
    """Token of the price."""
    price_usd: float | None
    """Price of one whole token. Null where no source knows one, or no majority agrees. US dollars."""
    confidence: float | None
    """Confidence of the price sources in the price, from 0 to 1. Null when not known."""
    liquidity_usd: float | None
    """Amount that can be sold near the price. US dollars. Null when not known."""
    sources: tuple[str, ...]
    """Ids of the price sources that agree on the price; empty without a price."""
    anchored: bool
    """Whether the price is confirmed: reached from dollar tokens through pools that stood for a while, or
    agreed on by sources of several plugins.
    """
    moved1h_pct: float | None
    """Largest difference of the present price to one of the last hour, in percent: 2 is 2 %. Null when not
    known.
    """
    warnings: tuple[Notice, ...]
    """What to know about the price, such as `price_moved`."""
    as_of_block: BlockRef | None
    """Block at which the price was read. Null when not known."""


class Prices(Model, frozen=True, kw_only=True):
    """Prices of tokens. `partial` names the addresses that are no tokens."""

    data: tuple[PriceEntry, ...]
    """One row for each address that is a token, in the order of the request."""
    partial: tuple[Partial, ...]
    """Addresses that are no tokens (`no_token`)."""


class Candle(Model, frozen=True, kw_only=True):
    """`Candle` of the document."""

    timestamp: int
    """Start of the interval. Unix seconds."""
    open: float | None
    """First price of the interval. US dollars. Null when not known."""
    high: float | None
    """Highest price of the interval. US dollars. Null when not known."""
    low: float | None
    """Lowest price of the interval. US dollars. Null when not known."""
    close: float | None
    """Last price of the interval. US dollars. Null when not known."""
    mean: float | None
    """Mean price of the interval, weighted by time. US dollars. Null when not known."""
    depth_usd: float | None
    """Lowest depth of the interval: the amount that could be sold near the price. US dollars. Null when
    not known.
    """
    confidence: float | None
    """Lowest confidence of the interval, from 0 to 1. Null when not known."""
    hours: int
    """Number of hours of the interval with a known price."""


class PriceHistory(Model, frozen=True, kw_only=True):
    """`PriceHistory` of the document."""

    network: str
    """Name of the network; `eip155:` and the chain id where this deployment has no name for it."""
    chain_id: int
    """Chain id of the network (EIP-155)."""
    token: TokenRef
    """Token of the prices."""
    interval: str
    """Time between values: an hour, a day or a week."""
    from_: int
    """Start of the requested time. Unix seconds."""
    to: int
    """End of the requested time. Unix seconds."""
    candles: tuple[Candle, ...]
    """One candle for each interval, in the order of time; its prices are null where none is known."""
    coverage: Coverage | None
    """Span in which prices were looked for. Null when none were."""
    source: str
    """Where the prices are from, such as `index`."""
    method: str
    """How the prices are computed, in sentences."""
    updated_at: datetime
    """End of the newest hour that was computed; before the first one, when it was read. RFC 3339 in UTC."""
